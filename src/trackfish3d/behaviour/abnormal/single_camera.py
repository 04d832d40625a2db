"""What a single camera knows: 2D tracks of its detections, and whom a track follows, for comparison with 3D."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...maths.linking import link_nearest
from ...recordings.detections import Detections

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MAX_AGE_FRAMES = 15


def view_tracks(detections: Detections, camera: int, max_age_frames: int = MAX_AGE_FRAMES) -> tuple[Ints, Array]:
    """Tracks of one camera's box centres, nearest ones linked: track numbers (N,) and positions (T, N, 2) px.

    T counts every frame from the first to the last of all cameras. The gate is half the median box diagonal; a track
    may go unseen as long as in the paper's 3D tracks, and is NaN then.
    """
    first, last = int(detections.frame[0]), int(detections.frame[-1])
    mine = detections.select(detections.camera == camera)
    if not len(mine):
        return np.zeros(0, np.int64), np.zeros((last - first + 1, 0, 2))
    centre = 0.5 * (mine.boxes[:, :2] + mine.boxes[:, 2:])
    gate = 0.5 * float(np.median(np.hypot(mine.x2 - mine.x1, mine.y2 - mine.y1)))
    flat = np.column_stack([centre, np.zeros(len(centre))])
    track = link_nearest(mine.frame, flat, gate, max_age_frames)
    return np.unique(track), spread_out(mine.frame - first, track, centre, last - first + 1)


def spread_out(row: Ints, identity: Ints, position: Array, rows: int) -> Array:
    """(rows, N, D) positions (M, D) of N identities, ascending, each in its row; NaN where one is not."""
    names, column = np.unique(identity, return_inverse=True)
    out = np.full((rows, len(names), position.shape[1]), np.nan)
    out[row, column] = position
    return out


def followed(position: ArrayLike, truth: ArrayLike, gate: float) -> Ints:
    """(T, N) which true animal (T, M, D) is nearest to each track (T, N, D), within ``gate``; -1 for none."""
    x, y = np.asarray(position, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    out = np.full(x.shape[:2], -1, np.int64)
    if not y.shape[1]:
        return out
    for n in range(x.shape[1]):
        distance = np.linalg.norm(x[:, n, None] - y, axis=2)
        distance = np.where(np.isfinite(distance), distance, np.inf)
        nearest = distance.argmin(1)
        close = np.take_along_axis(distance, nearest[:, None], 1)[:, 0] <= gate
        out[:, n] = np.where(close, nearest, -1)
    return out


def follows_abnormal(whom: Ints, abnormal: ArrayLike, first: Ints, last: Ints) -> Bools:
    """(W, N) whether a track follows an abnormal animal in more than half of the frames first..last (W,) each.

    ``whom`` (T, N) as of `followed`; ``abnormal`` the numbers of the abnormal animals.
    """
    hit = np.isin(whom, np.asarray(abnormal))
    sums = np.concatenate([np.zeros((1, whom.shape[1]), np.int64), np.cumsum(hit, axis=0)])
    return np.asarray(2 * (sums[last + 1] - sums[first]) > (last + 1 - first)[:, None])
