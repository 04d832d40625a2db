"""Kernels, what only kernels call, and machine code that is made when it is asked for."""

import subprocess
import sys

import numpy as np
import pytest
from numba import njit
from numba.core.registry import cpu_target

from tests.kernels import opened
from trackfish3d.core.compiled import helper, inner, kernel
from trackfish3d.core.machine_code import LazyLibrary


@inner
def doubled(x):
    return 2.0 * x


@helper
def rooted(x):
    if x < 0.0:
        raise ValueError("no root")
    return np.sqrt(doubled(x))


@kernel
def outer(x):
    return rooted(x) + doubled(x)


@njit
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@njit
def next_to(n):
    return fibonacci(n) + 1


def test_kernels_and_what_they_call_give_what_python_gives():
    assert outer(8.0) == outer.py_func(8.0) == 20.0
    with pytest.raises(ValueError, match="no root"):
        outer(-1.0)


def test_only_what_python_calls_becomes_machine_code():
    outer(8.0)
    if not isinstance(next(iter(outer.overloads.values())).library, LazyLibrary):
        pytest.skip("a Numba whose inner matters are otherwise")
    for function in (doubled, rooted):
        assert all(made.library._deferred for made in function.overloads.values())
    assert not any(made.library._deferred for made in outer.overloads.values())


def test_python_may_call_what_is_compiled_for_kernels():
    outer(8.0)
    assert rooted(8.0) == 4.0
    assert opened(rooted)(8.0) == 4.0
    assert doubled(8.0) == 16.0


def test_a_function_that_calls_itself_finds_its_address():
    assert next_to(10) == 56
    assert fibonacci(9) == 34


TWICE = """
import sys, kernels_on_disk as k
print(k.outer(8.0), sum(k.outer.stats.cache_hits.values()))
if sys.argv[1:]:
    print(k.other(8.0), sum(k.inside.stats.cache_hits.values()))
"""
MODULE = """
from trackfish3d.core.compiled import helper, kernel
@helper
def inside(x):
    if x < 0:
        raise ValueError("negative")
    return x + 1.0
@kernel
def outer(x): return 2.0 * inside(x)
@kernel
def other(x): return 3.0 * inside(x)
"""


def test_what_is_kept_on_disk_is_linked_into_what_is_compiled_later(tmp_path, monkeypatch):
    (tmp_path / "kernels_on_disk.py").write_text(MODULE)
    (tmp_path / "main.py").write_text(TWICE)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))

    def told(*arguments):
        command = [sys.executable, tmp_path / "main.py", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert told() == ["18.0", "0"]
    assert told() == ["18.0", "1"]
    assert told("other") == ["18.0", "1", "27.0", "1"]  # `inside` comes from disk into a kernel that does not


def test_numba_is_told_once():
    assert cpu_target.target_context.codegen()._library_class in (LazyLibrary, LazyLibrary.__base__)
