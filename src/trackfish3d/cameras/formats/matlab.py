"""MATLAB's stereoParameters, saved as a struct: ``s = toStruct(stereoParams); save('stereo.mat', 's')``.

Traps that are taken care of: MATLAB counts pixels from (1, 1), so principal points move by one; it multiplies row
vectors from the left, so that IntrinsicMatrix and RotationOfCamera2 are the transposes of K and R (K and PoseCamera2
of newer versions are not); radial and tangential coefficients are apart; ImageSize is (rows, columns). Camera 1 is
the world.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import InputError
from ..camera import Camera
from ..rig import CameraRig
from .common import Array, Size, need, note, numbers, reader, sizes_from_matrices
from .parsing.matfile import load_mat
from .projection import find_matrices, rig_of

FIRST_PIXEL = 1.0
_UNITS = {"mm": "mm", "millimeters": "mm", "cm": "cm", "centimeters": "cm", "m": "m", "meters": "m"}


@reader("MATLAB stereoParams")
def read(path: Path, *, size: Size | None = None) -> CameraRig:
    """Read both cameras, cam1 as the world and cam2 relative to it."""
    variables = load_mat(path)
    stereo = find_stereo(variables)
    if stereo is None:
        found = find_matrices(variables)
        if found:
            return rig_of(list(found), list(found.values()), size)
        raise InputError(
            "holds no stereoParameters as a struct; in MATLAB: s = toStruct(stereoParams); save('stereo.mat', 's'); "
            "and no 3 x 4 projection matrices"
        )
    first, second = stereo["CameraParameters1"], stereo["CameraParameters2"]
    need(first, [], "CameraParameters1")
    need(second, [], "CameraParameters2")
    matrices = [intrinsics(first, "cam1"), intrinsics(second, "cam2")]
    stated = [image_size(first), image_size(second)]
    sizes = sizes_from_matrices(matrices, size)[0] if size or None in stated else [s for s in stated if s]
    poses = [(np.eye(3), np.zeros(3)), pose_of_second(stereo)]
    cameras = [
        Camera(f"cam{i + 1}", sizes[i], matrices[i], distortion(table, f"cam{i + 1}"), *poses[i])
        for i, table in enumerate((first, second))
    ]
    return CameraRig(tuple(cameras), _units(first))


def find_stereo(tree: dict[str, Any], depth: int = 0) -> dict[str, Any] | None:
    """Find the struct with both cameras, at the top or inside another struct."""
    if "CameraParameters1" in tree and "CameraParameters2" in tree:
        return tree
    for value in tree.values():
        if isinstance(value, dict) and depth < 4 and (found := find_stereo(value, depth + 1)):
            return found
    return None


def intrinsics(table: dict[str, Any], name: str) -> Array:
    """K (3, 3) with pixels counted from 0, whichever way the matrix is stored."""
    stored = table["K"] if "K" in table else table.get("IntrinsicMatrix")
    if stored is None:
        raise InputError(f"camera {name}: no K or IntrinsicMatrix")
    K = numbers(stored, f"camera {name}: K", (3, 3))
    K = (K.T if np.any(K[2, :2] != 0) else K).copy()
    K[:2, 2] -= FIRST_PIXEL
    return K


def distortion(table: dict[str, Any], name: str) -> Array:
    """k1 k2 p1 p2 k3 from RadialDistortion (2 or 3) and TangentialDistortion (2)."""
    radial = numbers(table.get("RadialDistortion", []), f"camera {name}: RadialDistortion").ravel()
    tangential = numbers(table.get("TangentialDistortion", []), f"camera {name}: TangentialDistortion").ravel()
    if radial.size not in (0, 2, 3) or tangential.size not in (0, 2):
        raise InputError(f"camera {name}: {radial.size} radial and {tangential.size} tangential coefficients")
    k, p = np.zeros(3), np.zeros(2)
    k[: radial.size] = radial
    p[: tangential.size] = tangential
    return np.array([k[0], k[1], p[0], p[1], k[2]])


def image_size(table: dict[str, Any]) -> Size | None:
    """(width, height) from MATLAB's (rows, columns); None where the calibration was made without."""
    values = numbers(table.get("ImageSize", []), "ImageSize").ravel()
    if values.size < 2 or not np.isfinite(values).all():
        return None
    return int(values[1]), int(values[0])


def pose_of_second(stereo: dict[str, Any]) -> tuple[Array, Array]:
    """R (3, 3), t (3,) of x2 = R x1 + t."""
    pose = stereo.get("PoseCamera2")
    if isinstance(pose, dict):
        if "A" in pose:
            A = numbers(pose["A"], "PoseCamera2.A", (4, 4))
            return A[:3, :3], A[:3, 3]
        need(pose, ["R", "Translation"], "PoseCamera2")
        return numbers(pose["R"], "PoseCamera2.R", (3, 3)), numbers(pose["Translation"], "Translation", (3,))
    need(stereo, ["RotationOfCamera2", "TranslationOfCamera2"], "stereoParams")
    rows = numbers(stereo["RotationOfCamera2"], "RotationOfCamera2", (3, 3))
    return rows.T, numbers(stereo["TranslationOfCamera2"], "TranslationOfCamera2", (3,))


def _units(table: dict[str, Any]) -> str:
    stated = table.get("WorldUnits")
    name = stated.strip().lower() if isinstance(stated, str) else ""
    if name not in _UNITS and name:
        note(f"world units '{name[:40]}' are kept as 'unit' (--units and --scale set them)")
    return _UNITS.get(name, "unit")
