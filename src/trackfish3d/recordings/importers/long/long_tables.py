"""Tables of detections that are too long to be held in memory, as one stream of ascending frames."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from ....core.errors import InputError
from ....core.files import claim_folder, remove_folder
from ....core.reading.dialect import Dialect, dialect_of, encoding_of
from ...detections import MOMENTS, Detections
from ...storage import ROWS_PER_GROUP, csv_options, starts_with
from ...tracks import whole
from .._file import DetectionFile
from ..plain_table import KNOWN, column_names, detections_of
from .merging import merged

LONG = 256 << 20  # bytes of a table from which it is read piece by piece: some three million rows of text
BATCH = 16 << 20  # bytes of text that are read at once
ROWS = 200_000  # of Parquet that are read at once


def is_long(files: Sequence[DetectionFile], formats: Sequence[str]) -> bool:
    """Whether tables are to be read piece by piece: plain ones, one of which is long, that need no sorting.

    Parameters
    ----------
    files : what is to be read.
    formats : of each.
    """
    if any(f not in ("csv", "parquet") for f in formats) or any(f.sort for f in files):
        return False
    try:
        if max((file.path.stat().st_size for file in files), default=0) <= LONG:
            return False
        names = [_names(file) for file in files]
        whose = any(file.camera is not None and "camera" in n for file, n in zip(files, names, strict=True))
        several = len(files) > 1 and any("tracklet" in n for n in names)  # numbers of 2D tracks are each file's own
        return all("frame" in n for n in names) and not whose and not several
    except (OSError, pa.ArrowException, ValueError, InputError):  # the reader of the whole says what is wrong
        return False


def stream(files: Sequence[DetectionFile], work: Path) -> Iterator[Detections]:
    """Give the detections of all tables in ascending frames.

    A table whose frames go back, as one does that has one camera after the other, is parted by cameras first.

    Parameters
    ----------
    files : tables for which `is_long` says so.
    work : folder for parts of tables, of ours.
    """
    remove_folder(work)
    try:
        yield from _streamed([_Table(file, k) for k, file in enumerate(files)], work)
    finally:
        remove_folder(work)


def _streamed(tables: Sequence["_Table"], work: Path) -> Iterator[Detections]:
    moments = all(table.moments for table in tables)
    streams: list[Iterator[Detections]] = []
    sources: list[Path] = []
    for table in tables:
        if not moments and table.moments:
            what = "mask shapes, because not every file has them"
            table.file.dropped["all", what] += table.rows
        parts = [table.pieces()] if table.ascends else _parted(table, claim_folder(work))
        streams += [map(partial(_plain, moments=moments), part) for part in parts]
        sources += [table.file.path] * len(parts)
    yield from merged(streams, sources)


@dataclass(eq=False)
class _Table:
    """A table that is read in batches."""

    file: DetectionFile
    number: int

    def __post_init__(self) -> None:
        names = _names(self.file)
        self.moments = set(MOMENTS) <= set(names)
        self.ascends, self.rows = True, 0
        last = -np.inf
        for batch in _batches(self.file, [names["frame"]]):
            frame = whole(batch.column(0).to_numpy(zero_copy_only=False), names["frame"], str(self.file.path))
            self.ascends &= bool((np.diff(frame.astype(np.float64), prepend=last) >= 0).all())
            self.rows += len(frame)
            last = frame[-1] if len(frame) else last

    def pieces(self) -> Iterator[Detections]:
        """Give the detections of each batch."""
        done = 0
        for batch in _batches(self.file, list(dict.fromkeys(_names(self.file).values()))):
            try:
                with warnings.catch_warnings():
                    if done:
                        warnings.simplefilter("ignore")  # what a table leaves open is told once
                    made = detections_of(pa.Table.from_batches([batch]), self.file)
            except InputError as error:
                raise InputError(f"{error}; rows are counted from row {done}" if done else str(error)) from None
            done += batch.num_rows
            if len(made):
                yield made


def _parted(table: _Table, folder: Path) -> list[Iterator[Detections]]:
    """Write a table's cameras to a file each, and give them as streams."""
    writers: dict[int, pq.ParquetWriter] = {}
    last: dict[int, int] = {}
    file = table.file
    try:
        for piece in table.pieces():
            for camera in np.unique(piece.camera).tolist():
                mine = piece.select(piece.camera == camera)
                if int(mine.frame[0]) < last.get(camera, int(mine.frame[0])):
                    name, frame = piece.cameras[camera], int(mine.frame[0])
                    raise file.fail(
                        f"camera {name} goes back from frame {last[camera]} to {frame}; "
                        "if that is only the order of rows, say --sort"
                    )
                last[camera] = int(mine.frame[-1])
                made = mine.to_table()
                if camera not in writers:
                    writers[camera] = pq.ParquetWriter(
                        folder / f"{table.number}-{camera}.parquet", made.schema, compression="lz4"
                    )
                writers[camera].write_table(made)
    finally:
        for writer in writers.values():
            writer.close()
    return [_read(folder / f"{table.number}-{camera}.parquet", file.rig.names) for camera in sorted(writers)]


