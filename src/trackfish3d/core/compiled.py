"""How kernels are compiled: once, kept on disk, without what nobody calls.

What makes a kernel slow to compile is less its own code than what it draws in. Assigning one array to another
(``a[i] = b[j]``) brings two seconds of text formatting for an error message, ``np.argsort``, ``np.median`` and
``np.searchsorted`` about a second each; a loop costs 0.03 s and runs as fast. `maths.order` has loops for these.

Take arrays out of a named tuple before a loop, not inside: each time it is counted who holds them, atomically.

Give every kernel the options of `KERNEL`: what kernels draw in (``np.zeros``) is compiled once for each set of options.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from numba import njit
from numba.core import event, targetconfig

from .machine_code import defer_machine_code

Function = TypeVar("Function", bound=Callable[..., Any])


KERNEL: dict[str, Any] = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""Options of `njit` for a function without annotations."""


def kernel(function: Function) -> Function:
    """Compile a function that Python calls."""
    compiled: Function = njit(**KERNEL)(function)
    return compiled


def inner(function: Function) -> Function:
    """Compile a function that only kernels call, into each of them; called from Python it is not compiled.

    A call would hand over every array of every named tuple, which takes longer than what a short function does.
    """
    compiled: Function = _for_kernels(njit(**KERNEL, no_cpython_wrapper=True, forceinline=True)(function))
    return compiled


def helper(function: Any) -> Any:
    """Compile a function that only kernels call, without a way in from Python, which takes longer than most bodies."""
    return _for_kernels(njit(**KERNEL, no_cpython_wrapper=True)(function))


def _for_kernels(compiled: Any) -> Any:
    """Let Python run the function as it is written: Numba would jump to an address that is not there."""
    compiled._insert = lambda *overload: None
    compiled._compile_for_args = lambda *arguments, **named: compiled.py_func
    return compiled


def _equal_options(one: Any, other: Any) -> Any:
    """Whether two sets of compiler options are equal: what `TargetConfig` says, up to the first that differs.

    Options that neither has set are alike, so only the others are compared, by what they are with defaults.
    """
    if not isinstance(other, targetconfig.TargetConfig):
        return NotImplemented
    ours, theirs = one._values, other._values
    if type(one) is not type(other):
        return one.values() == other.values()
    if ours == theirs:
        return True
    return all(getattr(one, name) == getattr(other, name) for name in (*ours, *theirs))


def compare_options_quickly() -> None:
    """Let Numba compare sets of options where they differ; a sixth of the time of compiling went into listing them.

    Numba looks up every operation of a kernel by its types and its options, and all options have one hash value.
    """
    config = targetconfig.TargetConfig
    if isinstance(getattr(config(), "_values", None), dict):  # an inner matter of Numba, which may change
        config.__eq__ = _equal_options
        config.__hash__ = lambda self: hash(type(self))


compare_options_quickly()
defer_machine_code()


class _Watch(event.Listener):  # type: ignore[misc]
    """Count kernels as they are compiled; those that others draw in belong to them."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self.tell, self.done, self.depth, self.collect = tell, 0, 0, True

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.collect = gc.isenabled()
            gc.disable()  # a twelfth of the time
            self.tell(self.done)
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.done += 1
            self.tell(self.done)
            if self.collect:
                gc.enable()


@contextmanager
def compiling(tell: Callable[[int], None]) -> Iterator[None]:
    """Tell of kernels that are compiled inside, because no earlier run left them on disk: how many are done."""
    with event.install_listener("numba:compile", _Watch(tell)):
        yield
