"""Normal equations that couple each block with the next only: solution and the parts of the inverse that matter.

Blocks hold two frames, so that second differences in time reach no further than the next block.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotri, dtrtrs

Array = NDArray[np.float64]


def solve(diagonal: Array, upper: Array, right: Array) -> Array:
    """Solve a symmetric, positive, block-tridiagonal system.

    Parameters
    ----------
    diagonal : (M, n, n) blocks on the diagonal.
    upper : (M - 1, n, n) block between each and the next.
    right : (M, n) right side, or (M, n, D) of several.

    Returns
    -------
    (M, n) or (M, n, D).
    """
    count = len(diagonal)
    factors, sides, y = [], [], np.array(right)
    block = diagonal[0]
    for m in range(count):
        factor = _factor(block)
        factors.append(factor)
        y[m] = dtrtrs(factor, y[m], lower=1)[0]
        if m + 1 < count:
            side = dtrtrs(factor, upper[m], lower=1)[0]
            sides.append(side)
            y[m + 1] -= side.T @ y[m]
            block = dsyrk(-1.0, side, beta=1.0, c=diagonal[m + 1].T, trans=1, lower=1)
    for m in range(count - 1, -1, -1):
        if m + 1 < count:
            y[m] -= sides[m] @ y[m + 1]
        y[m] = dtrtrs(factors[m], y[m], lower=1, trans=1)[0]
    return y


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
            half = dtrtrs(factor, upper[m], lower=1)[0]
            gains.append(dtrtrs(factor, half, lower=1, trans=1)[0])
            block = dsyrk(-1.0, half, beta=1.0, c=diagonal[m + 1].T, trans=1, lower=1)
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
    low, _ = dpotri(factor, lower=1)  # its upper half is zero, as that of the factor
    out: Array = low + low.T
    np.fill_diagonal(out, np.diagonal(low))
    return out
