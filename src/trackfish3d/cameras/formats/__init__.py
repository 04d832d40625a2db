"""Calibration files of other tools: `read_calibration` and `write_calibration`, and the list of `FORMATS`."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...core.errors import InputError
from ..interface import WATER
from ..native import write_cameras
from ..rig import CameraRig
from . import anipose, aquacal, caliscope, colmap, dlt, matlab, opencv, plain_json, projection, vicon, zef
from ._adjust import parse_plane, renamed, scaled, with_water
from ._agree import known_unit, refuse_other_size, refuse_other_units, refuse_other_water
from ._detect import detect
from .common import Array, CalibrationWarning, Size

__all__ = [
    "FORMATS",
    "CalibrationWarning",
    "Format",
    "describe_formats",
    "detect_format",
    "parse_plane",
    "read_calibration",
    "renamed",
    "scaled",
    "with_water",
    "write_calibration",
]


@dataclass(frozen=True)
class Format:
    """A calibration format: how it is called, what it is, and how it is read and, for some, written."""

    name: str
    description: str
    read: Callable[..., CameraRig]
    write: Callable[[CameraRig, str | Path], None] | None = None


FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        Format(
            "trackfish3d", "cameras.toml of this package: Anipose's TOML, units and water", anipose.read, write_cameras
        ),
        Format(
            "anipose", "calibration.toml of Anipose, SLEAP-Anipose, Pose2Sim, FreeMoCap", anipose.read, anipose.write
        ),
        Format(
            "opencv",
            "YAML or JSON of OpenCV's FileStorage: one file, intri + extri, a folder",
            opencv.read,
            opencv.write,
        ),
        Format("aquacal", "calibration.json of AquaCal, with its water surface", aquacal.read),
        Format("caliscope", "camera_array.toml of caliscope, or its older config.toml", caliscope.read),
        Format("matlab", "stereoParameters of MATLAB saved as struct, or 3 x 4 matrices (.mat)", matlab.read),
        Format("colmap", "text model of COLMAP: folder with cameras.txt and images.txt", colmap.read),
        Format("zef", "3D-ZeF's camN_intrinsic.json and camN_references.json, with the water planes", zef.read),
        Format("dlt", "DLT coefficients, 11 rows, a column per camera (DLTdv, Argus; .csv)", dlt.read),
        Format(
            "projection", "3 x 4 projection matrices: three rows, or twelve numbers, a camera (.csv)", projection.read
        ),
        Format("vicon", "XCP of Vicon (.xcp)", vicon.read),
        Format("json", "cameras.json with K, dist, R, t per camera, with or without water plane", plain_json.read),
    )
}


def describe_formats() -> str:
    """Return a line per format: name, whether it can be written, and what it is."""
    return "\n".join(f"{f.name:12} {'read, write' if f.write else 'read':12} {f.description}" for f in FORMATS.values())


def detect_format(path: str | Path) -> str:
    """Name the format of a file or folder by its content."""
    return _locate(Path(path))[0]


def read_calibration(
    path: str | Path,
    format: str | None = None,
    *,
    size: Size | None = None,
    units: str | None = None,
    scale: float | None = None,
    water: str | tuple[Array, Array] | None = None,
    water_index: float | None = None,
    names: Sequence[str] | Mapping[str, str] | None = None,
    origin: str | None = None,
    override: Collection[str] = (),
) -> CameraRig:
    """Read a calibration of any known tool.

    Parameters
    ----------
    path : file, or folder where the format is one.
    format : a name of `FORMATS`; None finds it out by the content.
    size : image (width, height) in px of all cameras, for files that do not say it.
    units : name of the world's unit, for files that do not say it, or of the unit after scaling.
    scale : factor that brings the file's lengths to `units`.
    water : plane ``"z=0"``, ``"x,y,z,nx,ny,nz"`` or (point, normal), in the unit after scaling, between air and water,
        for files without water.
    water_index : refractive index of that water, or of the water that the file holds; 1.333 for new water.
    names : other names for the cameras: all, in the file's order, or some, by the file's names.
    origin : "top" or "bottom", where DLT coefficients count v from; None finds it out.
    override : which of "size", "units" and "water" replace what the file says; otherwise a contradiction is refused.
    """
    path = Path(path)
    if format is None:
        format, path = _locate(path)
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if origin is not None and format != "dlt":
        raise InputError(f"{path}: origin is for DLT coefficients only, not for {format}")
    units = None if units is None else known_unit(units)
    options: dict[str, Any] = {"origin": origin} if format == "dlt" else {}
    read = partial(_format(format).read, **options)
    if size is not None and "size" not in override:
        refuse_other_size(path, read, size)
    rig = read(path, size=size)
    if units is not None and scale is None and "units" not in override:
        refuse_other_units(path, rig, units)
    if names is not None:
        rig = renamed(rig, names)
    if scale is not None:
        rig = scaled(rig, scale)
    if water is not None:
        wet = with_water(rig, water, WATER if water_index is None else water_index)
        if "water" not in override:
            refuse_other_water(path, rig, wet)
        rig = wet
    elif water_index is not None:
        rig = _with_index(rig, water_index)
    return rig if units is None else CameraRig(rig.cameras, units)


def write_calibration(rig: CameraRig, path: str | Path, format: str = "trackfish3d") -> None:
    """Write a calibration.

    Parameters
    ----------
    rig : the cameras.
    path : of the file.
    format : one that can be written: trackfish3d, anipose, opencv (YAML or JSON by the suffix).
    """
    write = _format(format).write
    if write is None:
        able = ", ".join(f.name for f in FORMATS.values() if f.write)
        raise InputError(f"{path}: format {format} can only be read; {able} can be written")
    write(rig, path)


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise InputError(f"unknown calibration format '{name}'; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def _locate(path: Path) -> tuple[str, Path]:
    try:
        return detect(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


def _with_index(rig: CameraRig, index: float) -> CameraRig:
    """Set the index of the medium the animals are in; a camera without water has none."""
    if not rig.refractive:
        raise InputError("a water index, but no water: give the water plane as well")
    cameras = [
        replace(c, interfaces=(*c.interfaces[:-1], replace(c.interfaces[-1], n_animal=index))) if c.interfaces else c
        for c in rig
    ]
    return CameraRig(tuple(cameras), rig.units)
