"""``cameras.json``: cameras as K, dist, R, t with x_cam = R X + t, the plainest form there is.

Either a list of cameras, or a mapping with ``cameras`` and values for all of them: ``units``, ``image_size``
(width, height), ``n_air``, ``n_water``. A camera may have ``name``, ``image_size`` and the water as ``plane_point``
and ``plane_normal``; cameras without a name are cam-1, cam-2, ...
"""

from pathlib import Path
from typing import Any

from ...core.errors import InputError
from ..camera import Camera
from ..interface import AIR, WATER
from ..rig import CameraRig
from .common import Array, Size, facing, load_json, need, numbers, reader, sizes_from_matrices


@reader("cameras.json")
def read(path: Path, *, size: Size | None = None) -> CameraRig:
    """Read either layout; an image size that the file lacks is `size`, or taken by the principal point."""
    data = load_json(path)
    common: dict[str, Any] = {}
    if isinstance(data, dict):
        need(data, ["cameras"], "cameras.json")
        common = {k: v for k, v in data.items() if k != "cameras"}
        data = data["cameras"]
    if not isinstance(data, list):
        raise InputError("cameras must be a list of mappings with K, dist, R, t")
    entries: list[dict[str, Any]] = []
    for i, entry in enumerate(data):
        need(entry, ["K", "R", "t"], f"camera {i + 1}")
        entries.append({**common, **entry, "name": str(entry.get("name", f"cam-{i + 1}"))})
    matrices = [numbers(e["K"], f"camera {e['name']}: K", (3, 3)) for e in entries]
    unsized = [i for i, e in enumerate(entries) if size is not None or "image_size" not in e]
    if unsized:
        for i, guess in zip(unsized, sizes_from_matrices([matrices[i] for i in unsized], size)[0], strict=True):
            entries[i]["image_size"] = guess
    cameras = tuple(_camera(e, K) for e, K in zip(entries, matrices, strict=True))
    return CameraRig(cameras, str(common.get("units", "unit")))


def _camera(entry: dict[str, Any], K: Array) -> Camera:
    name = entry["name"]
    distortion = numbers(entry.get("dist", []), f"camera {name}: dist").ravel()
    dry = Camera(name, entry["image_size"], K, distortion, entry["R"], entry["t"], bool(entry.get("fisheye", False)))
    if "plane_point" not in entry and "plane_normal" not in entry:
        return dry
    need(entry, ["plane_point", "plane_normal"], f"camera {name}")
    indices = float(entry.get("n_air", AIR)), float(entry.get("n_water", WATER))
    face = facing(entry["plane_point"], entry["plane_normal"], dry.centre, *indices)
    return Camera(name, dry.size, dry.K, dry.distortion, dry.R, dry.t, dry.fisheye, (face,))
