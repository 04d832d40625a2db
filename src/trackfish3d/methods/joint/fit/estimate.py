"""Fit what the tracker believes to the recording, without labels: the parameters under which its own long tracks are
most likely.

Detections are held fixed to the tracks that a first run gave them. Pixel noise and acceleration maximise the
likelihood of those tracks, chances and false detections are counted, and the cues' scales come from how size and axis
change within a track and differ between animals.
"""

import math
from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.stats import chi2

from ....cameras.rig import CameraRig
from ....cameras.triangulation import solve3
from ....core.compiled import KERNEL, helper
from ....maths.kalman import copy_state, predict
from ..bodies.fitting import fit_shape
from ..bodies.usual import explained
from ..cues import COVER
from ..kernels import TAIL_SCALE, TAIL_SHARE, absorb, add_dart
from ..model import TrackingModel
from ..observations import FLOOR_PX, Observations
from ..refinement.filtering import linearised
from ..refinement.trajectories import Trajectories

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
_SHORTEST = 8  # frames; shorter tracks may be chance
_STEP = math.sqrt(2.0)  # between accelerations that are tried
_MOST_STEPS = 8
_MOST_ROWS = 3000  # of tracks that motion is fitted to
_DART_SPEEDS = 3.0  # a dart's change of velocity, in usual velocities along an axis, or ...
_DART_SCALE = 12.0  # ... in usual accelerations, whichever is more
_SCALE_ROUNDS = 40
_RELAXED = 1.8  # steps of expectation-maximisation are short
_CLIPPED = 0.95  # share of misfits that are taken as they are
_WILD = 0.999  # share of misfits that are not wild, were they Gaussian
_MANY_WILD = 0.05  # share of wild ones that is too large for a few wrong detections
_APART = (4.0, 6.0)  # times the usual noise: from none to all of it is believed ...
_BETTER = (6.0, 8.0)  # ... and so many times less of it, as the view that decides alone shows no misfit
_MOST_MEETINGS = 400  # rows of three views that cameras are judged by
_PRIOR = 20.0  # detections' worth of the first model that a count starts from


def fit(
    rig: CameraRig,
    obs: Observations,
    paths: Trajectories,
    frames: int,
    model: TrackingModel,
    share: float,
    keep_noise: bool = False,
) -> TrackingModel:
    """Return the model that fits these tracks; the old one where they are too few.

    frames : number of frames that the tracks come from; share : chance of a dart in a frame; keep_noise : whether
    the model's noise stays.
    """
    paths = paths.longer_than(_SHORTEST)
    if not len(paths.name):
        return model
    seen = explained(rig, obs, paths, model)
    model = _cues(obs, paths, _counts(rig, obs, paths, frames, _noise(rig, seen, paths, model, share, keep_noise)))
    if model.shape is None:
        return model
    _, J, use = linearised(rig.packed, paths.members, paths.state, 1e-4 * model.body_length)
    return model.with_(shape=fit_shape(paths.members, J, use, obs.outline, model.shape))


