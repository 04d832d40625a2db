"""Normal equations that couple each block with the next only: solution and the parts of the inverse that matter.

Blocks hold two frames, so that second differences in time reach no further than the next block.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

Array = NDArray[np.float64]


def solve(diagonal: Array, upper: Array, right: Array) -> Array:
    """Solve a symmetric, positive, block-tridiagonal system.

    Parameters
    ----------
    diagonal : (M, n, n) blocks on the diagonal.
    upper : (M - 1, n, n) block between each and the next.
    right : (M, n) right side.

    Returns
    -------
    (M, n).
    """
    count = len(diagonal)
    factors, gains, y = [], [], np.array(right)
    block = diagonal[0]
    for m in range(count):
        factor = _factor(block)
        factors.append(factor)
        if m + 1 < count:
            gain = dpotrs(factor, upper[m], lower=1)[0]
            gains.append(gain)
            y[m + 1] -= gain.T @ y[m]
            block = diagonal[m + 1] - upper[m].T @ gain
    x = np.empty_like(y)
    for m in range(count - 1, -1, -1):
        x[m] = dpotrs(factors[m], y[m], lower=1)[0]
        if m + 1 < count:
            x[m] -= gains[m] @ x[m + 1]
    return x


def invert(diagonal: Array, upper: Array) -> tuple[Array, Array]:
    """Blocks of the inverse of a symmetric, positive, block-tridiagonal matrix.

    Parameters
    ----------
    diagonal : (M, n, n) blocks on the diagonal.
    upper : (M - 1, n, n) block between each and the next.

    Returns
    -------
    diagonal (M, n, n) and upper (M - 1, n, n) blocks of the inverse.
    """
    count = len(diagonal)
    out, side, gains = np.empty_like(diagonal), np.empty_like(upper), []
    block = diagonal[0]
    for m in range(count):
        factor = _factor(block)
        out[m] = _inverse(factor)
        if m + 1 < count:
            gain = out[m] @ upper[m]
            gains.append(gain)
            block = diagonal[m + 1] - upper[m].T @ gain
    for m in range(count - 2, -1, -1):
        side[m] = -gains[m] @ out[m + 1]
        out[m] -= side[m] @ gains[m].T
    return out, side


def _factor(block: Array) -> Array:
    factor, wrong = dpotrf(block, lower=1)
    if wrong:  # rounding, where some part is known ten orders worse than another
        scale = float(np.trace(block)) / len(block)
        factor, wrong = dpotrf(block + 1e-9 * scale * np.eye(len(block)), lower=1)
        if wrong:
            factor, _ = dpotrf(block + 1e-4 * scale * np.eye(len(block)), lower=1)
    out: Array = factor
    return out


def _inverse(factor: Array) -> Array:
    low, _ = dpotri(factor, lower=1)
    low = np.tril(low)
    out: Array = low + np.tril(low, -1).T
    return out
