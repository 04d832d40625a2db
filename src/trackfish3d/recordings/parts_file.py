"""``parts.parquet``: the parts of every detection, a row for each row of ``detections.parquet``, in the same order."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..core.errors import InputError
from .detections import Detections, camera_index, checked_parts
from .skeleton import Skeleton
from .storage import read_rows, read_table
from .tracks import whole

FILE = "parts.parquet"
_VALUES = ("u", "v", "score")
_VARIANCES = ("var_u", "var_v")
_KEY = b"skeleton"


def parts_table(detections: Detections) -> pa.Table:
    """Parts of detections as a table: frame, camera, then ``u``, ``v``, ``score`` of each part; null where unseen.

    Parameters
    ----------
    detections : with parts.
    """
    skeleton, parts = detections.skeleton, detections.parts
    assert skeleton is not None
    assert parts is not None
    columns: dict[str, pa.Array] = {
        "frame": pa.array(detections.frame),
        "camera": pa.DictionaryArray.from_arrays(
            pa.array(detections.camera), pa.array(detections.cameras, pa.string())
        ),
    }
    for k, name in enumerate(skeleton.parts):
        for i, what in enumerate(_VALUES):
            columns[f"{what}:{name}"] = pa.array(parts[:, k, i].astype(np.float32), from_pandas=True)
        if detections.part_variance is not None:
            for i, what in enumerate(_VARIANCES):
                values = detections.part_variance[:, k, i].astype(np.float32)
                columns[f"{what}:{name}"] = pa.array(values, from_pandas=True)
    return pa.table(columns).replace_schema_metadata({_KEY: skeleton.to_json()})


def with_parts(
    detections: Detections, path: Path, cameras: Sequence[str], rows: tuple[int, int] | None = None
) -> Detections:
    """Return detections with the parts of the file beside them.

    Parameters
    ----------
    detections : as ``detections.parquet`` holds them, before clocks are moved.
    path : of ``parts.parquet``.
    cameras : names of the cameras.
    rows : first row of the file that the detections are, and how many; all of them without.
    """
    table, source = read_table(path) if rows is None else read_rows(path, *rows), str(path)
    text = (table.schema.metadata or {}).get(_KEY)
    if text is None:
        raise InputError(f"{path}: says nothing of a skeleton; import the poses again")
    skeleton = Skeleton.from_json(text.decode(errors="replace"), source)
    missing = [n for n in ("frame", "camera") if n not in table.column_names]
    missing += [f"{w}:{p}" for p in skeleton.parts for w in _VALUES if f"{w}:{p}" not in table.column_names]
    if missing:
        raise InputError(f"{path}: no column {missing[0][:80]}; import the poses again")
    frame = whole(table["frame"].to_numpy(), "frame", source)
    camera = camera_index(table["camera"], cameras, source)
    if not (np.array_equal(frame, detections.frame) and np.array_equal(camera, detections.camera)):
        raise InputError(f"{path}: does not belong to the detections beside it; import the poses again, or remove it")
    parts = _cube(table, skeleton, _VALUES, source)
    known = all(f"{w}:{p}" in table.column_names for p in skeleton.parts for w in _VARIANCES)
    variance = _cube(table, skeleton, _VARIANCES, source) if known else None
    if variance is not None:
        variance[~(variance >= 0)] = np.nan
    return replace(
        detections,
        parts=checked_parts(parts, len(frame), skeleton, source),
        part_variance=variance,
        skeleton=skeleton,
    )


def _cube(table: pa.Table, skeleton: Skeleton, names: tuple[str, ...], source: str) -> np.ndarray:
    out = np.full((len(table), len(skeleton), len(names)), np.nan)
    try:
        for k, part in enumerate(skeleton.parts):
            for i, what in enumerate(names):
                out[:, k, i] = np.asarray(table[f"{what}:{part}"].to_numpy(), dtype=np.float64)
    except (ValueError, TypeError, pa.ArrowException):
        raise InputError(f"{source}: columns of parts hold values that are not numbers") from None
    return out
