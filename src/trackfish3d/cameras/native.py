"""The package's own calibration file, ``cameras.toml``: Anipose's TOML plus units and interfaces.

One table per camera with ``name``, ``size``, ``matrix``, ``distortions``, ``rotation`` (Rodrigues vector),
``translation``, as Anipose and its kin read them, and ``interfaces``, which they ignore. Cameras are told apart by
``name``; the order of the rig is written down in ``metadata.order``, because TOML tables have none.
"""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from scipy.spatial.transform import Rotation

from ..core.errors import InputError
from ..core.files import atomic_path, read_text
from .camera import Camera
from .interface import Interface
from .rig import CameraRig

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_DEEPEST = 200


def write_cameras(rig: CameraRig, path: str | Path) -> None:
    """Write a rig as ``cameras.toml``; reading it back gives the same cameras to the last digit that matters."""
    tables: dict[str, Any] = {f"cam_{i}": camera_table(camera) for i, camera in enumerate(rig)}
    tables["metadata"] = {"units": rig.units, "order": list(rig.names)}
    with atomic_path(path) as temporary:
        temporary.write_text(tomli_w.dumps(tables), encoding="utf-8")


def camera_table(camera: Camera) -> dict[str, Any]:
    """Put a camera under Anipose's keys, with ``interfaces`` where it has some."""
    table: dict[str, Any] = {
        "name": camera.name,
        "size": list(camera.size),
        "matrix": camera.K.tolist(),
        "distortions": camera.distortion.tolist(),
        "rotation": Rotation.from_matrix(camera.R).as_rotvec().tolist(),
        "translation": camera.t.tolist(),
        "fisheye": camera.fisheye,
    }
    if camera.interfaces:
        table["interfaces"] = [
            {
                "point": face.point.tolist(),
                "normal": face.normal.tolist(),
                "n_camera": face.n_camera,
                "n_animal": face.n_animal,
            }
            for face in camera.interfaces
        ]
    return table


def read_cameras(path: str | Path, size: tuple[int, int] | None = None) -> CameraRig:
    """Read ``cameras.toml``, or an Anipose ``calibration.toml``, which is the same without water.

    `size` (width, height), if given, is that of all cameras, whatever their tables say. Without ``metadata.order``
    the cameras stand in the order of the numbers in their tables' names, cam_2 before cam_10.
    """
    tables = read_toml(path)
    metadata = tables.pop("metadata", {})
    if not isinstance(metadata, dict):
        raise InputError(f"{path}: metadata must be a table")
    known = {} if size is None else {"size": size}
    cameras = [
        camera_from_table({**tables[key], **known}, key, str(path))
        for key in sorted(tables, key=natural)
        if isinstance(tables[key], dict)
    ]
    if not cameras:
        raise InputError(f"{path}: holds no camera; expected a table with name, size, matrix ... for each")
    order = metadata.get("order")
    if order is not None:
        by_name = {c.name: c for c in cameras}
        if not isinstance(order, list) or sorted(map(str, order)) != sorted(by_name):
            raise InputError(f"{path}: metadata.order must list every camera once: {', '.join(by_name)}")
        cameras = [by_name[str(n)] for n in order]
    try:
        return CameraRig(tuple(cameras), str(metadata.get("units", "unit")))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def natural(key: str) -> list[tuple[int, int, str]]:
    """Sort key by which cam_2 comes before cam_10."""
    parts = re.findall(r"\d{1,18}|\D+", key)
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts]


def read_toml(path: str | Path) -> dict[str, Any]:
    """Parse a TOML file, or raise an `InputError` that names it."""
    text = read_text(path)
    # The parser takes a minute for a name of some ten thousand dotted parts, as a damaged file may have.
    if any(word.count(".") > _DEEPEST for word in re.findall(r"[^\n=,\[\]{}]+", text.replace(" ", ""))):
        raise InputError(f"{path}: is not TOML (a name of more than {_DEEPEST} parts)")
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
