"""DeepLabCut predictions, one animal or many, CSV or HDF5."""

import csv
import importlib.util
import io
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from ...core.errors import InputError, MissingExtraError
from ...core.files import read_text
from ...core.reading.dialect import dialect_of
from ...core.reading.isolation import read_isolated
from ..detections import Detections
from ..storage import csv_options
from ._file import DetectionFile, last_number
from .keypoints import Poses, detections_from_poses, several

UNIQUE = "single"  # how DeepLabCut calls whom parts belong to that no animal has
VARIANCES = ("posterior_var", "ens_var")
Header = list[tuple[str, str, str]]  # individual, body part, x | y | likelihood


def read_deeplabcut(file: DetectionFile) -> Detections:
    """Read DeepLabCut's output of one camera; the index is the frame (of a path, its last number).

    A file of labels has no likelihood: its scores are 1. Parts that belong to no animal (individual ``single`` beside
    others) are left out. Variances of Lightning Pose's smoother are kept. See `detections_from_poses`.
    """
    with_magic = _magic(file) == b"\x89HDF"
    frame, header, values = _read_h5(file) if with_magic else _read_text(file)
    camera = file.only_camera()
    file.check_order(frame, np.full(len(frame), camera))
    columns = {key: values[:, i] for i, key in enumerate(header)}
    animals = list(dict.fromkeys(a for a, _, _ in header))
    if len(animals) > 1 and UNIQUE in animals:
        lone = {p for a, p, _ in header if a == UNIQUE}
        file.drop(file.rig.names[camera], f"parts that belong to no animal: {', '.join(sorted(lone))[:80]}", len(lone))
        animals.remove(UNIQUE)
    parts = list(dict.fromkeys(p for a, p, _ in header if a in animals))
    n, k = len(frame), len(parts)
    if not parts or not any(c == "x" for _, _, c in header):
        raise file.fail("has no x and y columns")
    points, likelihood = np.full((len(animals), n, k, 2), np.nan), np.ones((len(animals), n, k))
    variance = np.full((len(animals), n, k, 2), np.nan)
    for (a, animal), (b, part) in itertools.product(enumerate(animals), enumerate(parts)):
        if (animal, part, "x") in columns and (animal, part, "y") in columns:
            points[a, :, b] = np.column_stack([columns[animal, part, "x"], columns[animal, part, "y"]])
            likelihood[a, :, b] = columns.get((animal, part, "likelihood"), np.ones(n))
            for i, axis in enumerate("xy"):
                given = next((v for v in VARIANCES if (animal, part, f"{axis}_{v}") in columns), None)
                if given:
                    variance[a, :, b, i] = columns[animal, part, f"{axis}_{given}"]
    variance[~((variance >= 0) & (variance < 1e12))] = np.nan
    return detections_from_poses(
        file,
        Poses(
            parts,
            np.tile(frame, len(animals)),
            np.full(n * len(animals), camera, np.int64),
            points.reshape(-1, k, 2),
            likelihood.reshape(-1, k),
            variance=variance.reshape(-1, k, 2) if np.isfinite(variance).any() else None,
            tracklet=several(len(animals), n),
        ),
    )


def _magic(file: DetectionFile) -> bytes:
    try:
        with file.path.open("rb") as opened:
            return opened.read(4)
    except OSError as error:
        raise file.fail(f"cannot be read ({error.strerror})") from None


def _read_text(file: DetectionFile) -> tuple[NDArray[np.int64], Header, NDArray[np.float64]]:
    text = read_text(file.path)
    dialect = dialect_of(text)
    try:
        top = list(itertools.islice(csv.reader(io.StringIO(text), delimiter=dialect.separator), 4))
    except csv.Error as error:  # a cell that does not end
        raise file.fail(f"is not a DeepLabCut CSV ({error})") from None
    rows = {row[0].strip(): row for row in top if row}
    if "bodyparts" not in rows or "coords" not in rows or len({len(r) for r in top}) != 1:
        raise file.fail("is not a DeepLabCut CSV: expected header rows scorer, (individuals,) bodyparts, coords")
    skip = 1 + next(i for i, row in enumerate(top) if row and row[0].strip() == "coords")
    animals = rows.get("individuals", ["", *[""] * (len(rows["coords"]) - 1)])
    first = next((i for i, name in enumerate(rows["coords"]) if name.strip() in ("x", "y", "likelihood")), 0)
    if first == 0:
        raise file.fail("is not a DeepLabCut CSV: no column is called x")
    header = [tuple(c) for c in zip(animals, rows["bodyparts"], rows["coords"], strict=True)]
    names = [str(i) for i in range(len(header))]
    types = {n: pa.string() if i < first else pa.float64() for i, n in enumerate(names)}
    try:
        table = pacsv.read_csv(
            io.BytesIO(text.encode()),
            read_options=pacsv.ReadOptions(use_threads=False, column_names=names, skip_rows=skip),
            **csv_options(dialect, column_types=types),
        )
    except (pa.ArrowException, ValueError) as error:
        raise file.fail(f"is not a complete DeepLabCut CSV ({str(error)[:200]})") from None
    values = np.column_stack([table[n].to_numpy() for n in names[first:]]).astype(np.float64)
    index = [table[n].to_pylist() for n in names[:first]]
    frames = [_frame(file, row, i) for i, row in enumerate(zip(*index, strict=True))]
    return np.array(frames, dtype=np.int64), [(a, p, c) for a, p, c in header[first:]], values


def _read_h5(file: DetectionFile) -> tuple[NDArray[np.int64], Header, NDArray[np.float64]]:
    if importlib.util.find_spec("pandas") is None or importlib.util.find_spec("tables") is None:
        raise MissingExtraError("pandas and tables", "deeplabcut", "reading DeepLabCut's HDF5")
    index, header, values = read_isolated(load_h5, file.path, libraries=("pandas", "pyarrow.pandas_compat", "tables"))
    return np.array([_frame(file, row, i) for i, row in enumerate(index)], dtype=np.int64), header, values


def load_h5(path: Path) -> tuple[list[tuple[str, ...]], Header, NDArray[np.float64]]:
    """Read the index, the header and the values (N, columns) of an HDF5 file; PyTables can crash on damaged ones."""
    import pandas as pd

    try:
        frame = pd.read_hdf(path)
        values = frame.to_numpy(dtype=np.float64)
        levels = [str(n) for n in frame.columns.names]
        at = {name: levels.index(name) for name in ("bodyparts", "coords")}
        animal = levels.index("individuals") if "individuals" in levels else None
        header = [
            ("" if animal is None else str(c[animal]), str(c[at["bodyparts"]]), str(c[at["coords"]]))
            for c in frame.columns
        ]
        index = [tuple(str(k) for k in (row if isinstance(row, tuple) else (row,))) for row in frame.index]
    except Exception as error:  # PyTables and pandas meet damaged files with errors of every kind
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: is not DeepLabCut's HDF5 ({type(error).__name__}: {reason})") from None
    return index, header, values


def _frame(file: DetectionFile, index: tuple[Any, ...], row: int) -> int:
    """Frame number of an index entry: a number, or the path of an image, in one piece or in three."""
    text = str(index[-1]).strip()
    number = last_number(text.rsplit(".", 1)[0])
    if number is None:
        raise file.fail(f"row {row}: '{text[:80]}' has no frame number")
    return number
