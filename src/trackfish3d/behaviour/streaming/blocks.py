"""Tracks as dense blocks of frames, so that a day of recording needs no more memory than a minute."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...recordings.tracks import Tracks
from ...recordings.whole_frames import cut, iter_tracks

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
ROWS = 100_000  # of a piece


@dataclass(frozen=True, eq=False)
class Block:
    """T successive frames of the N tracks that are there in any of them.

    ``frame`` (T,), ``track`` (N,); ``position`` (T, N, 3) world, NaN where a track is not; ``covariance``
    (T, N, 3, 3); ``sigma_velocity`` (T, N) world a frame, NaN where unknown; ``heading`` (T, N, 3) unit vectors from
    tail to head and their ``sigma_heading`` (T, N) rad, NaN where no body told; ``observed`` (T, N). Only the frames of
    ``core`` are the block's own; those around it are there so that smoothing and delays do not feel its ends.
    """

    frame: Ints
    track: Ints
    position: Array
    covariance: Array
    sigma_velocity: Array
    heading: Array
    sigma_heading: Array
    observed: Bools
    core: slice


class TrackSource:
    """Tracks in memory, or in a Parquet file that is read piece by piece; may be gone through several times."""

    def __init__(self, tracks: Tracks | None = None, path: Path | None = None) -> None:
        self.tracks, self.path = tracks, path

    def pieces(self) -> Iterator[Tracks]:
        """Tracks of ascending stretches of whole frames, about `ROWS` points each."""
        if self.tracks is not None:
            yield from cut(self.tracks, ROWS)
            return
        assert self.path is not None
        yield from iter_tracks(self.path, ("detection_",), ROWS)


def blocks(source: TrackSource, length: int, margin: int, keep: Ints | None = None, origin: int = 0) -> Iterator[Block]:
    """Cut tracks into blocks of ``length`` frames, with up to ``margin`` frames more on either side.

    Block borders are at multiples of ``length`` from frame ``origin`` on; stretches without any point make no block.
    ``keep`` are the tracks wanted, ascending; all without it.
    """
    held: list[Tracks] = []
    begin: int | None = None
    for piece in source.pieces():
        wanted = piece if keep is None else piece.select(np.isin(piece.track, keep))
        if not len(wanted):
            continue
        held.append(wanted)
        if begin is None:
            begin = (int(wanted.frame[0]) - origin) // length * length + origin
        last = int(wanted.frame[-1])
        while begin is not None and last >= begin + length + margin:
            yield from _block(held, begin, length, margin)
            held, begin = _rest(held, begin, length, margin, origin)
    while begin is not None and held:
        yield from _block(held, begin, length, margin)
        held, begin = _rest(held, begin, length, margin, origin)


def _rest(held: list[Tracks], begin: int, length: int, margin: int, origin: int) -> tuple[list[Tracks], int | None]:
    """Points that later blocks need, and where the next of them begins."""
    after = begin + length
    coming = [int(t.frame[np.searchsorted(t.frame, after)]) for t in held if t.frame[-1] >= after]
    if not coming:
        return [], None
    begin = (min(coming) - origin) // length * length + origin
    kept = [t.select(t.frame >= begin - margin) for t in held]
    return [t for t in kept if len(t)], begin


def _block(held: list[Tracks], begin: int, length: int, margin: int) -> Iterator[Block]:
    parts = [t.select((t.frame >= begin - margin) & (t.frame < begin + length + margin)) for t in held]
    frame = np.concatenate([t.frame for t in parts])
    if not ((frame >= begin) & (frame < begin + length)).any():
        return
    first, last = int(frame.min()), int(frame.max())
    track, column = np.unique(np.concatenate([t.track for t in parts]), return_inverse=True)
    at = frame - first, column
    shape = last - first + 1, len(track)
    position = np.full((*shape, 3), np.nan)
    covariance = np.full((*shape, 3, 3), np.nan)
    sigma_velocity = np.full(shape, np.nan)
    heading, sigma_heading = np.full((*shape, 3), np.nan), np.full(shape, np.nan)
    observed = np.zeros(shape, np.bool_)
    position[at] = np.concatenate([t.position for t in parts])
    covariance[at] = np.concatenate([t.covariance for t in parts])
    sigma_velocity[at] = np.concatenate([t.sigma_velocity for t in parts])
    observed[at] = np.concatenate([t.observed for t in parts])
    heading[at] = np.concatenate([_or_nan(t.heading, (len(t), 3)) for t in parts])
    sigma_heading[at] = np.concatenate([_or_nan(t.heading_sigma, (len(t),)) for t in parts])
    core = slice(max(begin - first, 0), min(begin + length, last + 1) - first)
    yield Block(
        frame=np.arange(first, last + 1),
        track=track,
        position=position,
        covariance=covariance,
        sigma_velocity=sigma_velocity,
        heading=heading,
        sigma_heading=sigma_heading,
        observed=observed,
        core=core,
    )


def _or_nan(values: Array | None, shape: tuple[int, ...]) -> Array:
    """Values of a column that tracks may lack."""
    return np.full(shape, np.nan) if values is None else values
