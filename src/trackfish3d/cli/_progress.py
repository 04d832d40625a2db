"""Progress bars, the same for every command."""

import sys
from types import TracebackType
from typing import Any

from rich import progress as rich
from rich.console import Console
from rich.text import Text

from ..core.progress import Progress, of_task


class Bars:
    """Bars on standard error, one a task, while the block lasts; nothing is shown where that is no terminal.

    Called as a `TaskProgress`, it makes a bar for every name that it hears of first. A bar without a known number of
    steps moves by itself, so that work is seen to go on before its first step is done.

    Parameters
    ----------
    *names : tasks whose bars are there from the beginning.
    """

    def __init__(self, *names: str) -> None:
        self.console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True, emoji=False)
        columns = (
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            _Rate(),
            rich.TimeElapsedColumn(),
            rich.TimeRemainingColumn(),
        )
        # Off a terminal a finished bar would leave an empty line in the log. Lines on standard output stay there where
        # it leads elsewhere; on a terminal they are put above the bars.
        self._bars = rich.Progress(
            *columns,
            console=self.console,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
            disable=not self.console.is_terminal,
        )
        self._tasks: dict[str, rich.TaskID] = {}
        for name in names:
            self.start(name)

    def __enter__(self) -> "Bars":
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def __call__(self, name: str, done: int, total: int) -> None:
        """Show how far a task is.

        Parameters
        ----------
        name : of the task.
        done : its steps done.
        total : its steps in all.
        """
        self.start(name)
        self._bars.update(self._tasks[name], completed=done, total=total)

    def start(self, name: str) -> Progress:
        """Show the bar of a task, if it is not there yet, and return what the task calls.

        Parameters
        ----------
        name : of the task.
        """
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=None)
        return of_task(self, name)

    def end(self, name: str) -> None:
        """Take the bar of a task away.

        Parameters
        ----------
        name : of the task.
        """
        self._bars.remove_task(self._tasks.pop(name))

    def say(self, line: str) -> None:
        """Print a line on standard error, above the bars.

        Parameters
        ----------
        line : the text.
        """
        self.console.print(line)

    def compiled(self, done: int) -> None:
        """Say once that kernels are being compiled, and show how many are done.

        Parameters
        ----------
        done : kernels that are compiled.
        """
        if "kernels" not in self._tasks:
            self.say("compiling, once ('trackfish3d warmup' does it beforehand)")
            self.start("kernels")
        self._bars.update(self._tasks["kernels"], completed=done)

    def in_turn(self, what: str, done: int, total: int) -> None:
        """Show one bar for many pieces of work that come one after the other, under the name of the latest.

        Parameters
        ----------
        what : the piece that is done now.
        done : pieces done.
        total : pieces in all.
        """
        task = next(iter(self._tasks.values()), None)
        if task is None:
            task = self._tasks[what] = self._bars.add_task(what, total=None)
        self._bars.update(task, description=f"{what:<34}", completed=done, total=total)


class _Rate(rich.ProgressColumn):
    """Steps a second, where there are many."""

    def render(self, task: Any) -> Text:
        return Text(f"{task.speed:.0f}/s" if task.speed and task.speed >= 1 else "")
