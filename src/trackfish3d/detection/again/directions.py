"""Where the animals of tracks point: along their paths where they move, along their outlines where they rest."""

import numpy as np
from numpy.typing import NDArray

from ...recordings import Tracks

Array = NDArray[np.float64]
_WINDOW = 4  # frames before and after that tell where an animal swims
_FAST = 0.03  # body lengths a frame from which the path tells the direction


def headings(tracks: Tracks, axis: Array, sure: Array, length: float) -> Array:
    """Return unit vectors (N, 3), one a row of the tracks.

    Parameters
    ----------
    tracks : N rows.
    axis : (N, 3) direction that outlines tell, of either sign.
    sure : (N,) how much that counts, 0 to 1.
    length : of a body, world units.
    """
    order = np.lexsort((tracks.frame, tracks.track))
    frame, position = tracks.frame[order].astype(float), tracks.position[order]
    begin = np.flatnonzero(np.append(True, np.diff(tracks.track[order]) != 0))
    end = np.append(begin[1:], len(order))
    first, last = np.repeat(begin, end - begin), np.repeat(end, end - begin) - 1
    rows = np.arange(len(order))
    behind, ahead = np.maximum(rows - _WINDOW, first), np.minimum(rows + _WINDOW, last)
    way = (position[ahead] - position[behind]) / np.maximum(frame[ahead] - frame[behind], 1)[:, None]
    speed = np.linalg.norm(way, axis=1)
    unit = way / np.maximum(speed, 1e-12)[:, None]
    moving = np.clip(speed / (_FAST * length), 0, 1) ** 2
    lie, weight = axis[order], 0.5 * np.clip(sure[order], 0, 1)
    both = moving[:, None, None] * unit[:, :, None] * unit[:, None, :]
    both += weight[:, None, None] * lie[:, :, None] * lie[:, None, :]
    found = np.linalg.eigh(both)[1][:, :, 2]
    found[np.einsum("ni,ni->n", found, unit) < 0] *= -1
    out = np.empty_like(found)
    out[order] = found
    return out
