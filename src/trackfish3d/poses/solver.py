"""Bodies in time: parts that agree best with all views, their own motion, and the lengths between them."""

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import CameraRig
from . import anatomy as learnt
from .anatomy import Anatomy
from .blocks import Chain
from .kernels import Body, Equations, Sight, derivatives, lengths, measured, motion, placed_by_views, spreads
from .segments import Segment, Sightings

Array = NDArray[np.float64]
DRAWS = 4  # of errors that last, to see what they do
PLACED = 0.05  # of the size of a body: views that know a part no better have not placed it
LONGEST = 0.95  # correlation of an error with that of the frame before, at most


def relax(
    rig: CameraRig, sightings: Sightings, segment: Segment, anatomy: Anatomy, widths: tuple[float, ...], spread: bool
) -> Array:
    """Move a segment's points to the likeliest ones; returns the noise (F, C, K) px that was supposed.

    Parameters
    ----------
    rig : the cameras.
    sightings : of all detections.
    segment : whose points are moved, and whose covariances are filled where ``spread`` is asked for.
    anatomy : what was learnt.
    widths : a step each: by how much the errors are widened beyond which a sighting counts less.
    spread : whether covariances are needed.
    """
    body = anatomy.of(segment.track)
    rows = np.maximum(segment.rows, 0)
    noise = anatomy.noise(sightings.score[rows, segment.taken], sightings.variance[rows, segment.taken])
    sight = sightings.sight(segment, noise)
    frames, views, parts = segment.rows.shape
    segment.errors = np.full((frames, views, parts, 2), np.nan)
    segment.slopes = np.zeros((frames, views, parts, 2, 3))
    for k, width in enumerate(widths):
        equations = _equations(rig, sight, segment, anatomy, body, width)
        chain = Chain.of(equations.diagonal, equations.upper)
        step = chain.solve(equations.right[..., None]).reshape(-1, parts, 3)[:frames]
        far = np.linalg.norm(step, axis=-1, keepdims=True)
        segment.points = segment.points + step * np.minimum(1.0, anatomy.size / np.maximum(far, 1e-12))
        if spread and k == len(widths) - 1:  # of the last step, which is a small one
            segment.covariance, segment.jolts, segment.stretches = spreads(*chain.inverted(), segment.points, body)
    derivatives(rig.packed, sight, segment.points, 1e-5 * anatomy.size, segment.errors, segment.slopes)
    return noise


def lasting_covariance(rig: CameraRig, sightings: Sightings, segment: Segment, anatomy: Anatomy) -> Array:
    """Covariances (F, K, 3, 3) that know how long errors last, of a segment that was solved as if they did not.

    To the motion of a part, errors that last are no noise, so that smoothing must not know of them; to where it is,
    they are. What they do to each part is tried with errors that are drawn: as many frames long as leaves over errors
    that last as long as those that were left over.

    Parameters
    ----------
    rig : the cameras.
    sightings : of all detections.
    segment : solved with covariances.
    anatomy : what was learnt.
    """
    rows = np.maximum(segment.rows, 0)
    noise = anatomy.noise(sightings.score[rows, segment.taken], sightings.variance[rows, segment.taken])
    sight = sightings.sight(segment, noise)
    equations = _equations(rig, sight, segment, anatomy, anatomy.of(segment.track), 1.0)
    seen = np.isfinite(segment.errors[..., 0])
    placed = placed_by_views(segment.slopes, np.where(seen, 1 / noise**2, 0.0), PLACED * anatomy.size)
    share = np.where(placed.any(0), placed, True) / np.maximum(np.where(placed.any(0), placed.sum(0), len(placed)), 1)
    known = (share * np.trace(segment.covariance, axis1=2, axis2=3)).sum(0)
    more, level = _drawn(equations, segment, np.where(seen, noise, 0.0), anatomy.lasting, share)
    factor = level * (1 + np.maximum(more / np.maximum(known, 1e-300), 0.0))
    # weights of sightings near the middle are above, those far from it below what is expected of Student's errors
    expected = (learnt.FREEDOM_SEEN + 4) / (learnt.FREEDOM_SEEN + 2)
    out: Array = expected * segment.covariance * factor[:, None, None]
    return out


