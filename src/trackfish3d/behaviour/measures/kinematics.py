"""How one animal moves: free functions on arrays of any leading shape.

Lengths are in world units, times in the unit of the velocity given (frames, or seconds); a name says the rest. What is
NaN stays NaN, and poisons only what is made of it.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def speed(velocity: ArrayLike) -> Array:
    """(...) length of the velocity (..., D)."""
    v = np.asarray(velocity, dtype=np.float64)
    return np.asarray(np.sqrt(np.einsum("...i,...i->...", v, v)))


def present(values: ArrayLike) -> NDArray[np.bool_]:
    """(...) whether all numbers of (..., D) are finite."""
    finite = np.isfinite(np.asarray(values, dtype=np.float64))
    out = np.ones(finite.shape[:-1], np.bool_)
    for k in range(finite.shape[-1]):  # reducing over an axis of three is many times slower
        out &= finite[..., k]
    return out


def heading(velocity: ArrayLike) -> Array:
    """(..., D) unit vector of the velocity (..., D); NaN for an animal that stands still."""
    v = np.asarray(velocity, dtype=np.float64)
    length = speed(v)[..., None]
    return np.asarray(np.divide(v, length, out=np.full_like(v, np.nan), where=length > 0))


def acceleration_along(velocity: ArrayLike, acceleration: ArrayLike) -> Array:
    """(...) change of the speed, the part of the acceleration (..., D) along the velocity; positive in a burst."""
    return np.asarray(np.einsum("...i,...i->...", heading(velocity), np.asarray(acceleration, dtype=np.float64)))


def turning_rad(velocity: ArrayLike, acceleration: ArrayLike) -> Array:
    """(...) angle by which the heading turns in a unit of time, rad, from velocity and acceleration (..., D).

    It is the acceleration across the heading over the speed, so it needs no difference of angles and no plane.
    """
    v, a = np.asarray(velocity, dtype=np.float64), np.asarray(acceleration, dtype=np.float64)
    ahead = heading(v)
    across = a - ahead * np.einsum("...i,...i->...", ahead, a)[..., None]
    length = speed(v)
    return np.asarray(np.divide(speed(across), length, out=np.full_like(length, np.nan), where=length > 0))


def curvature_per_world(velocity: ArrayLike, acceleration: ArrayLike) -> Array:
    """(...) curvature of the path, 1 / world: turning over speed, 1 / radius on a circle."""
    length = speed(velocity)
    return np.asarray(
        np.divide(turning_rad(velocity, acceleration), length, out=np.full_like(length, np.nan), where=length > 0)
    )


def pitch_rad(velocity: ArrayLike, up: ArrayLike) -> Array:
    """(...) angle of the velocity (..., 3) above the horizon, rad, ``up`` (3,) a unit vector."""
    return np.asarray(np.arcsin(np.clip(heading(velocity) @ np.asarray(up, dtype=np.float64), -1, 1)))


def depth_world(position: ArrayLike, up: ArrayLike, surface_world: float) -> Array:
    """(...) distance of positions (..., 3) below the surface, which lies ``surface_world`` along ``up`` (3,), world."""
    return np.asarray(surface_world - np.asarray(position, dtype=np.float64) @ np.asarray(up, dtype=np.float64))


def path_length_world(position: ArrayLike) -> Array:
    """(...) length of paths (T, ..., D), world; steps to or from a missing point are left out."""
    step = speed(np.diff(np.asarray(position, dtype=np.float64), axis=0))
    return np.asarray(np.nansum(step, axis=0))


def straightness(position: ArrayLike, window_frames: int) -> Array:
    """(T, ...) distance between the ends of a window over the path between them, 0 to 1; windows are centred.

    NaN within half a window of the ends, where any point of the window is missing, and where nothing moved. Position
    is (T, ..., D); ``window_frames`` the number of steps, made even.
    """
    x = np.asarray(position, dtype=np.float64)
    half = max(1, window_frames // 2)
    out = np.full(x.shape[:-1], np.nan)
    if len(x) <= 2 * half:
        return out
    step = speed(np.diff(x, axis=0))
    missing = ~np.isfinite(step)
    zero = np.zeros((1, *step.shape[1:]))
    total = np.concatenate([zero, np.cumsum(np.where(missing, 0.0, step), axis=0)])
    gaps = np.concatenate([zero, np.cumsum(missing, axis=0)])
    path = total[2 * half :] - total[: -2 * half]
    net = speed(x[2 * half :] - x[: -2 * half])
    good = (gaps[2 * half :] == gaps[: -2 * half]) & (path > 0)
    # Sums of steps and the straight line round differently: never above 1.
    out[half:-half] = np.minimum(np.divide(net, path, out=np.full_like(net, np.nan), where=good), 1.0)
    return out


def tortuosity(position: ArrayLike, window_frames: int) -> Array:
    """(T, ...) path over the distance between its ends in centred windows, 1 for a straight line, inf for a circle."""
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / straightness(position, window_frames))
