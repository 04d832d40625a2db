"""What the animals look like in one view, learnt from stretches of its video."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...media.video import Video
from ..masks.blobs import shapes
from .appearance import Appearance
from .foreground import Foreground

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
_STRETCHES, _LENGTH, _WARM = 5, 14, 6  # stretches of video, their frames, and those the background needs to settle
_FULL = 0.9  # what one animal fills of the ellipse with its moments; two that touch fill 0.89 at most
_UPPER, _ABOVE = 0.95, 1.2  # quantile of single animals, and how far beyond it still is one
_SPECK, _CROWD = 0.15, 4.0  # of the middling area: below are specks, above are several animals
_SMALL, _LARGE = 0.4, 2.5  # of an animal's typical area: within are animals
_LEAST, _LEAST_PX = 0.12, 12.0  # of the typical area, and px^2: the smallest animal
_ONE_SIDED = 0.97  # share of brighter (or darker) pixels that makes animals bright (or dark)


FIRST = Appearance(
    smallest=40, typical=400, largest=1e9, longest=1e9, major=12, minor=3, fill=0.8, level=0, side=0,
    gap=1, close=2,
)  # fmt: skip
"""What is assumed before anything was seen."""


def learn_look(foreground: Foreground, video: Video, threads: int) -> Appearance:
    """Watch a few stretches of the video, twice: the second time with the size that the first has found.

    Parameters
    ----------
    foreground : of the view.
    video : its pictures.
    threads : of the decoder.
    """
    appearance = FIRST
    for stretches in (2, _STRETCHES):
        table = _watch(foreground, video, threads, appearance, stretches)
        if len(table) < 5:
            return appearance if appearance is not FIRST else _nothing(video)
        appearance = _judge(table)
    return appearance


def _nothing(video: Video) -> Appearance:
    note = f"{video.path.name}: nothing moves before the background; sizes could not be learnt"
    return replace(FIRST, notes=(note,))


def _watch(foreground: Foreground, video: Video, threads: int, appearance: Appearance, stretches: int) -> Array:
    """Table (N, 6) of blobs: area, major, minor, fill, mean level, share of its pixels that are brighter."""
    model = foreground.background
    rows = []
    for start in video.sample_numbers(stretches, min(_LENGTH, video.count)):
        model.reset()
        for picture in video.at(range(start, min(start + _LENGTH, video.count)), threads):
            blobs, _ = foreground.blobs(picture, appearance, foreground.settings.clear)
            if picture.number - start >= min(_WARM, video.count // 2) and blobs:
                facts = shapes(blobs)
                bright = [model.brighter(picture, b) for b in blobs]
                rows.append(
                    np.column_stack(
                        [
                            facts["area"],
                            facts["major"],
                            facts["minor"],
                            facts["fill"],
                            [b.level for b in blobs],
                            bright,
                        ]
                    )
                )
            foreground.learn_from(picture, blobs, appearance)
    model.reset()
    return np.concatenate(rows) if rows else np.zeros((0, 6))


def _judge(table: Array) -> Appearance:
    """Typical sizes and their spread, from blobs that are mostly single animals, with noise below and pairs above."""
    area, fill, level = table[:, 0], table[:, 3], table[:, 4]
    # Half of all that moves, weighed by how much it differs, is in blobs below this: specks do not count.
    anchor = _weighted_median(area, area * level)
    animal = (area > _SPECK * anchor) & (area < _CROWD * anchor)
    # What fills its ellipse is one animal: pairs that cross or touch leave corners free.
    single = animal & (fill >= min(_FULL, float(np.median(fill[animal]))))
    # Light on the floor moves too, and is faint: contrast counts.
    found = _from_singles(table, animal, single, level)
    # What hardly differs falls into pieces, and there are more pieces than animals: there each counts by its area.
    return _from_singles(table, animal, single, level * area) if found.weak else found


def _from_singles(table: Array, animal: Bools, single: Bools, weight: Array) -> Appearance:
    """Sizes by weighted medians of what looks like one animal.

    Parameters
    ----------
    table : (N, 6) of `_watch`.
    animal : (N,) what is no speck and no crowd.
    single : (N,) of these, what looks like one.
    weight : (N,) of each.
    """
    area, major, minor, fill, level, bright = table.T
    typical, length = (_weighted_median(v[single], weight[single]) for v in (area, major))
    near = animal & (area > _SMALL * typical) & (area < _LARGE * typical)
    width = float(np.median(minor[near]))
    usual = _weighted_median(level[near], (area * level)[near])
    share = float(np.average(bright[near], weights=area[near]))
    return Appearance(
        smallest=max(_LEAST * typical, _LEAST_PX),
        typical=typical,
        largest=max(_ABOVE * float(np.quantile(area[single], _UPPER)), 1.5 * typical),
        longest=max(_ABOVE * float(np.quantile(major[single], _UPPER)), 1.25 * length),
        major=length,
        minor=width,
        fill=float(np.clip(np.quantile(fill[near], 0.3), 0.5, 0.88)),
        level=usual,
        side=1 if share > _ONE_SIDED else -1 if share < 1 - _ONE_SIDED else 0,
        gap=max(1, round(0.4 * width)),
        close=int(np.clip(round(0.55 * width), 1, 8)),
    )


def _weighted_median(values: Array, weights: Array) -> float:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, 0.5 * total[-1])])
