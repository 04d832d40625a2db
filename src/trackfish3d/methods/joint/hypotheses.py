"""What each track may be in a frame: sets of detections, at most one a view, found by a beam over the views."""

import math
from typing import NamedTuple

import numpy as np

from ...core.compiled import inner, kernel
from ...maths.order import descending
from .arguments import Array, Beliefs, Flags, Ints, PairOdds, Predicted, Readings
from .bodies.sides import seen_middle
from .cues import likeness
from .kernels import absorb_quickly, innovation_axes

_MOST_VIEW = 8  # detections of one view that come into question for a track; the nearest ones
_BEAM = 48  # partial sets kept while views are added


class _Near(NamedTuple):
    """Detections near a track in a view, nearest first, (K,) each: row, squared innovation, cues.

    ``place`` (K, 4) : where each says that the middle of this track's body is, and deviations (`sides.seen_middle`).
    """

    row: Ints
    far: Array
    cue: Array
    place: Array


class _Beam(NamedTuple):
    """Partial sets of one track, before and after a view: x (2, W, 3), P (2, W, 3, 3), weight (2, W), sets (2, W, C).

    ``prior`` (3, 3) is the covariance before any view, ``room`` (3, 2) for `kernels.absorb_quickly`.
    """

    x: Array
    P: Array
    weight: Array
    sets: Ints
    prior: Array
    room: Array


@kernel
def hypotheses(
    tracks: Predicted, readings: Readings, free: Flags, beliefs: Beliefs, gate: float
) -> tuple[Ints, Ints, Array]:
    """List what each track may be in this frame: sets of detections, at most one a view, with their likelihoods.

    Parameters
    ----------
    tracks : predicted, with where they should be seen.
    readings : detections of the frame.
    free : (N,) detections that may be used.
    beliefs : chances and scales.
    gate : largest squared innovation.

    Returns
    -------
    owner : (H,) track, ascending.
    members : (H, C) detection or -1.
    weight : (H,) log-likelihood ratio against "all its detections are false". Each track has the empty set as its
        first hypothesis.
    """
    n_tracks, n_views = tracks.seen.shape
    room = n_tracks * (_BEAM + 1)
    owner, members, weight = np.empty(room, np.int64), np.empty((room, n_views), np.int64), np.empty(room)
    near = _Near(np.empty(_MOST_VIEW, np.int64), np.empty(_MOST_VIEW), np.empty(_MOST_VIEW), np.empty((_MOST_VIEW, 4)))
    width = _BEAM * (_MOST_VIEW + 1)
    sets = np.empty((2, width, n_views), np.int64)
    room_x, room_P, prior, two = np.empty((2, width, 3)), np.empty((2, width, 3, 3)), np.empty((3, 3)), np.empty((3, 2))
    beam = _Beam(room_x, room_P, np.empty((2, width)), sets, prior, two)
    count = 0
    for t in range(n_tracks):
        side, size = _start(beam, tracks, t)
        nothing = 0.0
        for c in range(n_views):
            if not tracks.seen[t, c]:
                continue
            lost = math.log(max(1.0 - tracks.found[t, c], 1e-6))
            nothing += lost
            k = _nearest(near, beam.prior, tracks, t, c, readings, free, gate)
            if k == 0:
                for p in range(size):
                    beam.weight[side, p] += lost
                continue
            _cues(near, k, tracks, t, c, readings, beliefs.scales)
            gained = math.log(max(tracks.found[t, c], 1e-6)) - beliefs.log_clutter[c]
            size = _extend(beam, side, size, near, k, tracks, t, c, lost, gained)
            side = 1 - side
            if size > _BEAM:
                size = _prune(beam, side, size)
        begin, count = count, count + 1
        weight[begin] = nothing
        for c in range(n_views):
            members[begin, c] = -1
        found, value = beam.sets[side], beam.weight[side]
        for p in range(size):
            if _empty(found[p]) or value[p] < nothing:
                continue  # explains less than saying nothing
            weight[count] = value[p]
            for c in range(n_views):
                members[count, c] = found[p, c]
            count += 1
        for h in range(begin, count):
            owner[h] = t
    return owner[:count], members[:count], weight[:count]


@inner
def _start(beam: _Beam, tracks: Predicted, t: int) -> tuple[int, int]:
    """Begin with the empty set and the predicted position; returns side and number of the sets."""
    beam.weight[0, 0] = 0.0
    for c in range(beam.sets.shape[2]):
        beam.sets[0, 0, c] = -1
    for i in range(3):
        beam.x[0, 0, i] = tracks.state[t, i]
        for j in range(3):
            beam.P[0, 0, i, j] = beam.prior[i, j] = tracks.cov[t, i, j]
    return 0, 1


@inner
def _nearest(
    near: _Near, prior: Array, tracks: Predicted, t: int, c: int, readings: Readings, free: Flags, gate: float
) -> int:
    """Fill row and far of ``near`` with the free detections of view c within the gate; returns how many."""
    pixel, J, row, distance = tracks.pixel[t, c], tracks.J[t, c], near.row, near.far
    half, hidden = tracks.half[t, c], tracks.hidden[t, c]
    k = 0
    for d in range(readings.begin[c], readings.begin[c + 1]):
        if not free[d]:
            continue
        u, v, ru, rv = seen_middle(readings, d, half, hidden)
        far = innovation_axes(prior, pixel, J, u, v, ru, rv)
        if far < gate and (k < _MOST_VIEW or far < distance[k - 1]):
            at = min(k, _MOST_VIEW - 1)
            while at > 0 and distance[at - 1] > far:
                row[at], distance[at] = row[at - 1], distance[at - 1]
                at -= 1
            row[at], distance[at] = d, far
            k = min(k + 1, _MOST_VIEW)
    return k


