"""Doubtful choices wait for what follows: each reading is tried on the next frames, and the better one is taken.

Two animals that pass before one another in a view can be exchanged in that view alone, and stay exchanged for a while
without contradiction. The frame itself cannot tell; some frames later the wrong reading no longer fits.
"""

import numpy as np
from numba import njit

from ...maths.kalman import predict
from .cues import chances
from .kernels import correct, hypotheses, look
from .packing import components, pack
from .pair_odds import add_pair_odds

_SETTLED = 30.0  # log-likelihood by which one reading must lead to be taken at once
_MOST_GROUP = 24  # tracks that are packed again; in a larger component, those nearest by shared detections
_AGREED = 6  # frames with the same choices after which two readings are one


@njit(cache=True)
def alternatives(owner, sets, value, chosen, n_detections, doubt, most_nodes):  # type: ignore[no-untyped-def]
    """Other choices for groups of tracks that are nearly as good.

    Returns other (K, T) hypothesis of each track. For each track whose own hypothesis has a rival that another track
    must give way to, that hypothesis is forbidden, and the tracks that may share detections with it are packed again;
    in a large component only those nearest to it, while the others keep what they have.
    """
    n = chosen.shape[0]
    first = np.searchsorted(owner, np.arange(n + 1))
    label = components(owner, sets, n, n_detections)
    other = np.empty((n, n), np.int64)
    holder = np.full(n_detections, -1, np.int64)
    for t in range(n):
        for c in range(sets.shape[1]):
            if sets[chosen[t], c] >= 0:
                holder[sets[chosen[t], c]] = t
    inside = np.empty(n, np.bool_)
    count = 0
    for t in range(n):
        mine = chosen[t]
        rival = False
        for h in range(first[t], first[t + 1]):
            if h != mine and value[h] > value[mine] - 2.0 * doubt and _touches(sets, h, chosen, t, label):
                rival = True
                break
        if not rival:
            continue
        inside[:] = label == label[t]
        if inside.sum() > _MOST_GROUP:
            _around(t, first, sets, holder, inside)
        group = np.flatnonzero(inside)
        size = 0
        for s in group:
            size += first[s + 1] - first[s]
        part_owner, part_value = np.empty(size, np.int64), np.empty(size)
        part_sets, part = np.empty((size, sets.shape[1]), np.int64), np.empty(size, np.int64)
        k = 0
        total = 0.0
        for i in range(group.shape[0]):
            s = group[i]
            total += value[chosen[s]]
            for h in range(first[s], first[s + 1]):
                taken = False
                for c in range(sets.shape[1]):
                    d = sets[h, c]
                    taken = taken or (d >= 0 and holder[d] >= 0 and not inside[holder[d]])
                if taken:
                    continue
                part_owner[k], part_value[k], part_sets[k], part[k] = i, value[h], sets[h], h
                if h == mine:
                    part_value[k] = -1e9
                k += 1
        found, _, _ = pack(part_owner[:k], part_sets[:k], part_value[:k], group.shape[0], n_detections, most_nodes)
        trial = chosen.copy()
        for i in range(group.shape[0]):
            trial[group[i]] = part[found[i]]
            total -= value[part[found[i]]]
        if total > doubt:
            continue
        same = False
        for k in range(count):
            same = same or bool(np.all(other[k] == trial))
        if not same:
            other[count] = trial
            count += 1
    return other[:count]


@njit(cache=True)
def _around(t, first, sets, holder, inside):  # type: ignore[no-untyped-def]
    """Set inside (T,) to the tracks nearest to t: holders of what it may want, holders of what they may want, ..."""
    inside[:] = False
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


@njit(cache=True)
def _touches(sets, h, chosen, t, label):  # type: ignore[no-untyped-def]
    """Whether a hypothesis wants a detection that another track has."""
    for s in range(chosen.shape[0]):
        if s != t and label[s] == label[t]:
            for c in range(sets.shape[1]):
                if sets[h, c] >= 0 and sets[h, c] == sets[chosen[s], c]:
                    return True
    return False


