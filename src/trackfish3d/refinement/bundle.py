"""Adjustment of cameras, clocks, water and the paths of what moved, so that every sight of them is missed least.

The paths are thousands of unknowns of which each sight touches twelve: their part of the normal equations is a band.
It is eliminated first, and what is left has the size of the cameras, however long the recording is; its inverse is
their covariance. Sights that lie are weighed down by Huber's loss, and every camera has a noise of its own.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cho_solve_banded, cholesky_banded
from scipy.spatial.transform import Rotation

from ..calibration.adjust import LENS_PLACES, State, across
from ..maths.descent import descend
from .kernels import CLOCK, WIDTH, Lenses, Paths, Sights, bend_penalty, curve, gather, miss

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
_HUBER = 2.5  # standard deviations of a coordinate beyond which an error counts linearly
_UNSEEN_PX = 1000.0  # error of a sight that the camera cannot have had as it stands
_LOW, _HIGH = 0.7, 2.0  # noise of a camera, in the noise of all: paths would follow the one that has least
_SETTLED = 1e-6
_HELD = 1e8  # weight of what no sight can tell, against the prior
_FLATTEST = 0.1  # of the normal equations, which the second derivatives may leave in a direction
_LEAST_PX = 0.02  # no detector is better than this
POSE, WATER = 12, 18  # first columns of pose and water among those shared


@dataclass(frozen=True)
class Rigged:
    """All that is adjusted: cameras and water (`State` without boards), clocks and leans (C, 4), middles, paths."""

    state: State
    clock: Array
    middle: Array
    paths: Paths


@dataclass(frozen=True)
class Prior:
    """What is known beforehand: standard deviation of each shared parameter; 0 holds it, infinite says nothing.

    ``camera`` (C, SHARED) where the four columns of water stay empty: lens, pose, clock; ``plane`` (Q, 3) height and
    two tilts; ``index`` of the water.
    """

    camera: Array
    plane: Array
    index: float = 0.0


@dataclass(frozen=True)
class Settled:
    """The outcome.

    ``rigged`` what was adjusted; ``sight_camera`` (N,) camera of each sight, ``error`` (N, 2) px, ``weight`` (N,) in
    0..1; ``noise`` (C,) px of each camera; ``covariance`` (M, M) of what was free, from data and prior, whose standard
    deviations were ``beforehand`` (M,); ``places`` (C, SHARED) and ``plane_places`` (Q, 3) say which row is whose, and
    ``index`` that of the water's index, -1 where it was held; ``rounds`` steps.
    """

    rigged: Rigged
    sight_camera: NDArray[np.int64]
    error: Array
    weight: Array
    noise: Array
    covariance: Array
    beforehand: Array
    places: NDArray[np.int64]
    plane_places: NDArray[np.int64]
    index: int
    rounds: int


class Bundle:
    """The least-squares problem. ``bend`` weighs second differences of control points, world units^-2."""

    def __init__(self, start: Rigged, prior: Prior, sights: Sights, bend: float) -> None:
        self.start, self.prior, self.sights, self.bend = start, prior, sights, bend
        free = prior.camera > 0
        self.own = np.full(free.shape, -1)
        self.own[free] = np.arange(free.sum())
        size = int(free.sum())
        self.index = size if prior.index > 0 else -1
        size += int(prior.index > 0)
        self.plane_places = np.full(prior.plane.shape, -1)
        self.plane_places[prior.plane > 0] = size + np.arange((prior.plane > 0).sum())
        self.size = size + int((prior.plane > 0).sum())
        self.precision = np.zeros(self.size)
        self.precision[self.own[free]] = prior.camera[free] ** -2.0
        if self.index >= 0:
            self.precision[self.index] = prior.index**-2.0
        planes = prior.plane > 0
        self.precision[self.plane_places[planes]] = prior.plane[planes] ** -2.0
        self.places = self.own.copy()
        wet = start.state.plane >= 0
        self.places[wet, WATER] = self.index
        self.places[wet, WATER + 1 : WATER + 4] = self.plane_places[start.state.plane[wet]]
        self.gauge = self._gauge()
        self.want = np.ascontiguousarray(free[:, 4:12])
        self.noise = np.ones(len(free))

    def _gauge(self) -> Array:
        """(G, M) directions along which the whole world would turn, move or grow, each of length 1 by the prior.

        No sight tells these, and the bending of paths would shrink the world: they are held. Where the water stays as
        it is while cameras move, it holds the world.
        """
        s = self.start.state
        if (len(s.point) and not (self.prior.plane > 0).all()) or not (self.prior.camera[:, POSE:WATER] > 0).all():
            return np.zeros((0, self.size))
        middle = self.start.paths.control.mean(0)
        arm = -np.einsum("cji,cj->ci", s.R, s.t) - middle
        rows = []
        for k in range(7):
            turn = np.eye(3)[k] if k < 3 else np.zeros(3)
            move = np.eye(3)[k - 3] if 3 <= k < 6 else np.zeros(3)
            shift = np.cross(turn, arm) + move + (arm if k == 6 else 0.0)
            row = np.zeros(self.size)
            by = np.zeros(self.own.shape)
            by[:, POSE : POSE + 3] = -s.R @ turn
            by[:, POSE + 3 : WATER] = -np.einsum("cij,cj->ci", s.R, shift) - np.cross(s.R @ turn, s.t)
            row[self.own[self.own >= 0]] = by[self.own >= 0]
            for q, where in enumerate(self.plane_places):
                away = s.point[q] - middle
                point = np.cross(turn, away) + move + (away if k == 6 else 0.0)
                row[where] = [point @ s.normal[q], *(across(s.normal[q]) @ np.cross(turn, s.normal[q]))]
            rows.append(self.precision * row / np.sqrt(self.precision @ row**2))
        return np.array(rows)

    def lenses(self, r: Rigged) -> Lenses:
        """Return cameras and clocks for the kernels."""
        s = r.state
        return Lenses(
            np.array(s.lens),
            np.ascontiguousarray(s.R),
            np.ascontiguousarray(s.t),
            s.planes(),
            s.layers,
            s.n_layers,
            float(s.n_water),
            self.want,
            np.ascontiguousarray(r.clock),
            r.middle,
        )

    def departure(self, r: Rigged) -> Array:
        """(M,) how far the shared parameters are from where they began."""
        a, b = r.state, self.start.state
        columns = np.zeros(self.own.shape)
        columns[:, :POSE] = a.lens[:, LENS_PLACES] - b.lens[:, LENS_PLACES]
        columns[:, POSE : POSE + 3] = Rotation.from_matrix(a.R @ b.R.transpose(0, 2, 1)).as_rotvec()
        columns[:, POSE + 3 : WATER] = a.t - b.t
        columns[:, CLOCK:] = r.clock - self.start.clock
        out = np.zeros(self.size)
        out[self.own[self.own >= 0]] = columns[self.own >= 0]
        if self.index >= 0:
            out[self.index] = a.n_water - b.n_water
        for q, where in enumerate(self.plane_places):
            axes = across(b.normal[q])
            moved = np.array([(a.point[q] - b.point[q]) @ b.normal[q], *(axes @ a.normal[q])])
            out[where[where >= 0]] = moved[where >= 0]
        return out

    def errors(self, r: Rigged) -> tuple[tuple[Array, Array], float]:
        """Return errors (N, 2) px with their weights (N,), and the cost."""
        error = miss(self.lenses(r), r.paths, self.sights)
        seen = np.isfinite(error).all(1)
        error[~seen] = _UNSEEN_PX
        sigma = self.noise[self.sights.camera] * self.sights.sigma
        size = np.hypot(error[:, 0], error[:, 1]) / sigma
        limit = _HUBER * np.sqrt(2.0)
        weight = np.where(size > limit, limit / np.maximum(size, 1e-12), 1.0) * seen
        cost = float(np.where(size > limit, limit * (2 * size - limit), size**2).sum())
        away = self.departure(r)
        cost += float(self.precision @ away**2 + _HELD * ((self.gauge @ away) ** 2).sum())
        n = len(r.paths.control)
        cost += float(bend_penalty(r.paths, self.bend, np.zeros((WIDTH, 3 * n)), np.zeros(3 * n)))
        return (error, weight), cost

    def fit_noise(self, r: Rigged) -> None:
        """Set each camera's noise, px, from the errors as they are."""
        error = miss(self.lenses(r), r.paths, self.sights)
        size = np.hypot(error[:, 0], error[:, 1]) / self.sights.sigma
        size = (
            np.where(np.isfinite(size), size, _UNSEEN_PX) / 1.1774
        )  # the median of a Rayleigh distribution, in sigmas
        all_ = max(float(np.median(size)), _LEAST_PX)
        for c in range(len(self.noise)):
            mine = size[self.sights.camera == c]
            self.noise[c] = np.clip(np.median(mine), _LOW * all_, _HIGH * all_) if len(mine) else all_

    def normal(self, r: Rigged, errors: tuple[Array, Array]) -> tuple[Array, ...]:
        """Form the normal equations: H (M, M), g (M,), band (WIDTH, 3 N), B (3 N, M), b (3 N,)."""
        H, by_path, band, B, b = self._by_path(r, errors)
        known = self._known()
        H += known
        return H, by_path.sum(0) - known @ self.departure(r), band, B, b

    def _by_path(self, r: Rigged, errors: tuple[Array, Array]) -> tuple[Array, ...]:
        """Form the normal equations without what is known beforehand of the cameras, g (K, M) apart by path."""
        m, n = self.size, 3 * len(r.paths.control)
        g = np.zeros((len(r.paths.base), m))
        parts = np.zeros((m, m)), g, np.zeros((WIDTH, n)), np.zeros((n, m)), np.zeros(n)
        sigma = self.noise[self.sights.camera] * self.sights.sigma
        gather(self.lenses(r), r.paths, self.sights, errors[1] / sigma**2, self.places, parts)
        bend_penalty(r.paths, self.bend, parts[2], parts[4])
        return parts

    def _known(self) -> Array:
        """(M, M) inverse covariance of what is known beforehand, and of what is held."""
        return np.asarray(np.diag(self.precision) + _HELD * self.gauge.T @ self.gauge)

    def reduced(self, normal: tuple[Array, ...], damping: float) -> tuple[Array, Array, Array, Array] | None:
        """Eliminate the paths: S (M, M), right side (M,), the factor of the band, and what B becomes behind it."""
        H, g, band, B, b = normal
        band = band.copy()
        band[0] = np.where(band[0] > 0, band[0] * (1 + damping), 1.0)
        try:
            factor = cholesky_banded(band, lower=True, check_finite=False)
        except LinAlgError:
            return None
        behind = cho_solve_banded((factor, True), B, check_finite=False)
        return H - B.T @ behind, g - behind.T @ b, factor, behind

    def step(self, normal: tuple[Array, ...], damping: float) -> tuple[Array, Array] | None:
        """Solve for the step of what is shared (M,) and of the control points (N, 3)."""
        solved = self.reduced(normal, damping)
        if solved is None:
            return None
        S, right, factor, behind = solved
        diagonal = np.diag(normal[0]).copy()
        diagonal[diagonal <= 0] = 1.0
        unit = 1 / np.sqrt(diagonal)
        S = S * unit[:, None] * unit
        S[np.diag_indices(self.size)] += damping
        try:
            x = unit * cho_solve(cho_factor(S, check_finite=False), unit * right) if self.size else right
        except LinAlgError:
            return None
        y = cho_solve_banded((factor, True), normal[4], check_finite=False) - behind @ x
        return (x, y.reshape(-1, 3)) if np.isfinite(x).all() and np.isfinite(y).all() else None

    def moved(self, r: Rigged, step: tuple[Array, Array]) -> Rigged:
        """Return the state after a step."""
        x, y = step
        wide = np.append(x, 0.0)  # place -1, what is held, reads the zero
        by = wide[self.own]
        s = r.state
        lens = s.lens.copy()
        lens[:, LENS_PLACES] += by[:, :POSE]
        R = Rotation.from_rotvec(by[:, POSE : POSE + 3]).as_matrix() @ s.R
        state = replace(s, lens=lens, R=R, t=s.t + by[:, POSE + 3 : WATER], n_water=s.n_water + float(wide[self.index]))
        if len(s.point):
            height, tilt = wide[self.plane_places[:, 0]], wide[self.plane_places[:, 1:]]
            state.point = s.point + height[:, None] * s.normal
            normal = s.normal + np.einsum("qk,qki->qi", tilt, np.stack([across(n) for n in s.normal]))
            state.normal = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        return Rigged(state, r.clock + by[:, CLOCK:], r.middle, r.paths._replace(control=r.paths.control + y))

    def covariance(self, r: Rigged) -> Array:
        """(M, M) of what is shared: by how much the paths contradict each other, and by what is known beforehand.

        The inverse of the normal equations would take the errors along a path for independent, and the noise for as
        small as it looks after the path went through it. What each path alone asks for says it without either.
        """
        errors, _ = self.errors(r)
        H, by_path, band, B, b = self._by_path(r, errors)
        known = self._known()
        solved = self.reduced((H + known, by_path.sum(0), band, B, b), 0.0)
        if solved is None or not self.size:
            return np.full((self.size, self.size), np.nan)
        root = _inverse_root(solved[0])
        asked = (by_path - np.add.reduceat(solved[3] * b[:, None], 3 * r.paths.base)) @ root
        given = root.T @ known @ root
        scatter = _scatter(asked, np.eye(self.size) - given) + given
        answer = root @ self._less_sure(r, errors, (H + known, by_path.sum(0), band, B, b), root)
        return np.asarray(answer @ scatter @ answer.T)

    def _less_sure(self, r: Rigged, errors: tuple[Array, Array], normal: tuple[Array, ...], root: Array) -> Array:
        """(M, M) inverse of the cost's second derivatives, in units in which the normal equations are the identity."""
        H, g, band, B, b = normal
        sigma = self.noise[self.sights.camera] * self.sights.sigma
        H, B = H.copy(), B.copy()
        curve(self.lenses(r), r.paths, self.sights, errors[1] / sigma**2, errors[0], self.places, H, B)
        solved = self.reduced((H, g, band, B, b), 0.0)
        bent = np.eye(self.size) if solved is None else root.T @ solved[0] @ root
        values, vectors = np.linalg.eigh((bent + bent.T) / 2)
        return np.asarray(vectors / np.maximum(values, _FLATTEST) @ vectors.T)


