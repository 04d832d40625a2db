"""What the network is shown: a small picture of how each place differs from the background.

Pictures are shrunk by a whole factor, so that animals are about as wide in every film; what is left is called cells.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
MULTIPLE = 8  # cells that a side of the network's input is a multiple of: it halves three times
CHANNELS = 2
LARGEST = 8
"""Pixels of a cell's side at most."""
_WIDTH = 6.0  # cells across an animal
_LEVELS, _DEVIATIONS = 32.0, 64.0  # levels, and quarters of a standard deviation, that count one
_MOST = 4.0  # at most


def factor_of(minor: list[float]) -> int:
    """Pixels of a cell's side, the same in all views of a recording.

    Parameters
    ----------
    minor : deviation across an animal in each view, px; an ellipse is four of them wide.
    """
    return int(np.clip(round(4 * float(np.median(minor)) / _WIDTH), 1, LARGEST))


def show(grey: Bytes, background: Floats, level: Bytes, box: tuple[int, int, int, int], factor: int) -> Floats:
    """Return what the network sees (2, h, w) of a box of a picture: signed difference, and deviation.

    Parameters
    ----------
    grey : (H, W) the picture.
    background : (H, W) what it would show without animals.
    level : (H, W) deviations, quarters of a standard deviation.
    box : left, top, width and height in cells; may reach beyond the picture, where nothing is.
    factor : pixels a cell's side.
    """
    left, top, width, height = box
    out = np.zeros((CHANNELS, height, width), np.float32)
    _shrink(grey, background, level, left, top, factor, out)
    return np.clip(out, -_MOST, _MOST, out=out)


@njit(cache=True, nogil=True)
def _shrink(grey, background, level, left, top, factor, out):  # type: ignore[no-untyped-def]
    rows, columns = grey.shape
    one = np.float32(1.0 / (factor * factor))
    by_level, by_deviation = one / np.float32(_LEVELS), one / np.float32(_DEVIATIONS)
    for j in range(out.shape[1]):
        for i in range(out.shape[2]):
            off, deviations = np.float32(0.0), np.float32(0.0)
            for y in range((top + j) * factor, (top + j + 1) * factor):
                for x in range((left + i) * factor, (left + i + 1) * factor):
                    if 0 <= y < rows and 0 <= x < columns and level[y, x] > 0:
                        off += np.float32(grey[y, x]) - background[y, x]
                        deviations += np.float32(level[y, x])
            out[0, j, i], out[1, j, i] = off * by_level, deviations * by_deviation


@njit(cache=True, nogil=True)
def owners(owner, left, top, factor, least, out):  # type: ignore[no-untyped-def]
    """Give each cell of ``out`` (h, w) the animal that has most of its pixels, 0 where ``least`` of it is nobody's.

    ``owner`` (H, W) of pixels, 0 of nobody; ``left``, ``top`` : of the first cell, in cells.
    """
    rows, columns = owner.shape
    seen = np.empty(factor * factor, np.int64)
    for j in range(out.shape[0]):
        for i in range(out.shape[1]):
            count = 0
            for y in range((top + j) * factor, (top + j + 1) * factor):
                for x in range((left + i) * factor, (left + i + 1) * factor):
                    if 0 <= y < rows and 0 <= x < columns and owner[y, x] > 0:
                        seen[count] = owner[y, x]
                        count += 1
            best, most = 0, 0
            for a in range(count):
                same = 0
                for b in range(count):
                    same += seen[a] == seen[b]
                if same > most:
                    best, most = seen[a], same
            out[j, i] = best if count > least * factor * factor else 0
