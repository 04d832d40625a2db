"""From what the network tells of cells to animals: every cell votes for the middle of its animal."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .cells import Floats

_SURE = 0.0  # logit above which a cell is an animal's
_NEAR = 3.2  # cells from a middle within which votes are for it
_FAR = 6.0  # cells from it, beyond which they are for nobody
_LEAST = 0.4  # of an animal's usual area, votes that make a middle
_BLUR = 1  # cells by which votes are spread to either side


def animals(told: Floats, usual: float) -> tuple[NDArray[np.int32], int]:
    """Return whose each cell (h, w) is, 1..K, 0 of nobody, and K.

    Parameters
    ----------
    told : (3, h, w) logit, and the way to the middle, cells.
    usual : area of an animal, cells.
    """
    owner = np.zeros(told.shape[1:], np.int32)
    count = _count_votes(told, _NEAR, max(_LEAST * usual, 3.0), owner)
    return owner, count


@njit(cache=True, nogil=True)
def _count_votes(told, near, least, owner):  # type: ignore[no-untyped-def]
    """Find middles, that of most votes first, until too few are left; then each voter is of the nearest."""
    height, width = owner.shape
    votes = np.zeros((height, width), np.float32)
    for j in range(height):
        for i in range(width):
            if told[0, j, i] > _SURE:
                y, x = int(np.rint(j + told[2, j, i])), int(np.rint(i + told[1, j, i]))
                if 0 <= y < height and 0 <= x < width:
                    votes[y, x] += 1.0
    middles = np.empty((64, 2))
    count = 0
    reach = int(np.ceil(near))
    while count < len(middles):
        best, by, bx = 0.0, -1, -1
        for y in range(height):
            for x in range(width):
                if votes[y, x] > 0:
                    total = 0.0
                    for b in range(max(y - _BLUR, 0), min(y + _BLUR + 1, height)):
                        for a in range(max(x - _BLUR, 0), min(x + _BLUR + 1, width)):
                            total += votes[b, a]
                    if total > best:
                        best, by, bx = total, y, x
        if by < 0:
            break
        total, sy, sx = 0.0, 0.0, 0.0
        for b in range(max(by - reach, 0), min(by + reach + 1, height)):
            for a in range(max(bx - reach, 0), min(bx + reach + 1, width)):
                if (b - by) ** 2 + (a - bx) ** 2 <= near * near:
                    total, sy, sx = total + votes[b, a], sy + b * votes[b, a], sx + a * votes[b, a]
                    votes[b, a] = 0.0
        if best * 2 < least and total < least:
            break
        if total >= least:
            middles[count, 0], middles[count, 1] = sy / total, sx / total
            count += 1
    for j in range(height):
        for i in range(width):
            if told[0, j, i] > _SURE:
                y, x = j + told[2, j, i], i + told[1, j, i]
                nearest = _FAR * _FAR
                for k in range(count):
                    d = (middles[k, 0] - y) ** 2 + (middles[k, 1] - x) ** 2
                    if d < nearest:
                        nearest, owner[j, i] = d, k + 1
    return count


@njit(cache=True, nogil=True)
def label_pixels(owner, left, top, factor, mask, mask_left, mask_top, out):  # type: ignore[no-untyped-def]
    """Give pixels of ``mask`` (H, W) the animal of their cell, or of the nearest within two cells; into ``out`` (H, W).

    ``owner`` (h, w) of cells, whose first is ``left``, ``top`` in cells; the mask's first pixel is at ``mask_left``,
    ``mask_top``. Pixels further from any animal stay 0.
    """
    height, width = owner.shape
    for y in range(mask.shape[0]):
        j = (y + mask_top) // factor - top
        for x in range(mask.shape[1]):
            out[y, x] = 0
            if not mask[y, x]:
                continue
            i = (x + mask_left) // factor - left
            if 0 <= j < height and 0 <= i < width and owner[j, i] > 0:
                out[y, x] = owner[j, i]
                continue
            least = 9
            for b in range(max(j - 2, 0), min(j + 3, height)):
                for a in range(max(i - 2, 0), min(i + 3, width)):
                    if owner[b, a] > 0 and (b - j) ** 2 + (a - i) ** 2 < least:
                        least, out[y, x] = (b - j) ** 2 + (a - i) ** 2, owner[b, a]
