"""What is wrong with a video before any animal is looked for: too dark, or a camera that moved."""

import numpy as np
from numpy.typing import NDArray

from .video import Video

Array = NDArray[np.float64]
_DARK = 24.0  # mean brightness of 255; black in most videos is 16
_WIDTH = 480  # pixels across to which pictures are reduced
_SAMPLES = 24


def examine(video: Video, threads: int = 1) -> list[str]:
    """Look at pictures spread over a video; returns what a user should know, a line each."""
    numbers, pictures = [], []
    step = max(1, video.size[0] // _WIDTH)
    mean = []
    for picture in video.at(video.sample_numbers(_SAMPLES), threads):
        grey = picture.grey
        h, w = grey.shape[0] // step, grey.shape[1] // step
        small = grey[: h * step, : w * step].reshape(h, step, w, step).mean(axis=(1, 3))
        numbers.append(picture.number)
        pictures.append(small)
        mean.append(float(small.mean()))
    if not pictures:
        return ["not one picture could be decoded"]
    notes = []
    level = float(np.median(mean))
    if level < _DARK:
        notes.append(f"dark video: mean brightness {level:.0f} of 255; animals may be missed")
    if len(pictures) >= 8:
        notes += _moved(np.array(numbers), np.array(pictures), step)
    return notes


def _moved(numbers: NDArray[np.int64], pictures: Array, step: int) -> list[str]:
    """Compare the still picture before and after every sample; (K,), (K, h, w)."""
    quarter = max(4, len(pictures) // 4)
    before, after = np.median(pictures[:quarter], axis=0), np.median(pictures[-quarter:], axis=0)
    dx, dy = displacement(before, after)
    if (dx, dy) == (0, 0):
        return []
    # Which of the two each picture is like: the change is where the likeness turns over.
    nearer = np.array([np.abs(p - before).mean() - np.abs(p - after).mean() for p in pictures])
    turn = int(np.argmax(np.array([(nearer[k:] > 0).sum() + (nearer[:k] <= 0).sum() for k in range(len(nearer))])))
    when = f"between frames {numbers[max(turn - 1, 0)]} and {numbers[turn]}"
    far = f"{np.hypot(dx, dy) * step:.0f} px"
    return [f"the camera moved by about {far} {when}; calibration and background hold for one part only"]


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