def _inverse_root(S: Array) -> Array:
    """(M, M) matrix whose square, ``F @ F.T``, is the inverse of `S`; directions that nothing tells stay empty."""
    unit = 1 / np.sqrt(np.maximum(np.diag(S), 1e-300))
    values, vectors = np.linalg.eigh(S * unit[:, None] * unit)
    told = values > len(S) * np.finfo(float).eps * values[-1]
    return np.asarray(unit[:, None] * vectors * np.where(told, values, np.inf) ** -0.5)


def _scatter(asked: Array, usual: Array) -> Array:
    """(M, M) scatter of what paths ask for, (K, M); few paths tell little of it and are drawn to a multiple of `usual`.

    The share of that is Ledoit and Wolf's (2004): the variance of the scatter's entries by their distance from it.
    """
    found = asked.T @ asked
    guess = np.trace(found) / max(np.trace(usual), 1e-12) * usual
    unsure = float((np.sum(asked**2, axis=1) ** 2).sum() - (found**2).sum() / max(len(asked), 1))
    share = min(unsure / max(float(((found - guess) ** 2).sum()), 1e-300), 1.0)
    return np.asarray((1 - share) * found + share * guess)


def settle(start: Rigged, prior: Prior, sights: Sights, bend: float, most_rounds: int = 100) -> Settled:
    """Move what is free until the robust squared error is least, noise and all.

    Parameters
    ----------
    start : cameras, clocks, water and paths to begin with.
    prior : how far each parameter may be from there.
    sights : what the cameras saw.
    bend : weight of the squared second differences of control points, world units^-2.
    most_rounds : steps at most.
    """
    bundle = Bundle(start, prior, sights, bend)
    bundle.fit_noise(start)
    rigged, rounds = start, 0
    for _ in range(8):
        rigged, used = descend(bundle, rigged, most_rounds - rounds, _SETTLED)
        rounds += used
        before = bundle.noise.copy()
        bundle.fit_noise(rigged)
        if np.abs(bundle.noise / before - 1).max() < 0.01 or rounds >= most_rounds:
            break
    (error, weight), _ = bundle.errors(rigged)
    return Settled(
        rigged,
        sights.camera,
        error,
        weight,
        bundle.noise,
        bundle.covariance(rigged),
        bundle.precision**-0.5,
        bundle.places,
        bundle.plane_places,
        bundle.index,
        rounds,
    )
