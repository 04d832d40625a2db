"""One walk through a recording: what every camera did in every frame, and a sample of detections, in bounded memory."""

from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..core.errors import InputError
from ..recordings import Detections, Recording

MOST_ROWS = 200_000
WINDOWS = 6
_PIECE = 60_000  # rows read at once
_SEED = 0

Ints = NDArray[np.int64]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Activity:
    """One camera over the whole recording, a row for each frame in which it saw something.

    ``frame`` (T,) ascending; ``count`` (T,) detections; ``mark`` (T,) a number that only equal detections share.
    """

    frame: Ints
    count: NDArray[np.int32]
    mark: Array


@dataclass(frozen=True)
class Intake:
    """What `check` looks at: every camera's `Activity`, and the detections of all frames or of windows of them.

    ``rows`` is the number of detections of the whole recording, of which ``detections`` is the sample.
    """

    activity: tuple[Activity, ...]
    detections: Detections
    rows: int

    @property
    def whole(self) -> bool:
        """Whether the sample is everything."""
        return len(self.detections) == self.rows

    @property
    def frames(self) -> Ints:
        """(F,) frames in which any camera saw anything."""
        return np.unique(np.concatenate([a.frame for a in self.activity]))


def take_in(recording: Recording, most_rows: int = MOST_ROWS) -> Intake:
    """Read a recording once.

    Above `most_rows` detections the sample is six windows of frames that follow each other, one at a random place
    in each sixth of the recording (always the same ones): clocks are judged by motion, so that single frames would
    not do.
    """
    path = recording.folder / recording.detections_file
    if not path.is_file():
        raise InputError(f"{path}: no such file; run 'trackfish3d detect' or 'import' first")
    rows = _rows(recording)
    begins, length = _windows(rows, most_rows)
    parts: list[list[tuple[Ints, NDArray[np.int32], Array]]] = [[] for _ in recording.rig]
    kept: list[Detections] = []
    seen = 0
    for piece in recording.iter_detections(_PIECE):
        for c, part in enumerate(parts):
            part.append(_activity(piece, c))
        inside = _inside(piece, seen + np.arange(len(piece)), begins, length)
        if inside.any():
            kept.append(piece if inside.all() else piece.select(inside))
        seen += len(piece)
    activity = tuple(
        Activity(*(np.concatenate(column) for column in zip(*part, strict=True)))
        if part
        else Activity(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0))
        for part in parts
    )
    return Intake(activity, _joined(kept, recording), seen)


def _rows(recording: Recording) -> int:
    try:
        return int(pq.ParquetFile(recording.folder / recording.detections_file).metadata.num_rows)
    except (OSError, ValueError) as error:
        path = recording.folder / recording.detections_file
        raise InputError(f"{path}: is not a complete Parquet file ({str(error).splitlines()[0][:200]})") from None


def _windows(rows: int, most_rows: int) -> tuple[Ints, int]:
    """Where windows of rows begin, and how long they are."""
    if rows <= most_rows:
        return np.zeros(1, np.int64), max(rows, 1)
    length = most_rows // WINDOWS
    stride = rows / WINDOWS
    place = np.random.default_rng(_SEED).random(WINDOWS) * (stride - length)
    return (np.arange(WINDOWS) * stride + place).astype(np.int64), length


def _inside(piece: Detections, number: Ints, begins: Ints, length: int) -> NDArray[np.bool_]:
    """Rows of whole frames of which the first row lies in a window."""
    first = number[np.searchsorted(piece.frame, piece.frame)]
    window = np.searchsorted(begins, first, "right") - 1
    return np.asarray((window >= 0) & (first - begins[np.maximum(window, 0)] < length))


def _activity(piece: Detections, camera: int) -> tuple[Ints, NDArray[np.int32], Array]:
    mine = piece.camera == camera
    frame = piece.frame[mine]
    frames, begin, count = np.unique(frame, return_index=True, return_counts=True)
    mark = piece.u[mine] + np.sqrt(2) * piece.v[mine]
    return frames, count.astype(np.int32), np.add.reduceat(mark, begin) if len(begin) else np.zeros(0)


def _joined(pieces: list[Detections], recording: Recording) -> Detections:
    """Return all pieces as one."""
    return Detections.concat(pieces) if pieces else Detections.empty(recording.rig.names)
