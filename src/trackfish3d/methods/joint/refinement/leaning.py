"""Centroids that lean along the body: how much, and what it does to a position.

The centroid of what a view shows of a long body is seldom the body's middle. It lies ahead of it or behind, by another
share of the length in each view (a tall tail is seen from the side, a broad head from above), and moves along the body
while it bends. Across the body it is right. So an error has two parts: one alike in all directions, and one along the
body as the view sees it, which stays while the animal keeps its heading and is not smoothed away.

How large each is, is seen in how views of one frame disagree, along the body and across it. Residuals of a row's best
point are (1 - H) e with the errors e of its detections, so that their expected squares are linear in both variances,
with known factors.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Array = NDArray[np.float64]
_ROUNDS = 4
_WILD = 9.0  # times the expected square that counts at most
_MOST = 400_000  # residuals that are compared
_FEWEST = 50
_USUAL = 0.025  # of a body length, on the tuning scenes of benchmarks/bench_sigma.py
_FIXED = 1e-3  # of its variance that a residual must keep to tell


@dataclass(frozen=True)
class Lean:
    """Variances of errors: ``base`` alike in all directions, in the noise that was supposed; ``along`` the body, in
    squared body lengths.
    """

    base: float
    along: float

    def supposed(self, cameras: int) -> float:
        """Return the variance along the body, as it is most likely to be where so many cameras saw outlines.

        A lean that all views have in common moves the point and shows nowhere, so that one view's worth of what views
        show is taken from other recordings: `_USUAL`.
        """
        return ((cameras - 1) * self.along + _USUAL**2) / cameras


def moved(J: Array, information: Array, ahead: Array) -> tuple[Array, Array]:
    """Tell what a lean by the length of one body does in each view alone.

    Parameters
    ----------
    J : (N, C, 2, 3) pixels a world unit over the noise; 0 in views that did not see a row.
    information : (N, 3, 3) of the rows, not singular.
    ahead : (N, 3) body lengths along headings, world.

    Returns
    -------
    (N, C, 2) the lean in the view, over the noise; (N, C, 3) by how much the point moves, world.
    """
    body = np.einsum("ncki,ni->nck", J, ahead)
    push = np.einsum("ncki,nck->nci", J, body)
    return body, np.linalg.solve(information[:, None], push[..., None])[..., 0]


def lean_of(left: Array, J: Array, body: Array, point: Array, information: Array) -> Lean:
    """Fit both variances to residuals, each weighed by what is expected of it.

    Parameters
    ----------
    left : (N, C, 2) residuals of rows that two views or more saw, over the noise; NaN where a view did not.
    J, information : as of `moved`.
    body, point : what `moved` returns.
    """
    some = slice(None, None, max(1, left[..., 0].size * left.shape[1] // _MOST))
    left, J, body, point, information = left[some], J[some], body[some], point[some], information[some]
    lean = _residuals(J, body, point)
    seen = np.linalg.solve(information[:, None], J.transpose(0, 1, 3, 2))  # (N, C, 3, 2)
    size = np.linalg.norm(body, axis=2)
    shown = np.isfinite(left[..., 0]) & (size > 0)
    design, squares = [], []
    along = body / np.where(size > 0, size, 1.0)[..., None]
    for way in (along, np.stack([-along[..., 1], along[..., 0]], axis=2)):
        freedom = 1.0 - np.einsum("nck,ncki,ncim,ncm->nc", way, J, seen, way)
        leant = (np.einsum("nbck,nck->nbc", lean, way) ** 2).sum(1)
        square = np.einsum("nck,nck->nc", np.nan_to_num(left), way) ** 2
        use = shown & (freedom > _FIXED)
        design.append(np.column_stack([freedom[use], leant[use]]))
        squares.append(square[use])
    return _fitted(np.concatenate(design), np.concatenate(squares))


def mean_lean(left: Array, J: Array, body: Array, point: Array, lean: Lean) -> Array:
    """(N, C, 2) residuals that the mean lean of each view leaves, its most likely value given the variances."""
    views = left.shape[1]
    if not lean.along > 0:
        return np.zeros_like(left)
    some = slice(None, None, max(1, left[..., 0].size * views // _MOST))
    known = _residuals(J[some], body[some], point[some])
    fair = np.nan_to_num(np.clip(left[some], -4.0, 4.0))
    among = np.einsum("nbck,ndck->bd", known, known) + lean.base / lean.along * np.eye(views)
    mean = np.linalg.solve(among, np.einsum("nbck,nck->b", known, fair))
    whole = mean[None, :, None] * body - np.einsum("ncki,ni->nck", J, np.einsum("b,nbi->ni", mean, point))
    return np.asarray(whole)


def _residuals(J: Array, body: Array, point: Array) -> Array:
    """(N, B, C, 2) residuals in all views C of a lean in view B."""
    own = np.eye(J.shape[1])[None, :, :, None] * body[:, :, None]
    return np.asarray(own - np.einsum("ncki,nbi->nbck", J, point))


def _fitted(design: Array, squares: Array) -> Lean:
    """Variances under which squares (M,) are expected to be ``design`` (M, 2) times them."""
    if len(squares) < _FEWEST:
        return Lean(1.0, 0.0)
    found = np.array([max(float(np.mean(np.minimum(squares / design[:, 0], _WILD))), 1e-12), 0.0])
    for _ in range(_ROUNDS):
        expected = design @ found
        fair = np.minimum(squares, _WILD * expected) / expected
        found = np.maximum(nnls(design / expected[:, None], fair)[0], [1e-3 * found[0], 0.0])
    return Lean(float(found[0]), float(found[1]))
