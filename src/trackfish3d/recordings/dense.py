"""Tracks as arrays over frames and animals, which some formats want."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..core.errors import InputError, MissingExtraError

MAX_VALUES = 500_000_000


class Points(Protocol):
    """Tracks, or anything else with these columns, sorted by frame: (N,), (N,), (N, 3) and (N,)."""

    @property
    def frame(self) -> NDArray[np.int64]:
        """Frame of each point."""

    @property
    def track(self) -> NDArray[np.int64]:
        """Track of each point."""

    @property
    def position(self) -> NDArray[np.float64]:
        """Where it is, world units."""

    @property
    def confidence(self) -> NDArray[np.float64]:
        """How sure its identity is."""


@dataclass(frozen=True)
class DenseTracks:
    """``frame`` (T,) every frame from the first to the last; ``identity`` (I,); ``position`` (T, I, 3) and
    ``confidence`` (T, I), NaN where a track is not.
    """

    frame: NDArray[np.int64]
    identity: NDArray[np.int64]
    position: NDArray[np.float64]
    confidence: NDArray[np.float64]


def dense(tracks: Points, purpose: str) -> DenseTracks:
    """Spread tracks over a full grid, or say that it would not fit."""
    if not len(tracks.frame):
        raise InputError(f"there is no track to write as {purpose}")
    identity = np.unique(tracks.track)
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


def to_dataset(tracks: Points, fps: float | None, units: str, source: str = "") -> Any:
    """Return a ``movement`` poses dataset: position (time, space, keypoint, individual) and confidence.

    Time is frame / fps in seconds, so that frame numbers can be got back. The one keypoint is ``centroid``.

    Parameters
    ----------
    tracks : the tracks.
    fps : frames a second; None where it is not known, then time is the frame's number.
    units : unit of the world.
    source : name of the recording.
    """
    try:
        import xarray as xr
    except ImportError:
        raise MissingExtraError("xarray", "netcdf", "a dataset of tracks") from None
    grid = dense(tracks, "a dataset")
    return xr.Dataset(
        {
            "position": (
                ("time", "space", "keypoint", "individual"),
                grid.position.transpose(0, 2, 1)[:, :, None, :],
                {"units": units},
            ),
            "confidence": (("time", "keypoint", "individual"), grid.confidence[:, None, :]),
        },
        coords={
            "time": grid.frame if fps is None else grid.frame / fps,
            "space": ["x", "y", "z"],
            "keypoint": ["centroid"],
            "individual": [animal_name(t) for t in grid.identity.tolist()],
        },
        attrs={
            "source_software": "TrackFish3D",
            "source_software_version": __version__,
            "source_file": source,
            "ds_type": "poses",
            **({"time_unit": "frames"} if fps is None else {"time_unit": "seconds", "fps": float(fps)}),
            "first_frame": int(grid.frame[0]),
            "space_unit": units,
        },
    )
