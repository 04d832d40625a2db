"""Groups that tracks were made of, against the detections that truth names."""

import numpy as np
import pytest

from trackfish3d.evaluation.association import association_of_tracks
from trackfish3d.recordings import Tracks, Truth

CAMERAS = ("left", "right")
# Two frames, two animals, detections 0..7: rows of each animal in each view.
SHOWN = np.array([[0, 2], [1, 3], [4, 6], [5, 7]])
FRAME, WHO, NOWHERE = [0, 0, 1, 1], [0, 1, 0, 1], np.zeros((4, 3))


def truth(shown=SHOWN):
    return Truth.build(FRAME, WHO, NOWHERE, cameras=CAMERAS, detection=shown)


def tracks(used):
    return Tracks.build(FRAME, WHO, NOWHERE, detection=used, cameras=CAMERAS)


def test_right_groups_score_one():
    scores = association_of_tracks(tracks(SHOWN), truth())
    assert (scores.pairs.precision, scores.pairs.recall, scores.exact_group_accuracy) == (1, 1, 1)


def test_a_crossed_frame_and_a_missing_view():
    crossed = np.array([[0, 3], [1, 2], [4, 6], [5, -1]])  # frame 0 crossed; in frame 1 one pair right, one missing
    scores = association_of_tracks(tracks(crossed), truth())
    assert scores.pairs.precision == pytest.approx(1 / 3)
    assert scores.pairs.recall == pytest.approx(1 / 4)
    assert scores.exact_group_accuracy == pytest.approx(1 / 4)


def test_a_merged_blob_belongs_to_both():
    merged = np.array([[0, 2], [1, 2], [4, 6], [5, 7]])
    scores = association_of_tracks(tracks(np.array([[0, -1], [1, 2], [4, 6], [5, 7]])), truth(merged))
    assert scores.pairs.precision == 1


def test_without_detections_there_is_no_score():
    assert association_of_tracks(Tracks.build(FRAME, WHO, NOWHERE), truth()) is None
    assert association_of_tracks(tracks(SHOWN), Truth.build(FRAME, WHO, NOWHERE)) is None
