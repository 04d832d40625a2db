"""Joint bundle adjustment: lenses, camera poses, board poses and water, so that all corners are missed least.

Levenberg-Marquardt with the derivatives of `_observe`. Every board is seen in a few pictures only, so the boards are
eliminated first (Schur complement) and what is left to solve has the size of the cameras, however many boards there
are; its inverse is their covariance. Corners that lie are weighed down by Huber's loss.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.transform import Rotation

from ..cameras import layout as at
from ..maths.descent import descend
from .observe import BOARD, COLUMNS, accumulate, observe_all

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
LENS_PLACES = np.array([at.FX, at.FY, at.CX, at.CY, *range(at.DIST, at.DIST + 8)])
_PER_CAMERA = BOARD  # columns of lens and pose stand before those of the board
_UNSEEN_PX = 1000.0  # error of a corner that the camera cannot see as it stands
_HUBER = 2.5  # standard deviations beyond which an error counts linearly; costs 1.5 % of the precision where none lie


@dataclass
class State:
    """Everything that is adjusted. Cameras C, boards F, water planes Q.

    ``lens`` (C, P) packed cameras, of which only the lens counts; ``R`` (C, 3, 3), ``t`` (C, 3); ``board_R``
    (F, 3, 3), ``board_t`` (F, 3); ``point``, ``normal`` (Q, 3); ``plane`` (C,) which plane each camera looks through,
    -1 none; ``layers`` (C, L, 2) thickness and index of panes, ``n_layers`` (C,); ``n_water``; ``aspect`` of the board.
    """

    lens: Array
    R: Array
    t: Array
    board_R: Array
    board_t: Array
    point: Array = field(default_factory=lambda: np.zeros((0, 3)))
    normal: Array = field(default_factory=lambda: np.zeros((0, 3)))
    plane: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    layers: Array = field(default_factory=lambda: np.zeros((0, 0, 2)))
    n_layers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    n_water: float = 1.333
    aspect: float = 1.0

    def __post_init__(self) -> None:
        count = len(self.lens)
        if not len(self.plane):
            self.plane = np.full(count, -1)
        if not len(self.layers):
            self.layers, self.n_layers = np.zeros((count, 0, 2)), np.zeros(count, np.int64)

    def planes(self) -> Array:
        """(C, 13) each camera's plane for `_observe.observe`: there or not, point, normal, two axes across."""
        rows = np.zeros((len(self.lens), 13))
        for c, q in enumerate(self.plane):
            if q >= 0:
                rows[c] = [1.0, *self.point[q], *self.normal[q], *across(self.normal[q]).ravel()]
        return rows


@dataclass
class Free:
    """What may move: ``lens`` (C, 12), ``pose`` (C, 6), ``board`` (F, 6), ``plane`` (Q, 3) height and tilts, ``index``.

    ``prior`` (C, 12): standard deviation of what is known of the lens beforehand, infinite where nothing is; ``square``
    (C,): of fx - fy around 0, px. Sensors have square pixels, and few boards tell that poorly.
    """

    lens: Bools
    pose: Bools
    board: Bools
    plane: Bools
    index: bool = False
    aspect: bool = False
    prior: Array | None = None
    square: Array | None = None


@dataclass(frozen=True, eq=False)
class Corners:
    """Corners as observed: ``camera``, ``board``, ``corner`` (N,), ``pixel`` (N, 2), ``sigma`` (N,) px.

    ``points`` (K, 3) are what ``corner`` counts; ``dry`` (N,) marks pictures taken without the water, wherever their
    board may be.
    """

    camera: Ints
    board: Ints
    corner: Ints
    pixel: Array
    sigma: Array
    points: Array
    dry: Bools
    n_board: int  # the first so many points are the board's, which its aspect stretches


