"""Reading in another process: whatever happens to it, here it is one line."""

import ctypes
import os
import time
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.core.errors import InputError, MissingExtraError
from trackfish3d.core.reading.isolation import _Reader, read_isolated


def double(path: Path, values: np.ndarray) -> np.ndarray:
    print("libraries talk")
    return 2 * values


def crash(path: Path) -> None:
    ctypes.string_at(0)


def hang(path: Path) -> None:
    time.sleep(60)


def swell(path: Path) -> int:
    return len(bytearray(2**36))


def miss(path: Path) -> None:
    raise MissingExtraError("h5py", "matlab73", "reading")


def stumble(path: Path) -> None:
    raise KeyError("field\nof two lines")


def test_arrays_come_back_and_the_process_is_kept(tmp_path: Path) -> None:
    assert read_isolated(double, tmp_path, np.arange(5)).tolist() == [0, 2, 4, 6, 8]
    first = _Reader.process
    large = np.arange(10**6)
    assert np.array_equal(read_isolated(double, tmp_path, large), 2 * large)
    assert _Reader.process is first
    assert first is not None
    assert first.pid != os.getpid()


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (crash, "its library broke down"),
        (swell, "does not fit into memory"),
        (stumble, "KeyError"),
    ],
)
def test_what_breaks_there_is_one_line_here(tmp_path: Path, function: object, says: str) -> None:
    path = tmp_path / "file.mat"
    with pytest.raises(InputError, match=f"file.mat: is damaged.*{says}") as caught:
        read_isolated(function, path)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert read_isolated(double, path, np.ones(1)).tolist() == [2.0]


def test_what_hangs_there_is_given_up(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(InputError, match="within 1 s"):
        read_isolated(hang, tmp_path / "file.mat", seconds=1.0)
    assert time.monotonic() - started < 15


def test_a_missing_extra_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(MissingExtraError, match="pip install"):
        read_isolated(miss, tmp_path)
