"""Tracks in other tools' files."""

from collections.abc import Callable
from pathlib import Path

from ...core.errors import InputError
from ..recording import Recording
from ..tracks import Tracks
from .dltdv_points import write_dltdv
from .geff import write_geff
from .mat import write_mat
from .netcdf import write_netcdf
from .nwb import write_nwb
from .plain_table import write_csv, write_parquet, write_people, write_zef3d
from .rrd import write_rrd
from .slp import write_slp
from .trackmate import write_trackmate

__all__ = ["FORMATS", "export_tracks"]

WRITERS: dict[str, Callable[[Recording, Tracks, Path], list[str]]] = {
    "zef3d": write_zef3d,
    "netcdf": write_netcdf,
    "nwb": write_nwb,
    "slp": write_slp,
    "rrd": write_rrd,
    "mat": write_mat,
    "dltdv": write_dltdv,
    "trackmate": write_trackmate,
    "geff": write_geff,
    "parquet": write_parquet,
    "csv": write_csv,
    "table": write_people,
}
FORMATS = tuple(WRITERS)


def export_tracks(recording: Recording, path: str | Path, format: str, tracks: Tracks | None = None) -> list[str]:
    """Write a recording's tracks (or others of it) in one of `FORMATS`; return remarks that a user should read."""
    if format not in WRITERS:
        raise InputError(f"unknown format '{format}'; known are {', '.join(FORMATS)}")
    return WRITERS[format](recording, recording.mended_tracks if tracks is None else tracks, Path(path))
