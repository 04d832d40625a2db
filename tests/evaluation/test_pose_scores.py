"""Scores of poses by hand."""

import numpy as np
import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.evaluation.pose_scores import score_poses
from trackfish3d.recordings import Poses, Skeleton

SHAPE = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
SKELETON = Skeleton(("a", "b", "c"), ((0, 1), (1, 2)))


def poses(shift: np.ndarray, tracks: list[int], skeleton: Skeleton = SKELETON) -> Poses:
    """Four frames of two animals ten apart; shift (4, 2, 3, 3)."""
    position = SHAPE + np.array([[0, 0, 0], [0, 10, 0]])[:, None] + shift
    cov = np.broadcast_to(np.eye(3) * 0.01, (8, 3, 3, 3))
    return Poses.build(np.repeat(np.arange(4), 2), tracks, position.reshape(8, 3, 3), skeleton, covariance=cov)


def test_limbs_parts_and_sigmas() -> None:
    truth = poses(np.zeros((4, 2, 3, 3)), [0, 1] * 4)
    shift = np.zeros((4, 2, 3, 3))
    shift[0, 0, 1, 2] = 0.6  # of both limbs of b, the errors stay below the length
    shift[1, 0, 0, 2] = 0.7
    shift[1, 0, 1, 2] = 0.7  # a - b is wrong, b - c is not
    shift[2, 1, 2] = np.nan
    found = poses(shift, [7, 8] * 4)
    scores = score_poses(truth, found)
    np.testing.assert_allclose(scores.pcp, [[0.75, 1.0], [1.0, 0.75]])
    assert scores.mean_pcp == pytest.approx(0.875)
    assert scores.mpjpe == pytest.approx((0.6 + 0.7 + 0.7) / 23)
    assert scores.size == pytest.approx(2.0)
    np.testing.assert_allclose(scores.pck(0.05), [7 / 8, 6 / 8, 7 / 8])
    np.testing.assert_allclose(scores.within(2), [7 / 8, 6 / 8, 1.0])
    assert scores.switches == 0
    assert scores.idf1 == pytest.approx(1.0)


def test_switches_and_animals_that_were_not_found() -> None:
    truth = poses(np.zeros((4, 2, 3, 3)), [0, 1] * 4)
    found = poses(np.zeros((4, 2, 3, 3)), [0, 1, 0, 1, 1, 0, 1, 0])
    scores = score_poses(truth, found)
    assert scores.switches == 2
    assert scores.idf1 == pytest.approx(0.5)
    lone = score_poses(truth, found.select(found.track == 0))
    assert lone.to_dict()["found"] == pytest.approx(0.5)
    none = score_poses(truth, found.select(found.track == 9))
    assert none.mean_pcp == 0
    assert none.to_dict()["found"] == 0


def test_parts_that_nobody_else_has() -> None:
    truth = poses(np.zeros((4, 2, 3, 3)), [0, 1] * 4)
    with pytest.raises(InputError, match="no part is in both"):
        score_poses(truth, poses(np.zeros((4, 2, 3, 3)), [0, 1] * 4, Skeleton(("x", "y", "z"))))
