"""A first look at tracks: who is there how long, where, and how noisy; all that a second pass must know before."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...recordings.tracks import Tracks
from ..measures.collective import nearest_neighbour_world
from ..measures.faststarts import TURN_FRAMES
from ..measures.kinematics import present, speed
from ..measures.smoothing import SwimNoise, fit_noise, smooth
from ..measures.uncertainty import rms
from .blocks import Block, TrackSource, blocks

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

LASTS_S = 0.2  # of which a fast start has less than half
SAMPLE = 100_000  # positions kept
CHUNKS = 12  # stretches of frames kept
CHUNK_FRAMES = 240


@dataclass(frozen=True, eq=False)
class Survey:
    """``track`` (N,) numbers ascending, their ``points``, ``first`` and ``last`` frame (N,); ``first_frame``,
    ``last_frame`` of all; ``position`` (S, 3) a sample; ``crowd`` the most tracks in one piece. In stretches of frames:
    ``noise`` of the tracks; medians of ``speed`` (world a frame), ``nearest_neighbour`` (world) and ``sigma_position``
    (world), NaN where unknown; ``high_speed`` that lasts (`lasting_speed`) and is exceeded in a tenth of the time;
    ``told`` the share of points that came with a covariance.
    """

    track: Ints
    points: Ints
    first: Ints
    last: Ints
    first_frame: int
    last_frame: int
    position: Array
    crowd: int
    noise: SwimNoise
    speed: float
    high_speed: float
    nearest_neighbour: float
    sigma_position: float
    told: float

    @property
    def frames(self) -> int:
        """Frames from the first to the last."""
        return self.last_frame - self.first_frame + 1

    def main_tracks(self, share: float, most: int) -> Ints:
        """Numbers of the tracks there in at least ``share`` of the frames, ascending; the longest ``most`` of them."""
        long = np.flatnonzero(self.points >= share * self.frames)
        order = np.lexsort((long, -self.points[long]))[:most]
        return np.sort(self.track[long[order]])


def survey(source: TrackSource, fps: float) -> Survey | None:
    """Go through tracks of so many frames a second once; None where there is no point at all."""
    seen: dict[int, list[int]] = {}
    positions, chunks = _Positions(), _Chunks()
    crowd = 0
    for piece in source.pieces():
        finite = present(piece.position)
        piece = piece if finite.all() else piece.select(finite)
        if not len(piece):
            continue
        _count(piece, seen)
        crowd = max(crowd, len(piece.identities))
        positions.add(piece.position)
        chunks.add(piece)
    if not seen:
        return None
    track = np.array(sorted(seen), dtype=np.int64)
    rows = np.array([seen[int(t)] for t in track], dtype=np.int64)
    return Survey(
        track,
        rows[:, 0],
        rows[:, 1],
        rows[:, 2],
        int(rows[:, 1].min()),
        int(rows[:, 2].max()),
        np.concatenate(positions.kept),
        crowd,
        **_typical(chunks.found(), fps),
    )


class _Positions:
    """Every n-th position, n doubled whenever they get too many; the same however the tracks come in pieces."""

    def __init__(self) -> None:
        self.kept: list[Array] = []
        self.stride, self.total, self.passed = 1, 0, 0

    def add(self, position: Array) -> None:
        self.kept.append(position[-self.passed % self.stride :: self.stride])
        self.passed += len(position)
        self.total += len(self.kept[-1])
        while self.total > SAMPLE:
            self.kept = [np.concatenate(self.kept)[::2]]
            self.stride, self.total = 2 * self.stride, len(self.kept[0])


class _Chunks:
    """Stretches of frames, every n-th, n doubled whenever they get too many."""

    def __init__(self) -> None:
        self.parts: dict[int, list[Tracks]] = {}
        self.every = 1
        self.begin: int | None = None

    def add(self, piece: Tracks) -> None:
        self.begin = int(piece.frame[0]) if self.begin is None else self.begin
        number = (piece.frame - self.begin) // CHUNK_FRAMES
        for one in np.unique(number[number % self.every == 0]).tolist():
            self.parts.setdefault(one, []).append(piece.select(number == one))
            if len(self.parts) > CHUNKS:
                self.every *= 2
                self.parts = {k: v for k, v in self.parts.items() if k % self.every == 0}

    def found(self) -> list[Tracks]:
        return [Tracks.concat(parts) for parts in self.parts.values()]


def _count(piece: Tracks, seen: dict[int, list[int]]) -> None:
    order = np.argsort(piece.track, kind="stable")
    names, start, count = np.unique(piece.track[order], return_index=True, return_counts=True)
    first = piece.frame[order[start]]
    last = piece.frame[order[start + count - 1]]
    for name, n, a, b in zip(names.tolist(), count.tolist(), first.tolist(), last.tolist(), strict=True):
        known = seen.setdefault(name, [0, a, b])
        known[0] += n
        known[1], known[2] = min(known[1], a), max(known[2], b)


def _typical(chunks: list[Tracks], fps: float) -> dict[str, Any]:
    """Return what `Survey` tells of stretches of frames, so many a second."""
    dense: list[Block] = []
    for chunk in chunks:
        span = int(chunk.frame[-1]) - int(chunk.frame[0]) + 1
        moved = Tracks.build(
            chunk.frame - chunk.frame[0],
            chunk.track,
            chunk.position,
            covariance=chunk.covariance,
            sigma_velocity=chunk.sigma_velocity,
            observed=chunk.observed,
        )
        dense += blocks(TrackSource(moved), max(span, 1), 0)
    height = max(len(b.frame) for b in dense)
    wide = [_padded(a, height) for a in ([b.position for b in dense], [b.covariance for b in dense])]
    observed = np.nan_to_num(_padded([b.observed.astype(float) for b in dense], height)) > 0
    noise = fit_noise(wide[0], wide[1], observed)
    drift = _padded([b.sigma_velocity for b in dense], height)
    smoothed = smooth(wide[0], wide[1], observed, noise, sigma_velocity=drift)
    moving = speed(smoothed.velocity)
    near = np.concatenate([nearest_neighbour_world(b.position).ravel() for b in dense])
    return {
        "noise": noise,
        "speed": _quantile(moving, 0.5),
        "high_speed": _quantile(lasting_speed(moving, fps), 0.9),
        "nearest_neighbour": _quantile(near, 0.5),
        "sigma_position": _quantile(rms(smoothed.sigma.position), 0.5),
        "told": float(np.isfinite(wide[1][present(wide[0])][:, 0, 0]).mean()),
    }


def lasting_speed(moving: Array, fps: float) -> Array:
    """(K, N) medians of speeds (T, N) over stretches of `LASTS_S`, NaN where nothing is known.

    Where starts are many they are a tenth of all frames, and what a tenth of the frames exceed is the speed of a start.
    None lasts for half of such a stretch, while animals that rest and swim by turns do so for longer.
    """
    half = max(TURN_FRAMES, round(LASTS_S / 2 * fps))
    out = []
    for first in range(0, max(len(moving) - half, 1), half):
        stretch = moving[first : first + 2 * half + 1]
        known = np.isfinite(stretch).any(0)
        out.append(np.where(known, np.nanmedian(np.where(known, stretch, 0.0), axis=0), np.nan))
    return np.stack(out)


def _padded(parts: list[Array], height: int) -> Array:
    filled = [np.concatenate([p, np.full((height - len(p), *p.shape[1:]), np.nan)]) for p in parts]
    return np.concatenate(filled, axis=1)


def _quantile(values: Array, share: float) -> float:
    known = values[np.isfinite(values)]
    return float(np.quantile(known, share)) if len(known) else float("nan")
