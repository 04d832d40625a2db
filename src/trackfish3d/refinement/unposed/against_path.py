"""What is given and what is placed so far; the path that placed cameras agree on, and a camera placed against it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...calibration.opencv import opencv
from ...cameras import Camera
from .reading import Sighting2D
from .views import Pairing, View

Array = NDArray[np.float64]
LEAST_SEEN = 60
OFTEN = 0.05  # of a camera's sights that must lie on the path of the others
INLIER = 8.0  # px, of a camera against the path


@dataclass
class Scene:
    """What was given: names, cameras, sights, views and frame rates of all cameras, in one order."""

    names: list[str]
    cameras: list[Camera]
    sights: list[Sighting2D]
    views: list[View]
    rates: list[float]
    synchronous: bool
    guessed: bool
    pairs: dict[tuple[int, int], Pairing]

    @property
    def within_px(self) -> float:
        """Largest error of a point of the path: wide where focal lengths are guesses."""
        return 100.0 if self.guessed else 3 * INLIER


@dataclass
class Placed:
    """What is known so far: cameras by index with pose (3, 4) and clock (scale, shift) to the reference's frames."""

    pose: dict[int, Array]
    clock: dict[int, tuple[float, float]]
    reference: int


def agreed_path(placed: Placed, views: list[View], within_px: float) -> tuple[Array, Array]:
    """Return times (T,) of the reference's clock and points (T, 3) that two placed cameras or more agree on."""
    ordered = list(placed.pose)
    times = np.unique(
        np.concatenate([np.round(placed.clock[k][0] * views[k].frame + placed.clock[k][1], 3) for k in ordered[:2]])
    )
    A = np.zeros((len(times), 4, 4))
    count = np.zeros(len(times), int)
    rays = {}
    for k in ordered:
        scale, shift = placed.clock[k]
        ray, known = views[k].at((times - shift) / scale)
        rays[k] = (ray, known)
        P = placed.pose[k]
        for e in range(2):
            row = ray[:, e, None] * P[2] - P[e]
            row[~known] = 0.0
            A += row[:, :, None] * row[:, None, :]
        count += known
    good = count >= 2
    points = np.full((len(times), 3), np.nan)
    if good.any():
        null = np.linalg.eigh(A[good])[1][:, :, 0]
        points[good] = null[:, :3] / null[:, 3:]
    for k in ordered:
        ray, known = rays[k]
        x = points @ placed.pose[k][:, :3].T + placed.pose[k][:, 3]
        with np.errstate(invalid="ignore", divide="ignore"):
            off = np.linalg.norm(x[:, :2] / x[:, 2:] - ray, axis=1) * views[k].focal
            bad = known & good & ~((off < within_px) & (x[:, 2] > 0))
        good &= ~bad
    return times[good], points[good]


def possible_clocks(k: int, placed: Placed, scene: Scene) -> list[tuple[float, float]]:
    """Clocks that camera `k` may have, by its pairs with placed ones: own frame = scale x time + shift."""
    if scene.synchronous:
        return [(1.0, 0.0)]
    out = []
    for j, (a, b) in placed.clock.items():
        if (j, k) in scene.pairs:
            pair = scene.pairs[j, k]
            out.append((pair.scale / a, pair.shift - pair.scale * b / a))
        elif (k, j) in scene.pairs:
            pair = scene.pairs[k, j]
            out.append((1 / (a * pair.scale), -(b / a + pair.shift) / pair.scale))
    return out


def resect(
    view: View, time: Array, path: Array, scale: float, shift: float
) -> tuple[Array, tuple[float, float], int] | None:
    """Pose of a camera against a known path under a clock: RANSAC of OpenCV; with that clock and the sights it fits."""
    ray, known = view.at(scale * time + shift)
    if known.sum() < LEAST_SEEN:
        return None
    cv2 = opencv()
    cv2.setRNGSeed(1)
    ok, turn, move, inliers = cv2.solvePnPRansac(
        path[known],
        ray[known],
        np.eye(3),
        None,
        iterationsCount=500,
        reprojectionError=INLIER / view.focal,
        confidence=0.9999,
        flags=cv2.SOLVEPNP_EPNP,
    )
    if (
        known.sum() < OFTEN * len(view.frame)
        or not ok
        or inliers is None
        or len(inliers) < max(LEAST_SEEN // 2, 0.4 * known.sum())
    ):
        return None
    kept = np.flatnonzero(known)[inliers.ravel()]
    turn, move = cv2.solvePnPRefineLM(path[kept], ray[kept], np.eye(3), None, turn, move)
    pose = np.column_stack([cv2.Rodrigues(turn)[0], move.ravel()])
    return pose, (1 / scale, -shift / scale), len(kept)
