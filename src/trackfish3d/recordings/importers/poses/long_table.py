"""Poses in CSV or Parquet with a row for each part: frame, camera, instance, part, u, v, score."""

import numpy as np
import pyarrow as pa

from ....core.reading.limits import refuse_rows
from ...detections import Detections, camera_index
from ...storage import read_table
from ...tracks import whole
from .._file import DetectionFile
from ..keypoints import Poses, detections_from_poses

COLUMNS = ("frame", "camera", "instance", "part", "u", "v", "score")
_TRACKS = ("tracklet", "track", "track_id")
_OTHER = {"u": ("x",), "v": ("y",), "score": ("likelihood", "confidence"), "part": ("bodypart", "keypoint", "node")}


def read_pose_table(file: DetectionFile) -> Detections:
    """Read a row for each part; ``camera`` is not needed in a file of one camera, ``score`` is 1 without.

    A column ``track`` (or ``tracklet``, ``track_id``) is the tool's own 2D track of the instance, empty for none.
    A part that is twice in an instance is an error: the instance would be two.
    """
    table = read_table(file.path)
    at = _names(file, table)
    frame = whole(_numbers(file, table, at["frame"]), at["frame"], str(file.path))
    if "camera" in at and file.camera is None:
        camera = camera_index(table[at["camera"]], file.rig.names, str(file.path))
    else:
        camera = np.full(len(frame), file.only_camera(), np.int64)
        if "camera" in at:
            rows = np.array([str(c) == file.camera for c in table[at["camera"]].to_pylist()], dtype=bool)
            if rows.any():
                file.drop(str(file.camera), f"rows that {file.path.name} gives to other cameras", int((~rows).sum()))
                table, frame, camera = table.filter(pa.array(rows)), frame[rows], camera[rows]
    file.check_order(frame, camera)
    names = [("" if p is None else str(p)) for p in table[at["part"]].to_pylist()]
    refuse_rows(np.array([n == "" for n in names], dtype=bool), "has no name of a part", str(file.path))
    parts = list(dict.fromkeys(names))
    if not parts:
        raise file.fail("has no rows")
    part = _lookup(parts, names)
    instance = _codes(table[at["instance"]]) if "instance" in at else np.zeros(len(frame), np.int64)
    uv = np.column_stack([_numbers(file, table, at[k]).astype(np.float64) for k in ("u", "v")])
    score = _numbers(file, table, at["score"]).astype(np.float64) if "score" in at else np.ones(len(frame))
    keys, row = np.unique(np.column_stack([frame, camera, instance]), axis=0, return_inverse=True)
    row = row.reshape(-1)
    place = row * len(parts) + part
    _, first, count = np.unique(place, return_index=True, return_counts=True)
    if (count > 1).any():
        k = int(first[np.argmax(count > 1)])
        raise file.fail(
            f"row {k}: part {names[k][:40]} is twice in an instance of frame {frame[k]} of camera "
            f"{file.rig.names[int(camera[k])]}; every instance needs a number of its own"
        )
    points = np.full((len(keys), len(parts), 2), np.nan)
    likelihood = np.full((len(keys), len(parts)), np.nan)
    points[row, part], likelihood[row, part] = uv, score
    tracklet = None
    own = next((n for n in table.column_names if n.strip().lower() in _TRACKS), None)
    if own is not None:
        tracklet = np.full(len(keys), -1, np.int64)
        tracklet[row] = _codes(table[own])
    return detections_from_poses(file, Poses(parts, keys[:, 0], keys[:, 1], points, likelihood, tracklet=tracklet))


def _names(file: DetectionFile, table: pa.Table) -> dict[str, str]:
    there = {n.strip().lower(): n for n in reversed(table.column_names)}
    at = {}
    for name in COLUMNS:
        found = next((there[n] for n in (name, *_OTHER.get(name, ())) if n in there), None)
        if name in file.columns:
            found = file.columns[name]
            if found not in table.column_names:
                raise file.fail(f"no column {found}; it has {', '.join(table.column_names[:20])}")
        if found is not None:
            at[name] = found
    missing = [n for n in ("frame", "part", "u", "v") if n not in at]
    if missing:
        raise file.fail(f"no column {', '.join(missing)}; poses need {', '.join(COLUMNS)}")
    return at


def _numbers(file: DetectionFile, table: pa.Table, name: str) -> np.ndarray:
    kind = table[name].type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise file.fail(f"column {name} has values that are not numbers")
    values = np.asarray(table[name].to_numpy())
    return np.full(len(values), np.nan) if values.dtype == object else values


def _codes(column: pa.ChunkedArray) -> np.ndarray:
    """Return a number (N,) for each value, whatever it is; -1 where there is none."""
    values = ["" if v is None else str(v) for v in column.to_pylist()]
    codes = _lookup(list(dict.fromkeys(values)), values)
    return np.where(np.array([v in ("", "nan") for v in values], dtype=bool), -1, codes)


def _lookup(names: list[str], values: list[str]) -> np.ndarray:
    place = {n: k for k, n in enumerate(names)}
    return np.array([place[v] for v in values], dtype=np.int64)
