"""Which hypotheses hold together: every track one, every detection at most once, the greatest total weight.

Tracks that share no detection are independent, so the problem falls into components. In each, detections get prices
(Lagrange multipliers, Fisher 1981): every track takes what is best for it after paying, which bounds the optimum from
above, and repairing its conflicts gives a solution from below. If the two do not meet, a depth-first search over
tracks closes the gap, pruned by the same bound. A component's search ends after ``most_nodes``; the gap is returned.
"""

from typing import NamedTuple

import numpy as np

from ...core.compiled import helper, inner, kernel
from ...core.graph import find_root, unite
from ...maths.order import begins, descending, grouped
from .arguments import Array, Ints

_STEPS = 60


class _Options(NamedTuple):
    """Hypotheses of all tracks: first (T + 1,) of each track, members (H, C), weight (H,)."""

    first: Ints
    members: Ints
    weight: Array


@kernel
def pack(
    owner: Ints, members: Ints, weight: Array, n_tracks: int, n_detections: int, most_nodes: int
) -> tuple[Ints, float, int]:
    """Choose one hypothesis a track.

    Parameters
    ----------
    owner : (H,) ascending track. The first hypothesis of each has no members, so there always is a solution.
    members : (H, C) detections or -1.
    weight : (H,).
    n_tracks, n_detections : how many there are.
    most_nodes : after which a search ends.

    Returns
    -------
    chosen : (T,) hypothesis of each track.
    gap : largest distance of a component's solution from its upper bound; 0 if all are optimal.
    stopped : number of components whose search ended early.
    """
    options = _Options(begins(owner, n_tracks), members, weight)
    order, begin = grouped(components(owner, members, n_tracks, n_detections), n_tracks)
    chosen = np.empty(n_tracks, np.int64)
    gap, stopped = 0.0, 0
    for k in range(n_tracks):
        tracks = order[begin[k] : begin[k + 1]]
        for i in range(tracks.shape[0]):
            chosen[tracks[i]] = options.first[tracks[i]]
        if tracks.shape[0] == 1:
            t = tracks[0]
            for h in range(options.first[t], options.first[t + 1]):
                if weight[h] > weight[chosen[t]]:
                    chosen[t] = h
        elif tracks.shape[0] > 1:
            left, early = _solve(tracks, options, n_detections, chosen, most_nodes)
            gap = max(gap, left)
            stopped += early
    return chosen, gap, stopped


@helper
def components(owner: Ints, members: Ints, n_tracks: int, n_detections: int) -> Ints:
    """Label (T,) of tracks; those that may want one detection have one label."""
    parent, holder = np.empty(n_tracks, np.int64), np.empty(n_detections, np.int64)
    for t in range(n_tracks):
        parent[t] = t
    for d in range(n_detections):
        holder[d] = -1
    for h in range(owner.shape[0]):
        for c in range(members.shape[1]):
            d = members[h, c]
            if d < 0:
                continue
            if holder[d] < 0:
                holder[d] = owner[h]
            else:
                unite(parent, owner[h], holder[d])
    for t in range(n_tracks):
        parent[t] = find_root(parent, t)
    return parent


@inner
def _solve(tracks: Ints, options: _Options, n_detections: int, chosen: Ints, most_nodes: int) -> tuple[float, int]:
    """Solve one component into ``chosen``; returns the gap and whether the search ended early."""
    price, best_price = np.zeros(n_detections), np.zeros(n_detections)
    demand = np.zeros(n_detections, np.int64)
    pick = np.empty(tracks.shape[0], np.int64)
    upper, lower, scale = np.inf, -np.inf, 1.0
    stale = 0
    for _ in range(_STEPS):
        value = _choose(tracks, options, price, pick)
        for d in range(n_detections):
            value += price[d]
        if value < upper - 1e-9:
            upper = value
            for d in range(n_detections):
                best_price[d] = price[d]
            stale = 0
        else:
            stale += 1
            if stale >= 4:
                scale *= 0.5
                stale = 0
        lower = max(lower, _repair(tracks, options, price, pick, demand, chosen, lower))
        if upper - lower < 1e-6:
            return 0.0, 0
        if not _change_prices(options.members, pick, demand, price, scale * max(upper - lower, 1e-3)):
            break
    return _search(tracks, options, best_price, chosen, lower, upper, most_nodes)


@inner
def _reduced(options: _Options, price: Array, h: int) -> float:
    """Weight of a hypothesis after paying for its detections."""
    value: float = options.weight[h]
    for c in range(options.members.shape[1]):
        if options.members[h, c] >= 0:
            value -= price[options.members[h, c]]
    return value


@inner
def _choose(tracks: Ints, options: _Options, price: Array, pick: Ints) -> float:
    """Let every track take what is best for it after paying; fills pick and returns the total."""
    total = 0.0
    for i in range(tracks.shape[0]):
        top = -np.inf
        for h in range(options.first[tracks[i]], options.first[tracks[i] + 1]):
            reduced = _reduced(options, price, h)
            if reduced > top:
                top = reduced
                pick[i] = h
        total += top
    return total


