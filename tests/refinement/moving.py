"""Points on smooth paths before known cameras with known clocks, and what the cameras saw of them."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from trackfish3d.cameras import CameraRig
from trackfish3d.refinement.adjustment import Setup
from trackfish3d.refinement.kernels import Sights
from trackfish3d.refinement.rigs import state_of
from trackfish3d.refinement.sights import Pieces
from trackfish3d.synfish.rigs import common_point


@dataclass(frozen=True)
class World:
    rig: CameraRig
    offset: np.ndarray
    rate: np.ndarray
    lean: np.ndarray
    pieces: Pieces
    middle: np.ndarray

    def setup(self, rig: CameraRig) -> Setup:
        """Cameras as believed, clocks as if nothing were wrong."""
        clock = np.zeros((len(rig), 4))
        clock[:, 0], clock[:, 1] = self.middle, 1.0
        return Setup(state_of(rig), clock, self.middle)

    def truth(self) -> Setup:
        setup = self.setup(self.rig)
        clock = setup.clock + np.column_stack([self.offset, self.rate, np.zeros(len(self.rig)), self.lean])
        return replace(setup, clock=clock)


def world(rig, seed=0, animals=8, frames=150, noise=0.5, offset=None, rate=None, lean=None, reach=3.0):
    rng = np.random.default_rng(seed)
    count = len(rig)
    offset, rate, lean = (np.zeros(count) if x is None else np.asarray(x, float) for x in (offset, rate, lean))
    knots = np.arange(-20.0, frames + 21, 12)
    middle = common_point(rig)
    paths = [CubicSpline(knots, middle + reach * rng.standard_normal((len(knots), 3))) for _ in range(animals)]
    camera, path, own, pixel = [], [], [], []
    for c in range(count):
        for k, curve in enumerate(paths):
            f = np.flatnonzero(rng.random(frames) < 0.9).astype(float)
            time = f + offset[c] + rate[c] * (f - frames / 2)
            velocity = curve(time, 1)
            ahead = lean[c] * velocity / np.linalg.norm(velocity, axis=1, keepdims=True)
            seen = rig[c].project(curve(time) + ahead) + noise * rng.standard_normal((len(f), 2))
            good = np.isfinite(seen).all(1)
            camera.append(np.full(good.sum(), c))
            path.append(np.full(good.sum(), k))
            own.append(f[good])
            pixel.append(seen[good])
    camera, path, own, pixel = (np.concatenate(x) for x in (camera, path, own, pixel))
    height = np.array([c.size[1] for c in rig])
    sights = Sights(camera, path, own, pixel, pixel[:, 1] / height[camera] - 0.5, np.ones(len(camera)))
    time = np.tile(np.arange(frames, dtype=float), animals)
    position = np.concatenate([p(np.arange(frames)) for p in paths]) + 0.02 * rng.standard_normal((len(time), 3))
    held = np.arange(animals) % 4 == 1
    pieces = Pieces(
        sights, np.repeat(np.arange(animals), frames), time, position, held, np.arange(animals), np.zeros(animals)
    )
    return World(rig, offset, rate, lean, pieces, np.full(count, frames / 2))


def off_by(new: CameraRig, true: CameraRig) -> tuple[float, float]:
    """Largest turn (degrees) and distance (world units) of a camera, after the best motion and scale of the world."""

    def moved(x):
        turn = Rotation.from_rotvec(x[:3]).as_matrix()
        places = [np.exp(x[6]) * turn @ a.centre + x[3:6] - b.centre for a, b in zip(new, true, strict=True)]
        turns = [Rotation.from_matrix(a.R @ turn.T @ b.R.T).as_rotvec() for a, b in zip(new, true, strict=True)]
        return np.array(turns), np.array(places)

    best = least_squares(lambda x: np.concatenate([30 * moved(x)[0].ravel(), moved(x)[1].ravel()]), np.zeros(7)).x
    turns, places = moved(best)
    return float(np.degrees(np.linalg.norm(turns, axis=1).max())), float(np.linalg.norm(places, axis=1).max())
