"""Features from files: cut, swollen or wild ones are one line."""

import contextlib
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.recordings.worlds import random_detections
from trackfish3d.core.errors import InputError
from trackfish3d.methods.paper.features import read_features

FOUND = random_detections(1, n=20)


def packed(values: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, values)
    return out.getvalue()


def test_a_cut_file_at_every_length(tmp_path: Path) -> None:
    whole = packed(np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32))
    path = tmp_path / "f.npz"
    path.write_bytes(whole)
    assert read_features(path, FOUND).shape == (20, 4)
    middle = whole.find(b"PK\x01\x02")
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at])
        with pytest.raises(InputError, match=r"f\.npz"):
            read_features(path, FOUND)
        if at < middle:  # the data cut short inside a sound archive
            path.write_bytes(whole[:40] + whole[40 : 40 + at][: max(at - 20, 0)] + whole[at + 40 :])
            with contextlib.suppress(InputError):
                read_features(path, FOUND)


@pytest.mark.parametrize("shape", [(10**9, 10**6), (20, 10**9), (2**62, 2)])
def test_what_swells_is_not_unpacked(tmp_path: Path, shape: tuple[int, int]) -> None:
    """The header promises more than memory holds, and zeros that deflate well stand behind it."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"shape": shape, "fortran_order": False, "descr": "<f4"})
    with zipfile.ZipFile(tmp_path / "f.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("values.npy", head.getvalue() + bytes(10**6))
    with pytest.raises(InputError, match=r"f\.npz: has shape"):
        read_features(tmp_path / "f.npz", FOUND)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_wild_numbers_are_named_with_their_row(tmp_path: Path, value: float) -> None:
    values = np.zeros((20, 2), np.float32)
    values[7, 1] = value
    (tmp_path / "f.npz").write_bytes(packed(values))
    with pytest.raises(InputError, match="row 7 is not finite, or beyond"):
        read_features(tmp_path / "f.npz", FOUND)
