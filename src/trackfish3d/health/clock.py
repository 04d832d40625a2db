"""Finding a camera that is early or late."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from .agreement import Sample, ViewErrors, mean_per_block, pair_errors

SHIFTS = np.arange(-5, 6)
_CERTAIN = 4.0  # standard errors by which another shift must be better
_GAIN = 0.05  # and by how much of the error
_ANIMAL = 0.01  # and by how much of an animal's size: mask centroids lean along the body, which looks like a delay


def shift_table(sample: Sample, views: list[ViewErrors]) -> dict[tuple[int, int], NDArray[np.float64]]:
    """Mean error (S, F) of each pair of cameras in each sampled frame, with the second one shifted by `SHIFTS`."""
    return {
        (a, b): np.stack(
            [mean_per_block(pair_errors(sample, views[a], views[b], int(s)), len(sample.frames)) for s in SHIFTS]
        )
        for a, b in combinations(range(len(views)), 2)
    }


def late_by(table: dict[tuple[int, int], NDArray[np.float64]], n_cameras: int, animal_px: float) -> NDArray[np.int64]:
    """(C,) by how many frames each camera is late, 0 where the data do not say otherwise beyond doubt.

    `animal_px` is the size of an animal in the images. Only differences show: with two cameras the first is taken to
    be right, with more the offset most of them share.
    """
    late = np.zeros(n_cameras, np.int64)
    for _ in range(2 * n_cameras):  # one camera at a time, the one whose move helps most
        best = (0.0, 0, 0)
        for c in range(n_cameras):
            if n_cameras == 2 and c == 0:
                continue
            for move in SHIFTS:
                gain = _gain(table, late, c, int(late[c] + move), _ANIMAL * animal_px)
                if gain > best[0]:
                    best = (gain, c, int(late[c] + move))
        if best[0] <= 0:
            break
        late[best[1]] = best[2]
    values, counts = np.unique(late, return_counts=True)
    return late - values[np.argmax(counts)] if n_cameras > 2 else late


def _gain(
    table: dict[tuple[int, int], NDArray[np.float64]], late: NDArray[np.int64], c: int, new: int, least_px: float
) -> float:
    """Drop of the mean error, in px, if camera c were `new` frames late; 0 unless it is beyond doubt."""
    drops, before = [], []
    for (a, b), error in table.items():
        if c not in (a, b):
            continue
        now = int(late[b] - late[a])
        then = int((new if b == c else late[b]) - (new if a == c else late[a]))
        if max(abs(now), abs(then)) > SHIFTS[-1]:
            return 0.0
        before.append(error[now - SHIFTS[0]])
        drops.append(error[now - SHIFTS[0]] - error[then - SHIFTS[0]])
    drop = np.concatenate(drops)
    drop = drop[np.isfinite(drop)]
    if len(drop) < 10:
        return 0.0
    level = np.nanmean(np.concatenate(before))
    mean, spread = float(drop.mean()), float(drop.std() / np.sqrt(len(drop))) + 1e-12
    return mean if mean > max(_CERTAIN * spread, _GAIN * level, least_px) else 0.0