def _noise(
    rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel, share: float, keep: bool
) -> TrackingModel:
    """Pixel noise from how far views of one frame disagree, then the acceleration of greatest likelihood.

    A centroid's error lasts for several frames, so that a filter over time would take it for motion; views of the
    same frame see it. Where three and more views meet, they tell which camera is wrong; two do not.
    """
    h = 1e-4 * model.body_length
    lines = linearised(rig.packed, paths.members, paths.state, h)
    scale = np.ones(len(rig))
    if not keep:
        scale = apart(camera_scales(paths.members, *lines, obs.u, obs.v, obs.noise))
        misfit, freedom = disagreement(paths.members, *lines, obs.u, obs.v, obs.noise * scale[obs.camera])
        scale *= math.sqrt(usual_square(misfit, freedom))
    kept = paths.name <= np.append(paths.name, 0)[min(_MOST_ROWS, len(paths.name) - 1)]
    paths, lines = paths.take(kept), tuple(part[kept] for part in lines)
    noise = np.maximum(obs.noise * scale[obs.camera], FLOOR_PX)

    def likelihood(steps: int) -> float:
        value: float = track_likelihood(
            paths.begin,
            paths.frame,
            paths.members,
            paths.state,
            *lines,
            obs.u,
            obs.v,
            noise,
            (model.acceleration * _STEP**steps) ** 2,
            model.velocity**2,
            model.body_length**2,
            share,
            model.dart**2,
        )
        return value

    acceleration = model.acceleration * _STEP ** climb(likelihood, _MOST_STEPS)
    speed = np.sqrt(np.mean(np.sum(paths.state[:, 3:] ** 2, axis=1)) / 3.0)  # along one axis
    return model.with_(
        noise=model.noise * scale,
        acceleration=acceleration,
        velocity=float(max(speed, acceleration)),
        dart=float(max(_DART_SPEEDS * speed, _DART_SCALE * acceleration)),
    )


def usual_square(misfit: Array, freedom: Ints) -> float:
    """Return the factor by which squared misfits (N,) of rows of several degrees of freedom (N,) are too large.

    Where very many are wild all the same, as where boxes are cut by whoever is in front, the better half tells: a noise
    that explains them would make everything plausible.
    """
    kinds = [int(k) for k in np.unique(freedom[freedom > 0])]
    if not kinds:
        return 1.0
    count = np.array([(freedom == k).sum() for k in kinds])
    scale = np.array([square_scale(misfit[freedom == k], k) for k in kinds])
    wild = [(misfit[freedom == k] > s * chi2.ppf(_WILD, k)).sum() for k, s in zip(kinds, scale, strict=True)]
    if sum(wild) > _MANY_WILD * count.sum():
        scale = np.array([np.median(misfit[freedom == k]) / chi2.median(k) for k in kinds])
    return float((scale * count).sum() / count.sum())


def square_scale(misfit: Array, freedom: int) -> float:
    """Return the factor by which squared misfits (N,) are larger than chi-squared of so many degrees of freedom.

    Misfits count up to what one in twenty is above, so that wrong detections do not decide. A median would: centroids
    lean along the body by up to so much and no more, and half of such errors are large.
    """
    most = float(chi2.ppf(_CLIPPED, freedom))
    usual = freedom * float(chi2.cdf(most, freedom + 2)) + most * (1.0 - _CLIPPED)  # mean of what is clipped
    scale = max(float(np.median(misfit)) / float(chi2.median(freedom)), 1e-12)
    for _ in range(_SCALE_ROUNDS):
        step = float(np.minimum(misfit / scale, most).mean()) / usual
        scale *= step
        if abs(step - 1.0) < 1e-3:
            break
    return scale


def climb(value: Callable[[int], float], most: int) -> int:
    """Return the number of steps, between -most and most, at which ``value`` has its top, walking uphill from 0."""
    best, here = value(0), 0
    for way in (1, -1):
        while abs(here + way) <= most and (ahead := value(here + way)) > best:
            best, here = ahead, here + way
        if here:
            break
    return here


def apart(scale: Array) -> Array:
    """Scales (C,) of cameras over the usual one where they clearly differ from it, 1 elsewhere.

    Centroids of one body err alike in several views, so that a camera which disagrees with two others by three or four
    times their noise may be the right one. Where three leaning centroids disagree, the one that weighs most is missed
    by nobody and weighs more for it, so that a camera which is better than the others must be so by more.
    """
    ratio = scale / np.exp(np.median(np.log(scale)))
    worse = np.interp(np.log(ratio), np.log(_APART), [0.0, 1.0])
    share = worse + np.interp(-np.log(ratio), np.log(_BETTER), [0.0, 1.0])
    return np.asarray(ratio**share)


