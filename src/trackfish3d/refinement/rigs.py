"""From a rig to what the adjustment moves, and back."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..calibration.adjust import State
from ..calibration.solve import camera_of
from ..cameras import AIR, Camera, CameraRig
from ..cameras import layout as at
from ..core.errors import InputError

Array = NDArray[np.float64]
_SAME = 1e-9  # of the camera's distance: planes that differ less are one


def state_of(rig: CameraRig) -> State:
    """Return cameras and water of a rig as the adjustment takes them; cameras that look through one plane share it.

    Parameters
    ----------
    rig : cameras; the water behind all of them has one index.
    """
    lens = np.stack([c.packed for c in rig])
    lens[:, at.LENS_DISTORTED] = 1.0
    state = State(
        lens, np.stack([c.R for c in rig]), np.stack([c.t for c in rig]), np.zeros((0, 3, 3)), np.zeros((0, 3))
    )
    wet = [c for c in rig if c.interfaces]
    if not wet:
        return state
    state.n_water = wet[0].interfaces[-1].n_animal
    state.layers = np.zeros((len(rig), max(len(c.interfaces) for c in wet) - 1, 2))
    for k, camera in enumerate(rig):
        if camera.interfaces:
            _add_water(state, k, camera)
    return state


def _add_water(state: State, k: int, camera: Camera) -> None:
    faces = camera.interfaces
    parallel = all(float(f.normal @ faces[0].normal) > 1 - 1e-9 for f in faces)
    if faces[0].n_camera != AIR or not parallel or faces[-1].n_animal != state.n_water:
        raise InputError(
            f"camera {camera.name}: refine knows cameras in air, parallel panes and one kind of water; this one has "
            "something else before it"
        )
    point, normal = faces[0].point, faces[0].normal
    reach = _SAME * max(abs(float((camera.centre - point) @ normal)), 1e-9)
    for q in range(len(state.point)):
        if state.normal[q] @ normal > 1 - _SAME and abs(float((state.point[q] - point) @ normal)) < reach:
            state.plane[k] = q
            break
    else:
        state.point, state.normal = np.vstack([state.point, point]), np.vstack([state.normal, normal])
        state.plane[k] = len(state.point) - 1
    state.n_layers[k] = len(faces) - 1
    for i, (a, b) in enumerate(pairwise(faces)):
        state.layers[k, i] = float((a.point - b.point) @ normal), a.n_animal


def rig_of(state: State, rig: CameraRig) -> CameraRig:
    """Return the rig with what was adjusted.

    Parameters
    ----------
    state : cameras and water.
    rig : the rig that it was made of, for names, sizes and lens models.
    """
    cameras = [camera_of(state, k, camera) for k, camera in enumerate(rig)]
    return CameraRig(tuple(cameras), rig.units)


def moved_state(state: State, scale: float, turn: Array, move: Array) -> State:
    """Return the same cameras and water in a world moved by ``X -> scale turn X + move``.

    Parameters
    ----------
    state : cameras and water.
    scale : of lengths.
    turn : (3, 3) rotation.
    move : (3,) shift.
    """
    centre = -np.einsum("cji,cj->ci", state.R, state.t)
    R = state.R @ turn.T
    layers = state.layers.copy()
    layers[..., 0] *= scale
    return replace(
        state,
        R=R,
        t=-np.einsum("cij,cj->ci", R, scale * centre @ turn.T + move),
        point=scale * state.point @ turn.T + move,
        normal=state.normal @ turn.T,
        layers=layers,
    )


def similarity(source: Array, target: Array) -> tuple[float, Array, Array]:
    """Scale, rotation (3, 3) and shift (3,) that bring points nearest to others, in the mean of squares (Umeyama 1991).

    Parameters
    ----------
    source : (N, 3) points.
    target : (N, 3) where they shall be.
    """
    a, b = source - source.mean(0), target - target.mean(0)
    u, s, vt = np.linalg.svd(b.T @ a)
    sign = np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))])
    turn = u @ sign @ vt
    scale = float((s * np.diag(sign)).sum() / (a**2).sum())
    return scale, turn, target.mean(0) - scale * turn @ source.mean(0)
