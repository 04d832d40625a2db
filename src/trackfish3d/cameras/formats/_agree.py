"""Whether what a user adds to a calibration agrees with what its file says already."""

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...core.errors import InputError
from ..rig import CameraRig
from .common import Size, SizeWarning

NO_UNIT = "unit"
UNITS = {
    "m": ("m", "meter", "meters", "metre", "metres"),
    "dm": ("dm", "decimeter", "decimeters", "decimetre", "decimetres"),
    "cm": ("cm", "centimeter", "centimeters", "centimetre", "centimetres"),
    "mm": ("mm", "millimeter", "millimeters", "millimetre", "millimetres"),
    "um": ("um", "µm", "μm", "micron", "microns", "micrometer", "micrometers", "micrometre", "micrometres"),
    "km": ("km", "kilometer", "kilometers", "kilometre", "kilometres"),
    "in": ("in", "inch", "inches"),
    "ft": ("ft", "foot", "feet"),
    NO_UNIT: (NO_UNIT, "units"),
}


def known_unit(name: str) -> str:
    """Return the short name of a unit of length; ``unit`` where the world has none.

    >>> known_unit("Millimetres")
    'mm'
    """
    for short, names in UNITS.items():
        if name.strip().lower() in names:
            return short
    raise InputError(f"--units '{name[:40]}': is no unit of length that is known; there are {', '.join(UNITS)}")


def refuse_other_units(path: Path, rig: CameraRig, units: str) -> None:
    """Raise an `InputError` where the file names another unit."""
    if rig.units not in (NO_UNIT, units):
        raise InputError(
            f"{path}: its world is in {rig.units}, --units says {units}; leave it away, use --scale of 'convert' to "
            "bring it to another unit, or --override-units if the file is wrong"
        )


def refuse_other_size(path: Path, read: Callable[..., CameraRig], size: Size) -> None:
    """Raise an `InputError` where the file itself, read without `size`, has images of another size."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rig = read(path)
        except InputError:
            return  # it cannot be read without a size: it has none
    if any(issubclass(w.category, SizeWarning) for w in caught):
        return
    for camera in rig:
        if camera.size != size:
            raise InputError(
                f"{path}: camera {camera.name} has images of {camera.size[0]}x{camera.size[1]} px, --size says "
                f"{size[0]}x{size[1]}; leave it away, or --override-size if the file is wrong"
            )


def refuse_other_water(path: Path, rig: CameraRig, wet: CameraRig) -> None:
    """Raise an `InputError` where the file's own water (`rig`) is another than what was asked for (`wet`)."""
    for old, new in zip(rig, wet, strict=True):
        if not old.interfaces:
            continue
        face, plane = old.interfaces[-1], new.interfaces[0]
        off = abs(float((face.point - plane.point) @ plane.normal))
        near = off <= 1e-9 * (1 + float(np.abs(plane.point).max()))
        if len(old.interfaces) > 1 or not near or not float(face.normal @ plane.normal) > 1 - 1e-9:
            raise InputError(
                f"{path}: camera {old.name} looks through water already, and through another plane than --water-plane; "
                "leave it away, or --override-water-plane if the file is wrong"
            )