def _read(path: Path, cameras: Sequence[str]) -> Iterator[Detections]:
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=ROWS):
            yield Detections.from_table(pa.Table.from_batches([batch]), cameras, str(path))


def _plain(piece: Detections, moments: bool) -> Detections:
    """Return detections without the shapes of masks, unless every table has them."""
    if moments or not piece.has_moments:
        return piece
    return replace(piece, area=None, angle=None, major=None, minor=None)


def regrouped(pieces: Iterable[Detections], rows: int = ROWS_PER_GROUP) -> Iterator[Detections]:
    """Cut a stream anew, so many rows each: the file of it is the same however it came.

    Parameters
    ----------
    pieces : in the order of a file.
    rows : of each but the last.
    """
    held: list[Detections] = []
    count = 0
    for piece in pieces:
        held.append(piece)
        count += len(piece)
        while count >= rows:
            joined = held[0] if len(held) == 1 else Detections.concat(held)
            yield joined.select(np.arange(rows))
            held, count = [joined.select(np.arange(rows, count))], count - rows
    if count:
        yield held[0] if len(held) == 1 else Detections.concat(held)


def _names(file: DetectionFile) -> dict[str, str]:
    """Our names of columns to the table's."""
    if starts_with(file.path, b"PAR1"):
        return column_names(file, [str(n) for n in pq.read_schema(file.path).names])
    options, dialect = _text(file.path)
    with pacsv.open_csv(file.path, read_options=options, **csv_options(dialect)) as text:
        names = text.schema.names
    if len(set(names)) < len(names):
        raise file.fail("has a column twice")
    return column_names(file, names)


def _text(path: Path) -> tuple[pacsv.ReadOptions, Dialect]:
    """How to read a table of text."""
    with path.open("rb") as raw:
        head = raw.read(1 << 17)
    encoding = encoding_of(head)
    options = pacsv.ReadOptions(
        use_threads=False, block_size=BATCH, encoding="utf8" if encoding == "utf-8-sig" else encoding
    )
    return options, dialect_of(head.decode(encoding, errors="replace"))


def _batches(file: DetectionFile, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Batches of some columns; numbers of text are floating, whatever the first rows look like."""
    kind = "CSV"
    try:
        if starts_with(file.path, b"PAR1"):
            kind = "Parquet"
            with pq.ParquetFile(file.path, pre_buffer=False) as opened:
                for batch in opened.iter_batches(batch_size=ROWS, columns=columns):
                    batch.validate(full=True)
                    yield batch
            return
        options, dialect = _text(file.path)
        ours = {theirs: name for name, theirs in _names(file).items()}
        types = {c: pa.string() if ours[c] == "camera" else pa.float64() for c in columns if ours[c] in KNOWN}
        with pacsv.open_csv(
            file.path, read_options=options, **csv_options(dialect, include_columns=columns, column_types=types)
        ) as text:
            yield from text
    except (pa.ArrowException, OSError, ValueError) as error:
        raise file.fail(f"is not a complete {kind} file ({str(error)[:200]})") from None