@inner
def _change_prices(members: Ints, pick: Ints, demand: Ints, price: Array, step: float) -> bool:
    """Raise prices of what several want, lower those that nobody pays, in place; False where nothing is amiss."""
    for d in range(price.shape[0]):
        demand[d] = 0
    for i in range(pick.shape[0]):
        for c in range(members.shape[1]):
            if members[pick[i], c] >= 0:
                demand[members[pick[i], c]] += 1
    norm = 0.0
    for d in range(price.shape[0]):
        if demand[d] > 1 or (demand[d] == 0 and price[d] > 0):
            norm += (demand[d] - 1.0) ** 2
    if norm == 0.0:
        return False
    for d in range(price.shape[0]):
        if demand[d] > 1 or (demand[d] == 0 and price[d] > 0):
            price[d] = max(0.0, price[d] + step / norm * (demand[d] - 1.0))
    return True


@inner
def _repair(tracks: Ints, options: _Options, price: Array, pick: Ints, used: Ints, chosen: Ints, lower: float) -> float:
    """Make a solution: tracks in the order of what they gain take their best set that is still free."""
    first, members, weight = options.first, options.members, options.weight
    for d in range(used.shape[0]):
        used[d] = 0
    gain, taken = np.empty(tracks.shape[0]), np.empty(tracks.shape[0], np.int64)
    for i in range(tracks.shape[0]):
        gain[i] = weight[pick[i]] - weight[first[tracks[i]]]
    total = 0.0
    for i in descending(gain):
        t = tracks[i]
        best = first[t]
        top = -np.inf
        for h in range(first[t], first[t + 1]):
            reduced = _reduced(options, price, h)
            if reduced > top and _free(members, h, used):
                top = reduced
                best = h
        taken[i] = best
        total += weight[best]
        _toggle(members, best, used)
    if total > lower:
        for i in range(tracks.shape[0]):
            chosen[tracks[i]] = taken[i]
    return total


@inner
def _free(members: Ints, h: int, used: Ints) -> bool:
    free = True
    for c in range(members.shape[1]):
        free = free and (members[h, c] < 0 or used[members[h, c]] == 0)
    return free


@inner
def _toggle(members: Ints, h: int, used: Ints) -> None:
    """Take the detections of a hypothesis, or give them back."""
    for c in range(members.shape[1]):
        if members[h, c] >= 0:
            used[members[h, c]] = 1 - used[members[h, c]]


@inner
def _ranked(tracks: Ints, options: _Options, price: Array) -> tuple[Ints, Ints, Array]:
    """Where each track begins (n + 1,), hypotheses of all by falling reduced weight, and these weights."""
    n = tracks.shape[0]
    start = np.zeros(n + 1, np.int64)
    for i in range(n):
        start[i + 1] = start[i] + options.first[tracks[i] + 1] - options.first[tracks[i]]
    ranked, reduced = np.empty(start[n], np.int64), np.empty(start[n])
    for i in range(n):
        begin = options.first[tracks[i]]
        values = np.empty(start[i + 1] - start[i])
        for k in range(values.shape[0]):
            values[k] = _reduced(options, price, begin + k)
        order = descending(values)
        for k in range(values.shape[0]):
            ranked[start[i] + k] = begin + order[k]
            reduced[start[i] + k] = values[order[k]]
    return start, ranked, reduced


@inner
def _search(
    tracks: Ints, options: _Options, price: Array, chosen: Ints, lower: float, upper: float, most_nodes: int
) -> tuple[float, int]:
    """Depth-first search over tracks, their sets in the order of reduced weight, pruned by the priced bound."""
    n, members = tracks.shape[0], options.members
    start, ranked, reduced = _ranked(tracks, options, price)
    rest = np.zeros(n + 1)  # best reduced weight of tracks i..
    for i in range(n - 1, -1, -1):
        rest[i] = rest[i + 1] + reduced[start[i]]
    prices = 0.0
    for d in range(price.shape[0]):
        prices += price[d]
    used = np.zeros(price.shape[0], np.int64)
    cursor, taken = start.copy(), np.empty(n, np.int64)
    for i in range(n):
        taken[i] = -1
    done = np.zeros(n + 1)  # reduced weight of what is taken
    best = lower
    depth = nodes = 0
    while depth >= 0:
        if taken[depth] >= 0:
            _toggle(members, taken[depth], used)
            taken[depth] = -1
        advanced = False
        while cursor[depth] < start[depth + 1]:
            k = cursor[depth]
            cursor[depth] += 1
            if done[depth] + reduced[k] + rest[depth + 1] + prices <= best + 1e-9:
                cursor[depth] = start[depth + 1]  # the others of this track are worse
                break
            if _free(members, ranked[k], used):
                nodes += 1
                taken[depth] = ranked[k]
                _toggle(members, ranked[k], used)
                done[depth + 1] = done[depth] + reduced[k]
                advanced = True
                break
        if nodes > most_nodes:
            return max(upper - best, 0.0), 1
        if not advanced:
            depth -= 1
        elif depth + 1 < n:
            depth += 1
            cursor[depth] = start[depth]
        else:
            total = 0.0
            for i in range(n):
                total += options.weight[taken[i]]
            if total > best:
                best = total
                for i in range(n):
                    chosen[tracks[i]] = taken[i]
    return 0.0, 0
