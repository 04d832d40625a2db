"""Whether the cameras see through water that the calibration does not know of."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..cameras import Camera, CameraRig, Interface, triangulate_rays
from .agreement import Sample, pair_errors

WATER = 1.333
_STEPS = 9
_ROUNDS = 3


@dataclass(frozen=True)
class Water:
    """Mean error in px without and with a guessed flat surface before each camera, and the guess in words."""

    without_px: float
    with_px: float
    surfaces: tuple[str, ...]

    @property
    def missing(self) -> bool:
        """Whether the guess explains the cameras so much better that there must be water."""
        return self.with_px < 0.75 * self.without_px and self.without_px - self.with_px > 1.0


def mean_error(sample: Sample, cameras: list[Camera]) -> float:
    """Mean matched error in px over all pairs of cameras."""
    n = len(cameras)
    errors = [pair_errors(sample, cameras[a], cameras[b], a, b).error for a in range(n) for b in range(a + 1, n)]
    every = np.concatenate(errors) if errors else np.zeros(0)
    return float(every.mean()) if len(every) else np.nan


def guess_water(sample: Sample, rig: CameraRig) -> Water:
    """Try a flat surface across the world axis that each camera looks along, at the distance that fits best.

    The surface of a tank and its glass are square to the axes of nearly every rig's world, and refraction through a
    slightly wrong plane is still far better than none: enough to tell that water is missing, not to calibrate it.
    """
    bare = [camera.without_water() for camera in rig]
    start = mean_error(sample, bare)
    depth = _depth_of_animals(sample, bare)
    cameras = list(bare)
    best = start
    chosen: list[tuple[int, float] | None] = [None] * len(bare)
    width = np.full(len(bare), 0.5)
    share = np.full(len(bare), 0.5)
    for _ in range(_ROUNDS):
        for c, camera in enumerate(bare):
            axis, sign = _axis_of_sight(camera)
            for s in np.clip(share[c] + width[c] * np.linspace(-1, 1, _STEPS), 0.02, 0.99):
                height = s * depth[c]
                point = camera.centre.copy()
                point[axis] += sign * height
                normal = np.zeros(3)
                normal[axis] = -sign
                trial = replace(camera, interfaces=(Interface(point, normal, 1.0, WATER),))
                error = mean_error(sample, [*cameras[:c], trial, *cameras[c + 1 :]])
                if error < best - 1e-9:
                    best, cameras[c], chosen[c], share[c] = error, trial, (axis, float(point[axis])), s
        width /= 3
    words = tuple(
        f"{camera.name}: near {'xyz'[choice[0]]} = {choice[1]:.3g}"
        for camera, choice in zip(bare, chosen, strict=True)
        if choice is not None
    )
    return Water(start, best, words)


def _axis_of_sight(camera: Camera) -> tuple[int, float]:
    """World axis that the camera looks along most, and in which direction."""
    sight = camera.R[2]
    axis = int(np.argmax(np.abs(sight)))
    return axis, float(np.sign(sight[axis]))


def _depth_of_animals(sample: Sample, cameras: list[Camera]) -> NDArray[np.float64]:
    """(C,) distance of the nearest animals from each camera along its axis of sight, world units."""
    points = []
    for b in range(1, len(cameras)):
        m = pair_errors(sample, cameras[0], cameras[b], 0, b)
        ra = cameras[0].rays(sample.detections.centroids[m.first])
        rb = cameras[b].rays(sample.detections.centroids[m.second])
        origins = np.stack([ra.origin, rb.origin], 1).reshape(-1, 3)
        directions = np.stack([ra.direction, rb.direction], 1).reshape(-1, 3)
        points.append(triangulate_rays(origins, directions, np.arange(len(m.error) + 1) * 2)[0])
    found = np.concatenate(points)
    found = found[np.isfinite(found).all(1)]
    depth = []
    for camera in cameras:
        axis, sign = _axis_of_sight(camera)
        along = sign * (found[:, axis] - camera.centre[axis])
        depth.append(max(float(np.quantile(along, 0.5)), 1e-6) if len(along) else 1.0)
    return np.array(depth)
