"""Gap filling, ghosts and names."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trackfish3d.methods.postprocess import fill_gaps, postprocess, relabel, remove_ghosts
from trackfish3d.recordings import Tracks


def line(frames, track=0, speed=(1.0, 2.0, -1.0), **columns):
    frames = np.asarray(frames)
    return Tracks.build(frames, np.full(len(frames), track), frames[:, None] * np.array(speed), **columns)


@settings(max_examples=50, deadline=None)
@given(frames=st.sets(st.integers(0, 60), min_size=2, max_size=30), max_gap=st.integers(0, 20))
def test_filled_points_lie_on_the_line_and_long_gaps_stay(frames, max_gap):
    frames = sorted(frames)
    filled = fill_gaps(line(frames), max_gap)
    np.testing.assert_allclose(filled.position, filled.frame[:, None] * np.array([1.0, 2.0, -1.0]), atol=1e-9)
    want = set(frames)
    for a, b in pairwise(frames):
        if b - a <= max_gap:
            want |= set(range(a, b))
    assert filled.frame.tolist() == sorted(want)
    assert filled.frame[filled.observed].tolist() == frames


def test_an_added_point_claims_no_view():
    tracks = line([0, 2], detection=[[3, -1], [5, 6]], cameras=("a", "b"), error_px=[1.0, 2.0])
    filled = fill_gaps(tracks, 5)
    assert filled.observed.tolist() == [True, False, True]
    assert filled.views.tolist() == [1, 0, 2]
    assert filled.detection.tolist() == [[3, -1], [-1, -1], [5, 6]]
    assert np.isnan(filled.error_px[1])
    assert np.isnan(filled.covariance[1]).all()


def test_gaps_are_filled_within_a_track_only():
    two = Tracks.build([0, 4, 1, 2], [0, 1, 1, 0], np.zeros((4, 3)))
    filled = fill_gaps(two, 10)
    assert sorted(zip(filled.track.tolist(), filled.frame.tolist(), strict=True)) == [
        (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (1, 3), (1, 4),
    ]  # fmt: skip


def test_ghosts_are_counted_by_observed_points():
    tracks = Tracks.build([0, 1, 0, 1, 2], [4, 4, 5, 5, 5], np.zeros((5, 3)), observed=[True, True, True, False, False])
    assert set(remove_ghosts(tracks, 2).track.tolist()) == {4}
    assert set(remove_ghosts(tracks, 1).track.tolist()) == {4, 5}


def test_tracks_are_named_by_first_appearance():
    tracks = Tracks.build([5, 0, 0, 3], [1, 9, 7, 3], np.zeros((4, 3)))
    assert relabel(tracks).track.tolist() == [0, 1, 2, 3]
    assert relabel(tracks).frame.tolist() == [0, 0, 3, 5]


def test_nothing_stays_nothing():
    empty = Tracks.build([], [], [], cameras=("a",))
    assert len(postprocess(empty)) == 0
    assert postprocess(empty).detection.shape == (0, 1)
