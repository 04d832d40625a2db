"""3D-ZeF's pairs of files: ``camN_intrinsic.json`` (K, Distortion) and ``camN_references.json``.

The references are the four corners of the water surface that the camera looks through, each with its place in the
world (cm) and its pixel. As in the dataset's own code the pose comes from these corners, which lie in air, and their
plane is the camera's water plane. Both files may hold ``/* */`` comments.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import InputError
from ..camera import Camera
from ..interface import AIR
from ..native import natural
from ..rig import CameraRig
from .common import Array, Size, facing, load_json, need, numbers, reader, sizes_from_matrices
from .parsing.pose_from_points import planar_pose

WATER_OF_ZEF = 1.33  # the index with which the dataset's ground truth was made
REFERENCES = re.compile(r"(cam\w*)_references\.json")


@reader("3D-ZeF camera")
def read(path: Path, *, size: Size | None = None) -> CameraRig:
    """Read every pair of a folder, or of the folder that one of the files lies in; cam1 is the top view."""
    folder = path if path.is_dir() else path.parent
    found = {m[1]: f for f in folder.iterdir() if (m := REFERENCES.fullmatch(f.name))}
    if not found:
        raise InputError("no camN_references.json beside it; 3D-ZeF cameras are pairs with camN_intrinsic.json")
    names = sorted(found, key=natural)
    lenses = []
    for name in names:
        lens = load_json(folder / f"{name}_intrinsic.json")
        need(lens, ["K", "Distortion"], f"{name}_intrinsic.json")
        K = numbers(lens["K"], f"camera {name}: K", (3, 3))
        lenses.append((K, numbers(lens["Distortion"], f"camera {name}: Distortion").ravel()))
    sizes = sizes_from_matrices([K for K, _ in lenses], size)[0]
    cameras = []
    for name, image, (K, distortion) in zip(names, sizes, lenses, strict=True):
        world, pixels = corners(load_json(found[name]), name)
        try:
            R, t = planar_pose(Camera(name, image, K, distortion, np.eye(3), np.zeros(3)), world, pixels)
        except InputError as error:
            raise InputError(f"camera {name}: {error}") from None
        normal = np.linalg.svd(world - world.mean(axis=0))[2][2]
        face = facing(world[0], normal, -R.T @ t, AIR, WATER_OF_ZEF)
        cameras.append(Camera(name, image, K, distortion, R, t, interfaces=(face,)))
    return CameraRig(tuple(cameras), "cm")


def corners(entries: Any, name: str) -> tuple[Array, Array]:
    """World (N, 3) and pixel (N, 2) coordinates of the reference points."""
    if not isinstance(entries, list):
        raise InputError(f"camera {name}: references must be a list of points with camera and world")
    rows = []
    for i, entry in enumerate(entries):
        who = f"camera {name}: reference {i + 1}"
        need(entry, ["camera", "world"], who)
        need(entry["camera"], ["x", "y"], f"{who}: camera")
        need(entry["world"], ["x", "y", "z"], f"{who}: world")
        point = [*(entry["world"][k] for k in "xyz"), *(entry["camera"][k] for k in "xy")]
        rows.append(numbers(point, who, (5,)))
    table = np.array(rows).reshape(-1, 5)
    if not np.isfinite(table).all():
        raise InputError(f"camera {name}: a reference point is not finite")
    return table[:, :3], table[:, 3:]
