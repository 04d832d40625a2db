"""Caliscope's ``camera_array.toml`` and the ``config.toml`` of its older versions.

World in metres. Cameras are numbered (``cam_id``, once ``port``); the rotation is a Rodrigues vector or a matrix.
A camera without pose has none or the text "null". ``rotation_count`` only turns the picture on the screen: pixels
are those of the video as it was recorded.
"""

from pathlib import Path
from typing import Any

from ...core.errors import InputError
from ..native import camera_from_table, natural, read_toml
from ..rig import CameraRig
from .common import Size, note, reader


@reader("caliscope")
def read(path: Path, *, size: Size | None = None) -> CameraRig:
    """Read every camera that has a pose and is not marked ``ignore``; the others are named in a warning."""
    tables = camera_tables(read_toml(path))
    if not tables:
        raise InputError("holds no camera; expected tables cameras.N (camera_array.toml) or cam_N (config.toml)")
    cameras, left_out = [], []
    for name in sorted(tables, key=natural):
        table = {k: v for k, v in tables[name].items() if v != "null"}
        if table.get("ignore", False) or "rotation" not in table or "translation" not in table:
            left_out.append(name)
            continue
        if size is not None:
            table["size"] = size
        cameras.append(camera_from_table({**table, "name": name}, name, str(path)))
    if not cameras:
        raise InputError("no camera has a pose; run caliscope's extrinsic calibration first")
    if left_out:
        note(f"cameras without pose, or ignored in caliscope, are left out: {', '.join(left_out)}")
    return CameraRig(tuple(cameras), "m")


def camera_tables(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Tables of all cameras, by name ``cam_N``; empty if the TOML is not caliscope's."""
    nested = document.get("cameras")
    tables = nested if isinstance(nested, dict) else document
    found = {}
    for key, table in tables.items():
        if not isinstance(table, dict) or ("matrix" not in table and "size" not in table):
            continue
        number = table.get("cam_id", table.get("port", key if tables is nested else None))
        if number is not None:
            found[f"cam_{number}"] = table
    return found
