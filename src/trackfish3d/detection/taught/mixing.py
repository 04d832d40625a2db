"""What the network is taught with: cut-outs, animals laid over one another, and what to tell of each cell.

An animal that was seen whole and apart is laid over, or behind, others: whose each cell then is, is known exactly,
however the second look would have divided the two.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .cells import CHANNELS, MULTIPLE, Floats
from .lessons import DOUBTFUL, NAMED, SIDE, Lessons

Bytes = NDArray[np.uint8]
SHOWN = 64
"""Cells of a side that the network is shown at once."""
_ADDED = (0.35, 0.4, 0.25)  # chance of none, one, two animals more
_FRONT = 0.6  # chance that one lies before the others
_APART = 0.3  # of its larger side, deviation of an animal from the one that it is laid over
_FRAGMENT = 0.15  # of an animal's usual area, below which what is left of it has no middle
_CONTRAST = 0.25  # by which contrast varies, either way
_NOISE = 0.02  # of what cells show, added


@dataclass(frozen=True, eq=False)
class Batch:
    """What the network sees (B, 2, S, S) and should tell: ``animal`` (B, S, S), ``way`` (B, 2, S, S) cells.

    ``known`` and ``middled`` (B, S, S): whether each cell's animal, and its middle, are known.
    """

    cells: Floats
    animal: Floats
    way: Floats
    known: Floats
    middled: Floats


def make_batch(lessons: Lessons, size: int, seed: list[int]) -> Batch:
    """Return ``size`` examples; the same for the same seed.

    Parameters
    ----------
    lessons : to take from.
    size : examples.
    seed : of all that is chosen.
    """
    rng = np.random.default_rng(seed)
    wholes = np.flatnonzero(lessons.single)
    rows = [_example(lessons, wholes, rng) for _ in range(size)]
    return Batch(*(np.stack(column) for column in zip(*rows, strict=True)))


def _example(lessons: Lessons, wholes: NDArray[np.int64], rng: np.random.Generator) -> tuple[Floats, ...]:
    k = int(rng.integers(len(lessons)))
    cells, owner = _flipped(lessons.cells[k].astype(np.float32), lessons.owner[k], rng)
    if len(wholes):
        for n in range(int(rng.choice(len(_ADDED), p=_ADDED))):
            other = int(rng.choice(wholes))
            mine = lessons.owner[other] == lessons.single[other]
            _lay(*_flipped(lessons.cells[other].astype(np.float32), mine, rng), cells, owner, NAMED + n, rng)
    cells *= np.float32(1 + rng.uniform(-_CONTRAST, _CONTRAST))
    cells += np.float32(_NOISE) * rng.standard_normal(cells.shape, np.float32)
    way, middled = _middles(owner, _FRAGMENT * lessons.usual)
    x, y = rng.integers(0, SIDE - SHOWN + 1, 2).tolist()
    window = (..., slice(y, y + SHOWN), slice(x, x + SHOWN))
    shown = owner[window]
    animal, known = ((shown > 0) & (shown != DOUBTFUL)).astype(np.float32), (shown != DOUBTFUL).astype(np.float32)
    return cells[window], animal, way[window], known, middled[window]


def _flipped(cells: Floats, owner: NDArray, rng: np.random.Generator) -> tuple[Floats, NDArray]:
    """Turn a cut-out round, upside down, or leave it."""
    x, y = (1 - 2 * rng.integers(0, 2, 2)).tolist()
    return cells[:, ::y, ::x].copy(), owner[::y, ::x].copy()


def _lay(
    source: Floats, mine: NDArray[np.bool_], cells: Floats, owner: Bytes, name: int, rng: np.random.Generator
) -> None:
    """Lay an animal over or behind one of a cut-out, or into its middle; ``cells`` and ``owner`` are changed."""
    there = np.flatnonzero((np.bincount(owner.ravel(), minlength=256) > 0) & ~np.isin(np.arange(256), (0, DOUBTFUL)))
    j, i = np.nonzero(mine)
    height, width = int(np.ptp(j)) + 1, int(np.ptp(i)) + 1
    at = np.array([SIDE / 2, SIDE / 2])
    if len(there):
        b, a = np.nonzero(owner == rng.choice(there))
        at = np.array([b.mean(), a.mean()])
    dy, dx = np.rint(at - [j.mean(), i.mean()] + _APART * max(height, width) * rng.standard_normal(2)).astype(int)
    # its rim too, where nothing else is: it is half the animal's
    near = np.zeros_like(mine)
    near[max(j.min() - 1, 0) : j.max() + 2, max(i.min() - 1, 0) : i.max() + 2] = True
    j, i = np.nonzero(near)
    inside = (j + dy >= 0) & (j + dy < SIDE) & (i + dx >= 0) & (i + dx < SIDE)
    j, i = j[inside], i[inside]
    free = owner[j + dy, i + dx] == 0
    front = rng.random() < _FRONT
    take = np.where(mine[j, i], front | free, free & (np.abs(source[1, j, i]) > np.abs(cells[1, j + dy, i + dx])))
    cells[:, (j + dy)[take], (i + dx)[take]] = source[:, j[take], i[take]]
    take &= mine[j, i]
    owner[(j + dy)[take], (i + dx)[take]] = name


def _middles(owner: Bytes, least: float) -> tuple[Floats, Floats]:
    """Way (2, S, S) from each cell to its animal's middle, and whether (S, S) that is known."""
    way, known = np.zeros((CHANNELS, *owner.shape), np.float32), np.zeros(owner.shape, np.float32)
    for k in np.unique(owner).tolist():
        if k in (0, DOUBTFUL):
            continue
        j, i = np.nonzero(owner == k)
        cut = min(j.min(), i.min()) == 0 or max(j.max(), i.max()) == SIDE - 1
        if cut or len(j) < least:
            continue
        way[0, j, i], way[1, j, i] = i.mean() - i, j.mean() - j
        known[j, i] = 1.0
    return way, known


assert SHOWN % MULTIPLE == 0
