"""Which candidates are animals: every detection of a window is explained once."""

import numpy as np

from ...core.compiled import kernel
from .arguments import Array, Flags, Ints


@kernel
def explain(
    score: Array, detection: Ints, gain: Array, taken: Ints, first: int, n_detections: int, least: float
) -> tuple[Flags, Array]:
    """Choose candidates so that no detection counts twice.

    Parameters
    ----------
    score : (K,) log-likelihood ratio of each candidate's whole life.
    detection : (K, W, C) rows it used in the frames of the window, -1 for none.
    gain : (K, W, C) their share of the score.
    taken : (M,) rows that confirmed tracks used.
    first : lowest row of the window.
    n_detections : number of its rows.
    least : score that a candidate must keep.

    Returns
    -------
    chosen : (K,) bool.
    kept : (K,) score without the detections of candidates chosen before.

    Greedy, best first; a score only falls while others take detections, so a candidate whose score is still the best
    after it was reckoned anew is the next one.
    """
    k = score.shape[0]
    chosen = np.zeros(k, np.bool_)
    kept = score.copy()
    fresh = np.zeros(k, np.int64)
    used = np.zeros(n_detections, np.bool_)
    for d in taken:
        if first <= d < first + n_detections:
            used[d - first] = True
    rounds = 1
    open_ = np.ones(k, np.bool_)
    while True:
        best = -1
        for i in range(k):
            if open_[i] and (best < 0 or kept[i] > kept[best]):
                best = i
        if best < 0 or kept[best] < least:
            break
        if fresh[best] < rounds:
            kept[best] = score[best]
            for w in range(detection.shape[1]):
                for c in range(detection.shape[2]):
                    d = detection[best, w, c]
                    if d >= first and used[d - first]:
                        kept[best] -= gain[best, w, c]
            fresh[best] = rounds
            continue
        chosen[best] = True
        open_[best] = False
        rounds += 1
        for w in range(detection.shape[1]):
            for c in range(detection.shape[2]):
                d = detection[best, w, c]
                if d >= first:
                    used[d - first] = True
    return chosen, kept


@kernel
def duplicates(members: Ints, score: Array) -> Flags:
    """(K,) bool: a better candidate was seen as exactly the same detections, two or more, in this frame."""
    k = score.shape[0]
    out = np.zeros(k, np.bool_)
    for i in range(k):
        for j in range(k):
            if i == j or out[j] or score[j] < score[i] or (score[j] == score[i] and j > i):
                continue
            same = 0
            differs = False
            for c in range(members.shape[1]):
                if members[i, c] != members[j, c]:
                    differs = True
                    break
                if members[i, c] >= 0:
                    same += 1
            if not differs and same >= 2:
                out[i] = True
                break
    return out
