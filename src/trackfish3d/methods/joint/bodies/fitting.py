"""Which bodies are usual in a recording: fitted to the outlines of its own tracks, without labels.

Some rows of first tracks are of two animals, above all before two cameras; the fit is of a mixture of rows whose views
show one body and rows whose views have nothing to do with each other.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ....core.compiled import kernel
from ..arguments import Ints
from .shape import BodyShape, absorb_outline

Array = NDArray[np.float64]
_ROUNDS = 60
_STEADY = 1e-3  # change of all entries, as shares, at which rounds end
_NOISES = (0.03, 0.06, 0.12)  # that are tried
_ENOUGH = 200  # rows of two views and more
_MOST = 500
_TRUE = 1.0  # log-odds, before outlines are looked at, that the views of a row show one animal
_LEAST = 0.02  # deviation of every entry of S, as a share of the largest mean


def fit_shape(members: Ints, J: Array, use: NDArray[np.bool_], outline: Array, shape: BodyShape) -> BodyShape:
    """Return the shape of greatest likelihood, by expectation-maximisation; the old one where there are few tracks.

    Parameters
    ----------
    members : (N, C) detections of rows of tracks, -1 for none.
    J, use : (N, C, 2, 3), (N, C) of `refinement.filtering.linearised`.
    outline : (D, 3) of all detections.
    shape : to start from.
    """
    rows = np.flatnonzero(use.sum(1) >= 2)
    rows = rows[:: 1 + len(rows) // _MOST]
    if len(rows) < _ENOUGH:
        return shape
    members, J, use = members[rows], J[rows], use[rows]
    best, most = shape, -np.inf
    for noise in _NOISES:
        trial = shape._replace(noise=noise)
        for _ in range(_ROUNDS):
            mean, cov, density, alone = posterior(members, J, use, outline, trial)
            weight = expit(density - alone + _TRUE)
            weight /= weight.sum()
            centre = weight @ mean
            spread = (weight[:, None] * (mean - centre)).T @ (mean - centre) + np.einsum("n,nij->ij", weight, cov)
            spread += (_LEAST * centre.max()) ** 2 * np.eye(6)
            change = np.abs(centre - trial.mean).max() / centre.max() + np.abs(spread - trial.cov).max() / spread.max()
            trial = BodyShape(centre, 0.5 * (spread + spread.T), noise)
            if change < _STEADY:
                break
        _, _, density, alone = posterior(members, J, use, outline, trial)
        total = float(np.logaddexp(density + _TRUE, alone).sum())
        if total > most:
            best, most = trial, total
    return best


@kernel
def posterior(
    members: Ints, J: Array, use: NDArray[np.bool_], outline: Array, shape: BodyShape
) -> tuple[Array, Array, Array, Array]:
    """Mean (N, 6) and covariance (N, 6, 6) of the body of each row given its outlines.

    Also the log density (N,) of these, and what it is (N,) if each view shows another body.
    """
    n = members.shape[0]
    mean, cov, row = np.empty((n, 6)), np.empty((n, 6, 6)), np.empty(6)
    density, alone = np.zeros(n), np.zeros(n)
    other, other_cov = np.empty(6), np.empty((6, 6))
    for i in range(n):
        for a in range(6):
            mean[i, a] = shape.mean[a]
            for b in range(6):
                cov[i, a, b] = shape.cov[a, b]
        for c in range(members.shape[1]):
            if use[i, c]:
                for a in range(6):
                    other[a] = shape.mean[a]
                    for b in range(6):
                        other_cov[a, b] = shape.cov[a, b]
                alone[i] += absorb_outline(other, other_cov, J[i, c], outline[members[i, c]], shape.noise, row)
                density[i] += absorb_outline(mean[i], cov[i], J[i, c], outline[members[i, c]], shape.noise, row)
    return mean, cov, density, alone
