"""Reading in another process: whatever happens to it, here it is one line."""

import contextlib
import ctypes
import os
import time
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.core.errors import InputError, MissingExtraError
from trackfish3d.core.reading.isolation import _READERS, read_isolated


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
    first = _READERS[()].process
    large = np.arange(10**6)
    assert np.array_equal(read_isolated(double, tmp_path, large), 2 * large)
    assert _READERS[()].process is first
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


STATE: list[str] = []


def spoil(path: Path) -> int:
    STATE.append("spoilt")  # as HDF5 keeps what it has met
    return len(STATE)


def test_no_file_is_read_by_a_library_that_another_file_has_spoilt(tmp_path: Path) -> None:
    assert [read_isolated(spoil, tmp_path / name) for name in "abc"] == [1, 1, 1]


def test_a_sound_hdf5_is_read_after_a_damaged_one(tmp_path: Path) -> None:
    pytest.importorskip("tables")
    from tests.recordings.test_pose_importers import deeplabcut_frame, poses
    from trackfish3d.recordings.importers.deeplabcut import load_h5

    sound, damaged = tmp_path / "sound.h5", tmp_path / "damaged.h5"
    deeplabcut_frame(poses(2, frames=3), True).to_hdf(sound, key="df_with_missing", format="table", mode="w")
    content = sound.read_bytes()
    for at in range(0, 2400, 300):  # blocks of the beginning, where HDF5 keeps what everything is
        damaged.write_bytes(content[:at] + b"\xff" * 64 + content[at + 64 :])
        with contextlib.suppress(InputError):
            read_isolated(load_h5, damaged, libraries=("pandas", "tables"))
        assert len(read_isolated(load_h5, sound, libraries=("pandas", "tables"))[0]) == 3
