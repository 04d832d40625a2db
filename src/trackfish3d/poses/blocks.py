"""Normal equations that couple each block with the next only: solution and the parts of the inverse that matter.

Blocks hold two frames, so that second differences in time reach no further than the next block. What couples two blocks
is sparse (a part with itself and with those it hangs on), what lies within a block is full after the first step: so
blocks are inverted, and products with what couples them cost next to nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri

from ..core.compiled import kernel

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Chain:
    """A symmetric, positive, block-tridiagonal matrix, block by block made ready.

    Attributes
    ----------
    inverse : (M, n, n) inverse of each block on the diagonal, once those before it are eliminated.
    row, column : (Z,) where blocks between one and the next are not zero, the same in all.
    value : (M - 1, Z) what is there.
    """

    inverse: Array
    row: Ints
    column: Ints
    value: Array

    @classmethod
    def of(cls, diagonal: Array, upper: Array) -> "Chain":
        """Eliminate block after block.

        Parameters
        ----------
        diagonal : (M, n, n) blocks on the diagonal.
        upper : (M - 1, n, n) block between each and the next.
        """
        row, column = np.nonzero((upper != 0).any(0))
        value = upper[:, row, column]
        inverse = np.empty_like(diagonal)
        inverse[0] = _inverse(diagonal[0])
        for m, some in enumerate(value):
            gain = np.ascontiguousarray(times(column, row, some, inverse[m]).T)
            inverse[m + 1] = _inverse(diagonal[m + 1] - times(column, row, some, gain))
        return cls(inverse, row, column, value)

    def solve(self, right: Array) -> Array:
        """Return the solution (M, n, D) of several right sides.

        Parameters
        ----------
        right : (M, n, D).
        """
        y = np.array(right)
        for m, some in enumerate(self.value):
            y[m + 1] -= times(self.column, self.row, some, self.inverse[m] @ y[m])
        y[-1] = self.inverse[-1] @ y[-1]
        for m in range(len(self.value) - 1, -1, -1):
            y[m] = self.inverse[m] @ (y[m] - times(self.row, self.column, self.value[m], y[m + 1]))
        return y

    def inverted(self) -> tuple[Array, Array]:
        """Return diagonal (M, n, n) and upper (M - 1, n, n) blocks of the inverse of the whole."""
        out, over = self.inverse.copy(), np.empty((len(self.value), *self.inverse.shape[1:]))
        for m in range(len(self.value) - 1, -1, -1):
            some, own = self.value[m], self.inverse[m]
            over[m] = own @ -times(self.row, self.column, some, out[m + 1])
            out[m] -= over[m] @ times(self.column, self.row, some, own)
        return out, over


@kernel
def times(row: Ints, column: Ints, value: Array, dense: Array) -> Array:
    """Multiply a sparse square matrix with a dense one (n, D).

    Parameters
    ----------
    row, column : (Z,) where the sparse one is not zero; exchanged, its transpose is meant.
    value : (Z,) what is there.
    dense : (n, D).
    """
    out = np.zeros(dense.shape)
    for z in range(len(value)):
        i, j, v = row[z], column[z], value[z]
        for d in range(dense.shape[1]):
            out[i, d] += v * dense[j, d]
    return out


def _inverse(block: Array) -> Array:
    factor, wrong = dpotrf(block, lower=1)
    if wrong:  # rounding, where some part is known ten orders worse than another
        scale = float(np.trace(block)) / len(block)
        factor, wrong = dpotrf(block + 1e-9 * scale * np.eye(len(block)), lower=1)
        if wrong:
            factor, _ = dpotrf(block + 1e-4 * scale * np.eye(len(block)), lower=1)
    low, _ = dpotri(factor, lower=1)  # its upper half is zero, as that of the factor
    out: Array = low + low.T
    np.fill_diagonal(out, np.diagonal(low))
    return out
