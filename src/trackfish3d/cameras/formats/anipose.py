"""Anipose's ``calibration.toml``, and the package's own ``cameras.toml``, which holds more under the same keys.

Anipose sorts the tables by their name when it reads them, so that cam_10 comes before cam_2. Here cameras go by
their ``name`` and stand in the order of the numbers; files are written with cam_00, cam_01, ... so that both orders
are one.
"""

from pathlib import Path
from typing import Any

import tomli_w

from ...core.files import atomic_path
from ..native import camera_table, read_cameras
from ..rig import CameraRig
from .common import Size, note, reader


@reader("Anipose TOML")
def read(path: Path, *, size: Size | None = None) -> CameraRig:
    """Read a table per camera: name, size, matrix, distortions, rotation (Rodrigues), translation, fisheye."""
    return read_cameras(path, size=size)


def write(rig: CameraRig, path: str | Path) -> None:
    """Write what Anipose reads; it knows no water, so interfaces are left out, with a warning."""
    if rig.refractive:
        note("Anipose knows no refraction: the water is left out (format trackfish3d keeps it)")
    digits = len(str(len(rig) - 1))
    tables: dict[str, Any] = {}
    for i, camera in enumerate(rig):
        table = camera_table(camera.without_water())
        if not table["distortions"]:
            table["distortions"] = [0.0] * (4 if camera.fisheye else 5)
        tables[f"cam_{i:0{digits}d}"] = table
    tables["metadata"] = {"units": rig.units}
    with atomic_path(path) as temporary:
        temporary.write_text(tomli_w.dumps(tables), encoding="utf-8")
