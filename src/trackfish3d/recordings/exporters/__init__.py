"""Tracks in other tools' files."""

from collections.abc import Callable, Iterable
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

PLAIN: dict[str, Callable[[Recording, Iterable[Tracks], Path], list[str]]] = {
    "zef3d": write_zef3d,
    "parquet": write_parquet,
    "csv": write_csv,
    "table": write_people,
}
"""Formats that are written piece by piece."""
WHOLE: dict[str, Callable[[Recording, Tracks, Path], list[str]]] = {
    "netcdf": write_netcdf,
    "nwb": write_nwb,
    "slp": write_slp,
    "rrd": write_rrd,
    "mat": write_mat,
    "dltdv": write_dltdv,
    "trackmate": write_trackmate,
    "geff": write_geff,
}
FORMATS = ("zef3d", *WHOLE, "parquet", "csv", "table")


def export_tracks(
    recording: Recording, path: str | Path, format: str, tracks: Tracks | Iterable[Tracks] | None = None
) -> list[str]:
    """Write a recording's tracks in another tool's format; returns remarks that a user should read.

    Parameters
    ----------
    recording : with tracks.
    path : the file to write.
    format : one of `FORMATS`.
    tracks : others than the recording's own as they are mended; in one of `PLAIN` also pieces of ascending frames.
    """
    if format not in FORMATS:
        raise InputError(f"unknown format '{format}'; known are {', '.join(FORMATS)}")
    chosen = recording.mended_tracks if tracks is None else tracks
    if format in PLAIN:
        return PLAIN[format](recording, [chosen] if isinstance(chosen, Tracks) else chosen, Path(path))
    if not isinstance(chosen, Tracks):
        chosen = Tracks.concat(list(chosen))
    return WHOLE[format](recording, chosen, Path(path))
