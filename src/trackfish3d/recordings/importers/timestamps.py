"""Cameras that were not triggered together: their frames' times, and one clock for all."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...core.errors import InputError
from ...core.reading.limits import refuse_rows
from ..detections import Detections
from ..storage import read_table
from ..tracks import frame_numbers
from ._file import Dropped

Clock = tuple[NDArray[np.int64], NDArray[np.float64]]  # frame numbers (N,) and their times (N,), s, ascending
LATEST = 1e11  # s: three thousand years, and Unix times in milliseconds are refused


def read_timestamps(path: str | Path) -> Clock:
    """Read a CSV or Parquet file with columns ``frame`` and ``time`` (s); both must ascend."""
    table = read_table(path)
    at = {n.strip().lower(): n for n in table.column_names}
    if "frame" not in at or "time" not in at:
        raise InputError(f"{path}: needs columns frame, time; has {', '.join(table.column_names[:20])}")
    if not len(table):
        raise InputError(f"{path}: is empty")
    kind = table[at["time"]].type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        raise InputError(f"{path}: column time has values that are not numbers (seconds)")
    frame = frame_numbers(table[at["frame"]].to_numpy(), "frame", str(path))
    time = np.asarray(table[at["time"]].to_numpy(), dtype=np.float64)
    for name, values in (("frame", frame), ("time", time)):
        bad = ~np.isfinite(values)
        bad[1:] |= ~(np.diff(values) > 0)
        if bad.any():
            raise InputError(f"{path}: row {int(np.argmax(bad))}: {name} does not ascend")
    refuse_rows(np.abs(time) > LATEST, f"time is beyond {LATEST:g} s", str(path))
    return frame, time


def align_by_time(detections: Detections, clocks: Mapping[str, Clock], fps: float, dropped: Dropped) -> Detections:
    """Renumber detections by the common clock: a frame gets the number of the reference frame nearest in time.

    If every camera has a clock, the first camera is the reference and keeps its frame numbers. Otherwise time t is
    frame t * `fps`, which is also what cameras without a clock are taken to have counted. Left out, and counted in
    `dropped`: frames without a time, frames before or after the reference, and, of two frames that fall on the same
    reference frame, the one farther from it.
    """
    names = detections.cameras
    reference = clocks[names[0]] if all(n in clocks for n in names) else None
    frame, keep = detections.frame.copy(), np.ones(len(detections), dtype=bool)
    for camera, name in enumerate(names):
        if name not in clocks:
            continue
        rows = np.flatnonzero(detections.camera == camera)
        number, fate = _renumber(detections.frame[rows], clocks[name], reference, fps)
        for code, reason in enumerate(_REASONS, start=1):
            if (fate == code).any():
                dropped[name, reason] += int((fate == code).sum())
        frame[rows], keep[rows] = number, fate == 0
    columns = {k: a for k, a in detections.columns().items() if k not in ("frame", "camera")}
    return Detections.build(
        names,
        frame[keep],
        detections.camera[keep],
        **{k: a[keep] for k, a in columns.items()},
        skeleton=detections.skeleton,
        source="detections",
    )


_REASONS = (
    "detections in frames without a timestamp",
    "detections in frames outside the reference camera's time",
    "detections in frames that share a reference frame with a nearer one",
)


def _renumber(
    frames: NDArray[np.int64], clock: Clock, reference: Clock | None, fps: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find new numbers (N,) of one camera's `frames` (N,) and their fate: 0 kept, else 1 + the index of the reason."""
    own, time = clock
    if reference is None:
        exact = time * fps
    else:
        exact = np.interp(time, reference[1], reference[0].astype(np.float64), left=np.nan, right=np.nan)
        edge = np.diff(reference[1])[[0, -1]] / 2 if len(reference[1]) > 1 else np.array([0.5, 0.5]) / fps
        exact = np.where((time < reference[1][0]) & (time >= reference[1][0] - edge[0]), reference[0][0], exact)
        exact = np.where((time > reference[1][-1]) & (time <= reference[1][-1] + edge[1]), reference[0][-1], exact)
    outside = ~(np.abs(exact) < 2.0**53)
    number = np.where(outside, 0, np.round(exact)).astype(np.int64)
    fate = np.where(outside, 2, 0)
    inside = np.flatnonzero(~outside)
    order = inside[np.lexsort((np.abs(exact - number)[inside], number[inside]))]
    fate[order[1:][np.diff(number[order]) == 0]] = 3
    at = np.clip(np.searchsorted(own, frames), 0, len(own) - 1)
    known = own[at] == frames
    return np.where(known, number[at], 0), np.where(known, fate[at], 1)
