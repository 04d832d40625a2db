"""Raw features of detections, as the published encoder takes them."""

import zipfile
from enum import IntEnum
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...cameras import CameraRig
from ...core.errors import InputError
from ...recordings import Detections

MOST_COLUMNS = 2**14
LARGEST = 1e6


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
        shape = _npz_shape(path) if path.suffix == ".npz" else _parquet_shape(path)
        if len(shape) != 2 or not 0 < shape[1] <= MOST_COLUMNS or shape[0] != len(detections):
            raise InputError(f"{path}: has shape {shape}; the recording needs ({len(detections)}, columns)")
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as file, np.errstate(over="ignore"):
                values = np.asarray(file[file.files[0]], np.float32)
        else:
            table = pq.read_table(path)
            values = np.column_stack([np.asarray(column, np.float32) for column in table.columns])
    except InputError:
        raise
    except Exception as error:  # zip, deflate, NumPy and Arrow each have errors of their own for damaged files
        first = (str(error).splitlines() or [type(error).__name__])[0][:120]
        raise InputError(f"{path}: cannot be read as features ({first})") from None
    if values.shape != shape:
        raise InputError(f"{path}: holds {values.shape} numbers and says {shape}")
    bad = np.flatnonzero(~(np.abs(values) <= LARGEST).all(1))
    if len(bad):
        raise InputError(f"{path}: row {bad[0]} is not finite, or beyond {LARGEST:g}; scale features to about -1 to 1")
    return values


def _npz_shape(path: Path) -> tuple[int, ...]:
    """Shape of the one array, by its header: a small file may unpack to more than fits into memory."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if len(names) != 1:
            raise InputError(f"{path}: holds {len(names)} arrays; one is needed")
        with archive.open(names[0]) as stream:
            version = np.lib.format.read_magic(stream)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = header(stream)
    if dtype.kind not in "biuf":
        raise InputError(f"{path}: holds {dtype} values, not numbers")
    return tuple(int(n) for n in shape)


def _parquet_shape(path: Path) -> tuple[int, ...]:
    about = pq.read_metadata(path)
    return int(about.num_rows), int(about.num_columns)
