"""DLTdv's wide CSV files: ``ptI_camJ_X/Y`` (points in images) and ``ptI_X/Y/Z`` (points in space)."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...core.errors import InputError
from ..detections import Detections
from ..storage import read_table
from ..truth import Truth
from ._file import DetectionFile

_PIXELS = re.compile(r"pt(\d{1,6})_cam(\d{1,6})_([XY])")
_SPACE = re.compile(r"pt(\d{1,6})_([XYZ])")


def read_dltdv(file: DetectionFile) -> Detections:
    """Read ``xypts`` as detections; rows are frames from 1, camJ is the rig's J-th camera.

    DLTdv counts v from the bottom of the image; it is turned around with the camera's image height.
    """
    table = read_table(file.path)
    columns = {m.groups(): n for n in table.column_names if (m := _PIXELS.fullmatch(n.strip()))}
    if not columns:
        raise file.fail("has no columns pt1_cam1_X, pt1_cam1_Y, ...: it is not DLTdv's xypts")
    pieces = []
    for animal, view in sorted({(int(p), int(c)) for p, c, _ in columns}):
        if not 1 <= view <= len(file.rig):
            raise file.fail(f"column pt{animal}_cam{view}_X: the calibration has {len(file.rig)} cameras")
        pair = [columns.get((str(animal), str(view), axis)) for axis in "XY"]
        if pair[0] is None or pair[1] is None:
            raise file.fail(f"pt{animal}_cam{view} needs both X and Y")
        u, v = (_numbers(table[n], str(n), file.path) for n in pair)
        rows = np.flatnonzero(np.isfinite(u) & np.isfinite(v))
        height = file.rig[view - 1].size[1]
        pieces.append((rows + 1, np.full(len(rows), view - 1), u[rows], height - v[rows]))
    frame, camera, u, v = (np.concatenate(c) for c in zip(*pieces, strict=True))
    return file.build(frame, camera, u=u.astype(np.float64), v=v.astype(np.float64))


def read_dltdv_truth(path: str | Path) -> Truth:
    """Read ``xyzpts`` as truth: point I is identity I, rows are frames from 1."""
    table = read_table(path)
    columns = {m.groups(): n for n in table.column_names if (m := _SPACE.fullmatch(n.strip()))}
    animals = sorted({int(p) for p, _ in columns})
    if not animals:
        raise InputError(f"{path}: has no columns pt1_X, pt1_Y, pt1_Z, ...: it is not DLTdv's xyzpts")
    frames, ids, points = [], [], []
    for animal in animals:
        names = [columns.get((str(animal), axis)) for axis in "XYZ"]
        if None in names:
            raise InputError(f"{path}: pt{animal} needs X, Y and Z")
        xyz = np.column_stack([_numbers(table[n], str(n), Path(path)) for n in names])
        rows = np.flatnonzero(np.isfinite(xyz).all(1))
        frames.append(rows + 1)
        ids.append(np.full(len(rows), animal))
        points.append(xyz[rows])
    return Truth.build(np.concatenate(frames), np.concatenate(ids), np.concatenate(points), source=str(path))


def _numbers(column: pa.ChunkedArray, name: str, path: Path) -> NDArray[np.float64]:
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        raise InputError(f"{path}: column {name} has values that are not numbers")
    return np.asarray(column.to_numpy(), dtype=np.float64)
