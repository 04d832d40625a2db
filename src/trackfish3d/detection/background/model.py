"""The background of a static camera: what every pixel shows when no animal is there, and how much that varies.

The still background is the median of pictures spread over the video. Water is not still: light threads wander over
the floor, and ripples over everything. Each pixel is therefore the still value plus a ripple with a memory (an
Ornstein-Uhlenbeck process), followed by a Kalman filter: where a pixel ripples, it is followed fast and judged by what
is left; where it is steady, it is hardly touched; under an animal the prediction relaxes to the still background.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...media.video import Picture, Video
from ..masks import kernels as mask_kernels
from ..masks.blobs import QUARTERS, Blob, Thresholds, find_blobs
from . import kernels
from .samples import Bytes, Floats, Plane, Samples, densest, halves, light_change, settled

_LEAST_NOISE = 0.7  # levels; below it, quantisation rules
_LEAST_COLOUR_NOISE = 0.9  # levels; codecs move the colour of whole blocks by one level
_ROUNDS = 2  # times that animals are taken out of the samples
_ANIMAL = Thresholds(
    low=5 * QUARTERS, high=9 * QUARTERS, reach=9, outline=0.2, gap=1, close=2, smallest=40, hole=np.inf
)  # what is taken out
_MARGIN = 4  # pixels around it


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
        """Learn from pictures spread over the video, and how each of them went on.

        First from what each pixel shows most consistently; animals that stand out from that are then taken out of
        the pictures, and the rest tells the background and how much it varies.
        """
        taken_from = Samples.collect(video, samples, threads)
        luma = densest(taken_from.grey, _LEAST_NOISE)
        blue = red = None
        if taken_from.blue is not None and taken_from.red is not None:
            blue, red = (densest(p, _LEAST_COLOUR_NOISE) for p in (taken_from.blue, taken_from.red))
            if float(blue.still.std()) + float(red.still.std()) < 0.25 and float(blue.spread.max()) < 1.5:
                blue = red = None  # a grey camera that wrote a coloured format
        model = cls._of(taken_from, luma, blue, red, None)
        for _ in range(_ROUNDS):
            model = model._without_animals(taken_from)
        return model

    @classmethod
    def _of(
        cls, samples: Samples, luma: Plane, blue: Plane | None, red: Plane | None, taken: NDArray[np.bool_] | None
    ) -> "Background":
        """Part the spread of pixels into noise and ripple, by how they changed within a few frames."""
        fast, slow = (samples.spread_of_change(k, taken) for k in (0, 1))
        total = luma.spread**2
        least = np.float32(_LEAST_NOISE**2)
        noise = total if fast is None else np.minimum(np.maximum(0.5 * fast**2, least), total)
        ripple = np.maximum(total - noise, 0)
        memory = 0.0 if fast is None or slow is None else _memory(total, 0.5 * fast**2, 0.5 * slow**2)
        return cls(luma, blue, red, noise, ripple, memory, luma.still.copy(), ripple.copy())

    def _without_animals(self, samples: Samples) -> "Background":
        """Model of the same samples where nothing stands out."""
        taken = np.zeros(samples.grey.shape, np.bool_)
        for k in range(len(samples)):
            colours = None
            if samples.blue is not None and samples.red is not None:
                colours = samples.blue[k], samples.red[k]
            for blob in find_blobs(self._off(samples.grey[k], colours, 0), _ANIMAL):
                mask_kernels.paint(blob.mask, blob.left, blob.top, _MARGIN, taken[k])
        luma = settled(samples.grey, taken, self.luma, _LEAST_NOISE)
        blue, red = self.blue, self.red
        if blue is not None and red is not None and samples.blue is not None and samples.red is not None:
            half = halves(taken)
            blue = settled(samples.blue, half, blue, _LEAST_COLOUR_NOISE)
            red = settled(samples.red, half, red, _LEAST_COLOUR_NOISE)
        return self._of(samples, luma, blue, red, taken)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.luma.still.shape[1], self.luma.still.shape[0]

    def deviation(self, picture: Picture, side: int = 0) -> Bytes:
        """(H, W) how many standard deviations each pixel is off, in quarters, at most 255.

        ``side`` -1: only darker counts, 1: only brighter, 0: both.
        """
        return self._off(picture.grey, None if self.blue is None else picture.chroma, side)

    def _off(self, grey: Bytes, chroma: tuple[Bytes, Bytes] | None, side: int) -> Bytes:
        luma, _ = self.luma.difference(grey, self.now)
        none = np.zeros((0, 0), np.float32)
        colour = [none, none, none, none]
        if self.blue is not None and self.red is not None and chroma is not None:
            blue, red = chroma
            colour = [self.blue.difference(blue)[0], self.red.difference(red)[0], self._blue_scale, self._red_scale]
        out = np.empty(luma.shape, np.uint8)
        kernels.deviation(luma, self.variance, self.noise, *colour, side, out)
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
        kernels.follow(
            grey, offset, self.luma.still, self.ripple, self.noise, self.memory, taken, self.now, self.variance
        )

    def drift(self, picture: Picture, taken: NDArray[np.bool_], rate: float, slow_rate: float) -> None:
        """Move the still background towards the picture by ``rate``, under animals by ``slow_rate``."""
        grey = np.ascontiguousarray(picture.grey)
        kernels.drift(grey, light_change(grey, self.luma.still), taken, rate, slow_rate, self.luma.still)
        if self.blue is not None and self.red is not None:
            half = np.ascontiguousarray(taken[::2, ::2])
            for plane, now in zip((self.blue, self.red), picture.chroma, strict=True):
                now = np.ascontiguousarray(now)
                kernels.drift(now, light_change(now, plane.still), half, rate, slow_rate, plane.still)


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
