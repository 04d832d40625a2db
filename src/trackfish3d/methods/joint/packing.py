"""Which hypotheses hold together: every track one, every detection at most once, the greatest total weight.

Tracks that share no detection are independent, so the problem falls into components. In each, detections get prices
(Lagrange multipliers, Fisher 1981): every track takes what is best for it after paying, which bounds the optimum from
above, and repairing its conflicts gives a solution from below. If the two do not meet, a depth-first search over
tracks closes the gap, pruned by the same bound. A component's search ends after ``most_nodes``; the gap is returned.
"""

import numpy as np
from numba import njit

from ...core.graph import find_root, unite

_STEPS = 60


@njit(cache=True)
def pack(owner, members, weight, n_tracks, n_detections, most_nodes):  # type: ignore[no-untyped-def]
    """Choose one hypothesis a track.

    Parameters
    ----------
    owner (H,) ascending track; members (H, C) detections or -1; weight (H,). The first hypothesis of each track has
    no members, so there always is a solution.

    Returns
    -------
    chosen (T,) hypothesis of each track, gap (largest distance of a component's solution from its upper bound; 0 if
    all are optimal), stopped (number of components whose search ended early).
    """
    first = np.searchsorted(owner, np.arange(n_tracks + 1))
    chosen = first[:-1].copy()
    component = components(owner, members, n_tracks, n_detections)
    order = np.argsort(component, kind="mergesort")
    gap = 0.0
    stopped = 0
    begin = 0
    while begin < n_tracks:
        end = begin
        while end < n_tracks and component[order[end]] == component[order[begin]]:
            end += 1
        tracks = order[begin:end]
        if end - begin == 1:
            t = tracks[0]
            for h in range(first[t], first[t + 1]):
                if weight[h] > weight[chosen[t]]:
                    chosen[t] = h
        else:
            left, early = _solve(tracks, first, members, weight, n_detections, chosen, most_nodes)
            gap = max(gap, left)
            stopped += early
        begin = end
    return chosen, gap, stopped


@njit(cache=True)
def components(owner, members, n_tracks, n_detections):  # type: ignore[no-untyped-def]
    """Label (T,) of tracks; those that may want one detection have one label."""
    parent = np.arange(n_tracks)
    holder = np.full(n_detections, -1, np.int64)
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


@njit(cache=True)
def _solve(tracks, first, members, weight, n_detections, chosen, most_nodes):  # type: ignore[no-untyped-def]
    """Solve one component into ``chosen``; returns the gap and whether the search ended early."""
    n_views = members.shape[1]
    price = np.zeros(n_detections)
    best_price = price.copy()
    demand = np.zeros(n_detections, np.int64)
    pick = np.empty(tracks.shape[0], np.int64)
    upper = np.inf
    lower = -np.inf
    scale = 1.0
    stale = 0
    for _ in range(_STEPS):
        demand[:] = 0
        value = 0.0
        for i in range(tracks.shape[0]):
            t = tracks[i]
            top = -np.inf
            for h in range(first[t], first[t + 1]):
                reduced = weight[h]
                for c in range(n_views):
                    if members[h, c] >= 0:
                        reduced -= price[members[h, c]]
                if reduced > top:
                    top = reduced
                    pick[i] = h
            value += top
        for d in range(n_detections):
            value += price[d]
        if value < upper - 1e-9:
            upper = value
            best_price[:] = price
            stale = 0
        else:
            stale += 1
            if stale >= 4:
                scale *= 0.5
                stale = 0
        lower = max(lower, _repair(tracks, first, members, weight, price, pick, demand, chosen, lower))
        if upper - lower < 1e-6:
            return 0.0, 0
        demand[:] = 0
        for i in range(tracks.shape[0]):
            for c in range(n_views):
                if members[pick[i], c] >= 0:
                    demand[members[pick[i], c]] += 1
        norm = 0.0
        for d in range(n_detections):
            if demand[d] > 1 or (demand[d] == 0 and price[d] > 0):
                norm += (demand[d] - 1.0) ** 2
        if norm == 0.0:
            break
        step = scale * max(upper - lower, 1e-3) / norm
        for d in range(n_detections):
            if demand[d] > 1 or (demand[d] == 0 and price[d] > 0):
                price[d] = max(0.0, price[d] + step * (demand[d] - 1.0))
    return _search(tracks, first, members, weight, best_price, chosen, lower, upper, most_nodes)


