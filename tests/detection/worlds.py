"""Small videos whose pictures say which they are, and worlds of swimming ellipses whose masks are known."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

BITS, CELL = 12, 16


def numbered_picture(number: int, size: tuple[int, int] = (BITS * CELL, 48)) -> np.ndarray:
    """RGB picture (H, W, 3) that carries its number as a row of dark and bright cells."""
    picture = np.full((size[1], size[0], 3), 90, np.uint8)
    for bit in range(BITS):
        picture[8:40, bit * CELL : (bit + 1) * CELL] = 220 if number >> bit & 1 else 30
    return picture


def read_number(grey: np.ndarray) -> int:
    """Return the number a picture carries."""
    cells = grey[12:36].reshape(24, -1, CELL)[:, :BITS, 4:12].mean(axis=(0, 2))
    return int(sum(1 << bit for bit, level in enumerate(cells) if level > 125))


def encode(
    path: Path,
    pictures: Iterable[np.ndarray],
    *,
    pts: Sequence[int] | None = None,
    time_base: Fraction = Fraction(1, 30),
    fps: int = 30,
    codec: str = "libx264",
    options: dict[str, str] | None = None,
    pix_fmt: str = "yuv420p",
) -> Path:
    """Write RGB pictures as a video, at even times or at these ``pts``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=fps, options=options or {"preset": "ultrafast", "crf": "12"})
        stream.pix_fmt = pix_fmt
        if pts is not None:
            stream.codec_context.time_base = time_base
        for k, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            if k == 0:
                stream.width, stream.height = frame.width, frame.height
            if pts is not None:
                frame.pts, frame.time_base = pts[k], time_base
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def ellipse(size: tuple[int, int], u: float, v: float, a: float, b: float, angle: float) -> np.ndarray:
    """(H, W) bool mask of a filled ellipse with these half axes, px, turned by ``angle``."""
    y, x = np.mgrid[: size[1], : size[0]]
    along = (x - u) * np.cos(angle) + (y - v) * np.sin(angle)
    across = (y - v) * np.cos(angle) - (x - u) * np.sin(angle)
    return (along / a) ** 2 + (across / b) ** 2 <= 1


def swimming(
    frames: int,
    size: tuple[int, int] = (200, 150),
    fish: int = 3,
    *,
    dark: int = 60,
    ground: float = 130.0,
    seed: int = 0,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Grainy pictures (H, W, 3) of ellipses on circles of their own, and the masks (F, N, H, W) that are in them."""
    rng = np.random.default_rng(seed)
    floor = ground + 6 * np.sin(np.arange(size[0]) / 9.0)[None, :] * np.ones((size[1], 1))
    pictures, masks = [], np.zeros((frames, fish, size[1], size[0]), bool)
    for f in range(frames):
        picture = floor + 1.5 * rng.standard_normal(floor.shape)
        for k in range(fish):
            turn = 0.05 * f * (1 + 0.3 * k) + 2.1 * k
            u, v = size[0] * (0.5 + 0.38 * np.cos(turn)), size[1] * (0.5 + (0.2 + 0.09 * k) * np.sin(turn))
            masks[f, k] = ellipse(size, u, v, 13, 5, turn + np.pi / 2)
            picture = np.where(masks[f, k], picture - dark, picture)
        pictures.append(np.repeat(np.clip(picture, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2))
    return pictures, masks
