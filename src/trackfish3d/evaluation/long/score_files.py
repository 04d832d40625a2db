"""Tracks in files against the truth in files, gone through in blocks of frames: the digits are those of `evaluate`."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...recordings import Tracks, Truth
from ...recordings.edits.edit_log import FILE as EDITS
from ...recordings.edits.edit_log import read_log
from ...recordings.whole_frames import iter_tracks, iter_truth, rows_of
from ..association import AssociationScores, association_of_blocks
from ..matching import BLOCK, Pairs, Points, pair_up
from ..scores import SceneScores, SceneSums

Ints = NDArray[np.int64]
WHOLE = 1_000_000  # points of tracks up to which they are held in memory


def long_tracks(path: Path, raw: bool = False) -> tuple[Path, int] | None:
    """Return the file of tracks and its rows where these are too many to be held in memory; None for others.

    Parameters
    ----------
    path : a file of tracks, or the folder of a recording; one with edits is read as a whole.
    raw : whether edits do not count.
    """
    file = path / "tracks.parquet" if path.is_dir() else path
    if path.is_dir() and not raw and read_log(path / EDITS).active:
        return None
    rows = rows_of(file)
    return (file, rows) if rows is not None and rows > WHOLE else None


def long_truth(path: Path) -> Path | None:
    """Return the file of the truth where it can be read piece by piece; None for others.

    Parameters
    ----------
    path : a file, or the folder of a recording.
    """
    file = path / "truth.parquet" if path.is_dir() else path
    return file if rows_of(file) else None


@dataclass(frozen=True)
class Frames:
    """Which frames tracks and truth have.

    Attributes
    ----------
    points : of the tracks.
    outside : those of them in frames without truth.
    tracks : first and last frame of the tracks; None without any.
    truth : first and last frame of the truth; None without any.
    """

    points: int
    outside: int
    tracks: tuple[int, int] | None
    truth: tuple[int, int] | None

    @classmethod
    def of(cls, tracks: Tracks, truth: Truth) -> "Frames":
        """Look at tables that are in memory."""
        ends = [(int(t.frame[0]), int(t.frame[-1])) if len(t) else None for t in (tracks, truth)]
        return cls(len(tracks), int((~np.isin(tracks.frame, truth.frame)).sum()), ends[0], ends[1])


@dataclass(frozen=True, eq=False)
class _Side:
    """One side of a comparison: identities (K,), rows that are not finite, ends, and its pieces as often as asked."""

    ids: Ints
    dropped: int
    ends: tuple[int, int] | None
    rows: int
    pieces: Callable[[], Iterator[Tracks | Truth]]

    @classmethod
    def of(cls, pieces: Callable[[], Iterator[Tracks | Truth]]) -> "_Side":
        ids, dropped, rows = np.zeros(0, np.int64), 0, 0
        first: int | None = None
        last = 0
        for piece in pieces():
            there = np.isfinite(piece.position).all(axis=1)
            ids = np.union1d(ids, _identity(piece)[there])
            dropped += int((~there).sum())
            rows += len(piece)
            first, last = int(piece.frame[0]) if first is None else first, int(piece.frame[-1])
        return cls(ids, dropped, None if first is None else (first, last), rows, pieces)

    def points(self, table: Tracks | Truth | None, kind: str) -> Points:
        if table is None:
            return Points.build([], [], [], kind).under(self.ids)
        return Points.build(table.frame, _identity(table), table.position, kind).under(self.ids)


def evaluate_files(
    tracks: Path, truth: Path, gate: float, linked: bool = False
) -> tuple[SceneScores, Frames, AssociationScores | None]:
    """Score tracks against the truth in bounded memory, both in Parquet files with ascending frames.

    Parameters
    ----------
    tracks : file of tracks.
    truth : file of the truth.
    gate : largest distance of a match, world units.
    linked : whether both name rows of the same detections, so that pairs of these can be scored.

    Returns
    -------
    tuple
        The scores, the frames of both, and the scores of pairs, where detections are named.
    """
    hidden = () if linked else ("detection_",)
    few = ("cov_", "sigma", "error", "confidence", "heading", "length", "thickness", "visible", *hidden)
    pred = _Side.of(partial(iter_tracks, tracks, few))
    known = _Side.of(partial(iter_truth, truth, ("u_", "v_", "x1_", "y1_", "x2_", "y2_", "visible_", *hidden)))
    sums = SceneSums(len(known.ids), len(pred.ids), gate)
    outside = 0
    for true, found in _together(known, pred):
        sums.add(_pairs(known, pred, true, found, gate))
        if found is not None:
            outside += int((~np.isin(found.frame, true.frame)).sum()) if true is not None else len(found)
    for true, found in _together(known, pred):
        sums.add_again(_pairs(known, pred, true, found, gate))
    scores = SceneScores(**sums.totals(), dropped_truth=known.dropped, dropped_predictions=pred.dropped)
    pairs = association_of_blocks(_together(known, pred)) if linked else None
    return scores, Frames(pred.rows, outside, pred.ends, known.ends), pairs


def _pairs(known: _Side, pred: _Side, true: Truth | None, found: Tracks | None, gate: float) -> Pairs:
    return pair_up(known.points(true, "truth"), pred.points(found, "prediction"), 2.0 * gate)


def _together(known: _Side, pred: _Side) -> Iterator[tuple[Truth | None, Tracks | None]]:
    """Blocks of frames of both sides; None where one has nothing there."""
    sides = [_blocks(known.pieces()), _blocks(pred.pieces())]
    heads = [next(side, None) for side in sides]
    while any(head is not None for head in heads):
        number = min(head[0] for head in heads if head is not None)
        here = [head[1] if head is not None and head[0] == number else None for head in heads]
        heads = [next(s, None) if part is not None else h for s, h, part in zip(sides, heads, here, strict=True)]
        yield here[0], here[1]  # type: ignore[misc]


def _blocks(pieces: Iterable[Tracks | Truth]) -> Iterator[tuple[int, Tracks | Truth]]:
    """Cut pieces at multiples of `BLOCK` frames; the number of the block comes with each."""
    held: list[Tracks | Truth] = []
    number = 0
    for piece in pieces:
        inner: list[int] = (np.flatnonzero(np.diff(piece.frame // BLOCK)) + 1).tolist()
        for begin, end in pairwise([0, *inner, len(piece)]):
            here = int(piece.frame[begin]) // BLOCK
            if held and here != number:
                yield number, _one(held)
                held = []
            number = here
            held.append(piece.select(np.arange(begin, end)) if inner else piece)
    if held:
        yield number, _one(held)


def _one(parts: list[Tracks | Truth]) -> Tracks | Truth:
    return parts[0] if len(parts) == 1 else type(parts[0]).concat(parts)  # type: ignore[arg-type]


def _identity(table: Tracks | Truth) -> Ints:
    return table.track if isinstance(table, Tracks) else table.identity
