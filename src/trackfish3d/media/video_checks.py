"""What is wrong with a video before any animal is looked for: too dark, or a camera that moved."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .video import Video

Array = NDArray[np.float64]
_DARK = 24.0  # mean brightness of 255; black in most videos is 16
_WIDTH = 480  # pixels across to which pictures are reduced
_SAMPLES, _LEAST = 24, 8  # pictures that tell, and the fewest that can


@dataclass(frozen=True)
class Knock:
    """A camera that points elsewhere from ``frame`` on; the picture moved by ``px``."""

    frame: int
    px: float

    def __str__(self) -> str:
        return (
            f"the camera moved by about {self.px:.0f} px at frame {self.frame}; the film is taken in parts there, and "
            "the calibration holds for one of them only ('trackfish3d refine --window' finds one for each)"
        )


def examine(video: Video, threads: int = 1) -> tuple[list[str], list[Knock]]:
    """Look at pictures spread over a video; returns what a user should know, a line each, and where it was knocked.

    Parameters
    ----------
    video : to look at.
    threads : of the decoder.
    """
    numbers, pictures = _spread(video, threads)
    if not len(pictures):
        return ["not one picture could be decoded"], []
    notes = []
    level = float(np.median(pictures.mean(axis=(1, 2))))
    if level < _DARK:
        notes.append(f"dark video: mean brightness {level:.0f} of 255; animals may be missed")
    knocks = _knocks(video, numbers, pictures, threads)
    return [*notes, *map(str, knocks)], knocks


def _spread(video: Video, threads: int) -> tuple[NDArray[np.int64], Array]:
    """Numbers (K,) and small pictures (K, h, w) of frames spread over a video."""
    numbers, pictures = [], []
    for picture in video.at(video.sample_numbers(_SAMPLES), threads):
        numbers.append(picture.number)
        pictures.append(_small(picture.grey))
    return np.array(numbers, np.int64), np.array(pictures)


def _small(grey: NDArray[np.uint8]) -> Array:
    step = max(1, grey.shape[1] // _WIDTH)
    h, w = grey.shape[0] // step, grey.shape[1] // step
    return np.asarray(grey[: h * step, : w * step].reshape(h, step, w, step).mean(axis=(1, 3)))


def _knocks(video: Video, numbers: NDArray[np.int64], pictures: Array, threads: int) -> list[Knock]:
    """Compare the still picture of the beginning with that of the end; where they differ, both parts again."""
    if len(pictures) < _LEAST:
        return []
    quarter = max(4, len(pictures) // 4)
    before, after = np.median(pictures[:quarter], axis=0), np.median(pictures[-quarter:], axis=0)
    dx, dy = displacement(before, after)
    if (dx, dy) == (0, 0):
        return []

    def turned(p: Array) -> bool:
        """Whether a picture is like those of the end."""
        return bool(np.abs(p - before).mean() > np.abs(p - after).mean())

    # Which of the two each picture is like: the change is where the likeness turns over.
    like = np.array([turned(p) for p in pictures])
    turn = int(np.argmax([like[k:].sum() + (~like[:k]).sum() for k in range(len(like))]))
    low, high = int(numbers[max(turn - 1, 0)]), int(numbers[turn])
    while high - low > 1:
        middle = (low + high) // 2
        seen = [turned(_small(p.grey)) for p in video.at([middle], threads)]
        low, high = (low, middle) if seen and seen[0] else (middle, high)
    far = float(np.hypot(dx, dy) * max(1, video.size[0] // _WIDTH))
    first, second = video.stretch(0, high), video.stretch(high, video.count)
    earlier = _knocks(first, *_spread(first, threads), threads)
    later = [Knock(k.frame + high, k.px) for k in _knocks(second, *_spread(second, threads), threads)]
    return [*earlier, Knock(high, far), *later]


def displacement(first: Array, second: Array) -> tuple[float, float]:
    """Shift x, y (px) of the second picture (h, w) against the first, by phase correlation; 0, 0 where unclear.

    Only the phases count, so a change of light is no shift; animals are a small part of all edges.
    """
    h, w = first.shape
    window = np.outer(np.hanning(h), np.hanning(w))
    a, b = (np.fft.rfft2((p - p.mean()) * window) for p in (first, second))
    cross = b * np.conj(a)
    peak = np.fft.irfft2(cross / np.maximum(np.abs(cross), 1e-9), s=(h, w))
    y, x = np.unravel_index(int(np.argmax(peak)), peak.shape)
    dx, dy = int((x + w // 2) % w - w // 2), int((y + h // 2) % h - h // 2)
    if not _aligns(first, second, dx, dy):
        return 0.0, 0.0
    return float(dx), float(dy)


def _aligns(first: Array, second: Array, dx: int, dy: int) -> bool:
    """Whether the shift explains most of what differs: over a plain background, animals alone make a peak too."""
    h, w = first.shape
    if abs(dx) > w // 2 or abs(dy) > h // 2:
        return False
    a = first[max(-dy, 0) : h - max(dy, 0), max(-dx, 0) : w - max(dx, 0)]
    b = second[max(dy, 0) : h - max(-dy, 0), max(dx, 0) : w - max(-dx, 0)]
    light = float(np.median(second - first))
    before, after = np.abs(second - first - light).mean(), np.abs(b - a - light).mean()
    return bool(before > 0.5 and after < 0.7 * before)
