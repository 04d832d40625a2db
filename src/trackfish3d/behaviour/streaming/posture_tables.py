"""Postures of a recording as tables: every pose, and every stretch of tail beats."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from ...core.errors import InputError
from ...recordings.poses import Poses
from ...recordings.skeleton import Skeleton
from ..measures.postures import angle, beat_fit, bending, heading, sideways

Array = NDArray[np.float64]
_HEADS = ("snout", "nose", "rostrum", "mouth", "head")
_TAILS = ("tail_tip", "tailtip", "tail_end", "tail", "caudal")
_BETWEEN = ("neck", "shoulder", "centre", "center", "middle", "trunk", "body", "spine", "tail_base", "tailbase", "tti")
BEAT_S = 2.0  # of which tail beats are told at once
LEAST_BEAT = 16  # frames


@dataclass(frozen=True)
class Posture:
    """What is asked of bodies: ``midline`` from head to tail, () where unknown; ``angles`` of three parts each."""

    midline: tuple[str, ...]
    angles: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def of(cls, skeleton: Skeleton, midline: str | None = None, angles: str | None = None) -> "Posture":
        """Return what was named, or what names of parts suggest.

        Parameters
        ----------
        skeleton : the parts.
        midline : names from head to tail, with commas; by the names where it is None.
        angles : three names each, as in ``snout-centre-tail``, with commas.
        """
        named = () if midline is None else tuple(p.strip() for p in midline.split(","))
        if midline is not None and len(named) < 2:
            raise InputError(f"midline={midline}: name two parts or more, from head to tail, with commas")
        three = []
        for text in (angles or "").split(","):
            corner = tuple(p.strip() for p in text.split("-"))
            if not text.strip():
                continue
            if len(corner) != 3:
                raise InputError(f"angles={text.strip()}: write three parts as in snout-centre-tail")
            three.append((corner[0], corner[1], corner[2]))
        for part in (*named, *(p for corner in three for p in corner)):
            skeleton.index(part)
        return cls(named or guessed_midline(skeleton), tuple(three))


def guessed_midline(skeleton: Skeleton) -> tuple[str, ...]:
    """Return parts from head to tail by their names and edges; () where no head or no tail is named.

    Parameters
    ----------
    skeleton : the parts.

    >>> guessed_midline(Skeleton(("tail", "left_eye", "snout", "body")))
    ('snout', 'body', 'tail')
    """
    low = [p.lower() for p in skeleton.parts]
    head = next((low.index(p) for word in _HEADS for p in low if word in p), None)
    tail = next((low.index(p) for word in _TAILS for p in low if word in p), None)
    if head is None or tail is None or head == tail:
        return ()
    way = _way(skeleton.edges, head, tail)
    if way is None:
        between = [low.index(p) for word in _BETWEEN for p in low if word in p]
        way = [head, *dict.fromkeys(k for k in between if k not in (head, tail)), tail]
    return tuple(skeleton.parts[k] for k in way)


def _way(edges: Sequence[tuple[int, int]], begin: int, end: int) -> list[int] | None:
    """Shortest way along edges, or None."""
    before, todo = {begin: begin}, deque([begin])
    while todo:
        here = todo.popleft()
        for a, b in edges:
            for one, other in ((a, b), (b, a)):
                if one == here and other not in before:
                    before[other] = here
                    todo.append(other)
    if end not in before:
        return None
    way = [end]
    while way[-1] != begin:
        way.append(before[way[-1]])
    return way[::-1]


def posture_table(poses: Poses, asked: Posture, up: ArrayLike, units: str) -> pa.Table:
    """Return a row for every pose: heading, pitch, bend, angles, and the nearest tail of another before its head.

    Parameters
    ----------
    poses : of all animals.
    asked : what is measured.
    up : (3,) direction of up in the world.
    units : of length.
    """
    columns: dict[str, NDArray[Any]] = {"frame": poses.frame, "track": poses.track}
    line = asked.midline
    if line:
        unit, pitch, spread = heading(poses, line[-2] if len(line) > 2 else line[-1], line[0], up)
        columns |= {f"heading_{a}": unit[:, k] for k, a in enumerate("xyz")}
        columns |= {"pitch_rad": pitch, "sigma_pitch_rad": spread}
    if len(line) > 2:
        columns["bend_rad"], columns["sigma_bend_rad"] = bending(poses, line)
    for corner in asked.angles:
        name = "_".join(corner)
        columns[f"angle_{name}_rad"], columns[f"sigma_angle_{name}_rad"] = angle(poses, *corner)
    if line:
        other, far, sigma = nearest_tails(poses, line[0], line[-1])
        columns |= {"nearest_tail": other, f"to_tail_{units}": far, f"sigma_to_tail_{units}": sigma}
    return pa.table(columns)


def nearest_tails(poses: Poses, head: str, tail: str) -> tuple[NDArray[np.int64], Array, Array]:
    """Return, of each pose, whose tail is nearest to its head (-1 for nobody's), how far (N,), and its sigma (N,).

    Parameters
    ----------
    poses : of all animals.
    head : the part in front.
    tail : the part that others have behind.
    """
    h, t = poses.skeleton.index(head), poses.skeleton.index(tail)
    n = len(poses)
    other, far, sigma = np.full(n, -1, np.int64), np.full(n, np.nan), np.full(n, np.nan)
    begins = np.flatnonzero(np.diff(poses.frame, prepend=poses.frame[:1] - 1))
    for begin, end in zip(begins, np.append(begins[1:], n), strict=True):
        off = poses.position[begin:end, None, h] - poses.position[None, begin:end, t]
        way = np.linalg.norm(off, axis=-1)
        way[np.arange(end - begin), np.arange(end - begin)] = np.nan
        known = np.isfinite(way).any(1)
        rows = np.flatnonzero(known)
        near = np.nanargmin(way[rows], axis=1) if len(rows) else rows
        length = way[rows, near]
        along = off[rows, near] / np.maximum(length, 1e-300)[:, None]
        both = poses.covariance[begin + rows, h] + poses.covariance[begin + near, t]
        other[begin + rows], far[begin + rows] = poses.track[begin + near], length
        sigma[begin + rows] = np.sqrt(np.einsum("ni,nij,nj->n", along, both, along))
    return other, far, sigma


def beat_table(poses: Poses, midline: Sequence[str], fps: float, units: str) -> pa.Table:
    """Return a row for every two seconds of every animal: frequency and amplitude of its tail, with sigmas.

    Parameters
    ----------
    poses : of all animals.
    midline : from head to tail, three parts or more.
    fps : frames a second.
    units : of length.
    """
    rows: list[tuple[float, ...]] = []
    length = max(round(BEAT_S * fps), LEAST_BEAT)
    for track in np.unique(poses.track):
        mine = poses.select(poses.track == track)
        along = sideways(mine, midline[0], midline[-2], midline[-1], length)
        known = np.isfinite(along)
        breaks = np.flatnonzero((np.diff(mine.frame) != 1) | (np.diff(known) != 0)) + 1
        for run in np.split(np.arange(len(mine)), breaks):
            for begin in range(0, len(run), length):
                part = run[begin : begin + length]
                if len(part) >= LEAST_BEAT and known[part[0]]:
                    fitted = beat_fit(along[part], fps)
                    rows.append((track, mine.frame[part[0]], mine.frame[part[-1]], *fitted))
    table = np.array(rows, float).reshape(-1, 7)
    names = ("beat_hz", "sigma_beat_hz", f"amplitude_{units}", f"sigma_amplitude_{units}")
    whole = {name: table[:, k].astype(np.int64) for k, name in enumerate(("track", "first_frame", "last_frame"))}
    return pa.table(whole | {name: table[:, 3 + k] for k, name in enumerate(names)})
