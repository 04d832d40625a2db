"""Masks of networks in the picture's own pixels: cut out of coarse maps, as blobs, as outlines."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from . import kernels as mask_kernels
from .blobs import Blob
from .moments import COUNT

Bytes = NDArray[np.uint8]
Array = NDArray[np.float64]
_SPECK = 0.1  # share of the largest part below which another part of a mask is dust


def blob_from_mask(mask: NDArray[np.bool_] | Bytes, left: int = 0, top: int = 0, *, dust: bool = False) -> Blob | None:
    """Return a blob of a mask (h, w) whose first pixel is at ``left``, ``top``; None of an empty one.

    Parts that are tiny beside the largest are left out, unless ``dust`` may stay.
    """
    cut = np.ascontiguousarray(mask, np.uint8)
    if not cut.any():
        return None
    if not dust:
        labels, parts = mask_kernels.label_mask(cut)
        if parts > 1:
            area = np.bincount(labels.ravel(), minlength=parts + 1)[1:]
            keep = np.concatenate([[False], area >= _SPECK * area.max()])
            cut = keep[labels].astype(np.uint8)
    rows, columns = np.flatnonzero(cut.any(1)), np.flatnonzero(cut.any(0))
    cut = np.ascontiguousarray(cut[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
    left, top = left + int(columns[0]), top + int(rows[0])
    sums = mask_kernels.label_sums(cut.astype(np.int32), 1, left, top)[0]
    return Blob(left, top, cut, sums, 0.0)


@dataclass(frozen=True)
class Placing:
    """Where a network's map lies on the picture: column = ``ax`` * x + ``bx`` of pixel x, row = ``ay`` * y + ``by``.

    Pixels and cells have their centres at whole numbers.
    """

    ax: float
    bx: float
    ay: float
    by: float

    @classmethod
    def stretched(cls, shape: tuple[int, int], size: tuple[int, int]) -> "Placing":
        """Return the placing of a map of ``shape`` (h, w) that covers the whole picture of ``size`` (width, height)."""
        ax, ay = shape[1] / size[0], shape[0] / size[1]
        return cls(ax, 0.5 * ax - 0.5, ay, 0.5 * ay - 0.5)

    def coarser(self, factor_x: float, factor_y: float) -> "Placing":
        """Return the placing of a map with cells so many times larger, over the same field."""
        bx, by = (self.bx + 0.5) / factor_x - 0.5, (self.by + 0.5) / factor_y - 0.5
        return Placing(self.ax / factor_x, bx, self.ay / factor_y, by)

    def boxes_in_picture(self, boxes: Array) -> Array:
        """(K, 4) x1, y1, x2, y2 of the picture, from edges in the map (0 is the left edge of the first cell)."""
        scale, start = np.array([self.ax, self.ay] * 2), np.array([self.bx, self.by] * 2)
        return np.asarray((boxes - 0.5 - start) / scale)


def cut_mask(
    level: NDArray[np.floating],
    placing: Placing,
    size: tuple[int, int],
    threshold: float = 0.0,
    within: Array | None = None,
) -> Blob | None:
    """Blob of the pixels at which a map (h, w), bilinear between its cells, is above ``threshold``.

    ``within`` (4,): box of the picture outside which nothing counts. None where nothing is left.
    """
    inside = level > threshold
    rows, columns = np.flatnonzero(inside.any(1)), np.flatnonzero(inside.any(0))
    if not len(rows):
        return None
    x0, x1 = _range(columns, placing.ax, placing.bx, size[0], None if within is None else within[[0, 2]])
    y0, y1 = _range(rows, placing.ay, placing.by, size[1], None if within is None else within[[1, 3]])
    if x1 <= x0 or y1 <= y0:
        return None
    i, fx = _between(placing.ax * np.arange(x0, x1) + placing.bx, level.shape[1])
    j, fy = _between(placing.ay * np.arange(y0, y1) + placing.by, level.shape[0])
    i1, j1 = np.minimum(i + 1, level.shape[1] - 1), np.minimum(j + 1, level.shape[0] - 1)
    upper = level[j][:, i] * (1 - fx) + level[j][:, i1] * fx
    lower = level[j1][:, i] * (1 - fx) + level[j1][:, i1] * fx
    return blob_from_mask(upper * (1 - fy)[:, None] + lower * fy[:, None] > threshold, x0, y0)


def _range(cells: NDArray[np.int64], a: float, b: float, length: int, within: Array | None) -> tuple[int, int]:
    """First and last + 1 of the pixels that the cells can reach."""
    first, last = (cells[0] - 1 - b) / a, (cells[-1] + 1 - b) / a
    if within is not None:
        first, last = max(first, float(within[0])), min(last, float(within[1]))
    return max(0, int(np.ceil(first))), min(length, int(np.floor(last)) + 1)


def _between(at: NDArray[np.floating], length: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    at = np.clip(at, 0, length - 1)
    cell = np.floor(at).astype(np.int64)
    return cell, (at - cell).astype(np.float32)


def outline(blob: Blob) -> Array:
    """(P, 2) x, y of a polygon around a mask, edges halfway between pixels, holes filled.

    Parts that another animal cuts apart are joined by a bridge without width, as YOLO labels have it.
    """
    from contourpy import contour_generator

    lines = contour_generator(z=np.pad(blob.mask, 1).astype(np.float64)).lines(0.5)
    rings = sorted((np.asarray(ring)[:-1] for ring in lines), key=_area, reverse=True)
    whole = rings[0]
    for ring in rings[1:]:
        if _area(ring) * _area(rings[0]) < 0:
            continue  # a hole runs the other way round
        apart = np.linalg.norm(whole[:, None] - ring[None], axis=2)
        k, n = np.unravel_index(int(apart.argmin()), apart.shape)
        bridge = np.concatenate([np.roll(ring, -int(n), axis=0), ring[n : n + 1]])
        whole = np.concatenate([whole[: k + 1], bridge, whole[k:]])
    return np.asarray(whole + [blob.left - 1, blob.top - 1])


def _area(ring: Array) -> float:
    """Signed area of a polygon (P, 2)."""
    x, y = ring[:, 0], ring[:, 1]
    return 0.5 * float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def overlap(a: Blob, b: Blob) -> float:
    """Return the intersection over union of two masks."""
    x0, y0 = max(a.left, b.left), max(a.top, b.top)
    x1 = min(a.left + a.mask.shape[1], b.left + b.mask.shape[1])
    y1 = min(a.top + a.mask.shape[0], b.top + b.mask.shape[0])
    if x1 <= x0 or y1 <= y0:
        return 0.0
    mine = a.mask[y0 - a.top : y1 - a.top, x0 - a.left : x1 - a.left]
    other = b.mask[y0 - b.top : y1 - b.top, x0 - b.left : x1 - b.left]
    both = float((mine & other).sum())
    return both / (float(a.sums[COUNT]) + float(b.sums[COUNT]) - both)


def keep_distinct(blobs: list[Blob], score: Array, most: float) -> list[int]:
    """Return indices of the blobs, best first, that overlap no better one by an IoU of more than ``most``."""
    kept: list[int] = []
    for k in np.argsort(-score, kind="stable").tolist():
        if all(overlap(blobs[k], blobs[other]) <= most for other in kept):
            kept.append(k)
    return kept


@njit(cache=True)
def distinct_boxes(boxes, most):  # type: ignore[no-untyped-def]
    """Whether each box (K, 4), best first, overlaps no better one by more than ``most``; (K,) bool."""
    count = len(boxes)
    keep = np.ones(count, np.bool_)
    for i in range(count):
        if not keep[i]:
            continue
        mine = (boxes[i, 2] - boxes[i, 0]) * (boxes[i, 3] - boxes[i, 1])
        for j in range(i + 1, count):
            w = min(boxes[i, 2], boxes[j, 2]) - max(boxes[i, 0], boxes[j, 0])
            h = min(boxes[i, 3], boxes[j, 3]) - max(boxes[i, 1], boxes[j, 1])
            if w > 0 and h > 0:
                other = (boxes[j, 2] - boxes[j, 0]) * (boxes[j, 3] - boxes[j, 1])
                keep[j] &= w * h <= most * (mine + other - w * h)
    return keep
