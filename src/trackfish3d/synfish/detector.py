"""Detector models: what an object detector makes of the visible masks of one view.

``ideal`` returns every mask as it is. ``detector`` fails as a real one does: it misses hidden fish, and fish whose box
overlaps another, in bursts; merges a hidden fish into the one in front, splits one into two, jitters, and sees fish
where none is, for some frames and near fish. Its rates are fitted to YOLOX on real zebrafish
(``benchmarks/fit_detector.py``) and kept in ``data/detector.json``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numba import njit
from pydantic import Field
from scipy.special import expit, ndtr

from ..core.errors import InputError
from ..core.settings import Settings
from ..detection.masks.moments import ALONE, BOTTOM, COUNT, LEFT, RIGHT, TOP, join_sums, moments
from .ghosts import Ghosts


class DetectorRates(Settings):
    """Rates of the detector model; ``fish`` below means one fish in one view of one frame."""

    miss: float = Field(ge=0, lt=1, description="chance to miss a fish in full view whose box meets no other")
    overlap_miss: float = Field(ge=0, lt=1, description="chance to lose a fish whose box meets that of a clearer one")
    overlap_half: float = Field(gt=0, description="IoU of the two boxes at which half of the less clear are lost")
    overlap_slope: float = Field(gt=0, description="steepness of the logistic in the IoU")
    visible_half: float = Field(ge=0, le=1, description="visible fraction at which half of the fish are found")
    visible_slope: float = Field(gt=0, description="steepness of the logistic in the visible fraction")
    area_half: float = Field(ge=0, description="visible pixels at which half of the fish are found")
    persistence: float = Field(ge=0, lt=1, description="correlation of the luck of a fish from frame to frame")
    merge: float = Field(ge=0, le=1, description="share of touching missed fish that join the fish they touch")
    split: float = Field(ge=0, le=1, description="chance that a fish becomes two detections")
    jitter: float = Field(ge=0, description="standard deviation of position and box edges, in box diagonals")
    jitter_slow: float = Field(ge=0, le=1, description="share of the jitter's variance that drifts, the rest is white")
    jitter_memory: float = Field(ge=0, lt=1, description="correlation of the drifting part from frame to frame")
    false_positives: float = Field(ge=0, le=1, description="mean number a fish, view and frame")
    false_frames: float = Field(ge=1, description="mean number of frames a false positive lasts")
    false_distance: float = Field(gt=0, description="median distance to the fish it appears beside, in box diagonals")
    false_spread: float = Field(ge=0, description="standard deviation of the logarithm of that distance")
    score_visible: float = Field(gt=0, lt=1, description="mean score of a fish in full view")
    score_hidden: float = Field(gt=0, lt=1, description="mean score of a fish that is hardly visible")
    score_false: float = Field(gt=0, lt=1, description="mean score of a false positive")
    score_spread: float = Field(gt=0, description="standard deviation of scores of real fish")

    @classmethod
    def fitted(cls) -> DetectorRates:
        """Rates fitted to the real detector."""
        text = resources.files("trackfish3d.synfish").joinpath("data/detector.json").read_text()
        return cls.model_validate(json.loads(text)["rates"])


@dataclass
class Seen:
    """Detections of one view: table columns (K,) each, and per fish the row in it (N,), -1 where none."""

    columns: dict[str, np.ndarray]
    row: np.ndarray


HalfSums = Callable[[int, float, float, float, float], np.ndarray]
_JITTERED = ("u", "v", "x1", "y1", "x2", "y2", "angle")
SMALLEST_MASK = 5  # pixels; below, a centroid is noise and no detector answers


def _columns(sums: np.ndarray, score: np.ndarray) -> dict[str, np.ndarray]:
    columns = moments(sums)
    columns.update(x1=sums[:, LEFT], y1=sums[:, TOP], x2=sums[:, RIGHT], y2=sums[:, BOTTOM], score=score)
    return columns


class IdealDetector:
    """Every visible mask of at least five pixels, exactly, with score 1."""

    def see(self, camera: int, size: tuple[int, int], sums: np.ndarray, contacts: np.ndarray, halves: HalfSums) -> Seen:
        """Turn the masks of one view (sums (N, 11)) into detections."""
        found = np.flatnonzero(sums[:, COUNT] >= SMALLEST_MASK)
        row = np.full(len(sums), -1, np.int64)
        row[found] = np.arange(len(found))
        return Seen(_columns(sums[found], np.ones(len(found))), row)


class FittedDetector:
    """A detector with the failures of a real one; keeps the luck of every fish in every view over time."""

    def __init__(self, settings: DetectorRates, fish: int, cameras: int, seed: int) -> None:
        self.settings = settings
        self._rng = np.random.default_rng([seed, 7])
        # Standard normal luck of each fish in each view; an AR(1) process, so misses come in bursts while
        # their long-run rate stays exactly what the logistic says.
        self._luck = self._rng.standard_normal((3, cameras, fish))
        self._drift = self._rng.standard_normal((cameras, len(_JITTERED), fish))
        s = settings
        births = s.false_positives / s.false_frames
        self._ghosts = [
            Ghosts(births, s.false_frames, s.false_distance, s.false_spread, s.score_false) for _ in range(cameras)
        ]

    def _advance(self, camera: int) -> np.ndarray:
        """Luck (3, N), uniform in 0..1, of every fish to be found, merged and split; lasts over frames."""
        rho = self.settings.persistence
        fresh = self._rng.standard_normal((3, self._luck.shape[2]))
        self._luck[:, camera] = rho * self._luck[:, camera] + np.sqrt(1 - rho * rho) * fresh
        memory = self.settings.jitter_memory
        self._drift[camera] = memory * self._drift[camera] + np.sqrt(1 - memory * memory) * self._rng.standard_normal(
            self._drift[camera].shape
        )
        uniform: np.ndarray = ndtr(self._luck[:, camera])
        return uniform

    def found_chance(self, visible: np.ndarray, area: np.ndarray) -> np.ndarray:
        """Chance to find fish with these visible fractions and visible areas (px), their boxes meeting no other."""
        s = self.settings
        full = expit(s.visible_slope * (1 - s.visible_half))
        by_fraction = expit(s.visible_slope * (visible - s.visible_half)) / full
        by_area = expit(4.0 * (np.log(np.maximum(area, 1e-9)) - np.log(max(s.area_half, 1e-9))))
        chance: np.ndarray = (1 - s.miss) * by_fraction * by_area
        return chance

    def see(self, camera: int, size: tuple[int, int], sums: np.ndarray, contacts: np.ndarray, halves: HalfSums) -> Seen:
        """Turn the masks of one view into detections; ``halves`` cuts the mask of a fish in two."""
        s, rng = self.settings, self._rng
        luck, merge_luck, split_luck = self._advance(camera)
        area = sums[:, COUNT]
        visible = area / np.maximum(sums[:, ALONE], 1)
        # The clearer a fish, the higher its score, and a suppression of overlapping boxes keeps the highest.
        found = find_fish(
            sums[:, LEFT : BOTTOM + 1],
            np.argsort(-visible * area, kind="stable"),
            area >= SMALLEST_MASK,
            luck,
            self.found_chance(visible, area),
            s.overlap_miss,
            s.overlap_half,
            s.overlap_slope,
        )
        masks = sums.copy()
        row = np.full(len(sums), -1, np.int64)
        host = self._hosts(found, area, contacts, merge_luck)
        for i in np.flatnonzero(host >= 0):
            masks[host[i]] = join_sums(masks[host[i]], sums[i])
        index = np.flatnonzero(found)
        row[index] = np.arange(len(index))
        row[host >= 0] = row[host[host >= 0]]
        kept = masks[index]
        clarity = visible[index]
        for k in np.flatnonzero(split_luck[index] < s.split):
            if np.any(host == index[k]) or area[index[k]] < 8 * SMALLEST_MASK:
                continue  # a merged blob is one, and crumbs do not split
            shape = moments(kept[k : k + 1])
            angle = shape["angle"][0]
            pair = halves(int(index[k]), shape["u"][0], shape["v"][0], np.cos(angle), np.sin(angle))
            if pair[:, COUNT].min() < SMALLEST_MASK:
                continue
            large = int(pair[1, COUNT] > pair[0, COUNT])
            kept[k] = pair[large]
            kept, clarity = np.vstack([kept, pair[1 - large]]), np.append(clarity, clarity[k] / 2)
        mean = s.score_hidden + (s.score_visible - s.score_hidden) * np.clip(clarity, 0, 1)
        score = np.clip(mean + s.score_spread * rng.standard_normal(len(mean)), 0.05, 0.99)
        false, false_score = self._ghosts[camera].step(rng, size, sums[index])
        kept, score = np.vstack([kept, false]), np.concatenate([score, false_score])
        return Seen(self._jitter(_columns(kept, score), self._noise(camera, index, len(kept))), row)

    def _hosts(self, found: np.ndarray, area: np.ndarray, contacts: np.ndarray, luck: np.ndarray) -> np.ndarray:
        """For every fish the found one it is merged into, or -1. A fish joins the one it touches most."""
        host = np.full(len(found), -1, np.int64)
        most = np.zeros(len(found), np.int64)
        for a, b, pixels in contacts:
            for lost, other in ((a, b), (b, a)):
                if not found[lost] and found[other] and area[lost] >= SMALLEST_MASK and pixels > most[lost]:
                    most[lost] = pixels
                    if luck[lost] < self.settings.merge:
                        host[lost] = other
        return host

    def _noise(self, camera: int, fish: np.ndarray, count: int) -> dict[str, np.ndarray]:
        """Return standard normal noise (count,) of every jittered column: part drifts with the fish, part is white.

        Rows beyond ``fish`` (second halves of split fish, false positives) have no past, and only white noise.
        """
        slow = self.settings.jitter_slow
        white = self._rng.standard_normal((len(_JITTERED), count))
        white[:, : len(fish)] *= np.sqrt(1 - slow)
        white[:, : len(fish)] += np.sqrt(slow) * self._drift[camera][:, fish]
        return dict(zip(_JITTERED, white, strict=True))

    def _jitter(self, columns: dict[str, np.ndarray], noise: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Shift and turn in proportion to the box: larger fish are placed less exactly in pixels."""
        rng, count = self._rng, len(columns["u"])
        sigma = self.settings.jitter * np.hypot(columns["x2"] - columns["x1"], columns["y2"] - columns["y1"])
        for name in ("u", "v", "x1", "y1", "x2", "y2"):
            columns[name] = columns[name] + sigma * noise[name]
        for low, high in (("x1", "x2"), ("y1", "y2")):
            middle = 0.5 * (columns[low] + columns[high])
            columns[low] = np.minimum(columns[low], middle - 0.5)
            columns[high] = np.maximum(columns[high], middle + 0.5)
        columns["u"] = np.clip(columns["u"], columns["x1"], columns["x2"])
        columns["v"] = np.clip(columns["v"], columns["y1"], columns["y2"])
        # Two ends of a body of length l, each off by sigma across it, turn its axis by sqrt(2) sigma / l.
        round_ = np.clip(columns["minor"] / columns["major"], 0, 0.95)
        turn = np.sqrt(2) * sigma / (4 * columns["major"]) / (1 - round_**2)
        columns["angle"] = wrap_axis(columns["angle"] + turn * noise["angle"])
        for name, power in (("area", 2.0), ("major", 1.0), ("minor", 1.0)):
            columns[name] = columns[name] * np.exp(power * self.settings.jitter * rng.standard_normal(count))
        columns["minor"] = np.minimum(columns["minor"], columns["major"])
        return columns


