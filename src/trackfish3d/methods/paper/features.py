"""Raw features of detections, as the published encoder takes them."""

import zipfile
from enum import IntEnum
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...cameras import CameraRig
from ...core.errors import InputError
from ...recordings import Detections


class Raw(IntEnum):
    """Columns that geometry gives."""

    U = 0  # centroid and box, shares of the image
    V = 1
    WIDTH = 2
    HEIGHT = 3
    CAMERA = 4  # number, 0 to 1
    SCORE = 5
    RAY_X = 6
    RAY_Y = 7
    RAY_Z = 8


GEOMETRIC = len(Raw)
"""Columns that geometry gives; those of a features file come after them."""


def raw_features(
    rig: CameraRig, detections: Detections, extra: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """(N, 9) u/W, v/H, w/W, h/H, camera/(C-1), score, ray x, y, z of each detection (paper, section 3.1).

    The ray is the unit direction in the animals' medium: through water, the refracted one. A detection without a
    ray (outside the lens, totally reflected) gets a zero direction. Columns of `extra` (N, D) are appended.
    """
    size = np.array([c.size for c in rig], dtype=np.float64)[detections.camera]
    ray = np.zeros((len(detections), 3))
    for c, camera in enumerate(rig):
        mine = detections.camera == c
        rays = camera.rays(detections.centroids[mine])
        ray[mine] = np.where(rays.valid[:, None], rays.direction, 0.0)
    appended = [] if extra is None else [extra]
    return np.column_stack(
        [
            detections.u / size[:, 0],
            detections.v / size[:, 1],
            (detections.x2 - detections.x1) / size[:, 0],
            (detections.y2 - detections.y1) / size[:, 1],
            detections.camera / max(len(rig) - 1, 1),
            detections.score,
            ray,
            *appended,
        ]
    ).astype(np.float32)


def read_features(path: Path, detections: Detections) -> NDArray[np.float32]:
    """(N, D) features of any kind, such as those of an image network: one row a detection, in their order.

    A ``.npz`` with one array, or a ``.parquet`` with number columns. The network sees them beside the geometric ones,
    which lie between -1 and 1: scale them to about that.
    """
    if path.suffix not in (".npz", ".parquet"):
        raise InputError(f"{path}: features are read from .npz or .parquet")
    if not path.is_file():
        raise InputError(f"{path}: no such features file")
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as file:
                if len(file.files) != 1:
                    raise InputError(f"{path}: holds {len(file.files)} arrays; one is needed")
                values = np.asarray(file[file.files[0]], np.float32)
        else:
            table = pq.read_table(path)
            values = np.column_stack([np.asarray(column, np.float32) for column in table.columns])
    except (OSError, ValueError, pa.ArrowException, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: cannot be read as features ({str(error).splitlines()[0][:120]})") from None
    if values.ndim != 2 or values.shape[1] == 0 or len(values) != len(detections):
        raise InputError(f"{path}: has shape {values.shape}; the recording needs ({len(detections)}, columns)")
    bad = np.flatnonzero(~np.isfinite(values).all(1))
    if len(bad):
        raise InputError(f"{path}: row {bad[0]} is not finite")
    return values
