"""Tracks as arrays over frames and animals, which some formats want."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError
from ..tracks import Tracks

MAX_VALUES = 500_000_000


@dataclass(frozen=True)
class DenseTracks:
    """``frame`` (T,) every frame from the first to the last; ``identity`` (I,); ``position`` (T, I, 3) and
    ``confidence`` (T, I), NaN where a track is not.
    """

    frame: NDArray[np.int64]
    identity: NDArray[np.int64]
    position: NDArray[np.float64]
    confidence: NDArray[np.float64]


def dense(tracks: Tracks, purpose: str) -> DenseTracks:
    """Spread tracks over a full grid, or say that it would not fit."""
    if not len(tracks):
        raise InputError(f"there is no track to write as {purpose}")
    identity = tracks.identities
    first, last = int(tracks.frame[0]), int(tracks.frame[-1])
    count = last - first + 1
    if 4 * count * len(identity) > MAX_VALUES:
        raise InputError(
            f"{purpose} keeps every track at every frame: {count} frames x {len(identity)} tracks are too many; "
            "export parquet instead"
        )
    at = tracks.frame - first, np.searchsorted(identity, tracks.track)
    position = np.full((count, len(identity), 3), np.nan)
    confidence = np.full((count, len(identity)), np.nan)
    position[at], confidence[at] = tracks.position, tracks.confidence
    return DenseTracks(np.arange(first, last + 1), identity, position, confidence)


def animal_name(track: int) -> str:
    """Name of a track in formats that want one."""
    return f"track_{track}"
