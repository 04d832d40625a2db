"""Pictures spread over a video, and what they agree on where no animal is."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter, uniform_filter

from ....media.video import Video
from . import kernels

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]
LAGS = (1, 5)  # frames after each sample that tell how fast ripples forget themselves
STEPS = 16  # byte steps a level when differences are kept as bytes
_DENSE = 0.3  # share of a pixel's history that its densest values hold
_NEARBY = 9  # blocks, of a 64th of the picture, of a neighbourhood
_MORE, _FAR_MORE = 1.5, 2.5  # times as restless as its neighbourhood a pixel may be, before and after animals are out
_TAIL = (0.9, 1.645)  # quantile that tells how far ripples reach, and what it is of a normal distribution
_EVEN = 5  # pixels over which the spread is averaged: of few samples it is rough
_FEWEST = 4  # samples free of animals that tell a pixel's background


@dataclass(eq=False)
class Plane:
    """One plane of the picture. ``still`` (H, W) levels; ``spread`` (H, W) its standard deviation over the video."""

    still: Floats
    spread: Floats

    def difference(self, plane: Bytes, background: Floats | None = None) -> tuple[Floats, float]:
        """Smoothed difference (H, W) to the background, and the change of light it was freed from, levels."""
        against = self.still if background is None else background
        offset = light_change(plane, against)
        out = np.empty(against.shape, np.float32)
        kernels.smoothed_difference(np.ascontiguousarray(plane), against, offset, out)
        return out, offset


def light_change(plane: Bytes, background: Floats) -> float:
    """Median difference to the background on a coarse grid: animals cover little, light changes everywhere."""
    step = max(1, min(plane.shape) // 135)
    return float(np.median(plane[::step, ::step] - background[::step, ::step]))


@dataclass(eq=False)
class Samples:
    """``grey`` (K, H, W) pictures, ``blue``, ``red`` (K, h, w) their colours, None for a video without.

    ``changes`` for each of `LAGS` (K, H, W): size of the change until so many frames later, smoothed, in bytes of a
    sixteenth of a level; ``followed`` (2, K) whether there was such a picture.
    """

    grey: Bytes
    blue: Bytes | None
    red: Bytes | None
    changes: tuple[Bytes, Bytes]
    followed: Bools

    @classmethod
    def collect(cls, video: Video, count: int, threads: int = 1) -> "Samples":
        """About ``count`` pictures over the video, and how each of them went on."""
        starts = video.sample_numbers(count, LAGS[-1] + 1)
        numbers = set(starts) | {s + lag for s in starts for lag in LAGS if s + lag < video.count}
        row = {s: k for k, s in enumerate(starts)}
        (width, height), k = video.size, len(starts)
        grey = np.zeros((k, height, width), np.uint8)
        shape = (k, (height + 1) // 2, (width + 1) // 2)
        blue, red = (None, None) if video.grey else (np.zeros(shape, np.uint8), np.zeros(shape, np.uint8))
        changes = np.zeros_like(grey), np.zeros_like(grey)
        seen, followed = np.zeros(k, np.bool_), np.zeros((2, k), np.bool_)
        scratch = np.empty((height, width), np.float32)
        for picture in video.at(numbers, threads):
            now = np.ascontiguousarray(picture.grey)
            for lag, change, there in zip(LAGS, changes, followed, strict=True):
                start = row.get(picture.number - lag)
                if start is not None and seen[start]:
                    before = grey[start].astype(np.float32)
                    kernels.smoothed_difference(now, before, light_change(now, before), scratch)
                    kernels.sizes_as_bytes(scratch, STEPS, change[start])
                    there[start] = True
            if picture.number in row:
                at = row[picture.number]
                grey[at], seen[at] = now, True
                if blue is not None and red is not None:
                    blue[at], red[at] = picture.chroma
        return cls(
            grey[seen],
            None if blue is None else blue[seen],
            None if red is None else red[seen],
            (changes[0][seen], changes[1][seen]),
            followed[:, seen],
        )

    def __len__(self) -> int:
        return len(self.grey)

    def spread_of_change(self, lag: int, taken: Bools | None) -> Floats | None:
        """Return the standard deviation (H, W) of the change over ``LAGS[lag]`` frames; None of too few pictures."""
        there = self.followed[lag]
        return _scale(self.changes[lag][there], None if taken is None else taken[there])


def densest(stack: Bytes, least: float) -> Plane:
    """Middle of the densest values over time of pictures (K, H, W), and their spread.

    Water looks much the same whenever it is seen, animals do not: the densest third of a pixel's history is water
    even where animals are more often than not, and where a median would take them for the background.
    """
    count = len(stack)
    middle = np.empty(stack.shape[1:], np.uint8)
    kernels.densest_over_time(stack, _network(count), max(2, round(_DENSE * count)), middle)
    plane = Plane(middle.astype(np.float32), np.empty(0, np.float32))
    spread = _scale(_sizes(plane, stack), None)
    plane.spread = np.full(middle.shape, least, np.float32)
    if spread is not None:
        usual = np.float32(_MORE) * _usual_nearby(spread)
        plane.spread = np.maximum(np.minimum(spread, usual), np.float32(least))
    return plane


def _usual_nearby(spread: Floats) -> Floats:
    """Median (H, W) over a wide neighbourhood: a pixel is as restless as those around, unless animals rest there."""
    height, width = spread.shape
    block = max(1, min(height, width) // 64)
    rows, columns = max(1, height // block), max(1, width // block)
    blocks = spread[: rows * block, : columns * block].reshape(rows, block, columns, block)
    coarse = median_filter(np.median(blocks, axis=(1, 3)), size=_NEARBY, mode="nearest")
    y = np.minimum(np.arange(height) // block, rows - 1)
    x = np.minimum(np.arange(width) // block, columns - 1)
    out: Floats = coarse[y][:, x].astype(np.float32)
    return out


def settled(stack: Bytes, taken: Bools, before: Plane, least: float) -> Plane:
    """Median and spread over time of pictures (K, H, W) where they are not ``taken``; where they always are: before."""
    middle, free = np.empty(stack.shape[1:], np.uint8), np.empty(stack.shape[1:], np.uint16)
    kernels.quantile_of_free(stack, taken, 0.5, middle, free)
    known = free >= min(_FEWEST, len(stack))
    plane = Plane(np.where(known, middle, before.still).astype(np.float32), before.spread)
    sizes = _sizes(plane, stack)
    spread, tail = _scale(sizes, taken), _scale(sizes, taken, *_TAIL)
    if spread is not None and tail is not None:
        # Light threads on the floor are rare and bright: what they reach counts, not only what is usual.
        smooth = uniform_filter(np.maximum(spread, tail), _EVEN)
        smooth = np.minimum(smooth, np.float32(_FAR_MORE) * _usual_nearby(smooth))
        plane.spread = np.where(known, np.maximum(smooth, np.float32(least)), before.spread).astype(np.float32)
    return plane


def _sizes(plane: Plane, stack: Bytes) -> Bytes:
    sizes = np.empty(stack.shape, np.uint8)
    for k in range(len(stack)):
        kernels.sizes_as_bytes(plane.difference(stack[k])[0], STEPS, sizes[k])
    return sizes


def _scale(sizes: Bytes, taken: Bools | None, share: float = 0.5, normal: float = 0.6745) -> Floats | None:
    """Return the standard deviation (H, W) from a quantile of absolute differences in bytes; None of too few.

    ``normal`` is that quantile, ``share``, of a normal distribution's absolute values.
    """
    if len(sizes) < 3:
        return None
    out = np.empty(sizes.shape[1:], np.uint8)
    if taken is None:
        kernels.quantile_over_time(sizes, int(share * len(sizes)), out)
    else:
        kernels.quantile_of_free(sizes, taken, share, out, np.empty(sizes.shape[1:], np.uint16))
    return out.astype(np.float32) * np.float32(1 / (normal * STEPS))


@cache
def _network(count: int) -> NDArray[np.int64]:
    """Pairs (P, 2) whose comparison in this order sorts ``count`` values (Batcher's odd-even merge sort)."""
    pairs: list[tuple[int, int]] = []
    p = 1
    while p < count:
        k = p
        while k >= 1:
            for j in range(k % p, count - k, 2 * k):
                pairs += [
                    (i + j, i + j + k)
                    for i in range(min(k, count - j - k))
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p)
                ]
            k //= 2
        p *= 2
    return np.array(pairs, np.int64).reshape(-1, 2)


def halves(taken: Bools) -> Bools:
    """(K, ceil(H / 2), ceil(W / 2)) whether any of each four pixels (K, H, W) is taken."""
    _, height, width = taken.shape
    padded = np.pad(taken, ((0, 0), (0, height % 2), (0, width % 2)))
    rows = padded[:, ::2] | padded[:, 1::2]
    out: Bools = rows[:, :, ::2] | rows[:, :, 1::2]
    return out
