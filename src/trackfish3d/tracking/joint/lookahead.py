"""Doubtful choices wait for what follows: each reading is tried on the next frames, and the better one is taken.

Two animals that pass before one another in a view can be exchanged in that view alone, and stay exchanged for a while
without contradiction. The frame itself cannot tell; some frames later the wrong reading no longer fits.
"""

import numpy as np
from numba import njit

from ..kalman import predict
from .cues import chances, cues
from .kernels import correct, hypotheses, look
from .packing import pack


@njit(cache=True, error_model="numpy")
def alternatives(owner, sets, value, chosen, n_detections, doubt, most_nodes):  # type: ignore[no-untyped-def]
    """Other choices for groups of tracks that are nearly as good.

    Returns other (K, T) hypothesis of each track, and loss (K,) against the best choice. For each track whose own
    hypothesis has a rival, that hypothesis is forbidden and all is packed again.
    """
    n = chosen.shape[0]
    other = np.empty((n, n), np.int64)
    loss = np.empty(n)
    count = 0
    total = 0.0
    for t in range(n):
        total += value[chosen[t]]
    for t in range(n):
        mine = chosen[t]
        rival = False
        for h in range(np.searchsorted(owner, t), np.searchsorted(owner, t + 1)):
            if h != mine and value[h] > value[mine] - 2.0 * doubt and _touches(sets, h, chosen, t):
                rival = True
                break
        if not rival:
            continue
        trial = value.copy()
        trial[mine] = -1e9
        found, _, _ = pack(owner, sets, trial, n, n_detections, most_nodes)
        lost = total
        for s in range(n):
            lost -= value[found[s]]
        if lost > doubt:
            continue
        same = False
        for k in range(count):
            same = same or np.all(other[k] == found)
        if not same:
            other[count], loss[count] = found, lost
            count += 1
    return other[:count], loss[:count]


@njit(cache=True)
def _touches(sets, h, chosen, t):  # type: ignore[no-untyped-def]
    """Whether a hypothesis wants a detection that another track has."""
    for s in range(chosen.shape[0]):
        if s != t:
            for c in range(sets.shape[1]):
                if sets[h, c] >= 0 and sets[h, c] == sets[chosen[s], c]:
                    return True
    return False


@njit(cache=True, error_model="numpy")
def rollout(  # type: ignore[no-untyped-def]
    packed, sizes, state, cov, pixel, J, members, memory_size, memory_axis, memory_frame, frames, offsets, first, camera,
    u, v, r, log_size, axis, horizon, clear, hidden, log_clutter, scales, typical, q, h, gate, most_nodes, blocked
):
    """Follow some tracks alone over the next frames from a choice in this one; the sum of their log-likelihood ratios.

    state (T, 6), cov (T, 6, 6) : predicted for the frame ``first``, members (T, C) : rows of all detections that they
    are in it. frames (F,), offsets (F + 1,) : of all detections; blocked (N,) : detections that others hold already.
    """
    n, n_views = members.shape
    correct(state, cov, pixel, J, members, u, v, r)
    shown = np.ones(n, np.bool_)
    seen = np.zeros((n, n_views), np.bool_)
    found = np.zeros((n, n_views))
    total = 0.0
    for t in range(n):
        for c in range(n_views):
            if members[t, c] >= 0:
                memory_size[t, c], memory_axis[t, c] = log_size[members[t, c]], axis[members[t, c]]
                memory_frame[t, c] = frames[first]
    dt = np.empty(n)
    for k in range(first + 1, min(first + 1 + horizon, frames.shape[0])):
        dt[:] = frames[k] - frames[k - 1]
        predict(state, cov, dt, q)
        look(packed, state, h, pixel, J, seen)
        a, b = offsets[k], offsets[k + 1]
        m = b - a
        chances(pixel, seen, sizes, memory_size, shown, clear, hidden, typical, found)
        cue = np.zeros((n, m))
        cues(frames[k], memory_size, memory_axis, memory_frame, camera[a:b], log_size[a:b], axis[a:b], scales, cue)
        begin = np.searchsorted(camera[a:b], np.arange(n_views + 1))
        owner, sets, value = hypotheses(
            state, cov, pixel, J, seen, found, begin, u[a:b], v[a:b], r[a:b], ~blocked[a:b], cue, log_clutter, gate
        )
        chosen, _, _ = pack(owner, sets, value, n, m, most_nodes)
        now = np.empty((n, n_views), np.int64)
        for t in range(n):
            total += value[chosen[t]]
            for c in range(n_views):
                d = sets[chosen[t], c]
                now[t, c] = d
                if d >= 0:
                    memory_size[t, c], memory_axis[t, c] = log_size[a + d], axis[a + d]
                    memory_frame[t, c] = frames[k]
        correct(state, cov, pixel, J, now, u[a:b], v[a:b], r[a:b])
    return total
