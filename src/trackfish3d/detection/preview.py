"""Pictures that show what a detector saw: outlines drawn over a few frames, to be looked at before anything else."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..core.files import atomic_path
from .base import FrameDetections
from .masks import kernels as mask_kernels
from .masks.blobs import Blob

Bytes = NDArray[np.uint8]
WIDTH = 960
_COLOURS = np.array(
    [[230, 75, 53], [255, 214, 10], [76, 201, 240], [247, 37, 133], [255, 150, 50], [160, 255, 120], [255, 255, 255]],
    np.uint8,
)


def draw_seen(rgb: Bytes, seen: FrameDetections) -> Bytes:
    """Return the picture (H, W, 3) with an outline around every mask, or the box where there are no masks."""
    out = rgb.copy()
    for k in range(len(seen)):
        colour = _COLOURS[k % len(_COLOURS)]
        if seen.masks is not None:
            _outline(out, seen.masks[k], colour)
        else:
            _box(out, [seen.columns[name][k] for name in ("x1", "y1", "x2", "y2")], colour)
        if seen.parts is not None:
            _dots(out, seen.parts[k, :, :2], colour)
    return out


def _dots(picture: Bytes, parts: NDArray[np.float64], colour: Bytes) -> None:
    """Paint a square of 5 px on every part (P, 2) that is seen."""
    for u, v in np.rint(parts[np.isfinite(parts).all(1)]).astype(int):
        picture[max(v - 2, 0) : max(v + 3, 0), max(u - 2, 0) : max(u + 3, 0)] = colour


def _outline(picture: Bytes, blob: Blob, colour: Bytes) -> None:
    """Paint the pixels just outside a mask."""
    height, width = picture.shape[:2]
    padded = np.pad(blob.mask, 2)
    rim = (mask_kernels.grow_mask(padded, 1) > 0) & (padded == 0)
    y, x = np.nonzero(rim)
    y, x = y + blob.top - 2, x + blob.left - 2
    inside = (y >= 0) & (x >= 0) & (y < height) & (x < width)
    picture[y[inside], x[inside]] = colour


def _box(picture: Bytes, box: list[float], colour: Bytes) -> None:
    height, width = picture.shape[:2]
    x1, x2 = (int(np.clip(round(v), 0, width - 1)) for v in (box[0], box[2]))
    y1, y2 = (int(np.clip(round(v), 0, height - 1)) for v in (box[1], box[3]))
    picture[[y1, y2], x1 : x2 + 1] = colour
    picture[y1 : y2 + 1, [x1, x2]] = colour


def panel(rgb: Bytes, seen: FrameDetections) -> Bytes:
    """Whole picture, reduced, beside its liveliest part in full resolution; (h, 2 * 960, 3)."""
    drawn = draw_seen(rgb, seen)
    step = max(1, -(-rgb.shape[1] // WIDTH))
    h, w = rgb.shape[0] // step, rgb.shape[1] // step
    small = drawn[: h * step, : w * step].reshape(h, step, w, step, 3).mean(axis=(1, 3)).astype(np.uint8)
    u = float(np.median(seen.columns["u"])) if len(seen) else rgb.shape[1] / 2
    v = float(np.median(seen.columns["v"])) if len(seen) else rgb.shape[0] / 2
    left = int(np.clip(u - w / 2, 0, rgb.shape[1] - w))
    top = int(np.clip(v - h / 2, 0, rgb.shape[0] - h))
    return np.concatenate([small, drawn[top : top + h, left : left + w]], axis=1)


def write_picture(path: Path, panels: list[Bytes]) -> None:
    """Write panels (h, w, 3) one below the other as PNG."""
    from matplotlib.image import imsave

    with atomic_path(path) as temporary:
        imsave(temporary, np.concatenate(panels, axis=0), format="png")
