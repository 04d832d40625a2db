"""Which way bodies point: where the planes of their masks meet, near the way they swim.

A mask's long axis and the camera span a plane that holds the body's axis h: its normal n has n h = 0. Planes of several
views and the direction of swimming v, which h is near, make the quadratic form

    h' M h,   M = sum w n n' + (I - v v') / (sigma_v^2 + beta^2),

whose least eigenvector is the axis; its other eigenvalues say how well it is known. A round mask says little, so its
weight w falls with its roundness. Noise of the masks' axes and beta, by how much bodies point elsewhere than they swim,
are those of the recording. A mask does not tell head from tail: swimming does, and bodies do not turn about from frame
to frame.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..recordings import Tracks
from .silhouettes import Silhouettes

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_SPAN = 2  # frames before and after a moment over which swimming is looked at
_ROUNDS = 3  # of fitting noise and axes by turns
_ASIDE = np.radians(1.4)  # by how much bodies point elsewhere than they swim, to begin with
_NOISE = np.radians(2.0)  # of the axis of a slender mask, to begin with
_LEAST = np.radians(0.3)
_LEAST_ASIDE = np.radians(1.4)
_LASTS = 0.94  # correlation of errors of places over that span: most of them cancel in the way (train scenes)
_BENT = np.radians(0.35)  # by how much the axis of a body that beats its tail is off in all views alike (train scenes)
_KEPT = 0.5  # cosine below which two axes in a row do not say whether the body turned about
_GAP = 5  # frames over which they do
_MEDIAN = 1.4826  # standard deviations in a median of absolute errors
_AXES = 1.1774  # the same for the length of a vector in a plane


@dataclass(frozen=True)
class Axes:
    """Axes of bodies.

    Attributes
    ----------
    heading : (N, 3) unit vectors from tail to head, NaN where nothing tells.
    sigma : (N,) standard deviation of the heading in either direction, rad.
    """

    heading: Array
    sigma: Array


def fit_axes(tracks: Tracks, masks: Silhouettes | None) -> Axes:
    """Estimate the heading of every animal at every moment.

    Parameters
    ----------
    tracks : with covariances.
    masks : what their masks say; None without masks.
    """
    n = len(tracks)
    order = np.lexsort((tracks.frame, tracks.track))
    way, doubt = _swimming(tracks, order)
    noise, aside = _NOISE, _ASIDE
    planes = np.zeros((n, 3, 3))
    views = np.zeros(n, np.int64)
    if masks is not None:
        slender = (1 - np.minimum(masks.wide / masks.long, 1.0) ** 2) ** 2
        np.add.at(planes, masks.row, (slender**2)[:, None, None] * masks.normal[:, :, None] * masks.normal[:, None, :])
        np.add.at(views, masks.row, 1)
    for _ in range(_ROUNDS):
        M = planes / noise**2 + _across(way) / (doubt**2 + aside**2)[:, None, None]
        value, vector = np.linalg.eigh(M)
        axis = vector[:, :, 0]
        if masks is None:
            break
        known = (views >= 2) & np.isfinite(doubt)
        if known.sum() < 30:
            break
        off = _angle(axis[known], way[known])
        aside = max(float(np.sqrt(max(np.median(off**2) / _AXES**2 - np.median(doubt[known]) ** 2, 0.0))), _LEAST_ASIDE)
        many = (views >= 3)[masks.row]
        if many.sum() >= 30:  # three planes and two freedoms: what is left is a third of the noise's square
            left = np.abs((masks.normal * axis[masks.row]).sum(1) * slender)[many]
            free = 1 - 2 / views[masks.row[many]]
            noise = max(float(_MEDIAN * np.median(left / np.sqrt(free))), _LEAST)
    with np.errstate(divide="ignore"):
        sigma = np.sqrt((1 / value[:, 1] + 1 / value[:, 2]) / 2 + _BENT**2)
    told = (value[:, 1] > 1e-9) & (sigma < 1.0)
    heading = np.where(told[:, None], _signed(tracks, order, axis, way, doubt), np.nan)
    return Axes(heading, np.where(told & np.isfinite(heading[:, 0]), sigma, np.nan))


def _swimming(tracks: Tracks, order: Ints) -> tuple[Array, Array]:
    """Directions of swimming (N, 3), and their standard deviations (N,), rad; infinite where an animal rests."""
    n = len(order)
    place = np.arange(n)
    frame, track = tracks.frame[order], tracks.track[order]
    before, after = place.copy(), place.copy()
    for k in range(1, _SPAN + 1):
        back, on = np.maximum(place - k, 0), np.minimum(place + k, n - 1)
        before = np.where((track[back] == track) & (frame - frame[back] <= 2 * _SPAN), back, before)
        after = np.where((track[on] == track) & (frame[on] - frame <= 2 * _SPAN), on, after)
    position = tracks.position[order]
    moved = position[after] - position[before]
    length = np.linalg.norm(moved, axis=1)
    spread = np.trace(tracks.covariance[order], axis1=1, axis2=2) / 3
    with np.errstate(invalid="ignore", divide="ignore"):
        doubt = np.sqrt((1 - _LASTS) * (spread[after] + spread[before])) / length
        moved = moved / length[:, None]
    moved[length == 0] = 0.0
    doubt[~np.isfinite(doubt) | (length == 0)] = np.inf
    way, sigma = np.empty((n, 3)), np.empty(n)
    way[order], sigma[order] = moved, doubt
    return way, sigma


def _across(way: Array) -> Array:
    """(N, 3, 3) what takes the part along directions away; nothing where there is none."""
    out = np.eye(3) - way[:, :, None] * way[:, None, :]
    out[(way == 0).all(1)] = 0.0
    return np.asarray(out)


def _angle(a: Array, b: Array) -> Array:
    """(N,) angles between axes, rad."""
    return np.asarray(np.arccos(np.clip(np.abs((a * b).sum(1)), 0, 1)))


def _signed(tracks: Tracks, order: Ints, axis: Array, way: Array, doubt: Array) -> Array:
    """Point axes (N, 3) forwards: one sign for as long as a body can be followed, that of its swimming."""
    a, frame, track = axis[order], tracks.frame[order], tracks.track[order]
    step = (a[1:] * a[:-1]).sum(1)
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(track) != 0) | (np.diff(frame) > _GAP) | (np.abs(step) < _KEPT)
    flip = np.append(False, step < 0) & ~new
    turned = np.cumsum(flip)
    piece = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    sign = np.where((turned - turned[first][piece]) % 2 == 1, -1.0, 1.0)
    trust = 1 / (1 + doubt[order] ** 2)
    forwards = np.bincount(piece, weights=sign * trust * (a * way[order]).sum(1), minlength=len(first))
    out = np.empty_like(axis)
    out[order] = a * (sign * np.where(forwards < 0, -1.0, 1.0)[piece])[:, None]
    out[order[(forwards == 0)[piece]]] = np.nan
    return out
