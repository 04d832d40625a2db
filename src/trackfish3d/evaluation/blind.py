"""What can be said of tracks without any truth."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..cameras import CameraRig
from ..cameras.triangulation import triangulate_ml
from ..core.errors import InputError
from ..recordings import Detections, Tracks
from .matching import Floats, Ints


@dataclass(frozen=True, eq=False)
class HeldOutError:
    """Pixel error in a camera that did not take part in the triangulation.

    Attributes
    ----------
    error_px : (N, C) float64
        For each point of the tracks and each camera; NaN where the camera did not see the animal or fewer than two
        others did, so always with a rig of two.
    cameras : tuple of str
        Names of the columns.
    """

    error_px: Floats
    cameras: tuple[str, ...]

    def to_dict(self) -> dict[str, float]:
        """Median, mean and 95th percentile over all, and the median of each camera; px, NaN where unknown."""
        known = self.error_px[np.isfinite(self.error_px)]
        summary = {"held_out_count": float(len(known))}
        summary |= {
            "held_out_median_px": float(np.median(known)) if len(known) else np.nan,
            "held_out_mean_px": float(known.mean()) if len(known) else np.nan,
            "held_out_p95_px": float(np.percentile(known, 95)) if len(known) else np.nan,
        }
        for name, column in zip(self.cameras, self.error_px.T, strict=True):
            seen = column[np.isfinite(column)]
            summary[f"held_out_median_px_{name}"] = float(np.median(seen)) if len(seen) else np.nan
        return summary


def held_out_error(rig: CameraRig, tracks: Tracks, detections: Detections) -> HeldOutError:
    """Triangulate each point again without one of its cameras and see how far from that camera's detection it lands.

    A wrong detection in a group pulls the point that was made with it towards itself, so the usual reprojection error
    flatters; here each camera is judged by the others alone. Both a bad calibration and wrong groups show.

    Parameters
    ----------
    rig : CameraRig
        Calibration; cameras are matched by name.
    tracks : Tracks
        With ``detection`` rows for each of ``tracks.cameras``.
    detections : Detections
        What those rows refer to.
    """
    if not tracks.cameras:
        raise InputError("held-out error: these tracks do not say which detections they use; score tracks.parquet")
    columns = np.array([rig.index(name) for name in tracks.cameras], np.int64)
    if tracks.detection.size and tracks.detection.max() >= len(detections):
        raise InputError(
            f"held-out error: tracks refer to detection {tracks.detection.max()}, but there are {len(detections)}; "
            "these are not the detections they were made from"
        )
    seen = tracks.detection >= 0
    error = np.full(seen.shape, np.nan)
    for held, index in enumerate(columns):
        others = seen.copy()
        others[:, held] = False
        points = np.flatnonzero(seen[:, held] & (others.sum(axis=1) >= 2))
        row, column = np.nonzero(others[points])
        used = tracks.detection[points[row], column]
        offsets = np.append(0, np.cumsum(others[points].sum(axis=1)))
        found = triangulate_ml(rig, detections.centroids[used], columns[column], offsets)
        target = detections.centroids[tracks.detection[points, held]]
        error[points, held] = np.linalg.norm(rig[int(index)].project(found.points) - target, axis=1)
    return HeldOutError(error, tracks.cameras)


@dataclass(frozen=True, eq=False)
class TrackLengths:
    """How long tracks last: many short ones say that identities break.

    Attributes
    ----------
    track : (K,) int64
        Track numbers, ascending.
    points : (K,) int64
        Frames in which each has a position.
    span : (K,) int64
        Frames from its first to its last, gaps included.
    frames : int
        Frames from the first to the last of all tracks.
    """

    track: Ints
    points: Ints
    span: Ints
    frames: int

    def to_dict(self) -> dict[str, float]:
        """Give number of tracks; quartiles, mean and largest of their lengths in frames; share of frames filled."""
        low, middle, high = np.percentile(self.points, [25, 50, 75]) if len(self.points) else [np.nan] * 3
        return {
            "tracks": len(self.track),
            "length_q25": float(low),
            "length_median": float(middle),
            "length_q75": float(high),
            "length_mean": float(self.points.mean()) if len(self.points) else np.nan,
            "length_max": float(self.points.max()) if len(self.points) else np.nan,
            "full_length_tracks": int((self.span == self.frames).sum()),
            "filled": float(self.points.sum() / self.span.sum()) if len(self.points) else np.nan,
        }


def track_lengths(frame: ArrayLike, track: ArrayLike) -> TrackLengths:
    """Measure the length of every track from columns frame (N,) and track (N,), rows in any order."""
    return track_lengths_of([(np.asarray(frame, np.int64), np.asarray(track, np.int64))])


def track_lengths_of(pieces: Iterable[tuple[Ints, Ints]]) -> TrackLengths:
    """Measure the length of every track from pieces of both columns, in any order.

    Parameters
    ----------
    pieces : frame (N,) and track (N,) of each.
    """
    names = points = first = last = np.zeros(0, np.int64)
    for frames, tracks in pieces:
        known, names = names, np.union1d(names, tracks)
        place, index = np.searchsorted(names, known), np.searchsorted(names, tracks)
        more, low, high = (np.full(len(names), value) for value in (0, np.iinfo(np.int64).max, np.iinfo(np.int64).min))
        more[place], low[place], high[place] = points, first, last
        np.add.at(more, index, 1)
        np.minimum.at(low, index, frames)
        np.maximum.at(high, index, frames)
        points, first, last = more, low, high
    total = int(last.max() - first.min() + 1) if len(names) else 0
    return TrackLengths(names, points, last - first + 1, total)
