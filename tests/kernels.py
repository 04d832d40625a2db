"""Functions that only kernels call, with a way in from Python."""

from collections.abc import Callable
from typing import Any

from numba import njit


def opened(helper: Any) -> Callable[..., Any]:
    """Return a kernel that does nothing but call the helper."""

    @njit
    def way_in(*arguments):  # type: ignore[no-untyped-def]
        return helper(*arguments)

    entry: Callable[..., Any] = way_in
    return entry
