"""Detections are sorted, checked, and say which row is wrong."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Detections

from .worlds import assert_same, random_detections

GOOD = {"u": [5.0, 6.0], "v": [5.0, 6.0], "x1": [0.0, 1.0], "y1": [0.0, 1.0], "x2": [9.0, 9.0], "y2": [9.0, 9.0]}


def build(**changes: object) -> Detections:
    columns: dict = {"frame": [3, 3], "camera": [0, 1], **GOOD, "score": [0.5, 1.0], **changes}
    return Detections.build(("top", "front"), columns.pop("frame"), columns.pop("camera"), **columns)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 1)), max_size=30))
def test_rows_are_sorted_and_ties_keep_their_order(places: list[tuple[int, int]]) -> None:
    n = len(places)
    found = Detections.build(("a", "b"), [f for f, _ in places], [c for _, c in places], np.arange(n), np.zeros(n))
    expected = sorted(range(n), key=lambda i: places[i])
    assert found.u.tolist() == expected
    assert [tuple(p) for p in zip(found.frame.tolist(), found.camera.tolist(), strict=True)] == sorted(places)


def test_every_row_is_in_the_slice_of_its_frame() -> None:
    found = random_detections(1)
    for k, frame in enumerate(found.frames):
        assert (found.frame[found.at(k)] == frame).all()
    assert sum(found.at(k).stop - found.at(k).start for k in range(len(found.frames))) == len(found)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"x2": [9.0, 0.0]}, "row 1: box is inside out"),
        ({"y2": [-1.0, 9.0]}, "row 0: box is inside out"),
        ({"score": [0.5, 1.2]}, "row 1: score is outside 0..1"),
        ({"score": [-0.1, 1.0]}, "row 0: score is outside 0..1"),
        ({"u": [np.nan, 6.0]}, "row 0: u is not a finite number"),
        ({"y1": [0.0, -np.inf]}, "row 1: y1 is not a finite number"),
        ({"camera": [0, 2]}, "row 1: camera is not one of"),
        ({"frame": [3.5, 4.0]}, "row 0: frame is not whole"),
        ({"frame": [3, np.nan]}, "row 1: frame is not whole"),
        ({"frame": [2.0**60, 1.0]}, "row 0: frame"),
        ({"frame": ["a", "b"]}, "not whole numbers"),
        ({"v": ["a", "b"]}, "not numbers"),
        ({"u": [1.0]}, "column u"),
        ({"x2": None}, "boxes need x1, y1, x2 and y2"),
    ],
)
def test_a_bad_value_is_named_with_its_row(changes: dict, says: str) -> None:
    with pytest.raises(InputError, match=says.replace("(", r"\(")):
        build(**changes)


def test_a_table_read_back_is_the_same() -> None:
    plain = random_detections(2)
    n = len(plain)
    shaped = build(area=[1.0, 2.0], angle=[0.1, -0.2], major=[4.0, 5.0], minor=[1.0, 2.0])
    assert_same(Detections.from_table(plain.to_table(), plain.cameras), plain)
    assert Detections.from_table(shaped.to_table(), shaped.cameras).has_moments
    assert_same(Detections.from_table(shaped.to_table(), shaped.cameras), shaped)
    assert n == len(plain)


def test_cameras_are_matched_by_name_not_by_order() -> None:
    found = random_detections(3)
    turned = Detections.from_table(found.to_table(), ("front", "top"))
    assert [turned.cameras[c] for c in turned.camera] != [found.cameras[c] for c in turned.camera]
    for name in found.cameras:
        ours, theirs = found.camera == found.cameras.index(name), turned.camera == turned.cameras.index(name)
        np.testing.assert_array_equal(found.u[ours], turned.u[theirs])


def test_an_unknown_camera_is_named() -> None:
    with pytest.raises(InputError, match="unknown camera 'front'; the calibration has top, side"):
        Detections.from_table(random_detections(4).to_table(), ("top", "side"))


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"frame": [1], "camera": ["top"], "u": [1.0]}),
        pa.table({"frame": [1], "camera": ["top"], "u": ["x"], "v": [1.0]}),
        pa.table({"frame": [None], "camera": ["top"], "u": [1.0], "v": [1.0]}),
        pa.table({"frame": [1], "camera": pa.array([None], pa.string()), "u": [1.0], "v": [1.0]}),
        pa.table({"frame": [1], "camera": [[1, 2]], "u": [1.0], "v": [1.0]}),
        pa.table({"frame": [[1]], "camera": ["top"], "u": [1.0], "v": [1.0]}),
    ],
)
def test_a_table_of_something_else_is_refused(table: pa.Table) -> None:
    with pytest.raises(InputError):
        Detections.from_table(table, ("top",))


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(-9, 9), st.integers(-9, 9))
def test_shifting_there_and_back_changes_nothing(seed: int, a: int, b: int) -> None:
    found = random_detections(seed, n=30, frames=6)
    moved = found.shifted([a, b])
    assert (np.sort(moved.frame) == np.sort(found.frame + np.array([a, b])[found.camera])).all()
    assert (np.diff(moved.frame) >= 0).all()
    assert_same(moved.shifted([-a, -b]), found)


def test_empty_detections_have_no_frames() -> None:
    nothing = Detections.empty(("top",))
    assert len(nothing) == 0
    assert len(nothing.frames) == 0
    assert nothing.offsets.tolist() == [0]
