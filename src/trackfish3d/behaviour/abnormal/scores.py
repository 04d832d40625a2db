"""How well abnormal animals are found, where it is known who is: in 3D, and in each camera alone."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...cameras import CameraRig
from ...recordings.detections import Detections
from ...recordings.tracks import Tracks
from ...recordings.truth import Truth
from ..measures.smoothing import smooth
from .paper import METHODS, WINDOW_FRAMES, WindowScores, detect, score_windows
from .single_camera import followed, follows_abnormal, spread_out, view_tracks

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def score_published(
    tracks: Tracks, truth: Truth, abnormal: list[int], gate_world: float, smoothed: bool = False, seed: int = 0
) -> dict[str, WindowScores]:
    """Scores of the published detectors on 3D tracks; ``abnormal`` are identities of the truth.

    A track counts as the animal that is nearest to it, within ``gate_world``, in most frames of a window.
    """
    first, count = int(truth.frame[0]), int(truth.frame[-1] - truth.frame[0] + 1)
    inside = tracks.select((tracks.frame >= first) & (tracks.frame < first + count))
    names = inside.identities
    row, column = inside.frame - first, np.searchsorted(names, inside.track)
    position = np.full((count, len(names), 3), np.nan)
    position[row, column] = inside.position
    if smoothed:
        covariance = np.full((count, len(names), 3, 3), np.nan)
        covariance[row, column] = inside.covariance
        observed = np.zeros((count, len(names)), np.bool_)
        observed[row, column] = inside.observed
        position = smooth(position, covariance, observed).position
    true = spread_out(truth.frame - first, truth.identity, truth.position, count)
    return _score(position, true, _columns(truth, abnormal), gate_world, seed)


def score_published_view(
    detections: Detections, camera: int, rig: CameraRig, truth: Truth, abnormal: list[int], seed: int = 0
) -> dict[str, WindowScores]:
    """Scores of the published detectors on one camera's 2D tracks; the truth is projected into its image.

    The gate is half the median box diagonal, as for linking.
    """
    first, count = int(truth.frame[0]), int(truth.frame[-1] - truth.frame[0] + 1)
    seen = detections.select((detections.frame >= first) & (detections.frame < first + count))
    mine = seen.select(seen.camera == camera)
    gate = 0.5 * float(np.median(np.hypot(mine.x2 - mine.x1, mine.y2 - mine.y1))) if len(mine) else 0.0
    _, part = view_tracks(seen, camera)
    position = np.full((count, *part.shape[1:]), np.nan)
    begin = int(seen.frame[0]) - first if len(seen) else 0
    position[begin : begin + len(part)] = part
    true = spread_out(truth.frame - first, truth.identity, rig[camera].project(truth.position), count)
    return _score(position, true, _columns(truth, abnormal), gate, seed)


def score_default(
    windows: pa.Table, tracks: Tracks, truth: Truth, abnormal: list[int], gate_world: float
) -> tuple[WindowScores, float]:
    """Scores of the default detection, and its false alarms as a share of the windows of healthy animals.

    ``windows`` is the table of that name from an analysis of ``tracks``. An abnormal animal that no judged track
    follows in a window is missed there.
    """
    first, count = int(truth.frame[0]), int(truth.frame[-1] - truth.frame[0] + 1)
    names = tracks.identities
    inside = tracks.select((tracks.frame >= first) & (tracks.frame < first + count))
    position = np.full((count, len(names), 3), np.nan)
    position[inside.frame - first, np.searchsorted(names, inside.track)] = inside.position
    true = spread_out(truth.frame - first, truth.identity, truth.position, count)
    whom = followed(position, true, gate_world)
    begin, where = np.unique(windows["first_frame"].to_numpy(), return_inverse=True)
    end = np.zeros(len(begin), np.int64)
    np.maximum.at(end, where, windows["last_frame"].to_numpy())
    column = np.searchsorted(names, windows["track"].to_numpy())
    judged, flags = (np.zeros((len(begin), len(names)), np.bool_) for _ in range(2))
    judged[where, column] = True
    flags[where, column] = windows["abnormal"].to_numpy(zero_copy_only=False)
    bound = np.clip(begin - first, 0, count - 1), np.clip(end - first, 0, count - 1)
    sick = follows_abnormal(whom, _columns(truth, abnormal), *bound) & judged
    scores = score_windows(flags, sick, (len(abnormal) - sick.sum(1)).clip(min=0))
    healthy = judged & ~sick
    return scores, float((flags & healthy).sum() / max(int(healthy.sum()), 1))


def _columns(truth: Truth, abnormal: list[int]) -> Ints:
    return np.flatnonzero(np.isin(np.unique(truth.identity), abnormal))


def _score(position: Array, true: Array, abnormal: Ints, gate: float, seed: int) -> dict[str, WindowScores]:
    found = detect(position, seed=seed)
    first = np.arange(len(found.features))
    sick = follows_abnormal(followed(position, true, gate), abnormal, first, first + WINDOW_FRAMES - 1)
    sick &= np.isfinite(found.features).all(2)
    missed = (len(abnormal) - sick.sum(1)).clip(min=0)
    return {name: score_windows(found.flags[name], sick, missed) for name in METHODS}
