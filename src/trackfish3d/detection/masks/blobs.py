"""From a map of deviations to blobs: connected regions with the outlines of animals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import kernels as mask_kernels
from .moments import BOTTOM, COUNT, LEFT, RIGHT, TOP, moments

QUARTERS = 4  # levels of the map a standard deviation
_RIM = 4  # pixels over which lens, codec and smoothing spread an edge


@dataclass(frozen=True)
class Thresholds:
    """What makes pixels a blob. Levels are quarters of a standard deviation, as `Background.deviation` gives them.

    ``low``: pixels of a blob; ``high``: the highest fifth of its pixels; ``reach``: pixels that a blob extends beyond
    those; ``outline``: share of the neighbourhood's level at which an edge is drawn; ``gap``: pixels that may part two
    pieces; ``close``: half of the width of cracks to be closed; ``smallest``: pixels;
    ``hole``: pixels of the largest that is filled: larger ones lie between animals.
    """

    low: int
    high: int
    reach: int
    outline: float
    gap: int
    close: int
    smallest: float
    hole: float


@dataclass(eq=False)
class Blob:
    """A mask (h, w) uint8 whose first pixel is at ``left``, ``top``; ``sums`` (11,) as in `synfish.raster`.

    ``level``: deviation that a fifth of its pixels reach, quarters of a standard deviation.
    """

    left: int
    top: int
    mask: NDArray[np.uint8]
    sums: NDArray[np.float64]
    level: float

    @property
    def area(self) -> float:
        """Pixels."""
        return float(self.sums[COUNT])

    def pixels(self) -> NDArray[np.float64]:
        """(N, 2) x, y of its pixels."""
        y, x = np.nonzero(self.mask)
        return np.column_stack([x + self.left, y + self.top]).astype(np.float64)


def find_blobs(
    level: NDArray[np.uint8], t: Thresholds, spans: NDArray[np.int64] | None = None, tile: int = 0
) -> list[Blob]:
    """Blobs of a map (H, W) of deviations, in the order of their topmost pixels.

    Parameters
    ----------
    level : (H, W) quarters of a standard deviation.
    t : what makes pixels a blob.
    spans : (S, 3) where to look, see `mask_kernels.find_runs`; the whole map without.
    tile : height of a span, px.
    """
    if spans is None:
        spans, tile = np.array([[0, 0, level.shape[1]]], np.int64), level.shape[0]
    runs = mask_kernels.find_runs(level, t.low, spans, tile)
    label, number = mask_kernels.connect_runs(runs, t.gap)
    facts = mask_kernels.component_facts(runs, label, number, level, t.high)
    margin = max(t.close, t.reach) + 1
    out: list[Blob] = []
    for c in np.flatnonzero((facts[:, 0] >= t.smallest) & (facts[:, 5] >= 0.2 * t.smallest)).tolist():
        left, top = int(facts[c, 1]) - margin, int(facts[c, 2]) - margin
        mask = mask_kernels.cut_out(runs, label, c, facts[c], margin, level, t.low)
        mask &= mask_kernels.grow_mask(mask_kernels.cut_out(runs, label, c, facts[c], margin, level, t.high), t.reach)
        mask_kernels.keep_above_neighbours(mask, level, left, top, _RIM, t.outline)
        mask = mask_kernels.close_mask(mask, t.close)
        mask_kernels.fill_holes(mask, t.hole)
        labels, parts = mask_kernels.label_mask(mask)
        out += [b for b in split_labels(labels, parts, left, top, level, t.smallest) if b.level >= t.high]
    return out


def split_labels(
    labels: NDArray[np.int32], number: int, left: int, top: int, level: NDArray[np.uint8], smallest: float
) -> list[Blob]:
    """Return a blob for each label 1..number (h, w) of at least ``smallest`` pixels, cut to the image and its box."""
    height, width = level.shape
    x0, y0 = max(-left, 0), max(-top, 0)
    labels = labels[y0 : height - top, x0 : width - left]
    left, top = left + x0, top + y0
    sums = mask_kernels.label_sums(labels, number, left, top)
    levels = mask_kernels.upper_levels(labels, number, left, top, level)
    out = []
    for k in np.flatnonzero(sums[:, COUNT] >= smallest).tolist():
        i0, i1 = int(sums[k, LEFT] + 0.5) - left, int(sums[k, RIGHT] + 0.5) - left
        j0, j1 = int(sums[k, TOP] + 0.5) - top, int(sums[k, BOTTOM] + 0.5) - top
        mask = (labels[j0:j1, i0:i1] == k + 1).astype(np.uint8)
        out.append(Blob(left + i0, top + j0, mask, sums[k], float(levels[k])))
    return out


def shapes(blobs: list[Blob]) -> dict[str, NDArray[np.float64]]:
    """Columns (B,) of blobs: u, v, area, angle, major, minor, and ``fill``, the area over that of the like ellipse.

    A filled ellipse has fill 1, a fish 0.9 and more, two crossing or touching ones less.
    """
    sums = np.array([b.sums for b in blobs]).reshape(-1, 11)
    out = moments(sums)
    out["fill"] = out["area"] / (4 * np.pi * out["major"] * out["minor"])
    return out