@dataclass(frozen=True, eq=False)
class Adjusted:
    """The outcome.

    ``error`` (N, 2) px, observed minus predicted; ``weight`` (N,) in 0..1, below 1 for corners that were weighed
    down; ``deviation`` standard deviations by camera (C, 18) in the order of `_observe`, NaN where fixed;
    ``index_deviation``, ``aspect_deviation``; ``scale`` robust standard deviation of the errors, px.
    """

    state: State
    error: Array
    weight: Array
    deviation: Array
    index_deviation: float
    aspect_deviation: float
    scale: float
    rounds: int


def across(normal: Array) -> Array:
    """(2, 3) unit vectors across a normal (3,)."""
    return np.asarray(np.linalg.svd(normal[None])[2][1:])


def predict(state: State, corners: Corners, want: Bools | None = None) -> tuple[Array, Array, Bools]:
    """Pixels (N, 2), derivatives (N, 2, COLUMNS) and whether each corner can be seen (N,)."""
    n = len(corners.camera)
    aspect = np.where(np.arange(len(corners.points)) < corners.n_board, state.aspect, 1.0)
    pixel, row, seen = np.empty((n, 2)), np.empty((n, 2, COLUMNS)), np.empty(n, np.bool_)
    want = np.ones((len(state.lens), 8), np.bool_) if want is None else want
    observe_all(
        np.array(state.lens),
        state.R,
        state.t,
        state.planes(),
        state.layers,
        state.n_layers,
        float(state.n_water),
        np.ascontiguousarray(want),
        state.board_R,
        state.board_t,
        corners.points,
        aspect,
        corners.camera,
        corners.board,
        corners.corner,
        corners.dry,
        pixel,
        row,
        seen,
    )
    return pixel, row, seen


def adjust(state: State, free: Free, corners: Corners, most_rounds: int = 200) -> Adjusted:
    """Move what is free until the robust squared pixel error is least."""
    problem = _Problem(free, corners, state.lens[:, LENS_PLACES])
    scale = problem.scale(state)
    rounds = 0
    for _ in range(6):
        state, used = descend(_At(problem, scale), state, most_rounds - rounds)
        rounds += used
        new = problem.scale(state)
        settled = abs(new - scale) < 0.01 * scale
        scale = new
        if settled or rounds >= most_rounds:
            break
    error, weight, _, _ = problem.errors(state, scale)
    deviation, index, aspect = problem.deviations(state, scale)
    return Adjusted(state, error, weight, deviation, index, aspect, scale, rounds)


@dataclass(frozen=True)
class _At:
    """The problem at a fixed robust scale, as `maths.descent` takes it."""

    problem: "_Problem"
    scale: float

    def errors(self, state: State) -> tuple[tuple[Array, Array, Array], float]:
        """Return errors, weights and derivatives, and the cost."""
        error, weight, row, cost = self.problem.errors(state, self.scale)
        return (error, weight, row), cost

    def normal(self, state: State, errors: tuple[Array, Array, Array]) -> tuple[Array, ...]:
        """Form the normal equations."""
        return self.problem.normal(state, *errors, self.scale)

    def step(self, normal: tuple[Array, ...], damping: float) -> tuple[Array, Array] | None:
        """Solve for a step of what is shared and of the boards."""
        return self.problem.step(normal, damping)

    def moved(self, state: State, step: tuple[Array, Array]) -> State:
        """Return the state after a step."""
        return self.problem.moved(state, *step)


