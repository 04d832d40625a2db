"""Tables in files: Parquet, and CSV of every dialect; tracks and truth from either."""

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..core.errors import InputError
from ..core.files import atomic_path, read_text, refuse_strange
from ..core.reading.dialect import Dialect, dialect_of, encoding_of
from ..core.reading.limits import refuse_far, refuse_nowhere
from .tracks import Tracks, frame_numbers, whole
from .tracks_text import PAPER_COLUMNS, note_edits
from .truth import Truth

ROWS_PER_GROUP = 200_000  # a stretch of frames is read without the others
_IDENTITY = ("track", "id", "identity", "object", "individual")
_FRAME = ("frame", "Timestamp", "timestamp", "time")


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write an Arrow table as Parquet (zstd), complete or not at all."""
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", row_group_size=ROWS_PER_GROUP)


def write_pieces(tables: Iterable[pa.Table], path: str | Path, metadata: Mapping[Any, Any] | None = None) -> None:
    """Write tables that follow each other as one Parquet file: the same bytes as `write_table` makes of them together.

    Parameters
    ----------
    tables : of one schema; at least one.
    path : the file.
    metadata : of the schema; that of the tables by default.
    """
    held: pa.Table | None = None
    with atomic_path(path) as temporary:
        writer = None
        for table in tables:
            held = table if held is None else pa.concat_tables([held, table])
            held = held if metadata is None else held.replace_schema_metadata(metadata)
            writer = writer or pq.ParquetWriter(temporary, held.schema, compression="zstd")
            while held.num_rows > ROWS_PER_GROUP:
                writer.write_table(held.slice(0, ROWS_PER_GROUP).combine_chunks(), row_group_size=ROWS_PER_GROUP)
                held = held.slice(ROWS_PER_GROUP)
        assert writer is not None
        assert held is not None
        writer.write_table(held.combine_chunks(), row_group_size=ROWS_PER_GROUP)
        writer.close()


def read_table(path: str | Path) -> pa.Table:
    """Read a Parquet or CSV file as an Arrow table, or raise an `InputError` that names it."""
    path = Path(path)
    refuse_strange(path)
    if not path.is_file():
        raise InputError(f"{path}: {'is a folder, not a file' if path.is_dir() else 'no such file'}")
    parquet = path.suffix.lower() in (".parquet", ".pq") or starts_with(path, b"PAR1")
    try:
        table = pq.read_table(path) if parquet else _read_csv(path)
        table.validate(full=True)  # a dictionary may be shorter than what points into it
        twice = {n for n in table.column_names if table.column_names.count(n) > 1}
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, MemoryError) as error:
        first = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise InputError(f"{path}: is not a complete {'Parquet' if parquet else 'CSV'} file ({first})") from None
    if twice:
        raise InputError(f"{path}: column '{min(twice)[:80]}' is there twice")
    return table


def columns_of(path: Path) -> list[str]:
    """Return the names of a Parquet file's columns; its reader says what is wrong with one that is damaged."""
    try:
        return [str(n) for n in pq.read_schema(path).names]
    except (pa.ArrowException, OSError, ValueError):
        return [str(n) for n in read_table(path).column_names]


def read_rows(path: str | Path, first: int, count: int) -> pa.Table:
    """Read some rows of a Parquet file, and no more of it than the row groups that hold them."""
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            starts = np.cumsum([0, *sizes])
            groups = np.flatnonzero((starts[:-1] < first + count) & (starts[1:] > first)).tolist()
            table = file.read_row_groups(groups, use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path}: is not a complete Parquet file ({str(error)[:120]})") from None
    return table.slice(first - int(starts[groups[0]]) if groups else 0, count)


def groups_from(metadata: pq.FileMetaData, frame: int) -> list[int]:
    """Return the row groups of a Parquet file that may hold a frame or later ones: the index by frame.

    Parameters
    ----------
    metadata : of the file; where a row group has no statistics of the column ``frame``, it may hold any.
    frame : the first that is wanted.
    """
    found = []
    for g in range(metadata.num_row_groups):
        group = metadata.row_group(g)
        columns = (group.column(c) for c in range(group.num_columns))
        known = next((c.statistics for c in columns if c.path_in_schema == "frame"), None)
        if known is None or not known.has_min_max or known.max >= frame:
            found.append(g)
    return found


def _read_csv(path: Path) -> pa.Table:
    """Read a CSV file as it lies, whatever its encoding, separator and decimal sign."""
    with path.open("rb") as file:
        head = file.read(1 << 17)
    encoding = encoding_of(head)
    dialect = dialect_of(head.decode(encoding, errors="replace"))
    options = pacsv.ReadOptions(encoding="utf8" if encoding == "utf-8-sig" else encoding)
    return pacsv.read_csv(path, read_options=options, **csv_options(dialect))


def csv_options(dialect: Dialect, **convert: Any) -> dict[str, Any]:
    """Return what Arrow's reader of CSV must be told of a dialect; `convert` is passed on to its ``ConvertOptions``."""
    return {
        "parse_options": pacsv.ParseOptions(delimiter=dialect.separator),
        "convert_options": pacsv.ConvertOptions(decimal_point=dialect.decimal, **convert),
    }


