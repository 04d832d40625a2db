"""One adjustment: pieces of paths in, better cameras, clocks and water out; and how well cameras explain pieces."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..calibration.adjust import State
from ..core.errors import TrackFishError
from .bundle import POSE, WATER, Prior, Rigged, Settled, settle
from .kernels import CLOCK, LEAN, SHARED
from .paths import lay_paths, points_at, usual_acceleration
from .sights import Pieces

Array = NDArray[np.float64]
_KNOTS = 2.0  # frames between knots
_LAG = 3  # rows between the points of an acceleration
_TURN = np.radians(2.0)  # how far poses may be off, as a rule
_MOVE = 0.1  # the same for places, in distances to the animals
_HEIGHT = 0.1  # of water planes, in distances to the camera
_TILT = np.radians(1.0)
_FOCAL = 0.02  # of the focal length
_BENDS = 0.05  # of the first radial coefficient
_INDEX = 0.01
_LEAN = 0.01  # in distances to the nearest camera
_RATE = 2e-4
_READOUT = 0.5
_HUBER = 2.5 * np.sqrt(2.0)


class RefusedError(TrackFishError):
    """The tracks cannot tell; one line says why."""


@dataclass(frozen=True)
class Freedom:
    """What may move, beside the poses.

    Parameters
    ----------
    clocks : offset of every clock but the first.
    rates : the same for their rates.
    water : height and tilt of the planes.
    index : of the water.
    focal : focal lengths.
    distortion : the first radial coefficient of every lens.
    leans : of every camera but the first: how far ahead along the body its points are.
    readout : time from the first row to the last, frames (rolling shutter).
    poses : of all cameras; False holds them.
    only : cameras whose poses may move, the others being held; None for all.
    planes : of water whose height may change, their tilt being held; None for height and tilt of all.
    """

    clocks: bool = True
    rates: bool = True
    water: bool = True
    index: bool = False
    focal: bool = False
    distortion: bool = False
    leans: bool = True
    readout: bool = False
    poses: bool = True
    only: tuple[int, ...] | None = None
    planes: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Setup:
    """Cameras, water and clocks without paths: what an adjustment begins with and ends with."""

    state: State
    clock: Array
    middle: Array


def prior_for(setup: Setup, freedom: Freedom, middle: Array, frames: float) -> Prior:
    """Say how far everything may be from where it is believed to be.

    Parameters
    ----------
    setup : cameras, water and clocks as believed.
    freedom : what may move.
    middle : (3,) of the animals.
    frames : how far a clock may be off.
    """
    s = setup.state
    centre = -np.einsum("cji,cj->ci", s.R, s.t)
    away = np.linalg.norm(centre - middle, axis=1)
    camera = np.zeros((len(away), SHARED))
    if freedom.poses:
        loose = list(range(len(away)) if freedom.only is None else freedom.only)
        camera[loose, POSE : POSE + 3], camera[loose, POSE + 3 : WATER] = _TURN, _MOVE * away[loose, None]
    if freedom.focal:
        camera[:, 0] = camera[:, 1] = _FOCAL * s.lens[:, 0]
    if freedom.distortion:
        camera[:, 4] = _BENDS
    camera[1:, CLOCK] = frames * freedom.clocks
    camera[1:, CLOCK + 1] = _RATE * freedom.rates
    camera[1:, LEAN] = _LEAN * float(away.min()) * freedom.leans
    camera[:, CLOCK + 2] = _READOUT * freedom.readout
    plane = np.zeros((len(s.point), 3))
    for q in range(len(plane)):
        if freedom.water and (freedom.planes is None or q in freedom.planes):
            above = np.abs((centre[s.plane == q] - s.point[q]) @ s.normal[q])
            tilt = _TILT if freedom.planes is None else 0.0
            plane[q] = _HEIGHT * float(above.mean()), tilt, tilt
    return Prior(camera, plane, _INDEX * freedom.index if len(plane) else 0.0)


def with_paths(setup: Setup, pieces: Pieces) -> tuple[Rigged, float]:
    """Lay paths through the pieces; the weight of their bending is the recording's own.

    Parameters
    ----------
    setup : cameras, water and clocks.
    pieces : of paths.
    """
    bent = usual_acceleration(pieces.path, pieces.time, pieces.position, _LAG)
    spread = float(np.linalg.norm(np.std(pieces.position, axis=0))) + 1e-12
    bend = (2 * max(bent, 1e-7 * spread) * _KNOTS**2) ** -2.0
    fine = (1e-3 * spread) ** 2  # squared distance by which a path may pass a point of the tracker
    paths = lay_paths(pieces.path, pieces.time, pieces.position, _KNOTS, bend * fine)
    return Rigged(setup.state, setup.clock, setup.middle, paths), bend


def adjust_pieces(setup: Setup, freedom: Freedom, pieces: Pieces, frames: float = 2.0) -> tuple[Setup, Settled]:
    """Adjust what is free so that the pieces are missed least.

    Parameters
    ----------
    setup : cameras, water and clocks to begin with.
    freedom : what may move.
    pieces : of paths.
    frames : how far a clock may be off.
    """
    start, bend = with_paths(setup, pieces)
    prior = prior_for(setup, freedom, np.median(pieces.position, axis=0), frames)
    done = settle(start, prior, pieces.sights, bend)
    return replace(setup, state=done.rigged.state, clock=done.rigged.clock), done


def missed(setup: Setup, pieces: Pieces, noise: Array) -> tuple[Array, Array, Array]:
    """How well cameras as they stand explain pieces: only the paths may move.

    Parameters
    ----------
    setup : cameras, water and clocks.
    pieces : of paths.
    noise : (C,) px, of each camera.

    Returns
    -------
    cost : (K,) mean robust squared error of each piece, in standard deviations.
    error : (N, 2) px, of every sight.
    point : (M, 3) where the paths are, at the rows of the pieces.
    """
    start, bend = with_paths(setup, pieces)
    count = len(setup.clock)
    still = Prior(np.zeros((count, SHARED)), np.zeros((len(setup.state.point), 3)))
    done = settle(start, still, pieces.sights, bend, 30)
    size = np.hypot(*done.error.T) / noise[pieces.sights.camera]
    loss = np.where(size > _HUBER, _HUBER * (2 * size - _HUBER), size**2)
    number = np.maximum(np.bincount(pieces.sights.path), 1)
    point = points_at(done.rigged.paths, pieces.path, pieces.time)[0]
    return np.bincount(pieces.sights.path, weights=loss) / number, done.error, point
