"""What can be said of a long recording's tracks without any truth, in bounded memory."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError
from ...recordings import Detections, Recording, Tracks
from ...recordings.whole_frames import iter_tracks
from ..blind import HeldOutError, TrackLengths, held_out_error, track_lengths_of

SAMPLE = 200_000  # points whose held-out error is measured, about


def lengths_in(path: Path) -> TrackLengths:
    """Measure the length of every track of a Parquet file.

    Parameters
    ----------
    path : file of tracks.
    """
    unread = ("cov_", "sigma", "error", "confidence", "heading", "length", "thickness", "visible", "detection_")
    return track_lengths_of((piece.frame, piece.track) for piece in iter_tracks(path, unread))


def held_out_sample(recording: Recording, path: Path, rows: int) -> tuple[HeldOutError, int]:
    """Measure held-out errors in every n-th frame; returns n as well.

    Parameters
    ----------
    recording : with the detections that the tracks were made of.
    path : file of tracks that name detections.
    rows : how many points it has.
    """
    stride = -(-rows // SAMPLE)
    tracks = Tracks.concat([p.select(p.frame % stride == 0) for p in iter_tracks(path, ("cov_", "heading"))])
    used = np.unique(tracks.detection[tracks.detection >= 0])
    few = Detections.concat([Detections.empty(recording.rig.names), *_rows(recording, used)])
    if len(few) < len(used):
        raise InputError(
            f"{path}: tracks refer to detection {used[-1]}, which is not there; "
            "these are not the detections they were made from"
        )
    small = np.where(tracks.detection >= 0, np.searchsorted(used, tracks.detection), -1)
    return held_out_error(recording.rig, replace(tracks, detection=small), few), stride


def _rows(recording: Recording, wanted: NDArray[np.int64]) -> Iterator[Detections]:
    """Give some rows (N,), ascending, of a recording's detections; fewer where it has not all of them."""
    done = 0
    for piece in recording.iter_detections():
        mine = wanted[np.searchsorted(wanted, done) : np.searchsorted(wanted, done + len(piece))]
        if len(mine):
            yield piece.select(mine - done)
        done += len(piece)