@njit(cache=True, error_model="numpy")
def compare(  # type: ignore[no-untyped-def]
    packed,
    sizes,
    state,
    cov,
    pixel,
    J,
    members,
    memory_size,
    memory_axis,
    memory_frame,
    frames,
    offsets,
    first,
    camera,
    u,
    v,
    r,
    log_size,
    axis,
    horizon,
    clear,
    hidden,
    log_clutter,
    scales,
    typical,
    q,
    h,
    gate,
    most_nodes,
    bond_begin,
    bond_partner,
    bond_odds,
):
    """Follow some tracks alone over the next frames from two choices in this one.

    All of state (2, T, 6), cov, pixel, J, members (2, T, C), memory_size, memory_axis, memory_frame hold both readings
    of frame number ``first`` of ``frames`` (F,), whose detections are rows offsets[first]:offsets[first + 1]; members
    are such rows. bond_begin, bond_partner, bond_odds : see `pair_odds.Bonds`.

    Returns the log-likelihood of the second reading against the first. It ends when one leads clearly,
    or when both have chosen the same for a while.
    """
    n, n_views = members.shape[1:]
    shown = np.ones(n, np.bool_)
    seen, found = np.zeros((n, n_views), np.bool_), np.zeros((n, n_views))
    now = np.empty((2, n, n_views), np.int64)
    dt = np.empty(n)
    for w in range(2):
        _remember(members[w], frames[first], 0, log_size, axis, memory_size[w], memory_axis[w], memory_frame[w])
        correct(state[w], cov[w], pixel[w], J[w], members[w], u, v, r)
    lead = 0.0
    agreed = 0
    for k in range(first + 1, min(first + 1 + horizon, frames.shape[0])):
        dt[:] = abs(frames[k] - frames[k - 1])
        a, b = offsets[k], offsets[k + 1]
        begin = np.searchsorted(camera[a:b], np.arange(n_views + 1))
        free = np.ones(b - a, np.bool_)
        for w in range(2):
            predict(state[w], cov[w], dt, q)
            look(packed, state[w], h, pixel[w], J[w], seen)
            chances(pixel[w], seen, sizes, memory_size[w], shown, clear, hidden, typical, found)
            owner, sets, value = hypotheses(
                state[w], cov[w], pixel[w], J[w], seen, found, memory_size[w], memory_axis[w], memory_frame[w],
                frames[k], begin, u[a:b], v[a:b], r[a:b], log_size[a:b], axis[a:b], free, scales, log_clutter, gate,
            )  # fmt: skip
            add_pair_odds(value, sets, a, bond_begin, bond_partner, bond_odds)
            chosen, _, _ = pack(owner, sets, value, n, b - a, most_nodes)
            for t in range(n):
                lead += value[chosen[t]] if w == 1 else -value[chosen[t]]
                now[w, t] = sets[chosen[t]]
            _remember(now[w], frames[k], a, log_size, axis, memory_size[w], memory_axis[w], memory_frame[w])
            correct(state[w], cov[w], pixel[w], J[w], now[w], u[a:b], v[a:b], r[a:b])
        agreed = agreed + 1 if np.all(now[0] == now[1]) else 0
        if abs(lead) > _SETTLED or agreed >= _AGREED:
            break
    return lead


@njit(cache=True)
def _remember(members, frame, start, log_size, axis, memory_size, memory_axis, memory_frame):  # type: ignore[no-untyped-def]
    """Keep the last look of each track in each view; members (T, C) count from row ``start``."""
    for t in range(members.shape[0]):
        for c in range(members.shape[1]):
            d = members[t, c]
            if d >= 0:
                memory_size[t, c], memory_axis[t, c] = log_size[start + d], axis[start + d]
                memory_frame[t, c] = frame
