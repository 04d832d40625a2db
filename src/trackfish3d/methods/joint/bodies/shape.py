"""The shape of a body as a matrix, which every camera sees by a linear formula.

A body is an ellipsoid with the matrix S = sum of a a' over its three semi-axes a, world units^2. Near the body a camera
is linear with Jacobian J (2, 3), and the ellipsoid's outline is the ellipse of the matrix M = J S J', px^2: half the
width of its box is sqrt(M00), half the height sqrt(M11), and a mask has M itself. All of these are linear in the six
numbers of S, so that boxes and masks of any number of views are absorbed by a linear filter, without signs or angles to
be guessed. What is usual in a recording is a Gaussian over these six numbers: that a body seen end-on in one view must
be long in another is in its covariance.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.compiled import kernel
from ....recordings.detections import Detections

Array = NDArray[np.float64]
ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Row and column of S that each of its six numbers stands for."""
ASPECT = 0.25  # thickness over length, before anything is fitted
SIZES = 0.3  # deviation of sizes among animals, as a share
FIRST_NOISE = 0.1  # of an outline's entries, before it is fitted
_LEAST = 0.03  # deviation of every entry, as a share of the square of half the length: bodies bend
_LOG_2PI = math.log(2.0 * math.pi)


class BodyShape(NamedTuple):
    """What is usual: mean (6,) and covariance (6, 6) of S, world units^2 and ^4.

    noise : standard deviation of a view's entries of M, as a share of their mean size m = (M00 + M11) / 2; of M00 and
        M11 as a share of the root of m and themselves, since sides err by a share of the size.
    """

    mean: Array
    cov: Array
    noise: float


def any_direction(length: float) -> BodyShape:
    """Return bodies of this length, world units, that point anywhere."""
    long, thick = (0.5 * length) ** 2, (0.5 * ASPECT * length) ** 2
    unit = np.eye(3)
    mean = np.array([(thick + (long - thick) / 3.0) * unit[i, j] for i, j in ENTRIES])
    cov = np.empty((6, 6))
    for a, (i, j) in enumerate(ENTRIES):  # fourth moments of a direction spread evenly over the sphere
        for b, (k, m) in enumerate(ENTRIES):
            moment = unit[i, j] * unit[k, m] + unit[i, k] * unit[j, m] + unit[i, m] * unit[j, k]
            cov[a, b] = (long - thick) ** 2 * (moment / 15.0 - unit[i, j] * unit[k, m] / 9.0)
    cov += SIZES**2 * np.outer(mean, mean) + (_LEAST * long) ** 2 * np.eye(6)
    return BodyShape(mean, cov, FIRST_NOISE)


def outlines(detections: Detections) -> Array:
    """(N, 3) entries M00, M11 and M01 of each detection's outline, px^2; M01 is NaN where there is no mask.

    The variance of a full ellipse along an axis is a quarter of that semi-axis' square.
    """
    wide, high = 0.5 * (detections.x2 - detections.x1), 0.5 * (detections.y2 - detections.y1)
    out = np.column_stack([wide**2, high**2, np.full(len(wide), np.nan)])
    if detections.angle is not None and detections.major is not None and detections.minor is not None:
        cos, sin = np.cos(detections.angle), np.sin(detections.angle)
        long, thick = 4.0 * detections.major**2, 4.0 * detections.minor**2
        out[:, 0], out[:, 1] = long * cos**2 + thick * sin**2, long * sin**2 + thick * cos**2
        out[:, 2] = (long - thick) * sin * cos
    return out


@kernel
def outline_row(J: Array, entry: int, row: Array) -> None:
    """Fill row (6,) so that its product with S is an entry of M: 0 for M00, 1 for M11, 2 for M01."""
    a = 1 if entry == 1 else 0
    b = 0 if entry == 0 else 1
    row[0], row[3], row[5] = J[a, 0] * J[b, 0], J[a, 1] * J[b, 1], J[a, 2] * J[b, 2]
    row[1] = J[a, 0] * J[b, 1] + J[a, 1] * J[b, 0]
    row[2] = J[a, 0] * J[b, 2] + J[a, 2] * J[b, 0]
    row[4] = J[a, 1] * J[b, 2] + J[a, 2] * J[b, 1]


@kernel
def absorb_entry(mean: Array, cov: Array, row: Array, value: float, variance: float) -> float:
    """Update the mean (6,) and covariance (6, 6) of S in place by one entry of an outline; returns its log density."""
    gain = np.empty(6)
    off, total = value, variance
    for i in range(6):
        gain[i] = 0.0
        for j in range(6):
            gain[i] += cov[i, j] * row[j]
        off -= row[i] * mean[i]
        total += row[i] * gain[i]
    for i in range(6):
        mean[i] += gain[i] * off / total
        for j in range(6):
            cov[i, j] -= gain[i] * gain[j] / total
    return -0.5 * (off * off / total + math.log(total) + _LOG_2PI)


@kernel
def absorb_outline(mean: Array, cov: Array, J: Array, outline: Array, noise: float, row: Array) -> float:
    """Update the mean and covariance of S in place by an outline (3,); returns its log density.

    Entries that are NaN say nothing. noise : as in `BodyShape`; row : (6,) is overwritten.
    """
    wide, high = outline[0], outline[1]
    if math.isnan(wide) or math.isnan(high):
        wide = high = wide if math.isnan(high) else high
    size = 0.5 * (wide + high)
    density = 0.0
    for entry in range(3):
        if not math.isnan(outline[entry]):
            outline_row(J, entry, row)
            deviation = noise * (math.sqrt(outline[entry] * size) if entry < 2 else size)
            density += absorb_entry(mean, cov, row, outline[entry], deviation * deviation)
    return density
