"""The background of a static camera: what every pixel shows when no animal is there, and how much that varies.

The still background is the median of pictures spread over the video. Water is not still: light threads wander over
the floor, and ripples over everything. Each pixel is therefore the still value plus a ripple with a memory (an
Ornstein-Uhlenbeck process), followed by a Kalman filter: where a pixel ripples, it is followed fast and judged by what
is left; where it is steady, it is hardly touched; under an animal the prediction relaxes to the still background.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import _pixels
from .blobs import Blob
from .video import Picture, Video

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
LAGS = (1, 5)  # frames after each sample that tell how fast ripples forget themselves
_STEPS = 16  # byte steps a level when differences are kept as bytes
_LEAST_NOISE = 0.7  # levels; below it, quantisation rules
_LEAST_COLOUR_NOISE = 0.9  # levels; codecs move the colour of whole blocks by one level


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
        _pixels.smoothed_difference(np.ascontiguousarray(plane), against, offset, out)
        return out, offset


def light_change(plane: Bytes, background: Floats) -> float:
    """Median difference to the background on a coarse grid: animals cover little, light changes everywhere."""
    step = max(1, min(plane.shape) // 135)
    return float(np.median(plane[::step, ::step] - background[::step, ::step]))


@dataclass(eq=False)
class Background:
    """The model of one camera; `learn` makes it, `deviation` judges a picture, `follow` learns from it.

    ``noise`` (H, W) variance of a pixel from frame to frame, ``ripple`` (H, W) variance beyond that, levels^2;
    ``memory`` of the ripple a frame, 0..1. ``now`` and ``variance`` (H, W): the filter's prediction of the next
    picture. ``blue`` and ``red`` are None for a video without colour.
    """

    luma: Plane
    blue: Plane | None
    red: Plane | None
    noise: Floats
    ripple: Floats
    memory: float
    now: Floats
    variance: Floats

    @classmethod
    def learn(cls, video: Video, samples: int = 48, threads: int = 1) -> "Background":
        """Learn from pictures spread over the video, and how each of them went on."""
        triples = list(sample_bursts(video, samples, threads))
        greys = np.stack([t[0] for t in triples])
        luma = _plane(greys, _LEAST_NOISE)
        blue = red = None
        if any(t[1] is not None for t in triples):
            blue, red = (_plane(_present(t[k] for t in triples), _LEAST_COLOUR_NOISE) for k in (1, 2))
            if float(blue.still.std()) + float(red.still.std()) < 0.25 and float(blue.spread.max()) < 1.5:
                blue = red = None  # a grey camera that wrote a coloured format
        fast, slow = (_scale(_present(t[k] for t in triples)) for k in (3, 4))
        total = luma.spread**2
        least = np.float32(_LEAST_NOISE**2)
        noise = total if fast is None else np.minimum(np.maximum(0.5 * fast**2, least), total)
        ripple = np.maximum(total - noise, 0)
        memory = 0.0 if fast is None or slow is None else _memory(total, 0.5 * fast**2, 0.5 * slow**2)
        return cls(luma, blue, red, noise, ripple, memory, luma.still.copy(), ripple.copy())

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.luma.still.shape[1], self.luma.still.shape[0]

    def deviation(self, picture: Picture, side: int = 0) -> Bytes:
        """(H, W) how many standard deviations each pixel is off, in quarters, at most 255.

        ``side`` -1: only darker counts, 1: only brighter, 0: both.
        """
        luma, _ = self.luma.difference(picture.grey, self.now)
        none = np.zeros((0, 0), np.float32)
        colour = [none, none, none, none]
        if self.blue is not None and self.red is not None:
            blue, red = picture.chroma
            colour = [self.blue.difference(blue)[0], self.red.difference(red)[0], self._blue_scale, self._red_scale]
        out = np.empty(luma.shape, np.uint8)
        _pixels.deviation(luma, self.variance, self.noise, *colour, side, out)
        return out

    def __post_init__(self) -> None:
        if self.blue is not None and self.red is not None:
            one = np.float32(1.0)
            self._blue_scale: Floats = (one / self.blue.spread).astype(np.float32)
            self._red_scale: Floats = (one / self.red.spread).astype(np.float32)

    def reset(self) -> None:
        """Forget what was followed: the next picture is judged by the still background."""
        self.now[...] = self.luma.still
        self.variance[...] = self.ripple

    def brighter(self, picture: Picture, blob: Blob) -> float:
        """Share of a blob's pixels that are brighter than the background."""
        h, w = blob.mask.shape
        box = slice(blob.top, blob.top + h), slice(blob.left, blob.left + w)
        return float((picture.grey[box] > self.now[box])[blob.mask > 0].mean())

    def follow(self, picture: Picture, taken: NDArray[np.bool_]) -> None:
        """Learn from the pixels that are not ``taken`` (H, W) by an animal."""
        grey = np.ascontiguousarray(picture.grey)
        offset = light_change(grey, self.now)
        _pixels.follow(
            grey, offset, self.luma.still, self.ripple, self.noise, self.memory, taken, self.now, self.variance
        )

    def drift(self, picture: Picture, taken: NDArray[np.bool_], rate: float, slow_rate: float) -> None:
        """Move the still background towards the picture by ``rate``, under animals by ``slow_rate``."""
        grey = np.ascontiguousarray(picture.grey)
        _pixels.drift(grey, light_change(grey, self.luma.still), taken, rate, slow_rate, self.luma.still)
        if self.blue is not None and self.red is not None:
            half = np.ascontiguousarray(taken[::2, ::2])
            for plane, now in zip((self.blue, self.red), picture.chroma, strict=True):
                now = np.ascontiguousarray(now)
                _pixels.drift(now, light_change(now, plane.still), half, rate, slow_rate, plane.still)


