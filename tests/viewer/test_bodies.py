"""Headings and poses that the page is sent."""

import struct
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

import trackfish3d as tf
from trackfish3d.recordings import Poses, Recording, Tracks
from trackfish3d.recordings.edits import Editor
from trackfish3d.viewer import seen
from trackfish3d.viewer.headings import REACH, headings
from trackfish3d.viewer.store import Store

from .scenes import schooled


def test_headings_are_directions_of_straight_lines_where_the_way_is_longer_than_the_error():
    rng = np.random.default_rng(3)
    frames, way = np.arange(40), np.array([2.0, -1.0, 2.0]) / 3
    moving = 5.0 + frames[:, None] * 0.3 * way
    resting = np.array([1.0, 2.0, 3.0]) + rng.normal(0, 0.05, (40, 3))
    gap = np.r_[0:15, 22:40]  # a path with a hole in it
    frame = np.concatenate([frames, frames, frames[gap]])
    track = np.repeat([7, -2, 30], [40, 40, len(gap)])
    place = np.concatenate([moving, resting, moving[gap] + 100])
    mixed = rng.permutation(len(frame))
    found = headings(frame[mixed], track[mixed], place[mixed], np.full(len(frame), 0.1), 1.0)
    for name in (7, 30):
        np.testing.assert_allclose(
            found[track[mixed] == name], np.broadcast_to(way, ((track == name).sum(), 3)), atol=1e-9
        )
    assert np.isnan(found[track[mixed] == -2]).all()
    for k in rng.integers(0, 40, 10):  # NumPy's own fit of the same window
        noisy = moving + rng.normal(0, 0.02, moving.shape)
        near = np.abs(frames - k) <= REACH
        slope = np.polyfit(frames[near], noisy[near], 1)[0]
        one = headings(frames, np.zeros(40, int), noisy, np.full(40, 0.02), 1.0)[k]
        np.testing.assert_allclose(one, slope / np.linalg.norm(slope), atol=1e-9)
    assert headings(frames[:0], frames[:0], moving[:0], frames[:0] * 1.0, 1.0).shape == (0, 3)
    assert np.isnan(headings(frames[:1], frames[:1], moving[:1], np.ones(1), 1.0)).all()


@pytest.fixture(scope="module")
def school(tmp_path_factory) -> Recording:
    return schooled(tmp_path_factory.mktemp("bodies") / "rec")


def bodies(content: bytes, cameras: int, parts: int):
    """Names, frames, (N, K, 4) parts and (C, N, K, 2) pixels of a chunk."""
    _, n, c, k = struct.unpack_from("<IIII", content)
    assert (c, k) == (cameras, parts)
    name, frame = np.frombuffer(content, "<f8", n, 16), np.frombuffer(content, "<i4", n, 16 + 8 * n)
    rest = np.frombuffer(content, "<f4", offset=16 + 12 * n).reshape(-1, n)
    assert len(rest) == parts * (4 + 2 * cameras)
    place = rest[: 4 * parts].T.reshape(n, parts, 4)
    pixels = rest[4 * parts :].reshape(cameras, parts, 2, n).transpose(0, 3, 1, 2)
    return name, frame, place, pixels


def test_bodies_follow_their_tracks_through_edits_and_are_seen_through_the_water(school):
    store, poses = Store(school), school.poses
    assert store.meta()["skeleton"]["parts"] == poses.skeleton.parts
    name, frame, place, pixels = bodies(store.poses(0), len(school.rig), len(poses.skeleton))
    here = poses.select(poses.frame < store.chunk_frames)
    np.testing.assert_array_equal(name, here.track)
    np.testing.assert_array_equal(frame, here.frame)
    np.testing.assert_allclose(place[..., :3], here.position, rtol=1e-5, atol=1e-4)
    for k, camera in enumerate(school.rig):
        expected = camera.project(here.position.reshape(-1, 3)).reshape(*here.position.shape[:2], 2)
        np.testing.assert_allclose(pixels[k], expected, rtol=1e-4, atol=1e-2)
    editor = Editor(school)
    editor.swap(0, 1, 10)
    editor.delete(2, 5, 8)
    name, frame, place, _ = bodies(store.poses(0), len(school.rig), len(poses.skeleton))
    late = place[(name == 0) & (frame == 12), :, :3][0]
    np.testing.assert_allclose(late, here.position[(here.track == 1) & (here.frame == 12)][0], rtol=1e-5, atol=1e-4)
    assert not ((name == 2) & (frame >= 5) & (frame <= 8)).any()
    assert ((name == 2) & (frame == 9)).sum() == 1
    editor.undo()
    editor.undo()


def test_parts_of_detections_come_with_them_from_memory_and_by_rows(school, monkeypatch):
    first, last = 7, 12
    rows, kept = seen.SeenRows(school).between(first, last)
    monkeypatch.setattr(seen, "IN_MEMORY", 0)
    few, read = seen.SeenRows(school).between(first, last)
    np.testing.assert_array_equal(rows, few)
    np.testing.assert_array_equal(kept.parts[..., :2].astype("f4"), read.parts[..., :2].astype("f4"))
    content = Store(school).detections(first)
    _, n, _, k = struct.unpack_from("<IIII", content)
    columns = np.frombuffer(content, "<f4", offset=16 + 20 * n).reshape(-1, n)
    assert len(columns) == 7 + 2 * k
    every = school.detections
    np.testing.assert_array_equal(columns[7:].T.reshape(n, k, 2), every.parts[:n, :, :2].astype("f4"))


def test_a_recording_without_poses_or_with_broken_ones(school, tmp_path):
    bare = Recording.create(tmp_path / "bare", school.rig, frames=(0, 5))
    bare.write_tracks(Tracks.build([0], [3], np.zeros((1, 3)), cameras=school.rig.names))
    store = Store(bare)
    assert store.meta()["skeleton"] is None
    assert struct.unpack_from("<IIII", store.poses(0))[1] == 0
    bare.write_poses(replace(school.poses).select(school.poses.frame < 3))
    path = bare.folder / "poses.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(tf.InputError, match=r"poses\.parquet: is not a complete Parquet file"):
        Store(bare).poses(0)
    table = school.poses.to_table()
    pq.write_table(table.replace_schema_metadata({}), path)
    assert Store(bare).meta()["skeleton"] is None
    assert isinstance(school.poses, Poses)
