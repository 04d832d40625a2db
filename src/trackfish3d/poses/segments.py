"""Runs of frames of one animal, with what every view saw of its parts."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import CameraRig
from ..recordings.detections import Detections
from ..recordings.tracks import Tracks
from .kernels import Sight

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(eq=False)
class Segment:
    """One animal in consecutive frames.

    Attributes
    ----------
    track : its number.
    frame : (F,) frame numbers, each one more than the last.
    middle : (F, 3) where the tracker put it, world units.
    rows : (F, C, K) detection that shows the part in the view, -1 for none.
    taken : (F, C, K) which part of that detection it is: another where left and right are exchanged.
    points : (F, K, 3) parts, world units.
    covariance : (F, K, 3, 3) of the parts.
    errors : (F, C, K, 2) px from the parts' images to what was seen, NaN where nothing was.
    jolts : (F, K) trace of the covariance of second differences.
    stretches : (F, E) variance of lengths.
    """

    track: int
    frame: Ints
    middle: Array
    rows: Ints
    taken: Ints
    points: Array = field(default_factory=lambda: np.zeros((0, 0, 3)))
    covariance: Array = field(default_factory=lambda: np.zeros((0, 0, 3, 3)))
    errors: Array = field(default_factory=lambda: np.zeros((0, 0, 0, 2)))
    slopes: Array = field(default_factory=lambda: np.zeros((0, 0, 0, 2, 3)))
    jolts: Array = field(default_factory=lambda: np.zeros((0, 0)))
    stretches: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def seen(self) -> NDArray[np.bool_]:
        """(F, C, K) where a view saw a part."""
        return self.rows >= 0


@dataclass(frozen=True, eq=False)
class Sightings:
    """Parts of all detections with their rays: pixel (N, K, 2), score (N, K), origin and direction (N, K, 3)."""

    pixel: Array
    score: Array
    variance: Array
    origin: Array
    direction: Array

    @classmethod
    def of(cls, rig: CameraRig, detections: Detections) -> "Sightings":
        """Cast the rays of all parts once.

        Parameters
        ----------
        rig : the cameras.
        detections : with parts.
        """
        assert detections.parts is not None
        n, k = detections.parts.shape[:2]
        origin, direction = np.full((n, k, 3), np.nan), np.full((n, k, 3), np.nan)
        pixel = detections.parts[..., :2].copy()
        for c, camera in enumerate(rig):
            rows = np.flatnonzero(detections.camera == c)
            rays = camera.rays(pixel[rows].reshape(-1, 2))
            origin[rows] = rays.origin.reshape(-1, k, 3)
            direction[rows] = rays.direction.reshape(-1, k, 3)
        pixel[~np.isfinite(direction).all(-1)] = np.nan
        variance = np.zeros((n, k))
        if detections.part_variance is not None:
            variance = np.nan_to_num(detections.part_variance.mean(-1))
        return cls(pixel, detections.parts[..., 2], variance, origin, direction)

    def sight(self, segment: Segment, sigma: Array) -> Sight:
        """Return what the views saw of a segment.

        Parameters
        ----------
        segment : with the rows it takes.
        sigma : (F, C, K) px.
        """
        rows, taken = np.maximum(segment.rows, 0), segment.taken
        return Sight(
            self.pixel[rows, taken], sigma, self.origin[rows, taken], self.direction[rows, taken], segment.seen
        )


def segments_of(tracks: Tracks, seen: NDArray[np.bool_], first: int, last: int) -> Iterator[Segment]:
    """Give runs of consecutive frames of each track within a window of frames.

    Parameters
    ----------
    tracks : with the detection of each view.
    seen : (N, K) parts of the detections that were seen.
    first : first frame of the window.
    last : last frame of the window.
    """
    parts = seen.shape[1]
    begin, end = np.searchsorted(tracks.frame, [first, last + 1])
    for track in np.unique(tracks.track[begin:end]).tolist():
        rows = begin + np.flatnonzero(tracks.track[begin:end] == track)
        for run in np.split(rows, np.flatnonzero(np.diff(tracks.frame[rows]) > 1) + 1):
            taken = np.broadcast_to(np.arange(parts), (len(run), tracks.detection.shape[1], parts)).copy()
            member = np.broadcast_to(tracks.detection[run][:, :, None], taken.shape).copy()
            member[(member >= 0) & ~seen[np.maximum(member, 0), taken]] = -1
            yield Segment(int(track), tracks.frame[run], tracks.position[run], member, taken)
