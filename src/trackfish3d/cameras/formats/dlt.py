"""DLT coefficients, 11 a camera, as DLTdv, Argus and their kin write them: a column per camera.

u = (L1 X + L2 Y + L3 Z + L4) / (L9 X + L10 Y + L11 Z + 1), v likewise with L5 ... L8.

These tools usually count v from the bottom of the image; everything here counts rows from the top, so that such
coefficients are turned around with v = height - row before they are taken apart. Which of both a file uses shows in
its handedness: with the calibration frame's origin in front of the camera, a right-handed world and rows from the
top make the determinant of the left 3 x 3 part positive.
"""

import re
from pathlib import Path

import numpy as np
from scipy.linalg import rq

from ...core.errors import InputError
from ...core.reading.dialect import Dialect, dialect_of
from ..camera import Camera
from ..rig import CameraRig
from .common import Array, Size, load_text, note, reader, sizes_from_matrices

COEFFICIENTS = 11


@reader("DLT")
def read(path: Path, *, size: Size | None = None, origin: str | None = None) -> CameraRig:
    """Take every camera's coefficients apart into K, R, t; the projection stays the same to rounding.

    Parameters
    ----------
    size : image (width, height) in px; needed where v counts from the bottom and the size cannot be told.
    origin : "bottom" or "top": where v = 0 lies; None finds out by the handedness.
    """
    names, columns = parse_coefficients(load_text(path))
    if origin not in (None, "top", "bottom"):
        raise InputError(f"origin '{origin}': v counts from the top or from the bottom")
    matrices = [np.append(column, 1.0).reshape(3, 4) for column in columns]
    if origin is None:
        upside_down = sum(np.linalg.det(P[:, :3]) < 0 for P in matrices)
        origin = "bottom" if 2 * upside_down > len(matrices) else "top"
    raw = [decompose(P, name)[0] for P, name in zip(matrices, names, strict=True)]
    sizes, sure = sizes_from_matrices(raw, size)
    if origin == "bottom":
        if not sure:
            raise InputError("v counts from the bottom of the image: give the image size (--size WIDTHxHEIGHT)")
        note("v counts from the bottom of the image here; rows are counted from the top from now on")
        matrices = [np.array([[1, 0, 0], [0, -1, s[1]], [0, 0, 1.0]]) @ P for P, s in zip(matrices, sizes, strict=True)]
    cameras = []
    for name, P, image in zip(names, matrices, sizes, strict=True):
        K, R, t = decompose(P, name)
        cameras.append(Camera(name, image, K, np.zeros(0), R, t))
    return CameraRig(tuple(cameras), "unit")


def decompose(P: Array, name: str) -> tuple[Array, Array, Array]:
    """Take a (3, 4) projection apart: P ~ K [R | t], K upper triangular with positive focal lengths, det R = 1."""
    if not np.isfinite(P).all() or np.linalg.matrix_rank(P[:, :3]) < 3:
        raise InputError(f"camera {name}: the coefficients make no camera (singular)")
    P = P if np.linalg.det(P[:, :3]) > 0 else -P
    K, R = rq(P[:, :3])
    turn = np.where(np.diag(K) < 0, -1.0, 1.0)
    K, R = K * turn, R * turn[:, None]
    t = np.linalg.solve(K, P[:, 3])
    return np.asarray(K / K[2, 2], np.float64), np.asarray(R, np.float64), np.asarray(t, np.float64)


def number_rows(text: str, dialect: Dialect) -> tuple[list[str] | None, list[list[float]]]:
    """Names of the first line, if it has words, and rows of equally many numbers."""
    rows: list[list[float]] = []
    names: list[str] | None = None
    apart = re.compile(r"[\s;|]+" if dialect.decimal == "," else r"[\s;|,]+")
    for number, line in enumerate(text.splitlines(), 1):
        tokens = [x for x in apart.split(line) if x]
        if not tokens:
            continue
        try:
            rows.append([dialect.number(x) for x in tokens])
        except ValueError:
            if rows or names:
                raise InputError(f"line {number}: is not a row of numbers") from None
            names = [x.strip("\"'") for x in tokens]
        if len(rows) > 1 and len(rows[-1]) != len(rows[0]):
            raise InputError(f"line {number}: {len(rows[-1])} numbers where the first row has {len(rows[0])}")
        if len(rows) > 1000:
            raise InputError("more than 1000 rows: not a file of coefficients")
    return names, rows


def parse_coefficients(text: str) -> tuple[list[str], list[Array]]:
    """Names and (11,) coefficients of all cameras; a first line of names is optional."""
    names, rows = number_rows(text, dialect_of(text))
    table = np.array(rows)
    if table.ndim == 2 and table.shape[0] != COEFFICIENTS and table.shape[1] == COEFFICIENTS:
        table = table.T
    if table.ndim != 2 or table.shape[0] != COEFFICIENTS:
        raise InputError(f"expected {COEFFICIENTS} rows of DLT coefficients, a column per camera; found {len(rows)}")
    if not np.isfinite(table).all():
        raise InputError("has coefficients that are not finite")
    if names is None or len(names) != table.shape[1]:
        names = [f"cam{i + 1}" for i in range(table.shape[1])]
    return names, list(table.T)