class _Problem:
    """The least-squares problem: what is free, numbered, and the corners."""

    def __init__(self, free: Free, corners: Corners, expected: Array) -> None:
        self.free, self.corners, self.expected = free, corners, expected
        self.belief = np.zeros(free.lens.shape) if free.prior is None else np.where(free.lens, free.prior**-2.0, 0.0)
        count = len(free.lens)
        both = free.lens[:, 0] & free.lens[:, 1]
        self.squareness = np.zeros(count) if free.square is None else np.where(both, free.square**-2.0, 0.0)
        flags = np.concatenate([free.lens, free.pose], axis=1)
        self.shared_camera = np.full((count, _PER_CAMERA), -1)
        self.shared_camera[flags] = np.arange(flags.sum())
        size = int(flags.sum())
        self.index = size if free.index else -1
        size += int(free.index)
        self.aspect = size if free.aspect else -1
        size += int(free.aspect)
        self.shared_plane = np.full(free.plane.shape, -1)
        self.shared_plane[free.plane] = size + np.arange(free.plane.sum())
        self.size = size + int(free.plane.sum())

    def places(self, state: State) -> Ints:
        """(C, SHARED) where each camera's columns, those of its water and that of the aspect stand."""
        water = np.full((len(state.plane), 4), -1)
        wet = state.plane >= 0
        water[wet, 0] = self.index
        water[wet, 1:] = self.shared_plane[state.plane[wet]]
        return np.concatenate([self.shared_camera, water, np.full((len(water), 1), self.aspect)], axis=1)

    def errors(self, state: State, scale: float) -> tuple[Array, Array, Array, float]:
        """Errors (N, 2) px, weights (N,), derivatives, and the cost."""
        pixel, row, seen = predict(state, self.corners, self.free.lens[:, 4:])
        error = self.corners.pixel - pixel
        seen = seen & np.isfinite(pixel).all(1)
        error[~seen] = _UNSEEN_PX
        size = np.linalg.norm(error, axis=1) / self.corners.sigma
        limit = _HUBER * scale * np.sqrt(2.0)
        weight = np.where(size > limit, limit / np.maximum(size, 1e-12), 1.0) * seen
        cost = np.where(size > limit, limit * (2 * size - limit), size**2).sum()
        cost += scale**2 * (self.belief * (state.lens[:, LENS_PLACES] - self.expected) ** 2).sum()
        cost += scale**2 * (self.squareness * (state.lens[:, at.FX] - state.lens[:, at.FY]) ** 2).sum()
        return error, weight, row, float(cost)

    def scale(self, state: State) -> float:
        """Robust standard deviation of a coordinate's error, in units of the corners' sigma."""
        error = self.errors(state, 1.0)[0] / self.corners.sigma[:, None]
        size = np.linalg.norm(error, axis=1)
        return max(float(np.median(size)) / 1.1774, 1e-6)  # the median of a Rayleigh distribution is 1.1774 sigma

    def normal(self, state: State, error: Array, weight: Array, row: Array, scale: float) -> tuple[Array, ...]:
        """Form the normal equations; rows of boards that do not move are those of an identity."""
        f, m = len(self.free.board), self.size
        H, g = np.zeros((m, m)), np.zeros(m)
        A, B, b = np.zeros((f, 6, 6)), np.zeros((f, m, 6)), np.zeros((f, 6))
        w = weight / self.corners.sigma**2
        accumulate(row, error, w, self.corners.camera, self.corners.board, self.places(state), H, g, A, B, b)
        lens = self.shared_camera[:, :12][self.free.lens]
        known = scale**2 * self.belief[self.free.lens]
        H[lens, lens] += known
        g[lens] += known * (self.expected - state.lens[:, LENS_PLACES])[self.free.lens]
        for c in np.flatnonzero(self.squareness):
            x, y = self.shared_camera[c, :2]
            w = scale**2 * self.squareness[c]
            off = w * (state.lens[c, at.FX] - state.lens[c, at.FY])
            H[x, x] += w
            H[y, y] += w
            H[x, y] -= w
            H[y, x] -= w
            g[x] -= off
            g[y] += off
        held = ~self.free.board
        A[held[:, :, None] | held[:, None, :]] = 0.0
        B.transpose(0, 2, 1)[held] = 0.0
        b[held] = 0.0
        empty = held | (A[:, range(6), range(6)] == 0)
        A[:, range(6), range(6)] += empty
        return H, g, A, B, b

    def step(self, parts: tuple[Array, ...], damping: float) -> tuple[Array, Array] | None:
        """Solve for the step of shared parameters (M,) and boards (F, 6)."""
        H, g, A, B, b = parts
        A = A.copy()
        A[:, range(6), range(6)] *= 1 + damping
        try:
            inverse = np.linalg.inv(A)
        except np.linalg.LinAlgError:
            return None
        if not self.size:
            return np.zeros(0), np.einsum("fij,fj->fi", inverse, b)
        BA = B @ inverse
        flat, across_ = B.transpose(1, 0, 2).reshape(self.size, -1), BA.transpose(1, 0, 2).reshape(self.size, -1)
        diagonal = np.diag(H).copy()
        diagonal[diagonal <= 0] = 1.0
        S = H - across_ @ flat.T
        S[range(self.size), range(self.size)] += damping * diagonal
        unit = 1 / np.sqrt(diagonal)
        try:
            solver = cho_factor(S * unit[:, None] * unit)
        except np.linalg.LinAlgError:
            return None
        x = unit * cho_solve(solver, unit * (g - across_ @ b.ravel()))
        y = np.einsum("fij,fj->fi", inverse, b - np.einsum("fmi,m->fi", B, x))
        return (x, y) if np.isfinite(x).all() and np.isfinite(y).all() else None

    def moved(self, state: State, x: Array, y: Array) -> State:
        """Return the state after a step."""
        wide = np.append(x, 0.0)  # place -1, what is fixed, reads the zero
        step = wide[self.shared_camera]
        lens = state.lens.copy()
        lens[:, LENS_PLACES] += step[:, :12]
        y = np.where(self.free.board, y, 0.0)
        new = replace(
            state,
            lens=lens,
            R=Rotation.from_rotvec(step[:, 12:15]).as_matrix() @ state.R,
            t=state.t + step[:, 15:],
            board_R=Rotation.from_rotvec(y[:, :3]).as_matrix() @ state.board_R,
            board_t=state.board_t + y[:, 3:],
            n_water=state.n_water + wide[self.index],
            aspect=state.aspect + wide[self.aspect],
        )
        if len(state.point):
            height, tilt = wide[self.shared_plane[:, 0]], wide[self.shared_plane[:, 1:]]
            new.point = state.point + height[:, None] * state.normal
            axes = np.stack([across(n) for n in state.normal])
            normal = state.normal + np.einsum("qk,qki->qi", tilt, axes)
            new.normal = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        return new

    def deviations(self, state: State, scale: float) -> tuple[Array, float, float]:
        """Tell standard deviations of the cameras (C, 18), water's index and board's aspect, NaN where they are fixed.

        Directions that the corners do not tell get a very large one instead of an infinite one.
        """
        error, weight, row, _ = self.errors(state, scale)
        H, _, A, B, _ = self.normal(state, error, weight, row, scale)
        out = np.full(self.shared_camera.shape, np.nan)
        if not self.size:
            return out, np.nan, np.nan
        BA = B @ np.linalg.pinv(A, rcond=1e-12, hermitian=True)
        S = H - BA.transpose(1, 0, 2).reshape(self.size, -1) @ B.transpose(1, 0, 2).reshape(self.size, -1).T
        diagonal = np.diag(H).copy()
        diagonal[diagonal <= 0] = 1.0
        unit = 1 / np.sqrt(diagonal)
        values, vectors = np.linalg.eigh(S * unit[:, None] * unit)
        variance = ((vectors**2) / np.maximum(values, 1e-12)).sum(axis=1) * unit**2
        known = 2 * int((weight > 0).sum()) - self.size - int(self.free.board.sum())
        r2 = float((weight[:, None] * (error / self.corners.sigma[:, None]) ** 2).sum()) / max(known, 1)
        deviation = np.sqrt(variance * r2)
        out[self.shared_camera >= 0] = deviation[self.shared_camera[self.shared_camera >= 0]]
        deviation = np.append(deviation, np.nan)  # place -1
        return out, float(deviation[self.index]), float(deviation[self.aspect])
