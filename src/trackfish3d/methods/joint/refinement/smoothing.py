"""The whole of a track at once: what was learnt later corrects what was thought before."""

import numpy as np
from numba import njit

from ....maths.kalman import predict


@njit(cache=True, error_model="numpy")
def smooth(begin, frame, state, cov, q):  # type: ignore[no-untyped-def]
    """Rauch-Tung-Striebel smoother of filtered states (N, 6) and covariances (N, 6, 6), in place.

    begin (T + 1,) : first row of each track; frame (N,) ascending within it; q (N,) : variance of acceleration
    in the step that leads to each row (`darts.find_darts`).
    """
    dt = np.empty(1)
    ahead, ahead_cov = np.empty((1, 6)), np.empty((1, 6, 6))
    F = np.eye(6)
    for t in range(begin.shape[0] - 1):
        for i in range(begin[t + 1] - 2, begin[t] - 1, -1):
            dt[0] = abs(frame[i + 1] - frame[i])
            ahead[0], ahead_cov[0] = state[i], cov[i]
            predict(ahead, ahead_cov, dt, q[i + 1])
            for k in range(3):
                F[k, 3 + k] = dt[0]
            gain = np.ascontiguousarray(np.linalg.solve(ahead_cov[0], F @ cov[i]).T)
            state[i] += gain @ (state[i + 1] - ahead[0])
            cov[i] += gain @ (cov[i + 1] - ahead_cov[0]) @ gain.T
