"""Tables of a recording read piece by piece, whole frames each, so that a day needs no more memory than a minute."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..core.columns import Columns
from ..core.errors import InputError
from ..core.files import refuse_strange
from .tracks import Tracks
from .truth import Truth

T = TypeVar("T", Tracks, Truth)
C = TypeVar("C", bound=Columns)
ROWS = 100_000  # of a piece


def iter_tracks(path: Path, without: Sequence[str] = (), rows: int = ROWS) -> Iterator[Tracks]:
    """Give the tracks of a Parquet file in pieces of whole frames, ascending.

    Parameters
    ----------
    path : the file.
    without : beginnings of names of columns that are not read.
    rows : of a piece, about.
    """
    return _whole_frames(_batches(path, Tracks, without, rows), path)


def iter_truth(path: Path, without: Sequence[str] = (), rows: int = ROWS) -> Iterator[Truth]:
    """Give the truth of a Parquet file in pieces of whole frames, ascending.

    Parameters
    ----------
    path : the file.
    without : beginnings of names of columns that are not read.
    rows : of a piece, about.
    """
    return _whole_frames(_batches(path, Truth, without, rows), path)


def cut(table: C, rows: int = ROWS) -> Iterator[C]:
    """Give a table that is in memory in pieces of whole frames.

    Parameters
    ----------
    table : sorted by frame.
    rows : of a piece, about.
    """
    frame = table.columns()["frame"]
    begin = 0
    while begin < len(table):
        end = int(np.searchsorted(frame, frame[min(begin + rows, len(table)) - 1], side="right"))
        yield table.select(np.arange(begin, end))
        begin = end


def rows_of(path: Path) -> int | None:
    """Return how many rows a Parquet file has, if it is one whose frames ascend; None for others.

    Parameters
    ----------
    path : the file.
    """
    if path.suffix.lower() not in (".parquet", ".pq") or not path.is_file():
        return None
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            last: int | None = None
            for batch in file.iter_batches(batch_size=ROWS, columns=["frame"]):
                frame = np.asarray(batch.column(0).to_numpy(zero_copy_only=False))
                if frame.dtype.kind != "i" or (np.diff(frame) < 0).any():
                    return None
                if len(frame):
                    if last is not None and frame[0] < last:
                        return None
                    last = int(frame[-1])
            return int(file.metadata.num_rows)
    except (pa.ArrowException, OSError, ValueError, IndexError):  # the reader of the whole says what is wrong with it
        return None


def _batches(path: Path, kind: type[T], without: Sequence[str], rows: int) -> Iterator[T]:
    """Batches of a Parquet file, each sorted within itself."""
    refuse_strange(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    done = 0
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            wanted = [n for n in file.schema_arrow.names if not n.startswith(tuple(without))]
            for batch in file.iter_batches(batch_size=rows, columns=wanted):
                batch.validate(full=True)
                source = f"{path}, after row {done}" if done else str(path)
                yield kind.from_table(pa.Table.from_batches([batch]), source)
                done += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: is not a complete Parquet file ({str(error).splitlines()[0][:200]})") from None


def _whole_frames(batches: Iterator[T], path: Path) -> Iterator[T]:
    """Hold back the last frame of each batch until it is whole."""
    held: T | None = None
    for batch in batches:
        if not len(batch):
            continue
        if held is not None:
            if batch.frame[0] < held.frame[-1]:
                raise InputError(f"{path}: frame numbers go back at frame {int(batch.frame[0])}; sort it by frame")
            batch = type(batch).concat([held, batch], str(path))
        ready = batch.frame < batch.frame[-1]
        if ready.any():
            yield batch.select(ready)
        held = batch.select(~ready)
    if held is not None:
        yield held
