"""Bare projection matrices, 3 x 4 a camera: ``u ~ P X``, as text or in a MATLAB file.

As text, three rows of four numbers for each camera, one camera below the other, or a row of twelve numbers (P row by
row) for each. In MATLAB, variables or fields of 3 x 4, or one of 3 x 4 x cameras; 4 x 3 is MATLAB's own way (row
vectors, pixels counted from 1). A matrix holds no distortion and no unit.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import InputError
from ...core.reading.dialect import dialect_of
from ..camera import Camera
from ..rig import CameraRig
from .common import Array, Size, load_text, note, reader, sizes_from_matrices
from .dlt import decompose, number_rows

FIRST_PIXEL = 1.0


@reader("projection matrices")
def read(path: Path, *, size: Size | None = None) -> CameraRig:
    """Take matrices in a text file apart into K, R, t; the projection stays the same to rounding."""
    names, matrices = parse_matrices(load_text(path))
    return rig_of(names, matrices, size)


def rig_of(names: list[str], matrices: list[Array], size: Size | None) -> CameraRig:
    """Make a rig of (3, 4) matrices."""
    parts = [decompose(P, name) for P, name in zip(matrices, names, strict=True)]
    sizes, _ = sizes_from_matrices([K for K, _, _ in parts], size)
    cameras = [Camera(n, s, K, np.zeros(0), R, t) for n, s, (K, R, t) in zip(names, sizes, parts, strict=True)]
    return CameraRig(tuple(cameras), "unit")


def parse_matrices(text: str) -> tuple[list[str], list[Array]]:
    """Names and (3, 4) matrices of a text."""
    rows = number_rows(text, dialect_of(text))[1]
    table = np.array(rows)
    if (table.ndim == 2 and table.shape[1] == 4 and len(table) % 3 == 0) or (table.ndim == 2 and table.shape[1] == 12):
        matrices = list(table.reshape(-1, 3, 4))
    else:
        raise InputError("expected three rows of four numbers, or a row of twelve, for each camera")
    return [f"cam{k + 1}" for k in range(len(matrices))], matrices


def find_matrices(tree: dict[str, Any], depth: int = 0) -> dict[str, Array]:
    """Projection matrices (3, 4) of MATLAB variables, by name; those of a stack are numbered."""
    found: dict[str, Array] = {}
    for name, value in tree.items():
        if isinstance(value, dict) and depth < 4:
            found |= find_matrices(value, depth + 1)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
            if value.shape[:2] == (3, 4) and value.ndim <= 3:
                stack = value.reshape(3, 4, -1).transpose(2, 0, 1)
            elif value.shape == (4, 3):
                stack = (np.array([[1, 0, -FIRST_PIXEL], [0, 1, -FIRST_PIXEL], [0, 0, 1]]) @ value.T)[None]
                note(f"{name} is 4 x 3, as MATLAB writes it: pixels are counted from 0 from now on")
            else:
                continue
            labels = [name] if len(stack) == 1 else [f"{name}{k + 1}" for k in range(len(stack))]
            found |= dict(zip(labels, stack.astype(np.float64), strict=True))
    return found
