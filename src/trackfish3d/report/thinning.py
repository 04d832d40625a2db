"""A long recording for a page: every n-th frame of it, read piece by piece."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..core.errors import InputError
from ..recordings import Detections, Recording, Tracks, Truth
from ..recordings.edits.edit_log import FILE as EDITS
from ..recordings.edits.edit_log import read_log

Ints = NDArray[np.int64]
Table = TypeVar("Table", Tracks, Truth)
MOST_ROWS = 4_000_000  # of tracks, detections and truth together, up to which all frames are read
KEPT_ROWS = 1_500_000  # about which are read of more
_FILES = ("tracks.parquet", "detections.parquet", "truth.parquet")
_BATCH = 100_000


def stride_of(recording: Recording, raw: bool = False) -> int:
    """Return which frames a page is made of: 1 for all, n for every n-th.

    Parameters
    ----------
    recording : with tracks.
    raw : whether edits do not count; with edits, tracks are mended as a whole.
    """
    if not raw and read_log(recording.folder / EDITS).active:
        return 1
    rows = 0
    for name in _FILES:
        path = recording.folder / name
        try:
            rows += pq.read_metadata(path).num_rows if path.is_file() else 0
        except (OSError, ValueError):  # the reader of the whole says what is wrong with it
            return 1
    return 1 if rows <= MOST_ROWS else -(-rows // KEPT_ROWS)


def thinned(recording: Recording, stride: int) -> tuple[Recording, Tracks]:
    """Return a recording that holds every n-th frame only, and its tracks, whose rows of detections count those kept.

    Parameters
    ----------
    recording : a long one.
    stride : n; frames that it divides are kept.
    """
    folder = recording.folder
    small = Recording.open(folder)
    found, rows = _detections(recording, stride)
    tracks = Tracks.concat(list(_read(folder / "tracks.parquet", stride, Tracks)))
    place = np.searchsorted(rows, tracks.detection)
    tracks = replace(tracks, detection=np.where(tracks.detection >= 0, place, -1))
    truth = folder / "truth.parquet"
    known = Truth.concat(list(_read(truth, stride, Truth))) if truth.is_file() else None
    small.__dict__.update(detections=found, tracks=tracks, mended_tracks=tracks, truth=known)
    return small, tracks


def _detections(recording: Recording, stride: int) -> tuple[Detections, Ints]:
    """Return detections of the frames that are kept, and their rows in the recording."""
    kept, rows, seen = [], [], 0
    if (recording.folder / "detections.parquet").is_file():
        for piece in recording.iter_detections(_BATCH):
            mine = np.flatnonzero(piece.frame % stride == 0)
            kept.append(piece.select(mine))
            rows.append(seen + mine)
            seen += len(piece)
    if not kept:
        return Detections.empty(recording.rig.names), np.zeros(0, np.int64)
    return Detections.concat(kept), np.concatenate(rows)


def _read(path: Path, stride: int, kind: type[Table]) -> Iterator[Table]:
    try:
        file = pq.ParquetFile(path, pre_buffer=False)
        for batch in file.iter_batches(_BATCH):
            frame = batch.column("frame").to_numpy(zero_copy_only=False)
            part = pa.Table.from_batches([batch]).filter(pa.array(frame % stride == 0))
            yield kind.from_table(part, str(path))
    except (pa.ArrowException, OSError, KeyError) as error:
        raise InputError(f"{path}: is not a complete Parquet file ({str(error).splitlines()[0][:200]})") from None
