"""What a user adds to a calibration that its file does not hold: water, units, scale, names."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...core.errors import InputError
from ..interface import AIR, WATER, Interface
from ..rig import CameraRig
from .common import Array, facing

_AXES = "xyz"


def parse_plane(text: str) -> tuple[Array, Array]:
    """Read a plane, ``"z=0"`` or ``"x,y,z,nx,ny,nz"``, as a point (3,) and a normal (3,)."""
    axis, equals, value = text.replace(" ", "").partition("=")
    try:
        if equals and axis.lower() in _AXES and axis:
            normal = np.eye(3)[_AXES.index(axis.lower())]
            return normal * float(value), normal
        point_normal = np.array([float(x) for x in text.replace(",", " ").split()]).reshape(6)
        return point_normal[:3], point_normal[3:]
    except (ValueError, OverflowError):
        raise InputError(f"water plane '{text}': write z=0, or a point and a normal as x,y,z,nx,ny,nz") from None


def with_water(rig: CameraRig, plane: str | tuple[Array, Array], n_water: float = WATER) -> CameraRig:
    """Let every camera look from air through one plane; its normal is turned towards each camera."""
    point, normal = parse_plane(plane) if isinstance(plane, str) else plane
    cameras = []
    for camera in rig:
        face = facing(point, normal, camera.centre, AIR, n_water)
        if not (camera.centre - face.point) @ face.normal > 0:
            raise InputError(f"camera {camera.name}: stands in the water plane")
        cameras.append(replace(camera, interfaces=(face,)))
    return CameraRig(tuple(cameras), rig.units)


def scaled(rig: CameraRig, scale: float) -> CameraRig:
    """Multiply all world lengths by `scale`, such as 0.1 from mm to cm."""
    if not (np.isfinite(scale) and scale > 0):
        raise InputError(f"scale {scale}: must be a positive number")

    def move(face: Interface) -> Interface:
        return replace(face, point=face.point * scale)

    cameras = [replace(c, t=c.t * scale, interfaces=tuple(move(f) for f in c.interfaces)) for c in rig]
    return CameraRig(tuple(cameras), rig.units)


def renamed(rig: CameraRig, names: Sequence[str] | Mapping[str, str]) -> CameraRig:
    """Give the cameras other names: all, in order, or some, by their old names."""
    if isinstance(names, Mapping):
        for old in names:
            rig.index(old)
        names = [names.get(n, n) for n in rig.names]
    if len(names) != len(rig):
        raise InputError(f"{len(names)} names for {len(rig)} cameras ({', '.join(rig.names)})")
    return CameraRig(tuple(replace(c, name=n) for c, n in zip(rig, names, strict=True)), rig.units)
