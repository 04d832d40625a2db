"""Detections in CSV or Parquet with one row each, under any column names."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..detections import MOMENTS, Detections, camera_index
from ..storage import read_table
from ..tracks import whole
from ._file import DetectionFile

KNOWN = ("frame", "camera", "u", "v", "x1", "y1", "x2", "y2", "width", "height", "score", *MOMENTS, "tracklet")


def read_csv(file: DetectionFile) -> Detections:
    """Read a table with ``frame, camera, u, v, x1, y1, x2, y2, score``, or whatever `file.columns` calls them.

    Only ``frame`` and either a point or a box are required: a missing point is the middle of the box, a missing box is
    put around the point, a missing score is 1, and ``camera`` is not needed in a file of one camera. A box may also
    be ``x1, y1, width, height``. ``tracklet`` is the tool's own 2D track, empty or -1 for none.
    Mask moments ``area, angle, major, minor`` are taken up where all four are there.
    """
    return detections_of(read_table(file.path), file)


def detections_of(table: pa.Table, file: DetectionFile) -> Detections:
    """Return the detections of a table of a file, as `read_csv` does.

    Parameters
    ----------
    table : all of the file, or some of its rows.
    file : how to understand it.
    """
    at = column_names(file, table.column_names)
    if "frame" not in at:
        raise _missing(file, table.column_names, "frame")
    frame = whole(_plain(file, table, at["frame"]), at["frame"], str(file.path))
    if "camera" in at and file.camera is not None:
        rows = _rows_of(file, table[at["camera"]])
        table, frame = table.filter(pa.array(rows)), frame[rows]
        camera = np.full(len(frame), file.only_camera(), np.int64)
    elif "camera" in at:
        camera = camera_index(table[at["camera"]], file.rig.names, str(file.path))
    else:
        camera = np.full(len(frame), file.only_camera(), np.int64)
    file.check_order(frame, camera)
    get = {k: _floats(file, table, n) for k, n in at.items() if k not in ("frame", "camera")}
    boxes = _boxes(get)
    if {"u", "v"} <= set(get):
        points = {"u": get["u"], "v": get["v"]}
    elif boxes:
        points = {"u": (boxes["x1"] + boxes["x2"]) / 2, "v": (boxes["y1"] + boxes["y2"]) / 2}
    else:
        raise _missing(file, table.column_names, "u, v (a point) or x1, y1, x2, y2 (a box)")
    moments = {k: get[k] for k in MOMENTS} if set(MOMENTS) <= set(get) else {}
    score = file.score_of(get["score"]) if "score" in get else None
    tracklet = np.where(np.isfinite(get["tracklet"]), get["tracklet"], -1) if "tracklet" in get else None
    return file.build(frame, camera, **points, **boxes, score=score, **moments, tracklet=tracklet)


def _rows_of(file: DetectionFile, column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Rows (N,) of the camera that the file was given for, where the file has a column of cameras as well."""
    names = np.array(["" if v is None else str(v) for v in column.to_pylist()])
    there = list(dict.fromkeys(names.tolist()))
    if file.camera in there:
        rows: NDArray[np.bool_] = names == file.camera
        file.drop(str(file.camera), f"rows that {file.path.name} gives to other cameras", int((~rows).sum()))
        return rows
    if len(there) > 1 or any(n in file.rig.names for n in there):
        listed = ", ".join(there[:5])
        raise file.fail(
            f"was given for camera {file.camera}, but its column camera says {listed}; the calibration's cameras are "
            f"renamed by --rename {file.camera}={there[0]}"
        )
    return np.ones(len(names), dtype=bool)


def column_names(file: DetectionFile, names: Sequence[str]) -> dict[str, str]:
    """Return our column names -> the file's. Names are compared without case and spaces around them.

    Parameters
    ----------
    file : how to understand it.
    names : of its columns.
    """
    unknown = set(file.columns) - set(KNOWN)
    if unknown:
        raise file.fail(f"no column is called {', '.join(sorted(unknown))} here; --columns knows {', '.join(KNOWN)}")
    there = {n.strip().lower(): n for n in reversed(names)}
    at = {k: there[k] for k in KNOWN if k in there}
    for ours, theirs in file.columns.items():
        if theirs not in names:
            raise _missing(file, names, theirs)
        at[ours] = theirs
    return at


def _boxes(get: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    if {"x1", "y1", "x2", "y2"} <= set(get):
        return {k: get[k] for k in ("x1", "y1", "x2", "y2")}
    if {"x1", "y1", "width", "height"} <= set(get):
        return {"x1": get["x1"], "y1": get["y1"], "x2": get["x1"] + get["width"], "y2": get["y1"] + get["height"]}
    return {}


def _plain(file: DetectionFile, table: pa.Table, name: str) -> NDArray[Any]:
    kind = table[name].type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise file.fail(f"column {name} has values that are not numbers")
    return np.asarray(table[name].to_numpy())


def _floats(file: DetectionFile, table: pa.Table, name: str) -> NDArray[np.float64]:
    values = _plain(file, table, name)
    return np.full(len(values), np.nan) if values.dtype == object else values.astype(np.float64)


def _missing(file: DetectionFile, names: Sequence[str], what: str) -> Exception:
    has = ", ".join(names[:20])
    return file.fail(f"no column {what}; it has {has}. Name them with --columns 'frame=...,u=...,v=...'")
