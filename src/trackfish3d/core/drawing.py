"""What all pictures share: names that come from data are drawn as they are."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def plain_text(draw: Callable[P, R]) -> Callable[P, R]:
    r"""Let a function that draws take no text for mathematics: a camera may be called ``$\bad{$``.

    Parameters
    ----------
    draw : makes a picture with Matplotlib.
    """

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        from matplotlib import rc_context

        with rc_context({"text.parse_math": False, "text.usetex": False}):
            return draw(*args, **kwargs)

    return drawn
