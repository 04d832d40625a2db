"""How much a second look has changed: detections added, removed and moved."""

from dataclasses import dataclass

import numpy as np

from ...recordings import Detections

_NEAR = 0.5  # of a box's side, within which two detections are of one animal
_MOVED = 1.0  # px


@dataclass(frozen=True)
class Changes:
    """Numbers of detections: ``added``, ``removed``, ``moved`` by more than a pixel, and those that stay, ``kept``."""

    added: int
    removed: int
    moved: int
    kept: int

    def __str__(self) -> str:
        return f"{self.added} detections added, {self.removed} removed, {self.moved} moved, {self.kept} as they were"

    @property
    def any(self) -> bool:
        """Whether anything changed."""
        return bool(self.added or self.removed or self.moved)


def compare(before: Detections, after: Detections) -> Changes:
    """Compare detections of the same films; each is the nearest of the other's, and near.

    Parameters
    ----------
    before : of the first look.
    after : of the second.
    """
    added = removed = moved = kept = 0
    frames = np.union1d(before.frame, after.frame)
    old, new = (np.searchsorted(d.frame, np.append(frames, frames.max(initial=0) + 1)) for d in (before, after))
    for k in range(len(frames)):
        one, other = np.arange(old[k], old[k + 1]), np.arange(new[k], new[k + 1])
        for c in range(len(before.cameras)):
            a, b = one[before.camera[one] == c], other[after.camera[other] == c]
            both, far = _pairs(before, a, after, b)
            added, removed = added + len(b) - both, removed + len(a) - both
            moved, kept = moved + far, kept + both - far
    return Changes(added, removed, moved, kept)


def _pairs(before: Detections, a: np.ndarray, after: Detections, b: np.ndarray) -> tuple[int, int]:
    """Return the number of pairs of rows that are each other's nearest, and of those that moved."""
    if not len(a) or not len(b):
        return 0, 0
    apart = np.hypot(before.u[a][:, None] - after.u[b][None], before.v[a][:, None] - after.v[b][None])
    side = np.maximum(before.x2[a] - before.x1[a], before.y2[a] - before.y1[a])
    nearest = apart.argmin(1)
    rows = np.arange(len(a))
    mutual = (apart.argmin(0)[nearest] == rows) & (apart[rows, nearest] <= np.maximum(_NEAR * side, _MOVED))
    return int(mutual.sum()), int((apart[rows, nearest][mutual] > _MOVED).sum())
