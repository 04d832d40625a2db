"""Doubtful choices wait for what follows: each reading is tried on the next frames, and the better one is taken.

Two animals that pass before one another in a view can be exchanged in that view alone, and stay exchanged for a while
without contradiction. The frame itself cannot tell; some frames later the wrong reading no longer fits.
"""

from typing import NamedTuple

import numpy as np

from ...core.compiled import inner, kernel
from ...maths.kalman import predict
from ...maths.order import begins
from .arguments import Array, Beliefs, Columns, Flags, FutureFrames, Ints, PairOdds, Predicted, Readings, Rig
from .cues import chances
from .hypotheses import add_pair_odds, hypotheses
from .kernels import correct, look
from .packing import components, pack

_SETTLED = 30.0  # log-likelihood by which one reading must lead to be taken at once
_MOST_GROUP = 24  # tracks that are packed again; in a larger component, those nearest by shared detections
_AGREED = 6  # frames with the same choices after which two readings are one


class Search(NamedTuple):
    """Choices that are tried on later frames.

    horizon : number of frames, at most.
    gate : largest squared innovation.
    most_nodes : of a search, see `packing`.
    acceleration : its variance, world units^2 a frame^3.
    """

    horizon: int
    gate: float
    most_nodes: int
    acceleration: float


@kernel
def alternatives(
    owner: Ints, sets: Ints, value: Array, chosen: Ints, n_detections: int, doubt: float, most_nodes: int
) -> Ints:
    """Other choices for groups of tracks that are nearly as good.

    Returns other (K, T) hypothesis of each track. For each track whose own hypothesis has a rival that another track
    must give way to, that hypothesis is forbidden, and the tracks that may share detections with it are packed again;
    in a large component only those nearest to it, while the others keep what they have.
    """
    n = chosen.shape[0]
    first = begins(owner, n)
    label = components(owner, sets, n, n_detections)
    holder = _holders(sets, chosen, n_detections)
    other, trial = np.empty((n, n), np.int64), np.empty(n, np.int64)
    inside = np.empty(n, np.bool_)
    count = 0
    for t in range(n):
        if not _has_rival(t, first, sets, value, chosen, label, doubt):
            continue
        size = 0
        for s in range(n):
            inside[s] = label[s] == label[t]
            size += inside[s]
        if size > _MOST_GROUP:
            _around(t, first, sets, holder, inside)
        part = _part(first, sets, holder, inside)
        part_owner, part_sets, part_value = _options(part, owner, sets, value, inside)
        for k in range(part.shape[0]):
            if part[k] == chosen[t]:
                part_value[k] = -1e9
        found, _, _ = pack(part_owner, part_sets, part_value, part_owner[-1] + 1, n_detections, most_nodes)
        if _apply(found, part, inside, value, chosen, trial) > doubt:
            continue
        same = False
        for k in range(count):
            same = same or _equal(other, k, trial)
        if not same:
            for s in range(n):
                other[count, s] = trial[s]
            count += 1
    return other[:count]


@inner
def _holders(sets: Ints, chosen: Ints, n_detections: int) -> Ints:
    """(N,) the track that has each detection, -1 for none."""
    holder = np.empty(n_detections, np.int64)
    for d in range(n_detections):
        holder[d] = -1
    for t in range(chosen.shape[0]):
        for c in range(sets.shape[1]):
            if sets[chosen[t], c] >= 0:
                holder[sets[chosen[t], c]] = t
    return holder


@inner
def _has_rival(t: int, first: Ints, sets: Ints, value: Array, chosen: Ints, label: Ints, doubt: float) -> bool:
    """Whether a hypothesis of t that is nearly as good wants a detection that another track has."""
    for h in range(first[t], first[t + 1]):
        if h != chosen[t] and value[h] > value[chosen[t]] - 2.0 * doubt and _touches(sets, h, chosen, t, label):
            return True
    return False


@inner
def _part(first: Ints, sets: Ints, holder: Ints, inside: Flags) -> Ints:
    """Hypotheses (K,) of the tracks inside that want nothing which a track outside has."""
    size = 0
    for s in range(inside.shape[0]):
        if inside[s]:
            size += first[s + 1] - first[s]
    part = np.empty(size, np.int64)
    k = 0
    for s in range(inside.shape[0]):
        if not inside[s]:
            continue
        for h in range(first[s], first[s + 1]):
            taken = False
            for c in range(sets.shape[1]):
                d = sets[h, c]
                taken = taken or (d >= 0 and holder[d] >= 0 and not inside[holder[d]])
            if not taken:
                part[k] = h
                k += 1
    return part[:k]


@inner
def _options(part: Ints, owner: Ints, sets: Ints, value: Array, inside: Flags) -> tuple[Ints, Ints, Array]:
    """Owner among the tracks inside, sets and value of some hypotheses."""
    number = np.empty(inside.shape[0], np.int64)
    count = 0
    for s in range(inside.shape[0]):
        number[s] = count
        count += inside[s]
    part_owner, part_value = np.empty(part.shape[0], np.int64), np.empty(part.shape[0])
    part_sets = np.empty((part.shape[0], sets.shape[1]), np.int64)
    for k in range(part.shape[0]):
        part_owner[k], part_value[k] = number[owner[part[k]]], value[part[k]]
        for c in range(sets.shape[1]):
            part_sets[k, c] = sets[part[k], c]
    return part_owner, part_sets, part_value


