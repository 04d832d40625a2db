"""The whole of a track at once: what was learnt later corrects what was thought before."""

import numpy as np
from numba import njit

from ....core.compiled import KERNEL, helper
from ....maths.kalman import copy_state, predict


@njit(**KERNEL)
def smooth(begin, frame, state, cov, q):  # type: ignore[no-untyped-def]
    """Rauch-Tung-Striebel smoother of filtered states (N, 6) and covariances (N, 6, 6), in place.

    begin (T + 1,) : first row of each track; frame (N,) ascending within it; q (N,) : variance of acceleration
    in the step that leads to each row (`darts.find_darts`).
    """
    dt = np.empty(1)
    ahead, ahead_cov = np.empty((1, 6)), np.empty((1, 6, 6))
    gain, apart, moved = np.empty((6, 6)), np.empty((6, 6)), np.empty((6, 6))
    for t in range(begin.shape[0] - 1):
        for i in range(begin[t + 1] - 2, begin[t] - 1, -1):
            dt[0] = abs(frame[i + 1] - frame[i])
            copy_state(state[i], cov[i], ahead[0], ahead_cov[0])
            predict(ahead, ahead_cov, dt, q[i + 1])
            for k in range(6):
                for m in range(6):  # covariance of the state with the one ahead
                    gain[k, m] = cov[i, k, m] + (dt[0] * cov[i, k, m + 3] if m < 3 else 0.0)
                    apart[k, m] = cov[i + 1, k, m] - ahead_cov[0, k, m]
            _divide(gain, ahead_cov[0])
            for k in range(6):
                for m in range(6):
                    state[i, k] += gain[k, m] * (state[i + 1, m] - ahead[0, m])
                    moved[k, m] = 0.0
                    for j in range(6):
                        moved[k, m] += gain[k, j] * apart[j, m]
            for k in range(6):
                for m in range(6):
                    for j in range(6):
                        cov[i, k, m] += moved[k, j] * gain[m, j]


@helper
def _divide(rows, S):  # type: ignore[no-untyped-def]
    """Multiply rows (n, 6) by the inverse of a symmetric S (6, 6), in place; S is lost.

    By S = L D L' with ones on the diagonal of L, without roots: rounding may make S slightly indefinite.
    """
    for j in range(6):
        for k in range(j):
            for i in range(j, 6):
                S[i, j] -= S[i, k] * S[j, k] * S[k, k]
        for i in range(j + 1, 6):
            S[i, j] /= S[j, j]
    for row in rows:
        for i in range(6):
            for k in range(i):
                row[i] -= S[i, k] * row[k]
        for i in range(5, -1, -1):
            row[i] /= S[i, i]
            for k in range(i + 1, 6):
                row[i] -= S[k, i] * row[k]
