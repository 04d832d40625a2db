"""How far each camera is off, before anything is known of bodies: from how far its rays pass those of every other.

A camera whose calibration is wrong passes all others by far, while those that are right pass each other closely. Known
from the start, it does not draw first points to itself, from which what is learnt later would not come away.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import CameraRig
from .segments import Segment, Sightings

Array = NDArray[np.float64]
ENOUGH = 20  # pairs of rays that tell something of a pair of cameras
PARALLEL = 1e-3  # squared sine of the angle of rays below which they tell nothing
NEAR = 0.05  # of the usual distance: rays that meet there have a common origin, and meet always
STEPS = 200  # of expectation and maximisation, each a few operations
FLOOR_PX = 0.5


def first_noise(rig: CameraRig, sightings: Sightings, segments: list[Segment]) -> Array:
    """Guess a first noise (C,) px of each camera.

    Parameters
    ----------
    rig : the cameras.
    sightings : parts of all detections.
    segments : some animals, as the tracker left them.
    """
    views = len(rig)
    wide = 0.01 * np.array([float(camera.size[0]) for camera in rig])
    gaps, counts = np.zeros((views, views)), np.zeros((views, views))
    middle = np.concatenate([s.middle for s in segments]) if segments else np.zeros((0, 3))
    pixel = np.array([_units_per_pixel(rig, c, middle) for c in range(views)])
    for a, b in combinations(range(views), 2):
        gap = np.concatenate([_gaps(sightings, s, a, b) for s in segments]) if segments else np.zeros(0)
        counts[a, b] = counts[b, a] = len(gap) if len(gap) >= ENOUGH else 0
        if len(gap) >= ENOUGH:
            gaps[a, b] = gaps[b, a] = (float(np.median(gap)) / 0.6745) ** 2
    shares = variance_shares(gaps, counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.sqrt(shares) / pixel
    return np.where(np.isfinite(found), np.maximum(found, FLOOR_PX), wide)


def variance_shares(gaps: Array, counts: Array) -> Array:
    """Variances (C,) whose sums, by pairs, are likeliest to have made the variances (C, C) of what lies between them.

    Normal, by expectation and maximisation; NaN for those that nothing tells of.

    Parameters
    ----------
    gaps : (C, C) variance of the difference of two; symmetric.
    counts : (C, C) of how many differences, 0 for none; symmetric, 0 on the diagonal.
    """
    weight = np.minimum(counts, counts.max(initial=1.0))
    total = weight.sum(1)
    share = np.where(total > 0, (weight * gaps).sum(1) / np.maximum(2 * total, 1e-300), np.nan)
    floor = 1e-6 * np.nanmax(share, initial=1e-300)
    share = np.maximum(share, floor)
    for _ in range(STEPS):
        both = share[:, None] + share[None]
        part = share[:, None] / both
        expected = part**2 * gaps + part * share[None]
        summed = np.where(weight > 0, weight * np.nan_to_num(expected), 0.0).sum(1)
        share = np.where(total > 0, np.maximum(summed / np.maximum(total, 1e-300), floor), np.nan)
    return share


def _gaps(sightings: Sightings, segment: Segment, a: int, b: int) -> Array:
    """Distances (N,), world units, between the rays of two views to the same part, where they meet before both."""
    rows, taken = segment.rows[:, [a, b]], segment.taken[:, [a, b]]
    both = (rows >= 0).all(1)
    one, two = (rows[:, i][both] for i in (0, 1))
    k1, k2 = (taken[:, i][both] for i in (0, 1))
    o1, d1 = sightings.origin[one, k1], sightings.direction[one, k1]
    o2, d2 = sightings.origin[two, k2], sightings.direction[two, k2]
    along, across = (d1 * d2).sum(-1), o2 - o1
    sine = 1 - along**2
    near, far = (d1 * across).sum(-1), (d2 * across).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        s, t = (near - along * far) / sine, (along * near - far) / sine
        apart = np.linalg.norm(across + t[:, None] * d2 - s[:, None] * d1, axis=-1)
    usual = np.linalg.norm(np.repeat(segment.middle[:, None], rows.shape[2], 1)[both] - o1, axis=-1)
    good = (sine > PARALLEL) & (s > NEAR * usual) & (t > NEAR * usual) & np.isfinite(apart)
    out: Array = apart[good]
    return out


def _units_per_pixel(rig: CameraRig, c: int, middle: Array) -> float:
    """World units that a pixel of a camera is wide where the animals are; NaN where it sees none of them."""
    at = rig[c].project(middle)
    step = 1e-4 * float(np.linalg.norm(np.nanstd(middle, axis=0)) + np.abs(middle).mean()) if len(middle) else 1.0
    moved = np.stack([np.linalg.norm(rig[c].project(middle + step * e) - at, axis=-1) for e in np.eye(3)])
    scale = np.sqrt((moved**2).sum(0) / 2) / step  # of three axes, one looks at the camera
    scale = scale[np.isfinite(scale) & (scale > 0)]
    return 1 / float(np.median(scale)) if len(scale) else float("nan")
