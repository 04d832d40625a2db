"""MATLAB files as nested dictionaries: version 5 through SciPy, version 7.3 (HDF5) through h5py.

Both crash on some damaged files, and are therefore used in a process of their own.
"""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from ....core.errors import InputError, MissingExtraError
from ....core.reading.isolation import read_isolated

_HDF5 = b"\x89HDF\r\n\x1a\n"
_LARGEST = 10**6  # elements; pictures and detected points in the same file are passed over
_DEEPEST = 8


def is_mat(head: bytes) -> bool:
    """Whether a file that begins with `head` (at least 520 bytes, if it has them) is MATLAB's."""
    return head.startswith(b"MATLAB 5.0 MAT-file") or is_hdf5(head)


def is_hdf5(head: bytes) -> bool:
    """Whether it is MATLAB's version 7.3, HDF5 behind 512 bytes of text, or plain HDF5."""
    return head[512:520] == _HDF5 or head.startswith(_HDF5)


def load_mat(path: Path) -> dict[str, Any]:
    """Read all variables: structs as dictionaries, numbers as arrays in MATLAB's shape, texts as str."""
    with path.open("rb") as file:
        head = file.read(520)
    if not is_mat(head):
        raise InputError(f"{path}: is not a MATLAB file")
    if is_hdf5(head) and importlib.util.find_spec("h5py") is None:
        raise MissingExtraError("h5py", "matlab73", "reading MATLAB 7.3 files")
    if is_hdf5(head):
        return read_isolated(_load_hdf5, path, libraries=("h5py",))
    return read_isolated(_load_v5, path, libraries=("scipy.io",))


def _load_v5(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    return _plain(loadmat(path, simplify_cells=True), 0)


def _load_hdf5(path: Path) -> dict[str, Any]:
    import h5py

    with h5py.File(path, "r") as file:
        return _group(file, 0)


def _group(group: Any, depth: int) -> dict[str, Any]:
    import h5py

    found: dict[str, Any] = {}
    for name in group:
        if name.startswith("#") or depth > _DEEPEST:
            continue
        item = group.get(name)
        if isinstance(item, h5py.Group):
            found[name] = _group(item, depth + 1)
        elif isinstance(item, h5py.Dataset) and item.size is not None and item.size <= _LARGEST:
            kind = item.attrs.get("MATLAB_class", b"")
            values = item[()]
            if kind in (b"char", "char"):
                found[name] = "".join(chr(int(c)) for c in np.asarray(values).T.ravel(order="F"))
            elif np.issubdtype(item.dtype, np.number) or item.dtype == bool:
                found[name] = np.asarray(values).T  # MATLAB stores columns first
    return found


def _plain(tree: dict[str, Any], depth: int) -> dict[str, Any]:
    """Keep structs, numbers and texts; functions, objects and what is too deep or too large are passed over."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            found[name] = _plain(value, depth + 1) if depth < _DEEPEST else {}
        elif isinstance(value, str) or (np.size(value) <= _LARGEST and np.asarray(value).dtype.kind in "biufU"):
            found[name] = value
    return found
