"""The background of a static camera: what every pixel shows when no animal is there, and how much that varies.

The still background is the median of pictures spread over the video. Water is not still: light threads wander over
the floor, and ripples over everything. Each pixel is therefore the still value plus a ripple with a memory (an
Ornstein-Uhlenbeck process), followed by a Kalman filter: where a pixel ripples, it is followed fast and judged by what
is left; where it is steady, it is hardly touched; under an animal the prediction relaxes to the still background.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....media.video import Picture, Video
from ...masks import kernels as mask_kernels
from ...masks.blobs import QUARTERS, Blob, Thresholds, find_blobs
from . import kernels, tile_kernels
from .glance import Glance, Layer, everywhere, light_step, look, shrink, tiles_of
from .light import LightChange, change_of_light, even_light
from .resting import uncover
from .samples import Bytes, Floats, Plane, Samples, densest, halves, light_change, settled
from .tile_kernels import BLOCK, TILE

_LEAST_NOISE = 0.7  # levels; below it, quantisation rules
_LEAST_COLOUR_NOISE = 0.9  # levels; codecs move the colour of whole blocks by one level
_ROUNDS = 2  # times that animals are taken out of the samples
_ANIMAL = Thresholds(
    low=5 * QUARTERS, high=9 * QUARTERS, reach=9, outline=0.2, gap=1, close=2, smallest=40, hole=np.inf
)  # what is taken out
_MARGIN = 4  # pixels around it
_GLANCE = 0.5  # of the level that counts, what a block must reach: an animal as thick as a block covers half of one
_GROW = 1  # tiles around those that stir
_SETTLED = 20  # frames after which a tile that an animal has left is calm again
_LIGHT_ROWS = 90  # rows of pixels that tell how light differs between samples
_STILL = 0.004  # gain below which there is nothing to follow
_GREY = 128.0  # level of colour that is none
_NONE = np.zeros((0, 0), np.float32)


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

    def __post_init__(self) -> None:
        one = np.float32(1.0)
        self._colours: tuple[Layer, Layer] | None = None
        if self.blue is not None and self.red is not None:
            self._blue_scale: Floats = (one / self.blue.spread).astype(np.float32)
            self._red_scale: Floats = (one / self.red.spread).astype(np.float32)
            blue, red = (Layer.of(p.still, p.spread**2, BLOCK // 2) for p in (self.blue, self.red))
            self._colours = blue, red
        self._settled: Floats = steady_variance(self.noise, self.ripple, self.memory)
        self._gains: Floats = (self._settled / (self._settled + self.noise)).astype(np.float32)
        self._small = Layer.of(self.now, self._settled + self.noise)
        self._small_still, self._small_gains = shrink(self.luma.still), shrink(self._gains)
        rows, columns = tiles_of(self.size)
        moves = np.zeros((rows * TILE, columns * TILE), np.bool_)
        moves[: self.size[1], : self.size[0]] = self._gains > _STILL
        self._moves = moves.reshape(rows, TILE, columns, TILE).any(axis=(1, 3))
        self.unrest = np.full((rows, columns), _SETTLED, np.uint8)
        self._last: tuple[Picture, tuple[int, int], Glance] | None = None

    @classmethod
    def learn(cls, video: Video, samples: int = 48, threads: int = 1) -> "Background":
        """Learn from pictures spread over the video, and how each of them went on.

        First from what each pixel shows most consistently; animals that stand out from that are then taken out of
        the pictures, and the rest tells the background and how much it varies.
        """
        taken_from = Samples.collect(video, samples, threads)
        even_light(taken_from, max(1, min(video.size) // _LIGHT_ROWS))
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
        taken, tight = np.zeros(samples.grey.shape, np.bool_), np.zeros(samples.grey.shape, np.bool_)
        for k in range(len(samples)):
            colours = None
            if samples.blue is not None and samples.red is not None:
                colours = samples.blue[k], samples.red[k]
            for blob in find_blobs(self._off(samples.grey[k], colours), _ANIMAL):
                mask_kernels.paint(blob.mask, blob.left, blob.top, _MARGIN, taken[k])
                mask_kernels.paint(blob.mask, blob.left, blob.top, 0, tight[k])
        uncover(samples.grey, tight, taken, self.luma.still, _MARGIN)
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

    def deviation(
        self, picture: Picture, side: int = 0, low: int = 0, near: NDArray[np.bool_] | None = None
    ) -> tuple[Bytes, NDArray[np.int64]]:
        """Map (H, W) of how many standard deviations pixels are off, in quarters, at most 255, and spans of tiles.

        Outside the spans (see `tile_kernels`) nothing stirs, and the map is 0.

        Parameters
        ----------
        picture : the next one.
        side : -1 if only darker counts, 1 only brighter, 0 both.
        low : least level that matters; 0 for the whole picture.
        near : (rows, columns) tiles to look into, whatever stirs there.
        """
        chroma = None if self.blue is None else picture.chroma
        glance = self._glance(picture, side, low)
        if not low:
            return self._levels(picture.grey, chroma, glance.offsets, side, everywhere(self.size)), everywhere(
                self.size
            )
        tiles = glance.tiles if near is None else glance.tiles | near
        spans = tile_kernels.spans_of(tiles, self.size[0], _GROW)
        return self._levels(picture.grey, chroma, glance.offsets, side, spans), spans

    def _glance(self, picture: Picture, side: int, low: int) -> Glance:
        """Glance at a picture, once."""
        last = self._last
        if last is not None and last[0] is picture and last[1] == (side, low):
            return last[2]
        chroma = None if self.blue is None else picture.chroma
        limit = _GLANCE * low / QUARTERS
        seen = look(picture.grey, chroma, self._small, self._colours, side, limit)
        change = change_of_light(seen.blocks, self._small.now, light_step(seen.blocks.shape))
        if change is not None:
            self._take_light(change)
            seen = look(picture.grey, chroma, self._small, self._colours, side, limit)
        self._last = picture, (side, low), seen
        return seen

    def _take_light(self, change: LightChange) -> None:
        """Expect everything in another light from now on."""
        for plane in (self.now, self.luma.still):
            change.apply(plane)
        if self.blue is not None and self.red is not None:
            for colour in (self.blue, self.red):
                change.apply(colour.still, _GREY)
        unrest = self.unrest.copy()
        self._shrink()
        self.unrest[...] = unrest

    def _levels(
        self,
        grey: Bytes,
        chroma: tuple[Bytes, Bytes] | None,
        offsets: tuple[float, float, float],
        side: int,
        spans: NDArray[np.int64],
    ) -> Bytes:
        colour = _NONE
        if self.blue is not None and self.red is not None and chroma is not None:
            colour = np.zeros(self.blue.still.shape, np.float32)
            scales = self._blue_scale, self._red_scale
            for plane, known, scale, offset in zip(chroma, (self.blue, self.red), scales, offsets[1:], strict=True):
                tile_kernels.add_colour(np.ascontiguousarray(plane), known.still, scale, offset, spans, colour)
        out = np.zeros(grey.shape, np.uint8)
        tile_kernels.levels(
            np.ascontiguousarray(grey), self.now, offsets[0], self.variance, self.noise, colour, side, spans, out
        )
        return out

    def _off(self, grey: Bytes, chroma: tuple[Bytes, Bytes] | None) -> Bytes:
        """Map (H, W) of a whole picture that is none of the video's next ones."""
        seen = look(grey, chroma, self._small, self._colours, 0, 0.0)
        return self._levels(grey, chroma, seen.offsets, 0, everywhere(self.size))

    def reset(self) -> None:
        """Forget what was followed: the next picture is judged by the still background."""
        self.now[...] = self.luma.still
        self.variance[...] = self.ripple
        self._shrink()

    def _shrink(self) -> None:
        """Let the small picture be that of the large one, and no tile be calm."""
        self._small.now[...] = shrink(self.now)
        self._small_still = shrink(self.luma.still)
        if self._colours is not None and self.blue is not None and self.red is not None:
            for layer, plane in zip(self._colours, (self.blue, self.red), strict=True):
                layer.now[...] = shrink(plane.still, BLOCK // 2)
        self.unrest[...] = _SETTLED
        self._last = None

    @property
    def small(self) -> Floats:
        """What is expected of every block of the small picture."""
        return self._small.now

    def take_up(self, unrest: NDArray[np.uint8], small: Floats) -> None:
        """Go on where another model of this video was, whose planes have been taken over.

        Parameters
        ----------
        unrest : (rows, columns) of the tiles.
        small : (h, w) the small picture.
        """
        self._shrink()
        self.unrest[...], self._small.now[...] = unrest, small

    def brighter(self, picture: Picture, blob: Blob) -> float:
        """Share of a blob's pixels that are brighter than the background."""
        h, w = blob.mask.shape
        box = slice(blob.top, blob.top + h), slice(blob.left, blob.left + w)
        return float((picture.grey[box] > self.now[box])[blob.mask > 0].mean())

    def follow(self, picture: Picture, taken: NDArray[np.bool_], tiles: NDArray[np.bool_]) -> None:
        """Learn from the pixels that no animal covers.

        Parameters
        ----------
        picture : the one that was judged last.
        taken : (H, W) whether an animal is there.
        tiles : (rows, columns) whether one is in a tile.
        """
        glance = self._last[2] if self._last is not None and self._last[0] is picture else self._glance(picture, 0, 0)
        self.unrest[tiles] = _SETTLED + 1
        self.unrest[self.unrest > 0] -= 1
        state = np.where(self.unrest > 0, 2, np.where(self._moves, 1, 0)).astype(np.uint8)
        tile_kernels.follow(
            np.ascontiguousarray(picture.grey),
            glance.offsets[0],
            self.luma.still,
            self.ripple,
            self.noise,
            self._gains,
            self.memory,
            taken,
            state,
            self.now,
            self.variance,
        )
        tile_kernels.follow_blocks(
            glance.blocks,
            glance.offsets[0],
            self._small_still,
            self._small_gains,
            1 - self.memory,
            tiles,
            self._small.now,
        )
        self._last = None

    def drift(self, picture: Picture, taken: NDArray[np.bool_], rate: float, slow_rate: float) -> None:
        """Move the still background towards the picture by ``rate``, under animals by ``slow_rate``."""
        grey = np.ascontiguousarray(picture.grey)
        kernels.drift(grey, light_change(grey, self.luma.still), taken, rate, slow_rate, self.luma.still)
        if self.blue is not None and self.red is not None:
            half = np.ascontiguousarray(taken[::2, ::2])
            for plane, now in zip((self.blue, self.red), picture.chroma, strict=True):
                now = np.ascontiguousarray(now)
                kernels.drift(now, light_change(now, plane.still), half, rate, slow_rate, plane.still)
        unrest = self.unrest.copy()
        self._shrink()
        self.unrest[...] = unrest


def steady_variance(noise: Floats, ripple: Floats, memory: float) -> Floats:
    """Variance (H, W) of the filter's prediction after a long time without animals: where a step leaves it as it is."""
    square = np.float64(memory) ** 2
    fresh = (1 - square) * ripple.astype(np.float64)
    half = 0.5 * (noise * (1 - square) - fresh)
    return (np.sqrt(half**2 + fresh * noise) - half).astype(np.float32)


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
