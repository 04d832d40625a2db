"""Bodies in time: parts that agree best with all views, their own motion, and the lengths between them."""

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import CameraRig
from . import anatomy as learnt
from .anatomy import Anatomy
from .blocks import invert, solve
from .kernels import Body, Equations, Sight, derivatives, lengths, measured, motion, spreads
from .segments import Segment, Sightings

Array = NDArray[np.float64]


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
    for width in widths:
        equations = _equations(rig, sight, segment, anatomy, body, width)
        step = solve(*equations).reshape(-1, parts, 3)[:frames]
        far = np.linalg.norm(step, axis=-1, keepdims=True)
        segment.points = segment.points + step * np.minimum(1.0, anatomy.size / np.maximum(far, 1e-12))
    if spread:
        equations = _equations(rig, sight, segment, anatomy, body, 1.0)
        found = invert(equations.diagonal, equations.upper)
        segment.covariance, segment.jolts, segment.stretches = spreads(*found, segment.points, body)
    return noise


def lasting_covariance(segment: Segment, noise: Array, anatomy: Anatomy) -> Array:
    """Covariances (F, K, 3, 3) that know how long errors last, of a segment that was solved as if they did not.

    To the motion of a part, errors that last are no noise, so that smoothing must not know of them; to where it is,
    they are. A second-difference smoother's variance grows with the noise to the power of 3/4, and is never above that
    of the frame alone.

    Parameters
    ----------
    segment : solved with covariances.
    noise : (F, C, K) px.
    anatomy : what was learnt.
    """
    seen = np.isfinite(segment.errors[..., 0])
    weight = np.where(seen, 1.0 / noise**2, 0.0)
    share = np.divide(
        (weight * anatomy.lasting[:, None]).sum(1), weight.sum(1), out=np.ones(weight[:, 0].shape), where=seen.any(1)
    )
    alone = np.einsum("fck,fckai,fckaj->fkij", weight, segment.slopes, segment.slopes)
    alone += np.eye(3) / anatomy.size**2
    worst = np.einsum("fkii->fk", np.linalg.inv(alone))
    now = np.einsum("fkii->fk", segment.covariance)
    factor = np.clip(np.minimum(share**0.75, worst / now), 1.0, None)
    # weights of sightings near the middle are above, those far from it below what is expected of Student's errors
    expected = (learnt.FREEDOM_SEEN + 4) / (learnt.FREEDOM_SEEN + 2)
    out: Array = expected * segment.covariance * factor[..., None, None]
    return out


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
    lengths(equations, segment.points, body, (learnt.FREEDOM_LONG + 1) / (learnt.FREEDOM_LONG + off))
    return equations
