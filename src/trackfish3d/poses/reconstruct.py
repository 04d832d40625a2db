"""Poses of a recording: gather, start, learn, solve, and take parts from whom they belong to."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import CameraRig
from ..core.errors import InputError
from ..core.progress import Progress, silent
from ..recordings.detections import Detections
from ..recordings.poses import Poses
from ..recordings.tracks import Tracks
from .anatomy import Anatomy, first_anatomy, updated
from .claims import claim
from .first_noise import first_noise
from .kernels import agree
from .segments import Segment, Sightings, segments_of
from .solver import lasting_covariance, relax
from .turned import AROUND, turn_back, turn_frames

Array = NDArray[np.float64]
WINDOW, OVERLAP = 300, 12  # frames that are solved together, and that windows share at each end
LEARN = 1200  # frames of animals, at most, that teach
CAP = 9.0  # squared sigmas beyond which a view does not agree with a first point
ROUNDS = 2  # of expectation and maximisation, before and after parts are taken from others
JUMP = 0.15  # of the size of a body, from the frames around: a first point that is no first point
LEFT_OUT = 0.25  # of the size of a body: a part that is known no better is left out


def reconstruct_poses(
    rig: CameraRig, detections: Detections, tracks: Tracks, progress: Progress | None = None
) -> Poses:
    """Return every part of every tracked animal in 3D.

    Parameters
    ----------
    rig : the cameras.
    detections : with parts, those that the tracks were made of.
    tracks : with the detection of each view.
    progress : called with frames done and frames in all.
    """
    if detections.parts is None or detections.skeleton is None:
        raise InputError("these detections have no parts; import poses without --keypoint")
    if tuple(tracks.cameras) != rig.names or tracks.detection.max(initial=-1) >= len(detections):
        raise InputError("these tracks do not say which detections they were made of; track again")
    work = _Work(rig, detections, Sightings.of(rig, detections), tracks)
    if not len(tracks):
        return Poses.build([], [], np.zeros((0, len(detections.skeleton), 3)), detections.skeleton)
    anatomy, taught = work.learn()
    pieces, tell = [], progress or silent
    windows = list(work.windows())
    for k, (first, last, kept) in enumerate(windows):
        segments = work.solved(anatomy, first, last, taught.pop(k, None))
        pieces += [work.poses(s, anatomy, kept) for s in segments]
        tell(k + 1, len(windows))
    joined = Poses.concat([p for p in pieces if len(p)]) if any(len(p) for p in pieces) else pieces[0]
    return joined


@dataclass(frozen=True, eq=False)
class _Work:
    rig: CameraRig
    detections: Detections
    sightings: Sightings
    tracks: Tracks

    @property
    def mirror(self) -> NDArray[np.int64]:
        """(K,) the other of each left/right pair."""
        assert self.detections.skeleton is not None
        return self.detections.skeleton.mirror

    def windows(self) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """First and last frame of each window, and of what is kept of it."""
        begin, end = int(self.tracks.frame[0]), int(self.tracks.frame[-1])
        for at in range(begin, end + 1, WINDOW):
            last = min(at + WINDOW - 1, end)
            if end - last < OVERLAP:
                last = end
            yield max(at - OVERLAP, begin), min(last + OVERLAP, end), (at, last)
            if last == end:
                return

    def started(self, first: int, last: int, sigma: Array) -> list[Segment]:
        """Segments of a window with first points."""
        seen: NDArray[np.bool_] = np.asarray(np.isfinite(self.sightings.pixel).all(-1))
        segments = list(segments_of(self.tracks, seen, first, last))
        for segment in segments:
            wide = np.broadcast_to(sigma, segment.rows.shape).copy()
            segment.points, cost = agree(self.rig.packed, self.sightings.sight(segment, wide), CAP)
            for _ in range(2):
                if not turn_back(self.rig, self.sightings, segment, sigma, self.mirror, CAP):
                    break
                segment.points, cost = agree(self.rig.packed, self.sightings.sight(segment, wide), CAP)
            if turn_frames(segment, self.mirror):
                segment.points, cost = agree(self.rig.packed, self.sightings.sight(segment, wide), CAP)
            count = segment.seen.sum(1)
            poor = (cost > CAP) & (count <= 2) | (cost > (count - 1.5) * CAP)
            segment.points[poor] = np.nan
        return segments

    def learn(self) -> tuple[Anatomy, dict[int, list[Segment]]]:
        """Learn from windows spread over the recording; their segments, by window, are nearly solved by then."""
        skeleton = self.detections.skeleton
        assert skeleton is not None
        windows = list(self.windows())
        animals = max(len(self.tracks) / len(np.unique(self.tracks.frame)), 1.0)
        number = max(1, round(LEARN / (animals * WINDOW)))
        places = np.unique(np.linspace(0, len(windows) - 1, number).round().astype(int)).tolist()
        chosen = [windows[k] for k in places]
        sigma = self.first_noise(chosen)
        taught = {k: self.started(windows[k][0], windows[k][1], sigma) for k in places}
        segments = [s for some in taught.values() for s in some]
        points = [s.points for s in segments]
        known = self.sightings.score[np.isfinite(self.sightings.pixel).all(-1)]
        anatomy = first_anatomy(skeleton, segments, points, sigma, known)
        for segment in segments:
            segment.points = filled(segment, anatomy.size)
        for k in range(2 * ROUNDS):
            if k == ROUNDS:
                claim(self.rig, self.sightings, self.detections, segments, anatomy)
            widths = (4.0, 2.0, 1.0) if k == 0 else (2.0, 1.0) if k == ROUNDS else (1.0,)
            spread = k != ROUNDS  # covariances hardly change when parts change hands, and cost as much as a step
            noises = [relax(self.rig, self.sightings, s, anatomy, widths, spread) for s in segments]
            scores = [self.sightings.score[np.maximum(s.rows, 0), s.taken] for s in segments]
            anatomy = updated(anatomy, segments, noises, scores, skeleton)
        return anatomy, taught

    def first_noise(self, windows: list[tuple[int, int, tuple[int, int]]]) -> Array:
        """Guess a first noise (C, K) px."""
        seen: NDArray[np.bool_] = np.asarray(np.isfinite(self.sightings.pixel).all(-1))
        some = [s for first, last, _ in windows[:4] for s in segments_of(self.tracks, seen, first, last)]
        parts = len(self.detections.skeleton or ())
        return np.repeat(first_noise(self.rig, self.sightings, some)[:, None], parts, axis=1)

    def solved(self, anatomy: Anatomy, first: int, last: int, taught: list[Segment] | None) -> list[Segment]:
        """Segments of a window, solved with covariances; those that have taught only need what was learnt last."""
        segments = self.started(first, last, anatomy.sigma) if taught is None else taught
        if taught is None:
            for segment in segments:
                segment.points = filled(segment, anatomy.size)
                relax(self.rig, self.sightings, segment, anatomy, (4.0, 2.0, 1.0), True)
        for last_time in (False, True):
            claim(self.rig, self.sightings, self.detections, segments, anatomy)
            for segment in segments:
                relax(self.rig, self.sightings, segment, anatomy, (1.0,) if last_time else (2.0, 1.0), last_time)
        return segments

    def poses(self, segment: Segment, anatomy: Anatomy, kept: tuple[int, int]) -> Poses:
        """Poses of a segment, within the frames that its window keeps."""
        skeleton = self.detections.skeleton
        assert skeleton is not None
        rows = np.maximum(segment.rows, 0)
        noise = anatomy.noise(self.sightings.score[rows, segment.taken], self.sightings.variance[rows, segment.taken])
        off = np.linalg.norm(segment.errors, axis=-1)
        views = (segment.seen & (off < 4 * noise)).sum(1)
        spread = lasting_covariance(self.rig, self.sightings, segment, anatomy)
        sigma = np.sqrt(np.einsum("fkii->fk", spread) / 3)
        good: NDArray[np.bool_] = np.asarray(sigma < LEFT_OUT * anatomy.size)
        inside = (segment.frame >= kept[0]) & (segment.frame <= kept[1])
        return Poses.build(
            segment.frame[inside],
            np.full(int(inside.sum()), segment.track),
            np.where(np.expand_dims(good, -1), segment.points, np.nan)[inside],
            skeleton,
            covariance=np.where(np.expand_dims(good, (-1, -2)), spread, np.nan)[inside],
            views=views[inside],
            observed=(views >= 2)[inside],
        )


def filled(segment: Segment, size: float) -> Array:
    """Return first points (F, K, 3) without gaps: a part's place beside the animal's middle, drawn on in time.

    Parameters
    ----------
    segment : with first points, some of which two views may agree on by accident: those that jump are drawn on, too.
    size : of a body, world units.
    """
    points = segment.points
    known: NDArray[np.bool_] = np.asarray(np.isfinite(points).all(-1))
    count = known.sum(1, keepdims=True)
    centre = np.where(known[..., None], points, 0.0).sum(1) / np.maximum(count, 1)
    middle = np.where(count >= 3, centre, segment.middle)
    beside = points - middle[:, None]
    known &= ~_jumped(beside, size)
    out = points.copy()
    time = np.arange(len(points))
    for k in range(points.shape[1]):
        rows = np.flatnonzero(known[:, k])
        if not len(rows):
            out[:, k] = middle
            continue
        for a in range(3):
            out[:, k, a] = middle[:, a] + np.interp(time, rows, beside[rows, k, a])
    out[known] = points[known]
    return out


def _jumped(beside: Array, size: float) -> NDArray[np.bool_]:
    """Places beside the middle (F, K, 3) that are far from the usual one of the frames around, for a few frames."""
    reach = np.arange(len(beside))[:, None] + np.arange(-AROUND, AROUND + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # parts that nothing shows around
        usual = np.nanmedian(beside[np.clip(reach, 0, len(beside) - 1)], axis=1)
        off = np.linalg.norm(beside - usual, axis=-1)
        wide = np.nanmedian(off, axis=0)
    out: NDArray[np.bool_] = np.asarray(off > JUMP * size + 5 * np.nan_to_num(wide))
    return out