@njit(cache=True)
def find_fish(boxes, order, seen, luck, chance, base, half, slope):  # type: ignore[no-untyped-def]
    """Which fish are found, (N,) bool; ``order`` is from the clearest to the least clear.

    A fish is lost with chance ``base`` beside one found before it whose box meets its own, and with a chance that
    goes to 1 as the two boxes (rows of ``boxes`` (N, 4): x1, y1, x2, y2) become one.
    """
    count = len(order)
    found = np.zeros(count, np.bool_)
    for k in range(count):
        i = order[k]
        if not seen[i]:
            continue
        most = 0.0
        for q in range(k):
            j = order[q]
            if found[j]:
                most = max(most, box_iou(boxes[i], boxes[j]))
        lost = base + (1 - base) / (1 + np.exp(-slope * (most - half))) if most > 0 else 0.0
        found[i] = luck[i] < chance[i] * (1 - lost)
    return found


@njit(cache=True)
def box_iou(a, b):  # type: ignore[no-untyped-def]
    """Intersection over union of two boxes x1, y1, x2, y2."""
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    if wide <= 0 or high <= 0:
        return 0.0
    shared = wide * high
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


def wrap_axis(angle: np.ndarray) -> np.ndarray:
    """Bring the direction of an axis into (-pi/2, pi/2]."""
    wrapped: np.ndarray = np.pi / 2 - np.mod(np.pi / 2 - angle, np.pi)
    return wrapped


Detector = IdealDetector | FittedDetector


def make_detector(name: str, fish: int, cameras: int, seed: int) -> Detector:
    """Return the detector model called ``ideal`` or ``detector``."""
    if name == "ideal":
        return IdealDetector()
    if name == "detector":
        return FittedDetector(DetectorRates.fitted(), fish, cameras, seed)
    raise InputError(f"detector model '{name}' is not known; choose ideal or detector")