@njit(**KERNEL)
def camera_scales(members, pixel, J, use, u, v, r):  # type: ignore[no-untyped-def]
    """(C,) how many times its supposed noise each camera has; ones where three views never met.

    members (N, C); pixel, J, use : of `linearised`; r : noise supposed, px. Expectation-maximisation of the variances
    of cameras, each row's point integrated out (Harville 1977): the expected square of an error is that of its residual
    and what the residual's point is uncertain by. Errors in the tail of the noise count as little as they do for a
    track (`kernels.absorb`).
    """
    views = members.shape[1]
    meeting = _meeting(use)
    variance = np.ones(views)
    A, b, x, P = np.empty((3, 3)), np.empty(3), np.empty(3), np.empty((3, 3))
    for _ in range(_SCALE_ROUNDS):
        total, count = variance.copy(), np.ones(views)
        for i in meeting:
            _clear(A, b)
            for c in range(views):
                if use[i, c]:
                    d = members[i, c]
                    w = 1.0 / (r[d] * r[d] * variance[c])
                    add_view(A, b, J[i, c], u[d] - pixel[i, c, 0], v[d] - pixel[i, c, 1], w)
            if not _solved(A, b, x, P):
                continue
            for c in range(views):
                if use[i, c]:
                    d = members[i, c]
                    square = _expected_square(J[i, c], u[d] - pixel[i, c, 0], v[d] - pixel[i, c, 1], x, P)
                    square /= r[d] * r[d]
                    total[c] += square * _trust(square / variance[c])
                    count[c] += 2.0
        change = 0.0
        for c in range(views):
            step = total[c] / count[c] / variance[c]
            variance[c] *= step**_RELAXED
            change = max(change, abs(math.log(step)))
        if change < 0.01:
            break
    for c in range(views):
        variance[c] = math.sqrt(variance[c])
    return variance


