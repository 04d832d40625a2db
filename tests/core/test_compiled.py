"""How kernels are compiled."""

import itertools

import numpy as np
from numba import njit
from numba.core import event, targetconfig
from numba.core.compiler import Flags

from trackfish3d.core.compiled import KERNEL, compiling

FRESH = {**KERNEL, "cache": False}  # compiled in this run


def test_options_are_equal_when_every_one_of_them_is():
    def made(**given):
        flags = Flags()
        for name, value in given.items():
            setattr(flags, name, value)
        return flags

    kinds = [made(), made(nrt=False), made(nrt=True), made(forceinline=True, nrt=True), made(error_model="numpy")]
    for one, other in itertools.product(kinds, kinds):
        assert (one == other) == (one.values() == other.values())
        assert one != other or hash(one) == hash(other)
    assert made() != "options"
    assert issubclass(Flags, targetconfig.TargetConfig)


def test_kernels_draw_a_function_of_numpy_in_once():
    @njit(**FRESH)
    def one(n: int) -> float:
        return np.zeros(n).shape[0] + 0.0

    @njit(**FRESH)
    def other(n: int) -> float:
        return np.zeros(n).shape[0] + 1.0

    seen = []

    class Watch(event.Listener):
        def on_start(self, event):
            seen.append(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event):
            pass

    one(1)
    with event.install_listener("numba:compile", Watch()):
        assert other(3) == 4.0
    assert seen == ["other"]


def test_it_is_told_how_many_kernels_were_compiled():
    @njit(**FRESH)
    def half(x: float) -> float:
        return 0.5 * x

    @njit(**FRESH)
    def quarter(x: float) -> float:
        return half(half(x))

    told = []
    with compiling(told.append):
        assert quarter(8.0) == 2.0
        assert quarter(4.0) == 1.0
    assert told == [0, 1]