def starts_with(path: Path, magic: bytes) -> bool:
    """Whether a file begins with some bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


def read_tracks(path: str | Path) -> Tracks:
    """Read tracks from Parquet, the paper's CSV, CSV with frame, id, x, y, z, or 3D-ZeF text without a header."""
    path = Path(path)
    if path.suffix.lower() in (".parquet", ".pq"):
        tracks = Tracks.from_table(read_table(path), str(path))
        note_edits(path)
        return tracks
    frame, identity, position, table = _points(path)
    views = None
    if "group" in table.column_names and pa.types.is_integer(table["group"].type):
        views = np.clip(table["group"].to_numpy(), 0, 2**15 - 1)
    return Tracks.build(frame, identity, position, views=views, source=str(path))


def read_truth(path: str | Path) -> Truth:
    """Read truth from Parquet, or from CSV with frame, id, x, y, z.

    The per-camera columns of 3D-ZeF (u1, v1, l1, t1, w1, h1, occ1, u2, ...) are taken up as cameras ``1``, ``2``.
    """
    path = Path(path)
    if path.suffix.lower() in (".parquet", ".pq"):
        return Truth.from_table(read_table(path), str(path))
    frame, identity, position, table = _points(path)
    cameras = [str(c) for c in range(1, 100) if {f"u{c}", f"v{c}"} <= set(table.column_names)]
    per_camera: dict[str, Any] = {}
    if cameras:
        wanted = {f"{k}{c}" for c in cameras for k in ("u", "v", "l", "t", "w", "h", "occ")}
        get = {n: _floats(table[n], n, path) for n in table.column_names if n in wanted}
        per_camera = {k: np.column_stack([get[k + c] for c in cameras]) for k in "uv"}
        if all(f"{k}{c}" in get for c in cameras for k in "ltwh"):
            box = {k: np.column_stack([get[k + c] for c in cameras]) for k in "ltwh"}
            per_camera |= {"x1": box["l"], "y1": box["t"], "x2": box["l"] + box["w"], "y2": box["t"] + box["h"]}
        if all(f"occ{c}" in get for c in cameras):
            per_camera["visible"] = 1.0 - np.clip(np.column_stack([get[f"occ{c}"] for c in cameras]), 0, 1)
    return Truth.build(frame, identity, position, cameras=tuple(cameras), source=str(path), **per_camera)


def _points(path: Path) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], pa.Table]:
    """Frame, identity and position columns of a CSV under any of their usual names."""
    text = read_text(path)
    dialect = dialect_of(text)
    fields = dialect.cells(text.lstrip().split("\n", 1)[0])
    headless = len(fields) >= 5 and all(is_number(f, dialect) for f in fields)
    try:
        names_of = ["frame", "id", "x", "y", "z", *(f"extra{i}" for i in range(len(fields) - 5))]
        # A thread of Arrow that still holds the Python buffer when the interpreter ends aborts the process.
        options = pacsv.ReadOptions(use_threads=False, column_names=names_of if headless else None)
        table = pacsv.read_csv(io.BytesIO(text.encode()), read_options=options, **csv_options(dialect))
    except (pa.ArrowException, ValueError) as error:
        raise InputError(f"{path}: is not a CSV file ({str(error).splitlines()[0][:200]})") from None
    names = {n.strip(): n for n in table.column_names}
    if len(names) < len(table.column_names):
        raise InputError(f"{path}: has a column twice")
    lower = {n.lower(): original for n, original in names.items()}
    frame_name = next((names[n] for n in _FRAME if n in names), None)
    id_name = next((names[n] for n in _IDENTITY if n in names), None)
    axes = [lower.get(a) for a in "xyz"]
    if frame_name is None or id_name is None or None in axes:
        raise InputError(
            f"{path}: needs columns frame, id, x, y, z (or {', '.join(PAPER_COLUMNS)}); "
            f"has {', '.join(table.column_names)}"
        )
    position = np.column_stack([_floats(table[a], str(a), path) for a in axes])
    refuse_nowhere(position, str(path))
    refuse_far(position, str(path))
    ids = table[id_name]
    if ids.null_count:
        raise InputError(f"{path}: a row has no {id_name}")
    if pa.types.is_string(ids.type):
        encoded = ids.combine_chunks().dictionary_encode()
        encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
        identity = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    else:
        identity = whole(ids.to_numpy(), id_name, str(path))
    return frame_numbers(table[frame_name].to_numpy(), frame_name, str(path)), identity, position, table


def _floats(column: pa.ChunkedArray, name: str, path: Path) -> NDArray[np.float64]:
    try:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    except (ValueError, TypeError):
        raise InputError(f"{path}: column {name} has values that are not numbers") from None


def is_number(cell: str, dialect: Dialect) -> bool:
    """Whether a cell of a table holds a number."""
    try:
        dialect.number(cell)
    except ValueError:
        return False
    return True
