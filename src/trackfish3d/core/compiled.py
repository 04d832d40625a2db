"""How kernels are compiled: once, kept on disk, without what nobody calls.

What makes a kernel slow to compile is less its own code than what it draws in. Assigning one array to another
(``a[i] = b[j]``) brings two seconds of text formatting for an error message, ``np.argsort``, ``np.median`` and
``np.searchsorted`` about a second each; a loop costs 0.03 s and runs as fast. `maths.order` has loops for these.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function that Python calls."""
    compiled: Function = njit(cache=True, error_model="numpy", no_cfunc_wrapper=True)(function)
    return compiled


def inner(function: Function) -> Function:
    """Compile a function that only kernels call: Python cannot."""
    options = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    compiled: Function = njit(cache=True, error_model="numpy", **options)(function)
    return compiled
