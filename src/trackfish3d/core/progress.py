"""How long work says how far it is: one kind of call for one piece of work, and one for several at once."""

from collections.abc import Callable
from functools import partial

Progress = Callable[[int, int], None]
"""Called with steps done and steps in all."""

TaskProgress = Callable[[str, int, int], None]
"""Called with the name of one of several tasks (a camera), its steps done and its steps in all."""

Say = Callable[[str], None]
"""Called with a line that a user should read now."""


def silent(done: int, total: int) -> None:
    """Report to nobody.

    Parameters
    ----------
    done : steps done.
    total : steps in all.
    """


def silent_tasks(name: str, done: int, total: int) -> None:
    """Report to nobody.

    Parameters
    ----------
    name : of the task.
    done : its steps done.
    total : its steps in all.
    """


def of_task(progress: TaskProgress, name: str) -> Progress:
    """Return what one task calls.

    Parameters
    ----------
    progress : hears of all tasks.
    name : of this one.
    """
    return partial(progress, name)
