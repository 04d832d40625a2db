"""GEFF 1.3, the graph exchange format of tracking tools (Motile, napari): a Zarr folder with nodes and edges.

Zarr's version 2 is a folder of JSON and of compressed blocks; it is written here without the library.
"""

import json
import os
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...core.errors import InputError
from ...core.files import naming
from ..recording import Recording
from ..tracks import Tracks

VERSION = "1.3"
ROWS = 2**18  # of a block
_UNITS = {
    "m": "meter",
    "dm": "decimeter",
    "cm": "centimeter",
    "mm": "millimeter",
    "um": "micrometer",
    "km": "kilometer",
    "in": "inch",
    "ft": "foot",
}
Values = NDArray[Any]
Property = tuple[Values, NDArray[np.bool_] | None, str]  # values (N, ...), which are not known, what they are


def write_geff(recording: Recording, tracks: Tracks, path: Path) -> list[str]:
    """Write a node for each point, with covariance and confidence, and an edge between neighbours of a track.

    An edge's confidence is the lower one of its two points. Time is the frame number. The folder must not be there.
    """
    if not len(tracks):
        raise InputError("there is no track to write as GEFF")
    if path.exists() or path.is_symlink():
        raise InputError(f"{path}: is there already; GEFF is a folder, name a new one")
    order = np.lexsort((tracks.frame, tracks.track))
    joined = np.flatnonzero(np.diff(tracks.track[order]) == 0)
    edges = np.column_stack([order[joined], order[joined + 1]]).astype(np.uint64)
    sure = tracks.confidence[edges.astype(np.int64)].min(1)
    nodes = _nodes(tracks)
    links = _known({"confidence": (sure, np.isnan(sure), "lower confidence of the two points")})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{path.stem}.", dir=path.parent))
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None
    try:
        with naming(path):
            about = _metadata(recording, tracks, nodes, links)
            _group(folder, {"geff": about})
            ids: Values = np.arange(len(tracks), dtype=np.uint64)
            for name, numbers, properties in (("nodes", ids, nodes), ("edges", edges, links)):
                _group(folder / name)
                _array(folder / name / "ids", numbers)
                _group(folder / name / "props")
                for key, (values, missing, _) in properties.items():
                    _group(folder / name / "props" / key)
                    _array(folder / name / "props" / key / "values", values)
                    if missing is not None and missing.any():
                        _array(folder / name / "props" / key / "missing", missing)
            os.chmod(folder, 0o755)
            os.replace(folder, path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return []


def _nodes(tracks: Tracks) -> dict[str, Property]:
    unknown: NDArray[np.bool_] = np.isnan(tracks.covariance.sum((1, 2)))
    covariance = np.where(unknown[:, None, None], np.eye(3), tracks.covariance)
    found: dict[str, Property] = {
        "t": (tracks.frame, None, "frame number"),
        **{a: (np.ascontiguousarray(tracks.position[:, k]), None, "position") for k, a in enumerate("xyz")},
        "track": (tracks.track, None, "number of the track"),
        "views": (tracks.views.astype(np.int64), None, "cameras that saw it"),
        "observed": (tracks.observed, None, "seen, not filled in"),
        "confidence": (tracks.confidence, np.isnan(tracks.confidence), "probability that the identity is right"),
        "covariance": (covariance, unknown, "covariance of the position"),
    }
    return _known(found)


def _known(properties: dict[str, Property]) -> dict[str, Property]:
    """Leave out what is known of nobody, and put 0 where a number is not known."""
    kept: dict[str, Property] = {}
    for name, (values, missing, about) in properties.items():
        if missing is None:
            kept[name] = (values, None, about)
        elif not missing.all():
            kept[name] = (np.where(np.isnan(values), 0.0, values), missing, about)
    return kept


def _metadata(
    recording: Recording, tracks: Tracks, nodes: dict[str, Property], edges: dict[str, Property]
) -> dict[str, Any]:
    def props(found: dict[str, Property]) -> dict[str, Any]:
        return {
            name: {"identifier": name, "dtype": str(values.dtype), "varlength": False, "description": about}
            for name, (values, _, about) in found.items()
        }

    unit = _UNITS.get(recording.units)
    axes: list[dict[str, Any]] = [
        {"name": "t", "type": "time", "unit": "frame", "min": float(tracks.frame[0]), "max": float(tracks.frame[-1])}
    ]
    for k, axis in enumerate("xyz"):
        low, high = float(tracks.position[:, k].min()), float(tracks.position[:, k].max())
        axes.append({"name": axis, "type": "space", "unit": unit, "min": low, "max": high})
    return {
        "geff_version": VERSION,
        "directed": True,
        "axes": axes,
        "node_props_metadata": props(nodes),
        "edge_props_metadata": props(edges),
        "track_node_props": {"tracklet": "track"},
        **({"ellipsoid": "covariance"} if "covariance" in nodes else {}),
        "extra": {"trackfish3d": {"version": __version__, "units": recording.units, "fps": recording.fps}},
    }


def _group(folder: Path, attributes: dict[str, Any] | None = None) -> None:
    folder.mkdir(exist_ok=True)
    (folder / ".zgroup").write_text(json.dumps({"zarr_format": 2}))
    (folder / ".zattrs").write_text(json.dumps(attributes or {}))


def _array(folder: Path, values: Values) -> None:
    """Write an array in blocks of rows; the last one is filled up, as Zarr wants it."""
    values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    rows = max(min(len(values), ROWS), 1)
    about = {
        "zarr_format": 2,
        "shape": list(values.shape),
        "chunks": [rows, *values.shape[1:]],
        "dtype": values.dtype.str,
        "fill_value": False if values.dtype.kind == "b" else 0,
        "order": "C",
        "filters": None,
        "dimension_separator": ".",
        "compressor": {"id": "zlib", "level": 4},
    }
    folder.mkdir()
    (folder / ".zarray").write_text(json.dumps(about))
    (folder / ".zattrs").write_text("{}")
    tail = ".0" * (values.ndim - 1)
    for k, start in enumerate(range(0, len(values), rows)):
        block = values[start : start + rows]
        filled = np.concatenate([block, np.zeros((rows - len(block), *values.shape[1:]), values.dtype)])
        (folder / f"{k}{tail}").write_bytes(zlib.compress(filled.tobytes(), 4))
