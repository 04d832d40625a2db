"""Abnormal animals as the paper finds them: three frames at a time, three detectors, a majority.

What it leaves open is read off its table. Isolation Forest and LOF have exact match, precision, recall and F1 equal to
the last digit, which happens when each flags exactly one animal a window: contamination 1 / N. The z-scores of slowness
and distance from the centroid are added: of the ways to combine two, only the sum flags so readily at 1.5 that recall
comes out above precision, as published.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..measures.collective import centroid_distance_world
from .outliers import isolation_forest, local_outlier_factor

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

WINDOW_FRAMES = 3
SHORTEST = 0.3
THRESHOLD = 1.5
FEATURES = (
    "speed_mean",
    "speed_std",
    "speed_max",
    "path_length",
    "straightness",
    "acceleration",
    "centroid_distance_mean",
    "centroid_distance_std",
    "nearest_neighbour",
)
METHODS = ("iforest", "lof", "zscore", "consensus")


@dataclass(frozen=True, eq=False)
class WindowFlags:
    """What the detectors say: W windows of N tracks.

    ``features`` (W, N, 9), NaN where a track does not cover the window; ``flags`` (W, N) of each of `METHODS`.
    """

    features: Array
    flags: dict[str, Bools]


@dataclass(frozen=True)
class WindowScores:
    """Means over windows, 0 to 1: ``exact`` the flagged set is the true one; ``precision``, ``recall``, ``f1``."""

    exact: float
    precision: float
    recall: float
    f1: float


def window_features(position: ArrayLike, window_frames: int = WINDOW_FRAMES) -> Array:
    """(W, N, 9) features of positions (T, N, D) in windows of stride 1, D = 2 (pixels) or 3 (world).

    Speeds are steps between frames; acceleration is the mean absolute change of speed. The centroid and the neighbours
    are of all tracks there in a frame.
    """
    x = np.asarray(position, dtype=np.float64)
    T, N = x.shape[:2]
    count = max(T - window_frames + 1, 0)
    if count == 0 or N == 0:
        return np.full((count, N, len(FEATURES)), np.nan)
    step = np.linalg.norm(np.diff(x, axis=0), axis=2)
    speeds = _windows(step, window_frames - 1)
    away = _windows(centroid_distance_world(x), window_frames)
    near = _windows(_nearest(x), window_frames)
    net = np.linalg.norm(x[window_frames - 1 :] - x[:count], axis=2)
    path = speeds.sum(2)
    change = np.abs(np.diff(speeds, axis=2)).mean(2) if window_frames > 2 else np.zeros((count, N))
    straight = np.divide(net, path, out=np.where(np.isfinite(path), 1.0, np.nan), where=path > 0)
    columns = [speeds.mean(2), speeds.std(2), speeds.max(2), path, straight, change]
    columns += [away.mean(2), away.std(2), near.mean(2)]
    found = np.stack(columns, axis=2)
    found[~np.isfinite(path)] = np.nan
    return found


def detect(position: ArrayLike, window_frames: int = WINDOW_FRAMES, seed: int = 0) -> WindowFlags:
    """Run all detectors on positions (T, N, D) in sliding windows; windows with fewer than three tracks flag nobody.

    Tracks shorter than 30 % of the recording are left out, see `long_enough`.
    """
    x = np.where(long_enough(position)[None, :, None], np.asarray(position, dtype=np.float64), np.nan)
    features = window_features(x, window_frames)
    flags = {name: np.zeros(features.shape[:2], np.bool_) for name in METHODS}
    for w in range(len(features)):
        rows = np.flatnonzero(np.isfinite(features[w]).all(1))
        if len(rows) < 3:
            continue
        z = standardised(features[w, rows])
        flags["iforest"][w, rows[np.argmax(isolation_forest(z, seed + w))]] = True
        flags["lof"][w, rows[np.argmax(local_outlier_factor(z))]] = True
        flags["zscore"][w, rows] = combined_z(z) > THRESHOLD
    votes = sum(flags[name].astype(int) for name in METHODS[:3])
    flags["consensus"] = np.asarray(votes >= 2)
    return WindowFlags(features, flags)


def long_enough(position: ArrayLike, share: float = SHORTEST) -> Bools:
    """(N,) whether a track of (T, N, D) is there in at least ``share`` of the frames: shorter ones are often ghosts."""
    x = np.asarray(position, dtype=np.float64)
    return np.asarray(np.isfinite(x).all(axis=2).sum(axis=0) >= share * len(x))


def standardised(features: Array) -> Array:
    """(N, D) with mean 0 and standard deviation 1 in each column; 0 where a column is constant."""
    spread = features.std(0)
    return np.asarray(np.divide(features - features.mean(0), spread, out=np.zeros_like(features), where=spread > 0))


def combined_z(standard: Array) -> Array:
    """(N,) slowness plus distance from the centroid, of standardised features (N, 9)."""
    slow = -standard[:, FEATURES.index("speed_mean")]
    return np.asarray(slow + standard[:, FEATURES.index("centroid_distance_mean")])


def score_windows(flags: Bools, truth: Bools, untracked: Bools | None = None) -> WindowScores:
    """Scores of flags (W, N) against who truly is abnormal (W, N), averaged over windows.

    ``untracked`` (W,) is where an abnormal animal has no track: it cannot be flagged, which counts as a miss. Where
    nothing is flagged and nobody is abnormal, the window is right in all four.
    """
    missed = np.zeros(len(flags), np.int64) if untracked is None else np.asarray(untracked, dtype=np.int64)
    right = (flags & truth).sum(1)
    said = flags.sum(1)
    true = truth.sum(1) + missed
    nothing = (said == 0) & (true == 0)
    precision = np.where(nothing, 1.0, np.divide(right, said, out=np.zeros(len(flags)), where=said > 0))
    recall = np.where(nothing, 1.0, np.divide(right, true, out=np.zeros(len(flags)), where=true > 0))
    f1 = np.where(nothing, 1.0, np.divide(2 * right, said + true, out=np.zeros(len(flags)), where=said + true > 0))
    exact = (right == said) & (right == true)
    if not len(flags):
        return WindowScores(*4 * [float("nan")])
    return WindowScores(float(exact.mean()), float(precision.mean()), float(recall.mean()), float(f1.mean()))


def _windows(values: Array, length: int) -> Array:
    """(W, N, length) sliding windows over the first axis of (T, N)."""
    return np.lib.stride_tricks.sliding_window_view(values, length, axis=0)


def _nearest(x: Array) -> Array:
    """(T, N) distance to the nearest other, for positions of any dimension."""
    out = np.full(x.shape[:2], np.nan)
    for first in range(0, len(x), 256):
        part = x[first : first + 256]
        distance = np.linalg.norm(part[:, :, None] - part[:, None], axis=3)
        distance[:, np.arange(x.shape[1]), np.arange(x.shape[1])] = np.inf
        nearest = np.where(np.isfinite(distance), distance, np.inf).min(2)
        out[first : first + 256] = np.where(np.isfinite(nearest), nearest, np.nan)
    return out
