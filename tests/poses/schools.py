"""Small schools with parts, kept between tests."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trackfish3d.cameras import CameraRig
from trackfish3d.recordings import Detections, Poses, Tracks, Truth
from trackfish3d.synfish.detector import make_detector
from trackfish3d.synfish.observe import observe
from trackfish3d.synfish.pose_detector import FISH, Failures, see_parts, true_poses
from trackfish3d.synfish.presets import preset
from trackfish3d.synfish.rigs import common_point, random_rig
from trackfish3d.synfish.school import Water, simulate_school

LENGTH = 2.0
PARTS = FISH.parts


@dataclass(frozen=True)
class Made:
    rig: CameraRig
    detections: Detections
    truth: Poses
    bodies: Truth


@lru_cache
def school(fish: int, frames: int, seed: int = 5, **failures: float) -> Made:
    """A school of fish of two units, and what a pose detector says of it."""
    rig = random_rig(3, seed)
    water = Water.around(common_point(rig), np.array([8.0, 8.0, 6.0]))
    made = simulate_school(preset("milling").model_copy(update={"length": LENGTH}), water, fish, frames, seed, 0)
    detections, truth = observe(made, rig, make_detector("detector", fish, 3, seed))
    poses = true_poses(made)
    return Made(rig, see_parts(detections, truth, poses, rig, seed, Failures(**failures)), poses, truth)


def perfect_tracks(made: Made) -> Tracks:
    """Tracks that know who is who."""
    truth = made.bodies
    assert truth.detection is not None
    shared = np.unique(truth.detection, return_counts=True)
    double = shared[0][(shared[1] > 1) & (shared[0] >= 0)]
    rows = np.where(np.isin(truth.detection, double), -1, truth.detection)
    return Tracks.build(truth.frame, truth.identity, truth.position, detection=rows, cameras=made.rig.names)


def matched(poses: Poses, truth: Poses) -> tuple[np.ndarray, np.ndarray]:
    """Errors (N, K) and squared errors in sigmas, infinite where a part is left out; tracks are called like animals."""
    place = {k: n for n, k in enumerate(zip(poses.frame.tolist(), poses.track.tolist(), strict=True))}
    rows = np.array([place[k] for k in zip(truth.frame.tolist(), truth.track.tolist(), strict=True)])
    off = poses.position[rows] - truth.position
    there = np.isfinite(off).all(-1)
    cov = np.where(there[..., None, None], poses.covariance[rows], np.eye(3))
    far = np.einsum("nki,nkij,nkj->nk", np.nan_to_num(off), np.linalg.inv(cov), np.nan_to_num(off))
    return np.where(there, np.linalg.norm(np.nan_to_num(off), axis=-1), np.inf), far
