"""Tracks as edits leave them; the tracker's file is read and never written."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...core.errors import InputError
from ...core.files import digest
from ...core.reading.limits import LONGEST
from ..tracks import Tracks
from .kinds import Accept, AddPoint, AnyEdit, Cut, Fill, Join, Swap, describe
from .pieces import GONE, Pieces, added_track

Ints = NDArray[np.int64]
_DIGEST = b"tracks_csv_digest"
_ROWS = 1 << 19


@contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """Put the file of the edits before what is wrong with them.

    Parameters
    ----------
    path : the file.
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


@dataclass(frozen=True)
class TrackFile:
    """The tracker's ``tracks.parquet``, read in parts."""

    path: Path

    @cached_property
    def digest(self) -> str:
        """What tells these tracks from others."""
        try:
            told = (pq.read_schema(self.path).metadata or {}).get(_DIGEST, b"").decode(errors="replace")
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InputError(f"{self.path}: is not a complete Parquet file ({str(error)[:120]})") from None
        return told or digest(self.path)

    @cached_property
    def pieces(self) -> Pieces:
        """Stretches of the tracks as the tracker made them."""
        return Pieces.of(self._chunks())

    def _chunks(self) -> Iterator[tuple[Ints, Ints]]:
        try:
            with pq.ParquetFile(self.path, pre_buffer=False) as file:
                for batch in file.iter_batches(batch_size=_ROWS, columns=["frame", "track"]):
                    yield tuple(np.asarray(batch[k].to_numpy(zero_copy_only=False)) for k in ("frame", "track"))  # type: ignore[misc]
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise InputError(f"{self.path}: is not a complete file of tracks ({str(error)[:120]})") from None

    def table(self, tracks: list[int] | None, first: int, last: int, columns: list[str] | None = None) -> pa.Table:
        """Return points of some of the tracker's tracks, or of all, from ``first`` to ``last``; whole row groups are
        passed over by their bounds.
        """
        filters: list[tuple[str, str, Any]] = [("frame", ">=", first), ("frame", "<=", last)]
        filters += [] if tracks is None else [("track", "in", tracks)]
        try:
            return pq.read_table(self.path, columns=columns, filters=filters, use_threads=False, pre_buffer=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InputError(f"{self.path}: is not a complete file of tracks ({str(error)[:120]})") from None

    @cached_property
    def cameras(self) -> list[str]:
        """Columns that name the detections used in each camera."""
        return [n for n in pq.read_schema(self.path).names if n.startswith("detection_")]


@dataclass(frozen=True, eq=False)
class Mending:
    """What edits make of tracks.

    Attributes
    ----------
    pieces : which stretch belongs to which track.
    added : edits that add points.
    sure : tracker's track, first and last frame of links that a person vouched for.
    """

    pieces: Pieces
    added: tuple[AddPoint | Fill, ...] = ()
    sure: tuple[tuple[int, int, int], ...] = ()

    @classmethod
    def of(cls, pieces: Pieces, edits: tuple[AnyEdit, ...]) -> "Mending":
        """Return what edits make of tracks.

        Parameters
        ----------
        pieces : of the tracker's tracks.
        edits : in the order in which they were made.
        """
        state = cls(pieces)
        for edit in edits:
            state = state.after(edit)
        return state

    def after(self, edit: AnyEdit) -> "Mending":
        """Return what one more edit makes of it."""
        pieces = self.pieces.after(edit)
        added = self.added
        if isinstance(edit, AddPoint | Fill):
            added = (*added, edit)
            if int(pieces.last.max()) - int(pieces.first.min()) > LONGEST:
                raise InputError(f"edit {edit.id} ({describe(edit)}) is farther away than any film is long")
        return Mending(pieces, added, (*self.sure, *_vouched(self.pieces, pieces, edit)))

    def apply(self, tracks: Tracks, first: int | None = None, last: int | None = None) -> Tracks:
        """Return tracks as the edits leave them.

        Parameters
        ----------
        tracks : the tracker's, all of them or those of a stretch of frames.
        first : first frame of that stretch; points that a person added before it are left out.
        last : its last frame.
        """
        name = self.pieces.name_of(tracks.track, tracks.frame)
        confidence = tracks.confidence
        if self.sure:
            confidence = confidence.copy()
            for raw, a, b in self.sure:
                lo, hi = np.searchsorted(tracks.frame, [a, b + 1])
                confidence[lo:hi][tracks.track[lo:hi] == raw] = 1.0
        keep = name != GONE
        columns = {f.name: getattr(tracks, f.name) for f in fields(tracks)} | {"track": name, "confidence": confidence}
        columns = {k: v[keep] if isinstance(v, np.ndarray) else v for k, v in columns.items()}
        parts = [Tracks(**columns)]
        for edit in self.added:
            rows = _added(edit, tracks.cameras)
            kept = self.pieces.name_of(rows.track, rows.frame)
            inside = kept != GONE
            inside &= (rows.frame >= first) if first is not None else True
            inside &= (rows.frame <= last) if last is not None else True
            parts.append(_widened(replace(rows, track=kept), tracks).select(inside))
        return Tracks.concat(parts, "mended tracks")


def _widened(rows: Tracks, like: Tracks) -> Tracks:
    """Return rows with every column that other tracks have, as not known."""
    more: dict[str, Any] = {}
    for name, column in like.columns().items():
        if name not in rows.columns():
            unknown = np.nan if column.dtype.kind == "f" else -1 if column.dtype.kind == "i" else 0
            more[name] = np.full((len(rows), *column.shape[1:]), unknown, column.dtype)
    return replace(rows, **more) if more else rows


def _vouched(before: Pieces, after: Pieces, edit: AnyEdit) -> list[tuple[int, int, int]]:
    """Links that an edit makes certain: those at its borders, or all that were accepted."""
    if isinstance(edit, Accept):
        found = [before.within(n, edit.first, edit.last) for n in {edit.track, edit.other}]
        return [t for p in found for t in zip(p.raw.tolist(), p.first.tolist(), p.last.tolist(), strict=True)]
    borders: list[tuple[int, int]] = []
    if isinstance(edit, Swap):
        ends = [edit.first] if edit.last is None else [edit.first, edit.last + 1]
        borders = [(n, f) for n in (edit.one, edit.other) for f in ends]
    elif isinstance(edit, Join):
        borders = [(edit.one, int(f)) for f in before.of_track(edit.other).first]
        borders += [(edit.one, int(f)) for f in before.of_track(edit.one).first]
    elif isinstance(edit, Cut):
        borders = [(edit.new, edit.frame)]
    out = []
    for name, frame in borders:
        mine = after.of_track(name) if (after.name == name).any() else None
        if mine is not None and (mine.last >= frame).any():
            k = int(np.argmax(mine.last >= frame))
            at = max(int(mine.first[k]), frame)
            out.append((int(mine.raw[k]), at, at))
    return out


def _added(edit: AddPoint | Fill, cameras: tuple[str, ...]) -> Tracks:
    """Points that an edit adds, under the number by which they are known."""
    if isinstance(edit, AddPoint):
        covariance = np.full((1, 3, 3), np.nan)
        if edit.covariance is not None:
            xx, xy, xz, yy, yz, zz = edit.covariance
            covariance = np.array([[[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]])
        return Tracks.build(
            [edit.frame],
            [added_track(edit.id)],
            [edit.at],
            covariance=covariance,
            views=[len(edit.pixels)],
            error_px=[edit.error_px if edit.pixels else np.nan],
            confidence=[1.0],
            detection=np.full((1, len(cameras)), -1),
            cameras=cameras,
        )
    frame = np.arange(edit.first, edit.last + 1)
    share = ((frame - edit.first + 1) / (len(frame) + 1))[:, None]
    place = (1 - share) * np.array(edit.begin) + share * np.array(edit.end)
    n = len(frame)
    return Tracks.build(
        frame,
        np.full(n, added_track(edit.id)),
        place,
        views=np.zeros(n),
        observed=np.zeros(n),
        confidence=np.ones(n),
        detection=np.full((n, len(cameras)), -1),
        cameras=cameras,
    )


def added_points(edits: tuple[AddPoint | Fill, ...], cameras: tuple[str, ...]) -> dict[int, Tracks]:
    """Return the points that edits add, by the numbers under which they are known.

    Parameters
    ----------
    edits : that add points.
    cameras : of the tracks.
    """
    return {added_track(e.id): _added(e, cameras) for e in edits}
