"""AquaCal's ``calibration.json``: cameras in air above one flat water surface.

World in metres, z down, x_cam = R X + t. Each camera repeats ``water_z``, which is the world's z of the surface
(not a distance; old files call it ``interface_distance``); ``interface`` has the normal and both indices.
"""

from pathlib import Path

import numpy as np

from ...core.errors import InputError
from ..camera import Camera
from ..interface import AIR, WATER
from ..rig import CameraRig
from .common import Size, facing, load_json, need, numbers, reader


@reader("AquaCal JSON")
def read(path: Path, *, size: Size | None = None) -> CameraRig:
    """Read all cameras, auxiliary ones too, each with the water surface as its interface."""
    data = load_json(path)
    need(data, ["cameras"], "AquaCal calibration")
    surface = data.get("interface", {})
    need(surface, [], "interface")
    normal = numbers(surface.get("normal", [0.0, 0.0, -1.0]), "interface normal", (3,))
    indices = float(surface.get("n_air", AIR)), float(surface.get("n_water", WATER))
    need(data["cameras"], [], "cameras")
    cameras = []
    for key, entry in data["cameras"].items():
        need(entry, ["intrinsics", "extrinsics"], f"camera {key}")
        name = str(entry.get("name", key))
        lens, pose = entry["intrinsics"], entry["extrinsics"]
        need(lens, ["K"] if size else ["K", "image_size"], f"camera {name}: intrinsics")
        need(pose, ["R", "t"], f"camera {name}: extrinsics")
        height = entry.get("water_z", entry.get("interface_distance"))
        if height is None:
            raise InputError(f"camera {name}: no water_z (the water surface's z)")
        camera = Camera(
            name,
            size or lens["image_size"],
            numbers(lens["K"], f"camera {name}: K", (3, 3)),
            numbers(lens.get("dist_coeffs", []), f"camera {name}: dist_coeffs").ravel(),
            numbers(pose["R"], f"camera {name}: R", (3, 3)),
            numbers(pose["t"], f"camera {name}: t", (3,)),
            fisheye=bool(lens.get("is_fisheye", False)),
        )
        face = facing(np.array([0.0, 0.0, float(height)]), normal, camera.centre, *indices)
        cameras.append(
            Camera(name, camera.size, camera.K, camera.distortion, camera.R, camera.t, camera.fisheye, (face,))
        )
    return CameraRig(tuple(cameras), "m")
