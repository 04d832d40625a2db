"""The best parts of two readings of one recording.

A row that two readings have in common (the same detections of one frame) is a place where one may go over into the
other. Between such rows, readings differ in knots: tracks that lead from the same rows to the same rows and share
detections on the way. Each knot takes whichever reading explains it better; all choices together stay a reading in
which no detection is used twice, for readings that share a detection share the knot.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..refinement.trajectories import Trajectories

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
LEAD = 1e-6  # log-likelihood by which a knot must be better to be taken over


def common_rows(one: Trajectories, other: Trajectories) -> tuple[Ints, Ints]:
    """(N,) for each row of either reading the row of the other that holds the same detections, of two views; -1."""
    first, second = (np.column_stack([p.frame, p.members]) for p in (one, other))
    _, label = np.unique(np.vstack([first, second]), axis=0, return_inverse=True)
    label = label.reshape(-1)
    a, b = label[: len(first)], label[len(first) :]
    where = np.full(int(label.max(initial=0)) + 1, -1, np.int64)
    enough = (other.members >= 0).sum(1) >= 2
    where[b[enough]] = np.flatnonzero(enough)
    match = where[a]
    match[(one.members >= 0).sum(1) < 2] = -1
    back = np.full(len(b), -1, np.int64)
    back[match[match >= 0]] = np.flatnonzero(match >= 0)
    return match, back


def combined(one: Trajectories, other: Trajectories, worth: Array, other_worth: Array) -> tuple[Trajectories, int]:
    """Return the first reading with the knots in which the other is better, and how many these are.

    Parameters
    ----------
    one, other : readings, sorted by track and frame.
    worth, other_worth : log-likelihood ratio of each of their rows (`worth.worth`).
    """
    match, back = common_rows(one, other)
    n = len(one.name)
    number = np.where(back >= 0, back, n + np.cumsum(back < 0) - 1)  # rows that both have count once
    links, knot = _knots(one, other, match >= 0, number)
    gain = np.bincount(knot[number], other_worth, len(knot) + 1) - np.bincount(knot[:n], worth, len(knot) + 1)
    better = gain > LEAD
    better[0] = False
    if not better.any():
        return one, 0
    kept = np.ones(len(knot), bool)
    kept[:n] = (match >= 0) | ~better[knot[:n]]
    kept[number[back < 0]] = better[knot[number[back < 0]]]
    taken = [pairs[better[of] == (k == 1)] for k, (pairs, of) in enumerate(links)]
    both = one.join(other.take(back < 0))
    edges = np.vstack(taken)
    name = _components(len(knot), edges[:, 0], edges[:, 1])
    return both.take(kept).renamed(name[kept]), int(better.sum())


Links = list[tuple[Ints, Ints]]
"""For each reading the rows (L, 2) that follow each other in a track, and the knot (L,) of each, 0 for none."""


def _knots(one: Trajectories, other: Trajectories, common: Flags, number: Ints) -> tuple[Links, Ints]:
    """Links of both readings, and the knot (U,) of each row, 0 where both readings have the same before it.

    common : (N,) rows of the first that the other has, too; number : (M,) of the other's rows, under one numbering.
    """
    total = int(max(len(one.name), number.max(initial=-1) + 1))
    both = np.zeros(total, bool)
    both[: len(one.name)] = common
    pairs = [_following(one, np.arange(len(one.name))), _following(other, number)]
    follows = np.full(total, -1, np.int64)
    follows[pairs[0][:, 0]] = pairs[0][:, 1]
    same = [both[p[:, 0]] & both[p[:, 1]] for p in pairs]
    same[1] &= follows[pairs[1][:, 0]] == pairs[1][:, 1]
    after = np.full(total, -1, np.int64)
    after[pairs[1][:, 0]] = pairs[1][:, 1]
    same[0] &= after[pairs[0][:, 0]] == pairs[0][:, 1]
    # a row that both have is two ends: where tracks arrive, and where they leave; other rows and detections are one
    leave = np.where(both, np.arange(total) + total, np.arange(total))
    differ = np.vstack([p[~s] for p, s in zip(pairs, same, strict=True)])
    row, detection = [], []
    for paths, rows in ((one, np.arange(len(one.name))), (other, number)):
        r, c = np.nonzero((paths.members >= 0) & ~both[rows][:, None])
        row.append(rows[r])
        detection.append(2 * total + paths.members[r, c])
    first = np.concatenate([leave[differ[:, 0]], *row])
    second = np.concatenate([differ[:, 1], *detection])
    label = 1 + _components(int(max(2 * total, second.max(initial=0) + 1)), first, second)
    tied = np.zeros(total, bool)  # rows before which readings differ
    tied[differ[:, 1]] = True
    tied |= ~both
    knot = np.where(tied, label[:total], 0)
    _carry(one, np.arange(len(one.name)), tied, knot)
    links = [(p, np.where(s, 0, label[leave[p[:, 0]]])) for p, s in zip(pairs, same, strict=True)]
    links[1] = (links[1][0][~same[1]], links[1][1][~same[1]])  # what is the same counts once
    return links, _dense(knot, links)


def _dense(knot: Ints, links: Links) -> Ints:
    """Return knots (U,) numbered from 0 instead of labelled; those of links are changed in place."""
    values = np.unique(np.concatenate([np.zeros(1, np.int64), knot, *(of for _, of in links)]))
    for k, (pairs, of) in enumerate(links):
        links[k] = (pairs, np.searchsorted(values, of))
    return np.searchsorted(values, knot)


def _following(paths: Trajectories, number: Ints) -> Ints:
    """(L, 2) rows of a reading that follow each other in a track."""
    at = np.flatnonzero(np.diff(paths.name) == 0)
    return np.column_stack([number[at], number[at + 1]])


def _carry(paths: Trajectories, number: Ints, tied: Flags, knot: Ints) -> None:
    """Give rows before which readings agree the knot of the row before them, in place: it bears on them, too."""
    starts = np.zeros(len(number), bool)
    starts[paths.begin[:-1]] = True
    source = np.maximum.accumulate(np.where(tied[number] | starts, np.arange(len(number)), 0))
    knot[number] = knot[number[source]]


def _components(count: int, first: Ints, second: Ints) -> Ints:
    """Label (count,) of what is connected by edges."""
    graph = coo_array((np.ones(len(first), bool), (first, second)), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)