@helper
def _meeting(use):  # type: ignore[no-untyped-def]
    """Rows (M,) of use (N, C) in which three views meet, thinned evenly to the most that are needed."""
    rows, found = np.empty(use.shape[0], np.int64), 0
    for i in range(use.shape[0]):
        views = 0
        for c in range(use.shape[1]):
            views += use[i, c]
        if views >= 3:
            rows[found] = i
            found += 1
    return rows[: found : 1 + found // _MOST_MEETINGS]


@helper
def _clear(A, b):  # type: ignore[no-untyped-def]
    """Set normal equations A (3, 3), b (3,) to zero."""
    for k in range(3):
        b[k] = 0.0
        for m in range(3):
            A[k, m] = 0.0


@helper
def add_view(A, b, J, du, dv, w):  # type: ignore[no-untyped-def]
    """Add a view of weight w, whose pixel is off by (du, dv), to the normal equations A (3, 3), b (3,), in place."""
    for k in range(3):
        b[k] += w * (J[0, k] * du + J[1, k] * dv)
        for m in range(3):
            A[k, m] += w * (J[0, k] * J[0, m] + J[1, k] * J[1, m])


@helper
def _solved(A, b, x, P):  # type: ignore[no-untyped-def]
    """Fill x (3,) with the solution of A x = b and P (3, 3) with the inverse of A; False if there is none."""
    unit = np.empty(3)
    x[0], x[1], x[2], ok = solve3(A, b)
    for k in range(3):
        for m in range(3):
            unit[m] = 1.0 if m == k else 0.0
        P[0, k], P[1, k], P[2, k], _ = solve3(A, unit)
    return ok


@helper
def _expected_square(J, du, dv, x, P):  # type: ignore[no-untyped-def]
    """Return the expected square of a view's error, px^2: its residual at x, and what x is uncertain by."""
    total = 0.0
    for row in range(2):
        residual = (du, dv)[row]
        for k in range(3):
            residual -= J[row, k] * x[k]
            for m in range(3):
                total += J[row, k] * P[k, m] * J[row, m]
        total += residual * residual
    return total


@helper
def _trust(square):  # type: ignore[no-untyped-def]
    """Weight of an error of this square, in variances: 1, and less in the tail of the noise."""
    wide = TAIL_SCALE * TAIL_SCALE
    far = TAIL_SHARE / wide * math.exp(-0.5 * square / wide)
    tail = far / (far + (1.0 - TAIL_SHARE) * math.exp(-0.5 * square))
    return 1.0 - tail + tail / wide


@njit(**KERNEL)
def disagreement(members, pixel, J, use, u, v, r):  # type: ignore[no-untyped-def]
    """Squared misfit (N,), in deviations, of the best point of each row's detections, and its degrees of freedom (N,).

    members (N, C); pixel, J, use : of `linearised`. 0 degrees where fewer than two views saw it.
    """
    n = members.shape[0]
    misfit, freedom = np.zeros(n), np.zeros(n, np.int64)
    A, b = np.empty((3, 3)), np.empty(3)
    for i in range(n):
        _clear(A, b)
        total = 0.0
        views = 0
        for c in range(members.shape[1]):
            d = members[i, c]
            if not use[i, c]:
                continue
            views += 1
            w = 1.0 / (r[d] * r[d])
            du, dv = u[d] - pixel[i, c, 0], v[d] - pixel[i, c, 1]
            total += w * (du * du + dv * dv)
            add_view(A, b, J[i, c], du, dv, w)
        x, y, z, ok = solve3(A, b)
        if views >= 2 and ok:
            misfit[i] = max(total - (b[0] * x + b[1] * y + b[2] * z), 0.0)
            freedom[i] = 2 * views - 3
    return misfit, freedom


@njit(**KERNEL)
def track_likelihood(  # type: ignore[no-untyped-def]
    begin, frame, members, around, pixel, J, use, u, v, r, q, v0, p0, share, dart
):
    """Log density of all detections of tracks under the motion model, each frame's given those before it.

    begin (T + 1,), frame (N,), members (N, C); around (N, 6), pixel, J, use : states about which cameras are linear,
    and `linearised` there. q, v0, p0 : variances of acceleration, first velocity and first position. With chance
    ``share`` a frame holds a dart, a change of velocity of variance ``dart``; without it, a few darts would pass for
    restless swimming.
    """
    state, cov, dt = np.empty((1, 6)), np.empty((1, 6, 6)), np.empty(1)
    total = 0.0
    for t in range(begin.shape[0] - 1):
        for k in range(6):
            state[0, k] = around[begin[t], k] if k < 3 else 0.0
            for m in range(6):
                cov[0, k, m] = 0.0
            cov[0, k, k] = p0 if k < 3 else v0
        for i in range(begin[t], begin[t + 1]):
            first = i == begin[t]
            if not first:
                dt[0] = frame[i] - frame[i - 1]
                predict(state, cov, dt, q)
            x0 = around[i, :3]
            other, other_cov = state[0].copy(), cov[0].copy()
            add_dart(other_cov, dart)
            calm, darted = math.log(1.0 - share), math.log(share) if share > 0.0 else -np.inf
            for c in range(members.shape[1]):
                d = members[i, c]
                if use[i, c]:
                    calm += absorb(state[0], cov[0], x0, pixel[i, c], J[i, c], u[d], v[d], r[d])
                    if share > 0.0:
                        darted += absorb(other, other_cov, x0, pixel[i, c], J[i, c], u[d], v[d], r[d])
            top = max(calm, darted)
            total += top + math.log(math.exp(calm - top) + math.exp(darted - top))
            if darted > calm:
                copy_state(other, other_cov, state[0], cov[0])
    return total


def _counts(rig: CameraRig, obs: Observations, paths: Trajectories, frames: int, model: TrackingModel) -> TrackingModel:
    """Chances to be detected, alone and near another, and the density of detections that no track explains."""
    views = len(rig)
    hits, tries = np.zeros((2, views)), np.zeros((2, views))
    used = np.zeros(len(obs.u), bool)
    used[paths.members[paths.members >= 0]] = True
    clutter, clear, hidden = model.clutter.copy(), model.clear.copy(), model.hidden.copy()
    order = np.argsort(paths.frame, kind="stable")
    for c, cam in enumerate(rig):
        pixel = cam.project(paths.state[:, :3])
        inside = (pixel >= 0).all(1) & (pixel < np.array(cam.size)).all(1)
        cover = cover_of(order, paths.frame, np.where(np.isfinite(pixel), pixel, -1e9), usual_size(obs, c))
        hit = paths.members[:, c] >= 0
        for k, near in enumerate((cover < 0.05, cover > 0.5)):
            hits[k, c], tries[k, c] = (hit & inside & near).sum(), (inside & near).sum()
        rate = (hits[:, c] + _PRIOR * np.array([model.clear[c], model.hidden[c]])) / (tries[:, c] + _PRIOR)
        clear[c] = min(rate[0], 0.995)
        hidden[c] = min(max(rate[1], 0.05), clear[c])
        alone = (~used & (obs.camera == c)).sum()
        clutter[c] = (alone + 1.0) / (frames * cam.size[0] * cam.size[1])
    return model.with_(clear=clear, hidden=hidden, clutter=np.maximum(clutter, model.clutter / 10))


def usual_size(obs: Observations, camera: int) -> float:
    """Return the median size of a camera's detections, px, 1 at least."""
    mine = obs.camera == camera
    return max(float(np.exp(np.median(obs.log_size[mine]))), 1.0) if mine.any() else 1.0


@njit(**KERNEL)
def cover_of(order, frame, pixel, size):  # type: ignore[no-untyped-def]
    """(N,) how much the nearest other point of the same frame covers each, 0..1 (see `cues.chances`).

    order (N,) : indices of the points in the order of their frames.
    """
    out = np.zeros(frame.shape[0])
    begin = 0
    while begin < order.shape[0]:
        end = begin
        while end < order.shape[0] and frame[order[end]] == frame[order[begin]]:
            end += 1
        for a in range(begin, end):
            nearest = np.inf
            for b in range(begin, end):
                if a != b:
                    du = pixel[order[a], 0] - pixel[order[b], 0]
                    dv = pixel[order[a], 1] - pixel[order[b], 1]
                    nearest = min(nearest, du * du + dv * dv)
            out[order[a]] = math.exp(-nearest / (COVER * size * size))
        begin = end
    return out


def _cues(obs: Observations, paths: Trajectories, model: TrackingModel) -> TrackingModel:
    """Scales of size and axis: median change from frame to frame within tracks, deviation among all detections."""
    sizes, axes = [], []
    follow = (np.diff(paths.name) == 0) & (np.diff(paths.frame) == 1)
    for c in range(paths.members.shape[1]):
        before, after = paths.members[:-1, c][follow], paths.members[1:, c][follow]
        both = (before >= 0) & (after >= 0)
        before, after = before[both], after[both]
        sizes.append(np.abs(obs.log_size[after] - obs.log_size[before]))
        turned = np.abs(obs.axis[after] - obs.axis[before]) % np.pi
        axes.append(np.minimum(turned, np.pi - turned))
    size, axis = np.concatenate(sizes), np.concatenate(axes)
    axis = axis[np.isfinite(axis)]
    scales = np.zeros(3)
    if len(size) >= 50 and not model.points:
        spread = np.mean([np.std(obs.log_size[obs.camera == c]) for c in np.unique(obs.camera)])
        scales[:2] = max(float(np.median(size)) / math.log(2), 0.01), math.sqrt(2) * float(spread)
    if len(axis) >= 50:
        scales[2] = max(float(np.median(axis)) / math.log(2), 0.01)
    return model.with_(scales=scales)
