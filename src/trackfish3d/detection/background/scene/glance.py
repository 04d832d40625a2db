"""A small picture of the scene, 4 x 4 pixels a block: it tells where anything stirs, and how the light changed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import tile_kernels
from .samples import Bytes, Floats
from .tile_kernels import BLOCK, TILE

_NONE = np.zeros((0, 0), np.float32)
_COARSE = 4  # blocks between those that tell the light


def tiles_of(size: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of the tiles of a picture (width, height)."""
    return -(-size[1] // TILE), -(-size[0] // TILE)


def tiles_under(boxes: NDArray[np.generic], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Tiles (rows, columns) of a picture (width, height) that boxes (B, 4) touch: left, top, right, bottom, px."""
    out = np.zeros(tiles_of(size), np.bool_)
    first = np.clip(np.floor(boxes[:, :2]), 0, None).astype(np.int64) // TILE
    last = np.clip(np.ceil(boxes[:, 2:]), -1, None).astype(np.int64) // TILE + 1
    for (i0, j0), (i1, j1) in zip(first.tolist(), last.tolist(), strict=True):
        out[j0:j1, i0:i1] = True
    return out


def everywhere(size: tuple[int, int]) -> NDArray[np.int64]:
    """Spans of all tiles of a picture (width, height)."""
    return np.array([[j, 0, size[0]] for j in range(tiles_of(size)[0])], np.int64)


def shrink(plane: NDArray[np.generic], block: int = BLOCK) -> Floats:
    """Block means (ceil(H / block), ceil(W / block)) of a plane (H, W)."""
    out = np.empty((-(-plane.shape[0] // block), -(-plane.shape[1] // block)), np.float32)
    tile_kernels.block_means(np.ascontiguousarray(plane), block, out)
    return out


def light_step(shape: tuple[int, ...]) -> int:
    """Blocks between those that tell the light of a small picture of this shape."""
    return max(1, min(_COARSE, min(shape) // 32))


@dataclass(eq=False)
class Layer:
    """One plane, small: what is expected ``now`` of every block, and ``inverse``, one over its variance."""

    now: Floats
    inverse: Floats

    @classmethod
    def of(cls, now: Floats, variance: Floats, block: int = BLOCK) -> "Layer":
        """Shrink a plane; a block counts as restless as its calmest pixels, so that nothing is overlooked.

        Parameters
        ----------
        now : (H, W) what is expected.
        variance : (H, W) of it.
        block : pixels of a block's side.
        """
        h, w = -(-now.shape[0] // block), -(-now.shape[1] // block)
        padded = np.pad(variance, ((0, h * block - now.shape[0]), (0, w * block - now.shape[1])), mode="edge")
        least = padded.reshape(h, block, w, block).min(axis=(1, 3))
        return cls(shrink(now, block), (1 / least).astype(np.float32))

    def off(self, small: Floats) -> tuple[Floats, float]:
        """Difference (h, w) of blocks from what is expected, and the change of light it was freed from.

        The change is the median over the picture: animals cover little, light changes everywhere.

        Parameters
        ----------
        small : (h, w) blocks of a picture.
        """
        step = light_step(small.shape)
        difference = small - self.now
        offset = float(np.median(difference[::step, ::step]))
        difference -= np.float32(offset)
        return difference, offset


@dataclass(eq=False)
class Glance:
    """What a picture looks like, small: ``blocks`` of its brightness, change of light of each plane, tiles that stir.

    ``tiles`` (rows, columns) bool.
    """

    blocks: Floats
    offsets: tuple[float, float, float]
    tiles: NDArray[np.bool_]


def look(
    grey: Bytes,
    chroma: tuple[Bytes, Bytes] | None,
    luma: Layer,
    colours: tuple[Layer, Layer] | None,
    side: int,
    limit: float,
) -> Glance:
    """Glance at a picture.

    Parameters
    ----------
    grey : (H, W) its brightness.
    chroma : its colours, or None.
    luma : what is expected of the brightness.
    colours : of the colours, or None.
    side : -1 if only darker counts, 1 only brighter, 0 both.
    limit : standard deviations from which a block stirs.
    """
    blocks = shrink(grey)
    difference, light = luma.off(blocks)
    planes, offsets = [_NONE] * 4, [0.0, 0.0]
    if chroma is not None and colours is not None:
        for k, (plane, layer) in enumerate(zip(chroma, colours, strict=True)):
            planes[2 * k], offsets[k] = layer.off(shrink(plane, BLOCK // 2))
            planes[2 * k + 1] = layer.inverse
    tiles = np.zeros(tiles_of((grey.shape[1], grey.shape[0])), np.bool_)
    tile_kernels.mark_stirred(difference, luma.inverse, *planes, side, limit, tiles)
    return Glance(blocks, (light, offsets[0], offsets[1]), tiles)