@inner
def _apply(found: Ints, part: Ints, inside: Flags, value: Array, chosen: Ints, trial: Ints) -> float:
    """Fill trial (T,) with the choice where those inside take what was found; returns what that loses."""
    total = 0.0
    for s in range(chosen.shape[0]):
        if inside[s]:
            total += value[chosen[s]]
    i = 0
    for s in range(chosen.shape[0]):
        trial[s] = chosen[s]
        if inside[s]:
            trial[s] = part[found[i]]
            total -= value[trial[s]]
            i += 1
    return total


@inner
def _equal(other: Ints, k: int, trial: Ints) -> bool:
    same = True
    for s in range(trial.shape[0]):
        same = same and other[k, s] == trial[s]
    return same


@inner
def _around(t: int, first: Ints, sets: Ints, holder: Ints, inside: Flags) -> None:
    """Set inside (T,) to the tracks nearest to t: holders of what it may want, holders of what they may want, ..."""
    for s in range(inside.shape[0]):
        inside[s] = False
    inside[t] = True
    queue = np.empty(_MOST_GROUP, np.int64)
    queue[0] = t
    begin, end = 0, 1
    while begin < end:
        s = queue[begin]
        begin += 1
        for h in range(first[s], first[s + 1]):
            for c in range(sets.shape[1]):
                if sets[h, c] >= 0:
                    other = holder[sets[h, c]]
                    if other >= 0 and not inside[other] and end < _MOST_GROUP:
                        inside[other] = True
                        queue[end] = other
                        end += 1


@inner
def _touches(sets: Ints, h: int, chosen: Ints, t: int, label: Ints) -> bool:
    """Whether a hypothesis wants a detection that another track has."""
    for s in range(chosen.shape[0]):
        if s != t and label[s] == label[t]:
            for c in range(sets.shape[1]):
                if sets[h, c] >= 0 and sets[h, c] == sets[chosen[s], c]:
                    return True
    return False


@kernel
def compare(
    rig: Rig,
    both: Predicted,
    members: Ints,
    ahead: FutureFrames,
    columns: Columns,
    pairs: PairOdds,
    beliefs: Beliefs,
    search: Search,
) -> float:
    """Follow some tracks alone over the next frames from two choices in this one.

    Parameters
    ----------
    rig : the cameras.
    both : (2, T, ...) tracks predicted for the present frame; they are used up.
    members : (2, T, C) detections within the present frame, as each of the two readings has it.
    ahead : the frames to come.
    columns : detections of all frames.
    pairs : what a network says about them.
    beliefs, search : chances and scales, and how far to go.

    Returns the log-likelihood of the second reading against the first. It ends when one leads clearly,
    or when both have chosen the same for a while.
    """
    n, n_views = members.shape[1:]
    readings = _readings(ahead, columns, ahead.now, n_views)
    for w in range(2):
        _take(_one(both, w), members[w], readings)
    frames, shown, dt = ahead.frames, np.ones(n, np.bool_), np.empty(n)
    lead = 0.0
    agreed = 0
    for k in range(ahead.now + 1, min(ahead.now + 1 + search.horizon, frames.shape[0])):
        for t in range(n):
            dt[t] = abs(frames[k] - frames[k - 1])
        readings = _readings(ahead, columns, k, n_views)
        free = np.ones(readings.u.shape[0], np.bool_)
        for w in range(2):
            tracks = _one(both, w)
            predict(tracks.state, tracks.cov, dt, search.acceleration)
            look(rig, tracks)
            chances(rig, tracks, shown, beliefs)
            owner, sets, value = hypotheses(tracks, readings, free, beliefs, search.gate)
            add_pair_odds(value, sets, ahead.offsets[k], pairs)
            chosen, _, _ = pack(owner, sets, value, n, free.shape[0], search.most_nodes)
            for t in range(n):
                lead += value[chosen[t]] if w == 1 else -value[chosen[t]]
                for c in range(n_views):
                    members[w, t, c] = sets[chosen[t], c]
            _take(tracks, members[w], readings)
        agreed = agreed + 1 if _agree(members) else 0
        if abs(lead) > _SETTLED or agreed >= _AGREED:
            break
    return lead


@inner
def _one(both: Predicted, w: int) -> Predicted:
    """One of the two readings."""
    return Predicted(
        both.state[w],
        both.cov[w],
        both.pixel[w],
        both.J[w],
        both.seen[w],
        both.found[w],
        both.size[w],
        both.axis[w],
        both.last[w],
        both.half[w],
        both.hidden[w],
    )


@inner
def _readings(ahead: FutureFrames, columns: Columns, k: int, n_views: int) -> Readings:
    """Return the detections of frame k."""
    a, b = ahead.offsets[k], ahead.offsets[k + 1]
    begin = begins(columns.camera[a:b], n_views)
    u, v, noise = columns.u[a:b], columns.v[a:b], columns.noise[a:b]
    box, cut = columns.box[a:b], columns.cut[a:b]
    return Readings(ahead.frames[k], begin, u, v, noise, columns.log_size[a:b], columns.axis[a:b], box, cut)


@inner
def _take(tracks: Predicted, members: Ints, readings: Readings) -> None:
    """Keep the last look of each track in each view, and correct it."""
    size, axis, last, new_size, new_axis = tracks.size, tracks.axis, tracks.last, readings.log_size, readings.axis
    for t in range(members.shape[0]):
        for c in range(members.shape[1]):
            d = members[t, c]
            if d >= 0:
                size[t, c], axis[t, c], last[t, c] = new_size[d], new_axis[d], readings.number
    correct(tracks, members, readings)


@inner
def _agree(members: Ints) -> bool:
    for t in range(members.shape[1]):
        for c in range(members.shape[2]):
            if members[0, t, c] != members[1, t, c]:
                return False
    return True
