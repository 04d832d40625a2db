"""Clocks to the frame, before anything is tracked: the shifts under which all pairs of views agree best."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..health.agreement import Sample, ViewErrors, pair_errors, typical
from ..recordings import Detections
from .chains import chains_of, clock_costs, rays_of

Ints = NDArray[np.int64]
Table = dict[tuple[int, int], NDArray[np.float64]]
_FRAMES = 80  # compared


def coarse_offsets(rig: CameraRig, detections: Detections, widest: int) -> Ints:
    """(C,) frames to add to each camera's frame numbers, the first camera's held.

    Every pair of views is compared at every shift; the offsets are those of least error in sum, found from each
    camera against the first, then one camera at a time until nothing changes.

    Parameters
    ----------
    rig : the cameras, as far as they are known.
    detections : with frame numbers as the cameras counted them.
    widest : frames by which a clock may be off.
    """
    count, shifts = len(rig), np.arange(-2 * widest, 2 * widest + 1)
    table = _by_chains(rig, detections, shifts, widest) or _by_matches(rig, detections, shifts, widest)
    offset = np.zeros(count, np.int64)
    for c in range(1, count):  # a shift of b later means that its numbers are too large
        offset[c] = -shifts[int(np.argmin(table[0, c]))]
    for _ in range(5):
        before = offset.copy()
        for c in range(1, count):
            total = np.zeros(2 * widest + 1)
            for d in range(count):
                if d != c:
                    a, b = min(c, d), max(c, d)
                    tried = np.arange(-widest, widest + 1)
                    late = offset[d] - tried if b == c else tried - offset[d]
                    total += table[a, b][np.clip(late + 2 * widest, 0, len(shifts) - 1)]
            offset[c] = int(np.argmin(total)) - widest
        if (offset == before).all():
            break
    return offset


def _by_chains(rig: CameraRig, detections: Detections, shifts: Ints, widest: int) -> Table | None:
    """How badly each pair of views agrees at each shift, by pieces of paths; None where these are too few."""
    windows = chains_of(rig, detections, 2 * widest)
    rays = rays_of(rig, detections)
    table = {}
    for a, b in combinations(range(len(rig)), 2):
        near = np.abs(shifts) <= (widest if a == 0 else 2 * widest)
        costs = np.full(len(shifts), np.nan)
        costs[near] = clock_costs(rig, detections, a, b, shifts[near], windows, rays)
        if not np.isfinite(costs[near]).all():
            return None
        table[a, b] = np.where(near, costs, np.nanmax(costs))
    return table


def _by_matches(rig: CameraRig, detections: Detections, shifts: Ints, widest: int) -> Table:
    """Return the same by the nearest detections of single moments, whoever they show."""
    diagonal = float(np.mean([np.hypot(*c.size) for c in rig]))
    sample = Sample.draw(detections, _FRAMES, most_pairs=100_000, diagonal_px=diagonal)
    views = [ViewErrors.of(sample, camera, c) for c, camera in enumerate(rig)]
    table = {}
    for a, b in combinations(range(len(rig)), 2):
        near = np.abs(shifts) <= (widest if a == 0 else 2 * widest)
        errors = np.full(len(shifts), np.nan)
        errors[near] = [_error(sample, views[a], views[b], int(s)) for s in shifts[near]]
        table[a, b] = np.where(np.isfinite(errors), errors, np.nanmax(errors) if np.isfinite(errors).any() else 0.0)
    return table


def _error(sample: Sample, a: ViewErrors, b: ViewErrors, shift: int) -> float:
    matches = pair_errors(sample, a, b, shift)
    return typical(matches.error) if len(matches.error) >= 20 else np.nan
