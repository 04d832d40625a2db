"""Tables are selected, joined, shown and given to pandas in one way."""

import sys

import numpy as np
import pytest

from trackfish3d.core.errors import InputError, MissingExtraError
from trackfish3d.recordings import Detections, Recording, Tracks, Truth

from .worlds import assert_same, make_rig, random_detections


def some_tracks(frames: range, tracks: tuple[int, ...] = (4, 1)) -> Tracks:
    frame, track = (a.ravel() for a in np.meshgrid(frames, tracks, indexing="ij"))
    position = np.column_stack([frame, track, frame + track])
    detection = np.column_stack([frame, -np.ones(len(frame))])
    return Tracks.build(frame, track, position, detection=detection, cameras=("top", "front"))


def test_pieces_joined_in_any_order_are_the_whole():
    rng = np.random.default_rng(3)
    whole = random_detections(3)
    part = rng.integers(0, 3, len(whole))
    pieces = [whole.select(part == k) for k in (2, 0, 1)]
    joined = Detections.concat(pieces)
    key = np.lexsort((whole.u, whole.camera, whole.frame))
    other = np.lexsort((joined.u, joined.camera, joined.frame))
    for name, column in whole.columns().items():
        np.testing.assert_array_equal(column[key], joined.columns()[name][other])
    assert (np.diff(joined.frame) >= 0).all()
    assert_same(Detections.concat([whole]), whole)


def test_a_column_survives_only_where_every_part_has_it():
    plain = Detections.build(["a", "b"], [0, 1], [0, 1], [1.0, 2], [3.0, 4])
    masks = Detections.build(
        ["a", "b"], [1], [0], [1.0], [2.0], area=[9.0], angle=[0.1], major=[2.0], minor=[1.0]
    )  # fmt: skip
    both = Detections.concat([masks, plain])
    assert not both.has_moments
    assert (both.frame.tolist(), both.camera.tolist()) == ([0, 1, 1], [0, 0, 1])
    assert Detections.concat([masks, masks]).has_moments


def test_what_cannot_be_one_table_is_refused():
    with pytest.raises(ValueError, match="different cameras"):
        Detections.concat([Detections.empty(["a"]), Detections.empty(["b"])])
    with pytest.raises(ValueError, match="no tables"):
        Tracks.concat([])
    with pytest.raises(InputError, match=r"here: track 1 has two points in frame 5$"):
        Tracks.concat([some_tracks(range(3, 6), (1,)), some_tracks(range(5, 7))], "here")
    truth = Truth.build([0, 1], [7, 7], np.zeros((2, 3)))
    with pytest.raises(InputError, match="identity 7 is twice in frame 0"):
        Truth.concat([truth, truth])


def test_a_table_says_in_one_line_what_it_is():
    tracks = some_tracks(range(10, 1010))
    assert repr(tracks) == "<Tracks: 2 tracks, 2,000 rows, frames 10 to 1009, cameras top, front>"
    assert repr(Detections.empty(["a"])) == "<Detections: 0 rows, cameras a>"
    assert repr(Truth.build([3], [1], [[0, 0, 0]])) == "<Truth: 1 animals, 1 rows, frames 3 to 3>"


def test_a_data_frame_has_a_column_for_every_number():
    pytest.importorskip("pandas")
    tracks = some_tracks(range(2))
    frame = tracks.to_pandas()
    assert frame.columns.tolist()[:5] == ["frame", "track", "x", "y", "z"]
    np.testing.assert_array_equal(frame[["x", "y", "z"]].to_numpy(), tracks.position)
    assert frame["detection_top"].tolist() == [0, 0, 1, 1]
    seen = Detections.build(["top", "front"], [0, 0], [0, 1], [1.0, 2], [3.0, 4]).to_pandas()
    assert seen["camera"].tolist() == ["top", "front"]


def test_without_pandas_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'trackfish3d\[pandas\]'"):
        some_tracks(range(2)).to_pandas()


def test_a_recording_keeps_its_tables_until_they_are_written(tmp_path):
    recording = Recording.create(tmp_path / "rec", make_rig(), detections=random_detections(1))
    recording.write_tracks(some_tracks(range(2)))
    first = recording.tracks
    assert recording.tracks is first
    recording.write_tracks(some_tracks(range(3)))
    assert len(recording.tracks) == 6
    seen = recording.detections
    assert recording.detections is seen
    recording.forget()
    assert recording.detections is not seen
    shown = f"<Recording {tmp_path / 'rec'}: {len(recording.rig)} cameras, {recording.info.frame_count} frames at 30/s"
    assert repr(recording) == f"{shown}, {len(seen)} detections, {recording.units}>"
