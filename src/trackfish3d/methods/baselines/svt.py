"""Cycle-consistent association of all views at once.

Dong, Jiang, Huang, Bao & Zhou (2019), "Fast and Robust Multi-Person 3D Pose Estimation from Multiple Views": the matrix
P of all pairwise correspondences of a frame is, if the views agree with each other, positive semidefinite and of rank
at most the number of animals. It is found by

    minimise  -<A - alpha, P> + lambda ||P||_*   subject to  P in C,

A the affinities of pairs, ||.||_* the nuclear norm as the convex stand-in for rank, C the symmetric matrices with unit
diagonal, no correspondence within a camera, and doubly substochastic blocks between cameras. Solved by ADMM on the
split P = Q: singular value thresholding for Q, projection for P.
"""

from typing import ClassVar

import numpy as np
from numba import njit
from pydantic import Field

from ..matching import Array, Flags, Ints
from .geometric import KalmanSettings, Sort3D


class SVTSettings(KalmanSettings):
    """Settings of matchSVT; the defaults of the optimisation are Dong et al.'s."""

    sigma_px: float = Field(default=10.0, gt=0, description="reprojection error at which a pair's affinity is 0.61, px")
    alpha: float = Field(default=0.1, ge=0, lt=1, description="affinity below which a pair is better left apart")
    rank_weight: float = Field(default=50.0, gt=0, description="weight lambda of the nuclear norm")
    penalty: float = Field(default=64.0, gt=0, description="first penalty mu of ADMM; residual balancing changes it")
    iterations: int = Field(default=200, ge=1, description="most ADMM steps a frame")
    tolerance: float = Field(default=5e-4, gt=0, description="mean change per detection at which ADMM stops")


class MatchSVT(Sort3D):
    """Match all views of a frame together; link as 3D-SORT does."""

    name: ClassVar[str] = "svt"
    Settings = SVTSettings

    def match(self, cost: Array, camera: Ints) -> Flags:
        """Match the detections of a frame."""
        s = self.settings
        affinity = np.exp(-0.5 * (cost / s.sigma_px) ** 2)  # exp(-inf) = 0: impossible pairs
        return match_svt(affinity, camera, s.alpha, s.rank_weight, s.penalty, s.iterations, s.tolerance) > 0.5


def match_svt(
    affinity: Array,
    camera: Ints,
    alpha: float = 0.1,
    rank_weight: float = 50.0,
    penalty: float = 64.0,
    iterations: int = 200,
    tolerance: float = 5e-4,
) -> Array:
    """Correspondences (N, N) in 0..1 of detections whose pairs have affinities (N, N) in 0..1.

    ``camera`` (N,) ascending. Affinities within a camera are ignored.
    """
    weight = np.where(camera[:, None] == camera[None, :], 0.0, affinity - alpha)
    # Impossible pairs are never worth it, whatever rank they would save.
    possible = (camera[:, None] != camera[None, :]) & (affinity > 1e-12)
    starts = np.append(np.flatnonzero(np.diff(camera, prepend=-1)), len(camera)).astype(np.int64)
    args = (float(rank_weight), float(penalty), int(iterations), float(tolerance))
    return np.asarray(_admm(np.ascontiguousarray(weight), possible, starts, *args))


@njit(cache=True)
def _admm(weight, possible, starts, rank_weight, mu, iterations, tolerance):  # type: ignore[no-untyped-def]
    n = weight.shape[0]
    P = np.where(possible, np.maximum(weight, 0.0), 0.0)
    for i in range(n):
        P[i, i] = 1.0
    Y = np.zeros((n, n))
    for _ in range(iterations):
        before = P.copy()
        values, vectors = np.linalg.eigh(P + Y / mu)  # symmetric: singular values are |eigenvalues|
        kept = np.sign(values) * np.maximum(np.abs(values) - rank_weight / mu, 0.0)
        Q = (vectors * kept) @ vectors.T
        P = Q + (weight - Y) / mu
        P = 0.5 * (P + P.T)
        _project(P, possible, starts)
        Y += mu * (P - Q)
        primal = np.sqrt(np.sum((P - Q) ** 2)) / n
        dual = mu * np.sqrt(np.sum((P - before) ** 2)) / n
        if primal < tolerance and dual < tolerance * mu:
            break
        if primal > 10.0 * dual:  # keep both residuals of one size (Boyd et al. 2011, 3.4.1)
            mu *= 2.0
        elif dual > 10.0 * primal:
            mu /= 2.0
    return P


@njit(cache=True)
def _project(P, possible, starts):  # type: ignore[no-untyped-def]
    """Project onto the constraints, in place: unit diagonal, blocks of different cameras doubly substochastic."""
    n = P.shape[0]
    for i in range(n):
        for j in range(n):
            if not possible[i, j]:
                P[i, j] = 0.0
        P[i, i] = 1.0
    for a in range(starts.shape[0] - 1):
        for b in range(a + 1, starts.shape[0] - 1):
            block = P[starts[a] : starts[a + 1], starts[b] : starts[b + 1]].copy()
            _substochastic(block)
            P[starts[a] : starts[a + 1], starts[b] : starts[b + 1]] = block
            P[starts[b] : starts[b + 1], starts[a] : starts[a + 1]] = block.T


@njit(cache=True)
def _substochastic(X):  # type: ignore[no-untyped-def]
    """Nearest matrix of entries >= 0 with rows and columns that sum to 1 at most: Dykstra's alternating projections."""
    row_step = np.zeros_like(X)
    column_step = np.zeros_like(X)
    for _ in range(20):
        moved = 0.0
        for i in range(X.shape[0]):
            want = X[i] - row_step[i]
            new = _capped_simplex(want)
            row_step[i] = new - want
            moved = max(moved, np.max(np.abs(new - X[i])))
            X[i] = new
        for j in range(X.shape[1]):
            want = X[:, j] - column_step[:, j]
            new = _capped_simplex(want)
            column_step[:, j] = new - want
            moved = max(moved, np.max(np.abs(new - X[:, j])))
            X[:, j] = new
        if moved < 1e-4:
            break


@njit(cache=True)
def _capped_simplex(x):  # type: ignore[no-untyped-def]
    """Nearest vector with entries >= 0 and sum <= 1."""
    positive = np.maximum(x, 0.0)
    if positive.sum() <= 1.0:
        return positive
    ordered = np.sort(x)[::-1]
    total = 0.0
    shift = 0.0
    for k in range(ordered.shape[0]):
        total += ordered[k]
        candidate = (total - 1.0) / (k + 1)
        if ordered[k] - candidate > 0:
            shift = candidate
    return np.maximum(x - shift, 0.0)
