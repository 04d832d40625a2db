"""What the verdicts are made of: how well every pair of cameras agrees, and how well it would by chance."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..cameras import Camera, CameraRig
from .agreement import Matches, Sample, ViewErrors, pair_errors, typical, typical_of_pairs

STILL_FRAMES = 80
_AWAY = 0.12  # of the image, by which a view is moved to see what chance makes of it
_WORTH = 0.025  # error, in diagonals of a detection, above which its cause is looked for
_CHANCE = 0.6  # of what chance has, above which cameras are not taken to agree

Array = NDArray[np.float64]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Evidence:
    """A rig and a sample of what it saw."""

    rig: CameraRig
    sample: Sample

    @cached_property
    def pairs(self) -> list[Pair]:
        """All pairs of cameras."""
        return list(combinations(range(len(self.rig)), 2))

    @cached_property
    def views(self) -> list[ViewErrors]:
        """Every camera's detections."""
        return [ViewErrors.of(self.sample, camera, c) for c, camera in enumerate(self.rig)]

    @cached_property
    def still(self) -> Sample:
        """A few of the frames, without those between."""
        return self.sample.still(STILL_FRAMES)

    @cached_property
    def matches(self) -> dict[Pair, Matches]:
        """Best matches of every pair."""
        return {(a, b): pair_errors(self.sample, self.views[a], self.views[b]) for a, b in self.pairs}

    @cached_property
    def error(self) -> dict[Pair, float]:
        """Typical error of every pair, px; NaN where nothing was seen by both."""
        return {pair: typical(m.error) for pair, m in self.matches.items()}

    @cached_property
    def overall(self) -> float:
        """Typical error of all pairs, px."""
        return typical(np.concatenate([m.error for m in self.matches.values()]))

    @cached_property
    def other_time(self) -> dict[Pair, float]:
        """Typical error of views of different times, px."""
        count = len(self.sample.frames)
        rolls = sorted({r for r in (count // 3, count // 2, 2 * count // 3) if r > 0})
        return {
            (a, b): typical(
                np.concatenate(
                    [
                        np.zeros(0),
                        *(pair_errors(self.sample, self.views[a], self.views[b], roll=r).error for r in rolls),
                    ]
                )
            )
            for a, b in self.pairs
        }

    @cached_property
    def other_place(self) -> dict[Pair, float]:
        """Typical error of each pair when the second view is moved across its image, px: chance without motion."""
        out = {}
        for b in range(1, len(self.rig)):
            width, height = self.rig[b].size
            moves = [(s * _AWAY * width, t * _AWAY * height) for s, t in ((1, 1), (-1, 1), (1, -1), (-1, -1))]
            moved = [ViewErrors.displaced(self.still, self.rig[b], b, m) for m in moves]
            for a in range(b):
                view = ViewErrors.of(self.still, self.rig[a], a)
                out[a, b] = typical(np.concatenate([pair_errors(self.still, view, m).error for m in moved]))
        return out

    def chance(self, pair: Pair) -> float:
        """Return what no agreement looks like: other times where animals move, other places where they rest."""
        time, place = self.other_time[pair], self.other_place[pair]
        return time if np.isfinite(time) and time > 0.5 * place else place

    @cached_property
    def overall_chance(self) -> float:
        """Mean over the pairs of what chance has."""
        known = [c for c in (self.chance(p) for p in self.pairs) if np.isfinite(c)]
        return float(np.mean(known)) if known else np.nan

    @cached_property
    def rests(self) -> bool:
        """Whether animals are where they were, in every view: half a recording later as a moment later."""
        frames = self.sample.frames
        moved = []
        for view in self.views:
            pixel = self.sample.detections.centroids[view.row]
            soon = _nearest_way(view.frame, pixel, frames, frames + self.sample.step)
            later = _nearest_way(view.frame, pixel, frames, np.roll(frames, len(frames) // 2))
            if np.isfinite(soon) and np.isfinite(later):
                fast = soon > max(6.0, 0.08 * self.sample.size_px)  # in a crowd another is near at any time
                moved.append(fast or later > 2 * soon + 2.0)
        return not any(moved)

    @cached_property
    def places(self) -> float:
        """How many places the animals were at, a detection's size apart, in the view where these are fewest.

        Places count by how often they were visited: one over the chance that two visits are to the same (Simpson).
        """
        counts = []
        for view in self.views:
            pixel = self.sample.detections.centroids[view.row[np.isin(view.frame, self.sample.frames)]]
            times = np.unique((pixel // self.sample.size_px).astype(np.int64), axis=0, return_counts=True)[1]
            counts.append(float(times.sum() ** 2 / max((times**2).sum(), 1)))
        return min(counts)

    def by_chance(self, pair: Pair) -> bool:
        """Whether a pair agrees no better than chance."""
        return bool(self.error[pair] > _CHANCE * self.chance(pair))

    def out_of_time(self, pair: Pair) -> bool:
        """Whether a pair agrees hardly better than views of other times, though animals move."""
        return bool(self.error[pair] > _CHANCE * self.other_time[pair]) and not self.rests

    def at_any_time(self, pair: Pair) -> bool:
        """Whether views of other times agree as well, though animals move: of a crowd, or in few frames, they may."""
        return bool(self.error[pair] > max(0.9 * self.other_time[pair], 2.0)) and not self.rests

    def suspicious(self, pair: Pair) -> bool:
        """Whether a pair's error is large enough to ask for its cause."""
        large = self.error[pair] > max(1.5, _WORTH * self.sample.size_px)
        return bool(large) or self.by_chance(pair) or self.out_of_time(pair)

    def by_chance_with(self, cameras: list[Camera], order: list[int] | None = None) -> bool:
        """Whether even these cameras would agree hardly better than at other times, though animals move."""
        later = self.trial(cameras, order, max(len(self.still.frames) // 2, 1))
        return bool(self.trial(cameras, order) > 0.75 * later) and not self.rests

    def trial(self, cameras: list[Camera], order: list[int] | None = None, roll: int = 0) -> float:
        """Typical error of all pairs in the few frames, if the cameras were these; `order`: whose films they have."""
        order = list(range(len(cameras))) if order is None else order
        views = [ViewErrors.of(self.still, camera, c) for camera, c in zip(cameras, order, strict=True)]
        return typical_of_pairs(self.still, views, roll)

    @cached_property
    def as_is(self) -> float:
        """What `trial` has for the cameras as they are calibrated."""
        return self.trial(list(self.rig))

    @cached_property
    def dry(self) -> float:
        """What `trial` has for the cameras without water."""
        return self.trial([c.without_water() for c in self.rig])


def _nearest_way(frame: NDArray[np.int64], pixel: Array, first: NDArray[np.int64], then: NDArray[np.int64]) -> float:
    """Median way in px from detections of frames `first` to the nearest one of the frames `then`, NaN if none."""
    ways = [np.zeros(0)]
    for one, other in zip(first[::4].tolist(), then[::4].tolist(), strict=True):
        a, b, c, d = np.searchsorted(frame, [one, one + 1, other, other + 1])
        if b > a and d > c:
            ways.append(np.linalg.norm(pixel[a:b, None] - pixel[None, c:d], axis=2).min(1))
    every = np.concatenate(ways)
    return float(np.median(every)) if len(every) else np.nan