@inner
def _cues(near: _Near, k: int, tracks: Predicted, t: int, c: int, readings: Readings, scales: Array) -> None:
    """Fill cues and places of the first k of ``near``."""
    place, half, hidden = near.place, tracks.half[t, c], tracks.hidden[t, c]
    row, cue, size, axis = near.row, near.cue, readings.log_size, readings.axis
    old_size, old_axis, last = tracks.size[t, c], tracks.axis[t, c], tracks.last[t, c]
    for i in range(k):
        d = row[i]
        cue[i] = likeness(readings.number, size[d], axis[d], old_size, old_axis, last, scales)
        place[i, 0], place[i, 1], place[i, 2], place[i, 3] = seen_middle(readings, d, half, hidden)


@inner
def _copy(beam: _Beam, side: int, p: int, new: int, n: int) -> None:
    """Copy the set p of one side, all but its weight, to the place n of the other or the same."""
    from_x, to_x, from_P, to_P = beam.x[side, p], beam.x[new, n], beam.P[side, p], beam.P[new, n]
    from_set, to_set = beam.sets[side, p], beam.sets[new, n]
    for c in range(to_set.shape[0]):
        to_set[c] = from_set[c]
    for i in range(3):
        to_x[i] = from_x[i]
        for j in range(3):
            to_P[i, j] = from_P[i, j]


@inner
def _extend(
    beam: _Beam,
    side: int,
    size: int,
    near: _Near,
    k: int,
    tracks: Predicted,
    t: int,
    c: int,
    lost: float,
    gained: float,
) -> int:
    """Write every set of one side, with nothing and with each near detection of view c, to the other; how many."""
    row, cue, place, room = near.row, near.cue, near.place, beam.room
    x0, pixel, J = tracks.state[t, :3], tracks.pixel[t, c], tracks.J[t, c]
    new = 1 - side
    x, P, sets, before, after = beam.x[new], beam.P[new], beam.sets[new], beam.weight[side], beam.weight[new]
    for p in range(size):
        n = p * (k + 1)
        _copy(beam, side, p, new, n)
        after[n] = before[p] + lost
        for i in range(k):
            d = row[i]
            n += 1
            _copy(beam, side, p, new, n)
            sets[n, c] = d
            pu, pv, ru, rv = place[i, 0], place[i, 1], place[i, 2], place[i, 3]
            density = absorb_quickly(x[n], P[n], x0, pixel, J, pu, pv, ru, rv, 3, room)
            after[n] = before[p] + density + gained + cue[i]
    return size * (k + 1)


@inner
def _prune(beam: _Beam, side: int, size: int) -> int:
    """Keep the likeliest sets in their order, in place; the empty set may go, for it is a hypothesis anyway."""
    order = descending(beam.weight[side, :size])
    kept = np.zeros(size, np.bool_)
    for i in range(_BEAM):
        kept[order[i]] = True
    n = 0
    for p in range(size):
        if kept[p]:
            order[n] = p
            n += 1
    weight = beam.weight[side]
    for i in range(_BEAM):
        if order[i] != i:
            weight[i] = weight[order[i]]
            _copy(beam, side, order[i], side, i)
    return _BEAM


@inner
def _empty(members: Ints) -> bool:
    last = -1
    for c in range(members.shape[0]):
        last = max(last, members[c])
    return last < 0


@kernel
def best_each(owner: Ints, value: Array, count: int) -> Ints:
    """Return the best hypothesis (T,) of each of ``count`` owners (H,), which ascend; of equal ones the first."""
    best = np.empty(count, np.int64)
    last = -1
    for h in range(owner.shape[0]):
        if owner[h] != last:
            last = owner[h]
            best[last] = h
        elif value[h] > value[best[last]]:
            best[last] = h
    return best


@kernel
def add_pair_odds(value: Array, sets: Ints, start: int, pairs: PairOdds) -> None:
    """Add to value (H,), in place, the pair odds within sets (H, C) of detections, from row ``start``; -1 for none.

    The sum over pairs is divided by the number of views less one. Pairs of a set share their detections, and a set of
    k views has k (k - 1) / 2 of them: undivided, large sets would be paid many times for the same agreement.
    """
    if pairs.begin.shape[0] == 0:
        return
    views, begin, partner, odds = sets.shape[1], pairs.begin, pairs.partner, pairs.odds
    for h in range(sets.shape[0]):
        total, count = 0.0, 0
        for a in range(views):
            if sets[h, a] < 0:
                continue
            count += 1
            one = sets[h, a] + start
            for b in range(a + 1, views):
                if sets[h, b] < 0:
                    continue
                other = sets[h, b] + start
                for k in range(begin[one], begin[one + 1]):
                    if partner[k] == other:
                        total += odds[k]
                        break
        if count > 1:
            value[h] += total / (count - 1)
