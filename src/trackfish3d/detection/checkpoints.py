"""Detections of one camera on their way to the recording: parts on disk, so that a stopped run goes on."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..core.files import atomic_path
from ..core.resume import key_of, open_work
from .base import COLUMNS, FrameDetections

PARTS = "parts"
"""Column of the parts of a body: u, v, score of each, one after the other."""


@dataclass(frozen=True)
class Checkpoints:
    """Folder of one camera's parts; part k holds the frames ``k * length`` to ``(k + 1) * length``.

    A part is written before the state that follows it: what a stopped run left is either whole or taken again.
    """

    folder: Path
    length: int

    def begin(self, made_from: dict[str, Any]) -> int:
        """Count the parts that are done already, of the same video by the same detector; others are removed.

        Parameters
        ----------
        made_from : everything that the detections depend on, as plain values.
        """
        open_work(self.folder, key_of(made_from))
        done = 0
        while self._part(done).exists() and self._state(done).exists():
            done += 1
        return done

    def write(self, k: int, frames: list[tuple[int, FrameDetections]], state: dict[str, NDArray[Any]]) -> None:
        """Write part ``k`` and the detector's state after it."""
        columns: dict[str, Any] = {
            "frame": np.concatenate([np.full(len(s), n, np.int64) for n, s in frames] or [np.zeros(0, np.int64)])
        }
        names = [c for c in COLUMNS if not frames or c in frames[0][1].columns]
        for name in names:
            columns[name] = np.concatenate([s.columns[name] for _, s in frames] or [np.zeros(0)])
        if frames and (known := frames[0][1].parts) is not None:
            width = known.shape[1] * 3
            flat = np.concatenate([s.parts for _, s in frames]).reshape(-1, width)  # type: ignore[arg-type]
            columns[PARTS] = pa.FixedSizeListArray.from_arrays(flat.ravel(), width)
        with atomic_path(self._part(k)) as temporary:
            pq.write_table(pa.table(columns), temporary, compression="zstd")
        with atomic_path(self._state(k)) as temporary, temporary.open("wb") as stream:
            np.savez(stream, **state)  # type: ignore[arg-type]
        if k:
            self._state(k - 1).write_bytes(b"")  # only the last state is ever taken up

    def state(self, k: int) -> dict[str, NDArray[Any]]:
        """State after part ``k``."""
        with np.load(self._state(k)) as stored:
            return dict(stored)

    def read(self, k: int) -> pa.Table | None:
        """Table of part ``k``; None where there is none."""
        return pq.read_table(self._part(k)) if self._part(k).exists() else None

    def write_panel(self, number: int, panel: NDArray[np.uint8]) -> None:
        """Keep one panel (h, w, 3) of the preview."""
        with atomic_path(self.folder / f"panel_{number:09d}.npy") as temporary, temporary.open("wb") as stream:
            np.save(stream, panel)

    def panels(self) -> list[NDArray[np.uint8]]:
        """Panels of the preview in the order of their frames."""
        return [np.load(path) for path in sorted(self.folder.glob("panel_*.npy"))]

    def _part(self, k: int) -> Path:
        return self.folder / f"part_{k:06d}.parquet"

    def _state(self, k: int) -> Path:
        return self.folder / f"state_{k:06d}.npz"


def parts_of(table: pa.Table, count: int) -> NDArray[np.float64]:
    """Return the parts (N, count, 3) that a table holds, NaN where it has none.

    Parameters
    ----------
    table : of one part of a camera.
    count : how many parts a body has.
    """
    if PARTS not in table.column_names or not table.num_rows:
        return np.full((table.num_rows, count, 3), np.nan)
    out: NDArray[np.float64] = table[PARTS].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return out.reshape(-1, count, 3)


def tables(parts: list[Checkpoints], count: int) -> Iterator[list[pa.Table | None]]:
    """Give, for each of ``count`` parts, the tables of all cameras."""
    for k in range(count):
        yield [p.read(k) for p in parts]
