"""Detections and poses of a stretch of frames."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..core.errors import InputError
from ..recordings import Detections, Poses, Recording, parts_file, poses

Ints = NDArray[np.int64]
IN_MEMORY = 300_000  # rows that are read once and kept


class SeenRows:
    """Reads detections by frames.

    Parameters
    ----------
    recording : with detections, or without.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.path = recording.folder / "detections.parquet"
        self._bounds: Ints | None = None

    def between(self, first: int, last: int) -> tuple[Ints, Detections]:
        """Return rows (N,) and detections from ``first`` to ``last`` on the common clock.

        Where cameras have time offsets and the file is too large to be sorted anew in memory, rows are -1: nobody is
        then said to own a detection, rather than the wrong one.

        Parameters
        ----------
        first : first frame.
        last : last frame.
        """
        names = self.recording.rig.names
        if not self.path.is_file():
            return np.zeros(0, np.int64), Detections.empty(names)
        try:
            if pq.read_metadata(self.path).num_rows <= IN_MEMORY:
                every = self.recording.detections
                a, b = np.searchsorted(every.frame, [first, last + 1])
                return np.arange(a, b), every.select(np.arange(a, b))
            return self._read(first, last)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self.path}: is not a complete Parquet file ({str(error)[:120]})") from None

    def _read(self, first: int, last: int) -> tuple[Ints, Detections]:
        names = self.recording.rig.names
        offsets = np.array([self.recording.info.time_offset_frames.get(n, 0) for n in names], np.int64)
        low, high = first - int(offsets.max()), last - int(offsets.min())
        with pq.ParquetFile(self.path, pre_buffer=False) as file:
            if self._bounds is None:
                self._bounds = _group_bounds(file)
            begin, ends, starts = self._bounds
            groups = np.flatnonzero((begin <= high) & (ends >= low))
            if not len(groups):
                return np.zeros(0, np.int64), Detections.empty(names)
            table = file.read_row_groups(groups.tolist(), use_threads=False)
        frame = table["frame"].to_numpy()
        a, b = np.searchsorted(frame, [low, high + 1])  # files are written in the order of frames
        found = Detections.from_table(table.slice(int(a), int(b - a)), names, str(self.path))
        rows = starts[groups[0]] + np.arange(a, b)
        parts = self.path.parent / parts_file.FILE
        if parts.is_file() and len(rows):
            found = parts_file.with_parts(found, parts, names, (int(rows[0]), len(rows)))
        found = found.shifted(offsets)
        if offsets.any():
            rows = np.full(len(found), -1, np.int64)
        keep = (found.frame >= first) & (found.frame <= last)
        return rows[keep], found.select(keep)

    def poses(self, first: int, last: int) -> Poses | None:
        """Return poses from ``first`` to ``last``; None where there are none.

        Parameters
        ----------
        first : first frame.
        last : last frame.
        """
        path = self.recording.folder / poses.FILE
        if not path.is_file():
            return None
        wanted = [("frame", ">=", first), ("frame", "<=", last)]
        try:
            table = pq.read_table(path, filters=wanted, use_threads=False, pre_buffer=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InputError(f"{path}: is not a complete Parquet file ({str(error)[:120]})") from None
        return Poses.from_table(table, str(path)) if len(table) else None


def _group_bounds(file: pq.ParquetFile) -> Ints:
    """(3, G) first and last frame of each row group, and its first row."""
    meta = file.metadata
    column = next(k for k in range(meta.num_columns) if meta.schema.column(k).name == "frame")
    rows, out = 0, []
    for g in range(meta.num_row_groups):
        group = meta.row_group(g)
        known = group.column(column).statistics
        if known is not None and known.has_min_max:
            low, high = int(known.min), int(known.max)
        else:
            frame = file.read_row_group(g, columns=["frame"])["frame"].to_numpy()
            low, high = int(frame.min()), int(frame.max())
        out.append((low, high, rows))
        rows += group.num_rows
    return np.array(out, np.int64).reshape(-1, 3).T