Burst = tuple[Bytes, Bytes | None, Bytes | None, Bytes | None, Bytes | None]


def sample_bursts(video: Video, samples: int, threads: int) -> Iterable[Burst]:
    """For about ``samples`` pictures over the video: Y, U, V, and sizes of the change until 1 and 5 frames later.

    The changes are smoothed, in bytes of a sixteenth of a level; None where the video ends or a frame is broken.
    """
    starts = set(video.sample_numbers(samples, LAGS[-1] + 1))
    numbers = starts | {s + lag for s in starts for lag in LAGS if s + lag < video.count}
    open_: dict[int, tuple[Bytes, Bytes | None, Bytes | None, Floats]] = {}
    changes: dict[int, dict[int, Bytes]] = {}
    for picture in video.at(numbers, threads):
        grey = np.ascontiguousarray(picture.grey)
        for start, (*_, still) in open_.items():
            if picture.number - start in LAGS:
                _pixels.smoothed_difference(grey, still, light_change(grey, still), scratch := np.empty_like(still))
                _pixels.sizes_as_bytes(scratch, _STEPS, size := np.empty_like(grey))
                changes[start][picture.number - start] = size
        if picture.number in starts:
            blue, red = (None, None) if video.grey else (p.copy() for p in picture.chroma)
            open_[picture.number] = grey.copy(), blue, red, grey.astype(np.float32)
            changes[picture.number] = {}
        for start in [s for s in open_ if picture.number >= s + LAGS[-1]]:
            yield _burst(open_.pop(start), changes.pop(start))
    for start in list(open_):
        yield _burst(open_.pop(start), changes.pop(start))


def _burst(planes: tuple[Bytes, Bytes | None, Bytes | None, Floats], change: dict[int, Bytes]) -> Burst:
    return planes[0], planes[1], planes[2], change.get(LAGS[0]), change.get(LAGS[1])


def _present(planes: Iterable[Bytes | None]) -> Bytes:
    """Return the planes that are there, (K, H, W)."""
    found = [p for p in planes if p is not None]
    return np.stack(found) if found else np.zeros((0, 0, 0), np.uint8)


def _plane(stack: Bytes, least: float) -> Plane:
    """Median and spread over time of pictures (K, H, W)."""
    middle = np.empty(stack.shape[1:], np.uint8)
    _pixels.quantile_over_time(stack, len(stack) // 2, middle)
    still = middle.astype(np.float32)
    plane = Plane(still, np.empty(0, np.float32))
    sizes = np.empty(stack.shape, np.uint8)
    for k in range(len(stack)):
        _pixels.sizes_as_bytes(plane.difference(stack[k])[0], _STEPS, sizes[k])
    spread = _scale(sizes)
    plane.spread = np.full(still.shape, least, np.float32)
    if spread is not None:
        plane.spread = np.maximum(spread, np.float32(least))
    return plane


def _scale(sizes: Bytes) -> Floats | None:
    """Return the standard deviation (H, W) from the median of absolute differences in bytes; None of too few."""
    if len(sizes) < 3:
        return None
    out = np.empty(sizes.shape[1:], np.uint8)
    _pixels.quantile_over_time(sizes, len(sizes) // 2, out)
    return out.astype(np.float32) * np.float32(1.4826 / _STEPS)


def _memory(total: Floats, after_one: Floats, after_five: Floats) -> float:
    """Factor by which a ripple is like itself from one frame to the next, from variances of changes (H, W).

    The change over L frames has half its variance equal to noise + ripple (1 - memory^L), so the ratio of what is
    left of the total after five frames and after one is memory^4, whatever the noise.
    """
    restless = total > 4 * _LEAST_NOISE**2
    if restless.mean() < 0.001:
        return 0.9  # nothing ripples: any value will do, for there is nothing to follow
    one, five = float((total - after_one)[restless].sum()), float((total - after_five)[restless].sum())
    if one <= 0:
        return 0.0
    return float(np.clip(five / one, 0, 0.9999) ** 0.25)