@njit(cache=True)
def _repair(tracks, first, members, weight, price, pick, used, chosen, lower):  # type: ignore[no-untyped-def]
    """Make a solution: tracks in the order of what they gain take their best set that is still free."""
    n_views = members.shape[1]
    used[:] = 0
    gain = np.empty(tracks.shape[0])
    for i in range(tracks.shape[0]):
        gain[i] = weight[pick[i]] - weight[first[tracks[i]]]
    total = 0.0
    taken = np.empty(tracks.shape[0], np.int64)
    for i in np.argsort(-gain):
        t = tracks[i]
        best = first[t]
        top = -np.inf
        for h in range(first[t], first[t + 1]):
            reduced = weight[h]
            free = True
            for c in range(n_views):
                if members[h, c] >= 0:
                    reduced -= price[members[h, c]]
                    free = free and used[members[h, c]] == 0
            if free and reduced > top:
                top = reduced
                best = h
        taken[i] = best
        total += weight[best]
        for c in range(n_views):
            if members[best, c] >= 0:
                used[members[best, c]] = 1
    if total > lower:
        for i in range(tracks.shape[0]):
            chosen[tracks[i]] = taken[i]
    return total


@njit(cache=True)
def _search(tracks, first, members, weight, price, chosen, lower, upper, most_nodes):  # type: ignore[no-untyped-def]
    """Depth-first search over tracks, their sets in the order of reduced weight, pruned by the priced bound."""
    n, n_views = tracks.shape[0], members.shape[1]
    start = np.zeros(n + 1, np.int64)
    for i in range(n):
        start[i + 1] = start[i] + first[tracks[i] + 1] - first[tracks[i]]
    ranked = np.empty(start[n], np.int64)
    reduced = np.empty(start[n])
    for i in range(n):
        t = tracks[i]
        values = np.empty(first[t + 1] - first[t])
        for h in range(first[t], first[t + 1]):
            value = weight[h]
            for c in range(n_views):
                if members[h, c] >= 0:
                    value -= price[members[h, c]]
            values[h - first[t]] = value
        order = np.argsort(-values)
        for k in range(order.shape[0]):
            ranked[start[i] + k] = first[t] + order[k]
            reduced[start[i] + k] = values[order[k]]
    rest = np.zeros(n + 1)  # best reduced weight of tracks i.. and the prices of everything
    for i in range(n - 1, -1, -1):
        rest[i] = rest[i + 1] + reduced[start[i]]
    free_price = 0.0
    for d in range(price.shape[0]):
        free_price += price[d]
    used = np.zeros(price.shape[0], np.bool_)
    cursor = start[:-1].copy()
    taken = np.full(n, -1, np.int64)
    done = np.zeros(n + 1)  # reduced weight of what is taken
    best = lower
    depth = 0
    nodes = 0
    while depth >= 0:
        if depth < n and taken[depth] >= 0:
            for c in range(n_views):
                if members[taken[depth], c] >= 0:
                    used[members[taken[depth], c]] = False
            taken[depth] = -1
        advanced = False
        while depth < n and cursor[depth] < start[depth + 1]:
            k = cursor[depth]
            cursor[depth] += 1
            if done[depth] + reduced[k] + rest[depth + 1] + free_price <= best + 1e-9:
                cursor[depth] = start[depth + 1]  # the others of this track are worse
                break
            h = ranked[k]
            free = True
            for c in range(n_views):
                if members[h, c] >= 0 and used[members[h, c]]:
                    free = False
                    break
            if not free:
                continue
            nodes += 1
            taken[depth] = h
            for c in range(n_views):
                if members[h, c] >= 0:
                    used[members[h, c]] = True
            done[depth + 1] = done[depth] + reduced[k]
            advanced = True
            break
        if nodes > most_nodes:
            return max(upper - best, 0.0), 1
        if not advanced:
            depth -= 1
            continue
        depth += 1
        if depth == n:
            total = 0.0
            for i in range(n):
                total += weight[taken[i]]
            if total > best:
                best = total
                for i in range(n):
                    chosen[tracks[i]] = taken[i]
            depth -= 1
        else:
            cursor[depth] = start[depth]
    return 0.0, 0
