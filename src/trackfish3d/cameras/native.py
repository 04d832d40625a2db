"""The package's own calibration file, ``cameras.toml``: Anipose's TOML plus units and interfaces.

One table per camera with ``name``, ``size``, ``matrix``, ``distortions``, ``rotation`` (Rodrigues vector),
``translation``, as Anipose and its kin read them, and ``interfaces``, which they ignore. Cameras are told apart by
``name``; the order of the rig is written down in ``metadata.order``, because TOML tables have none.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from scipy.spatial.transform import Rotation

from ..errors import InputError
from ..files import atomic_path, read_text
from .camera import Camera
from .interface import Interface
from .rig import CameraRig

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def write_cameras(rig: CameraRig, path: str | Path) -> None:
    """Write a rig as ``cameras.toml``; reading it back gives the same cameras to the last digit that matters."""
    tables: dict[str, Any] = {}
    for i, camera in enumerate(rig):
        tables[f"cam_{i}"] = {
            "name": camera.name,
            "size": list(camera.size),
            "matrix": camera.K.tolist(),
            "distortions": camera.distortion.tolist(),
            "rotation": Rotation.from_matrix(camera.R).as_rotvec().tolist(),
            "translation": camera.t.tolist(),
            "fisheye": camera.fisheye,
        }
        if camera.interfaces:
            tables[f"cam_{i}"]["interfaces"] = [
                {
                    "point": face.point.tolist(),
                    "normal": face.normal.tolist(),
                    "n_camera": face.n_camera,
                    "n_animal": face.n_animal,
                }
                for face in camera.interfaces
            ]
    tables["metadata"] = {"units": rig.units, "order": list(rig.names)}
    with atomic_path(path) as temporary:
        temporary.write_text(tomli_w.dumps(tables), encoding="utf-8")


def read_cameras(path: str | Path) -> CameraRig:
    """Read ``cameras.toml``, or an Anipose ``calibration.toml``, which is the same without water."""
    tables = read_toml(path)
    metadata = tables.pop("metadata", {})
    if not isinstance(metadata, dict):
        raise InputError(f"{path}: metadata must be a table")
    cameras = [camera_from_table(table, key, str(path)) for key, table in tables.items() if isinstance(table, dict)]
    if not cameras:
        raise InputError(f"{path}: holds no camera; expected a table with name, size, matrix ... for each")
    order = metadata.get("order")
    if isinstance(order, list) and all(isinstance(n, str) for n in order):
        by_name = {c.name: c for c in cameras}
        if len(by_name) == len(cameras) and sorted(by_name) == sorted(order):
            cameras = [by_name[n] for n in order]
    try:
        return CameraRig(tuple(cameras), str(metadata.get("units", "unit")))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def read_toml(path: str | Path) -> dict[str, Any]:
    """Parse a TOML file, or raise an `InputError` that names it."""
    text = read_text(path)
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise InputError(f"{path}: is not TOML ({error})") from None


def camera_from_table(table: dict[str, Any], key: str, source: str) -> Camera:
    """Make a camera from Anipose's keys; `source` and `key` are named in errors."""
    missing = [k for k in ("size", "matrix", "rotation", "translation") if k not in table]
    if missing:
        raise InputError(f"{source}: camera {table.get('name', key)}: no {', '.join(missing)}")
    try:
        vector = np.asarray(table["rotation"], dtype=np.float64)
        R = vector.reshape(3, 3) if vector.size == 9 else Rotation.from_rotvec(vector.reshape(3)).as_matrix()
        interfaces = tuple(
            Interface(f["point"], f["normal"], float(f.get("n_camera", 1.0)), float(f.get("n_animal", 1.333)))
            for f in table.get("interfaces", [])
        )
        return Camera(
            str(table.get("name", key)),
            table["size"],
            np.asarray(table["matrix"], dtype=np.float64),
            np.asarray(table.get("distortions", []), dtype=np.float64),
            R,
            np.asarray(table["translation"], dtype=np.float64),
            fisheye=bool(table.get("fisheye", False)),
            interfaces=interfaces,
        )
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    except (ValueError, TypeError, KeyError, OverflowError, AttributeError) as error:
        raise InputError(f"{source}: camera {table.get('name', key)}: unusable value ({error})") from None
