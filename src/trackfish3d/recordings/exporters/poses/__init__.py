"""Poses in other tools' files."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ....core.errors import InputError
from ...poses import Poses
from ...recording import Recording
from .grids import write_c3d, write_movement, write_points3d
from .nwb_poses import write_nwb_poses
from .slp_poses import write_slp_poses
from .wide_tables import write_anipose, write_deeplabcut

__all__ = ["POSE_FORMATS", "export_poses"]

WRITERS: dict[str, Callable[[Recording, Poses, Path, Mapping[str, Any]], list[str]]] = {
    "movement-poses": write_movement,
    "nwb-poses": write_nwb_poses,
    "slp-poses": write_slp_poses,
    "points3d": write_points3d,
    "anipose": write_anipose,
    "deeplabcut3d": write_deeplabcut,
    "c3d": write_c3d,
}
POSE_FORMATS = tuple(WRITERS)


def export_poses(
    recording: Recording, path: str | Path, format: str, about: Mapping[str, Any] | None = None
) -> list[str]:
    """Write a recording's poses in one of `POSE_FORMATS`; return remarks that a user should read.

    Parameters
    ----------
    recording : with poses.
    path : of the file.
    format : its kind.
    about : of the session, for NWB: ``session_start``, ``lab``, ``subject_id``, ``species`` and more.
    """
    if format not in WRITERS:
        raise InputError(f"unknown format '{format}'; known are {', '.join(POSE_FORMATS)}")
    poses = recording.poses
    if poses is None or not len(poses):
        raise InputError(f"{recording.folder}: has no poses; import them without --keypoint, and track")
    return WRITERS[format](recording, poses, Path(path), about or {})
