"""Digests of the contents of files, without what tells of versions, times and places (see golden.py)."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Items = dict[str, str]
ABSENT, REFUSED = "absent", "refused"

# Names of values in files that tell of versions, times and places.
PASSING = re.compile(r"version|trackfish3d|digest|_date$|specifications|provenance|identifier|(start|reference)_time$")


def digest(*parts: bytes | str) -> str:
    """SHA-256 of parts, each with its length."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(f"{len(data)}:".encode() + data)
    return found.hexdigest()


def of_array(values: Any) -> str:
    """Digest of an array: type, shape, values; all NaN are the same."""
    array = np.ascontiguousarray(values)
    if array.dtype.kind in "OUSV":
        return digest(json.dumps(array.tolist(), default=str))
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return digest(array.dtype.str, str(array.shape), array.tobytes())


def of_column(column: pa.ChunkedArray) -> str:
    """Digest of a column of a table."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind, missing = str(column.type), column.null_count
    if missing or not pa.types.is_primitive(column.type):
        return digest(kind, json.dumps(column.to_pylist(), default=repr))
    return digest(kind, of_array(column.to_numpy()))


def of_parquet(path: Path) -> str:
    """Digest of a table's columns and of what it says about itself."""
    table = pq.read_table(path)
    about = {k.decode(): v.decode(errors="replace") for k, v in (table.schema.metadata or {}).items()}
    about = {k: v for k, v in sorted(about.items()) if k not in ("pandas", "ARROW:schema") and not PASSING.search(k)}
    return digest(json.dumps(about), *(f"{name} {of_column(table[name])}" for name in table.column_names))


def of_hdf5(path: Path) -> str:
    """Digest of all datasets of an HDF5 file (NetCDF, NWB, SLEAP)."""
    import h5py

    rows: list[str] = []

    def visit(name: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset) or PASSING.search(name):
            return
        if h5py.check_string_dtype(item.dtype):
            rows.append(f"{name} {np.asarray(item.asstr()[()]).tolist()}".replace(os.getcwd(), "."))
        elif item.dtype.kind != "O":  # references
            rows.append(f"{name} {of_array(item[()])}")

    with h5py.File(path) as file:
        file.visititems(visit)
    return digest(*sorted(rows))


def of_tensors(path: Path) -> str:
    """Digest of all tensors of a safetensors file."""
    from safetensors.numpy import load_file

    return digest(*(f"{name} {of_array(values)}" for name, values in sorted(load_file(path).items())))


def stripped(value: Any) -> Any:
    """Take values away that tell of versions, times and places, and turn the folder's path into a dot."""
    if isinstance(value, dict):
        return {k: stripped(v) for k, v in value.items() if not PASSING.search(k)}
    if isinstance(value, list):
        if len(value) == 2 and isinstance(value[0], str) and PASSING.search(value[0]):
            return []
        return [stripped(v) for v in value]
    return value.replace(os.getcwd(), ".") if isinstance(value, str) else value


def of_json(value: Any) -> str:
    """Digest of JSON, in the order it has."""
    return digest(json.dumps(stripped(value)))


def of_file(path: Path) -> str:
    """Digest of a file's content, by its suffix."""
    if not path.is_file():
        return ABSENT
    if path.suffix == ".parquet":
        return of_parquet(path)
    if path.suffix in (".nc", ".nwb", ".slp"):
        return of_hdf5(path)
    if path.suffix == ".safetensors":
        return of_tensors(path)
    if path.suffix == ".json":
        return of_json(json.loads(path.read_text(encoding="utf-8")))
    return digest(path.read_text(encoding="utf-8").replace(os.getcwd(), "."))


def of_files(folder: Path, *names: str) -> Items:
    """Digests of files of a folder."""
    return {name: of_file(folder / name) for name in names}


def of_page(path: Path) -> Items:
    """Digests of the parts of a page's data."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    if found is None:
        return {"data": ABSENT}
    return {name: of_json(part) for name, part in json.loads(found[1]).items() if name != "versions"}