def _drawn(equations: Equations, segment: Segment, noise: Array, lasting: Array, share: Array) -> tuple[Array, float]:
    """Variance (K,), the trace of it, that errors which last put upon each part beyond that of errors which do not.

    And by how much the variance of all errors is above what is left over says: errors that last are partly taken for
    motion, and so less is left over.

    noise : (F, C, K) px, 0 where nothing is seen. lasting : (C,) of what was left over. share : (F, K) of each part's
    frames in its mean: those in which views place it.
    """
    frames, views, parts = noise.shape
    left = (lasting - 1) / (lasting + 1)  # correlation of what was left over from frame to frame
    tried = np.stack([np.zeros(views), left, 0.5 * (left + LONGEST), np.full(views, LONGEST)])
    white = np.random.default_rng(frames).standard_normal((frames, parts, views, 2, 1, DRAWS))
    keep = tried.T[:, None, :, None]
    drawn = np.repeat(white, len(tried), axis=4)  # (F, K, C, 2, T, D)
    for f in range(1, frames):
        drawn[f] = keep * drawn[f - 1] + np.sqrt(1 - keep**2) * white[f]
    size = noise.transpose(0, 2, 1)
    drawn *= size[..., None, None, None]
    drawn = drawn.reshape(frames, parts, 2 * views, -1)
    slope = segment.slopes.transpose(0, 2, 1, 3, 4) * (size > 0)[..., None, None]
    far = np.nan_to_num((segment.errors**2).sum(-1)).transpose(0, 2, 1)
    freedom = learnt.FREEDOM_SEEN
    weight = (freedom + 2) / (freedom + far / np.maximum(size, 1e-12) ** 2) / np.maximum(size, 1e-12) ** 2
    flat = slope.reshape(frames, parts, 2 * views, 3)
    pull = (slope * weight[..., None, None]).reshape(frames, parts, 2 * views, 3).swapaxes(2, 3) @ drawn
    blocks = len(equations.diagonal)
    right = np.zeros((2 * blocks, 3 * parts, drawn.shape[-1]))
    right[:frames] = pull.reshape(frames, 3 * parts, -1)
    moved = Chain.of(equations.diagonal, equations.upper).solve(right.reshape(blocks, 6 * parts, -1))
    moved = moved.reshape(2 * blocks, parts, 3, -1)[:frames]
    spread = np.einsum("fk,fktd->tk", share, (moved**2).sum(2).reshape(frames, parts, len(tried), DRAWS)) / DRAWS
    told = (weight * (slope**2).sum((-1, -2))).sum((0, 1))  # (C,) a camera that is off tells little, and counts so
    told = told / max(float(told.sum()), 1e-300)
    over = (drawn - flat @ moved).reshape(frames, parts, views, 2, len(tried), DRAWS)
    over /= np.maximum(size, 1e-12)[..., None, None, None]
    square, both = (over**2).sum((0, 1, 3, 5)), (over[1:] * over[:-1]).sum((0, 1, 3, 5))  # (C, T)
    rest = told @ (square / np.maximum(square[:, :1], 1e-300))
    lag = told @ (both / np.maximum(square, 1e-300))
    found = float(np.interp(told @ left, lag, np.arange(len(tried)))) if told.any() else 0.0
    low, high, part = int(found), min(int(found) + 1, len(tried) - 1), found - int(found)
    more: Array = (1 - part) * spread[low] + part * spread[high] - spread[0]
    return more, max(float(rest[0] / max((1 - part) * rest[low] + part * rest[high], 1e-300)), 1.0)


def _equations(rig: CameraRig, sight: Sight, segment: Segment, anatomy: Anatomy, body: Body, width: float) -> Equations:
    frames, _, parts = segment.rows.shape
    blocks, n = (frames + 1) // 2, 6 * parts
    equations = Equations(np.zeros((blocks, n, n)), np.zeros((max(blocks - 1, 0), n, n)), np.zeros((blocks, n)))
    if frames % 2:
        half = np.arange(n // 2, n)
        equations.diagonal[-1, half, half] = 1.0 / anatomy.size**2
    derivatives(rig.packed, sight, segment.points, 1e-5 * anatomy.size, segment.errors, segment.slopes)
    far = np.nan_to_num((segment.errors**2).sum(-1)) / (width * sight.sigma) ** 2
    weight = (learnt.FREEDOM_SEEN + 2) / (learnt.FREEDOM_SEEN + far) / sight.sigma**2
    measured(equations, segment.errors, segment.slopes, np.where(sight.seen, weight, 0.0))
    grip = np.ones((frames, parts))
    if frames > 2:
        jumped = learnt.jumps(segment.points, body.parent)
        grip[1:-1] = (learnt.FREEDOM_MOVED + 3) / (learnt.FREEDOM_MOVED + jumped / body.jolt / width**2)
        motion(equations, segment.points, body, grip)
    length = np.linalg.norm(segment.points[:, body.first] - segment.points[:, body.second], axis=-1)
    off = (length - body.length) ** 2 / body.variance / width**2
    hold = (learnt.FREEDOM_LONG + 1) / (learnt.FREEDOM_LONG + off)
    told = np.where(np.isfinite(segment.errors[..., 0]), 1 / sight.sigma**2, 0.0)
    placed = placed_by_views(segment.slopes, told, PLACED * anatomy.size)
    lengths(equations, segment.points, body, *_held(body, hold, placed))
    return equations


def _held(body: Body, hold: Array, placed: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Weights of lengths (F, E), and pulls (F, K) towards parents.

    A length and one ray leave two places for a part, and its error lasts: where views do not place both ends, the one
    lies somewhere about the other, which is said once for all such frames, in all directions alike.
    """
    both = placed[:, body.first] & placed[:, body.second]
    pull = np.broadcast_to(1 / body.wide**2, placed.shape).copy()
    for e, (i, j) in enumerate(zip(body.first.tolist(), body.second.tolist(), strict=True)):
        child = i if body.parent[i] == j else j
        loose = ~both[:, e]
        pull[loose, child] = 3 / (body.length[e] ** 2 * max(int(loose.sum()), 1))
    return hold * both, pull
