"""What a detector's boxes show, told from the recording: visible parts, or whole bodies.

Where another detection of the view reaches over a side of a box, boxes of visible parts are often smaller than the same
body is elsewhere, and boxes of whole bodies, or of heads, are not. The sizes of first tracks' boxes are compared with
what each track's other boxes say, under both readings.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from ..arguments import Flags, Ints

Array = NDArray[np.float64]
UNKNOWN, VISIBLE, WHOLE, POINTS = "unknown", "visible", "whole", "points"
ODD = 0.1  # share of whole bodies' boxes of any size at all
LEAST = 10.0  # log-likelihood by which visible parts must lead
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)  # of sides that are covered where they may be, that are tried


def visible_odds(members: Ints, use: Flags, half: Array, box: Array, sides: Flags, noise: Array) -> tuple[float, float]:
    """Log-likelihood ratio of "boxes are of visible parts" against "of whole bodies", and the likeliest share of cuts.

    Parameters
    ----------
    members, use : (N, C) detections of rows of tracks, and whether their cameras see them.
    half : (N, C, 4) of `extent.follow_bodies`.
    box, sides : (D, 4) of all detections.
    noise : (D,) of centroids, px.
    """
    row, view = np.nonzero(use)
    d, half = members[row, view], half[row, view]
    same, less, any_size, count = [], [], [], []
    for axis in range(2):
        covered = sides[d, axis].astype(int) + sides[d, 2 + axis]
        near = covered > 0
        a, s = half[near, axis], half[near, 2 + axis]
        missing = 2.0 * a - (box[d, 2 + axis] - box[d, axis])[near]
        spread = np.sqrt(4.0 * noise[d][near] ** 2 + 4.0 * s**2)
        same.append(norm.pdf(missing / spread) / spread)
        less.append(norm.cdf(missing / spread) / (2.0 * a))
        any_size.append(1.0 / (4.0 * a))
        count.append(covered[near])
    one, other, odd, k = (np.concatenate(x) for x in (same, less, any_size, count))
    whole = np.log((1.0 - ODD) * one + ODD * odd)
    odds = []
    for share in SHARES:
        kept = (1.0 - share) ** k
        odds.append(float((np.log((1.0 - ODD) * (kept * one + (1.0 - kept) * other) + ODD * odd) - whole).sum()))
    best = int(np.argmax(odds))
    return odds[best], SHARES[best]
