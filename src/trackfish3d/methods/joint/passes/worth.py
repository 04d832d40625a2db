"""What a reading of a recording is worth: the log-likelihood ratio of its tracks against "all detections are false".

Readings come from passes in either direction of time, whose own weights rest on the past or on the future. Here all are
judged alike: every track is filtered forwards over the detections that it holds, with darts where they are likely, and
each view counts for being found or missed, as the bodies of that reading hide each other.
"""

import math

import numpy as np
from numpy.typing import NDArray

from ....cameras.rig import CameraRig
from ..bodies.kind import VISIBLE
from ..bodies.usual import explained, stage
from ..cues import HARDLY, MOSTLY
from ..fit.estimate import cover_of, usual_size
from ..hypotheses import add_pair_odds
from ..model import TrackingModel
from ..observations import Observations
from ..refinement.refine import darts_of, filtered, linear
from ..refinement.trajectories import Trajectories
from ..settings import JointSettings

Array = NDArray[np.float64]
LEAST = 1e-6  # chance to be found or missed


def worth(
    rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel, settings: JointSettings
) -> Array:
    """(N,) log-likelihood ratio of each row of a reading, given the rows of its track before it.

    Parameters
    ----------
    rig : the cameras.
    obs : detections, as they were detected.
    paths : the tracks of the reading.
    model, settings : of the recording, and of the method.
    """
    seen = explained(rig, obs, paths, model)
    lines = linear(rig, paths, model)
    calm, share = model.acceleration**2, settings.dart_share
    q = darts_of(seen, paths, model, settings, lines)
    out = np.array(filtered(seen, seen.noise, paths, model, lines, q, False)[4])
    if share > 0:
        out += np.where(q > calm * (1.0 + 1e-9), math.log(share), math.log(1.0 - share))
    found, inside = _found(rig, obs, paths, model)
    hit = lines[2]
    out += np.where(hit, np.log(np.maximum(found, LEAST)) - np.log(model.clutter), 0.0).sum(1)
    out += np.where(~hit & inside, np.log1p(-np.minimum(found, 1.0 - LEAST)), 0.0).sum(1)
    pairs = np.zeros(len(out))
    add_pair_odds(pairs, paths.members, 0, obs.pair_odds)
    out += pairs
    out[paths.begin[:-1]] += math.log(model.births * (2.0 * math.pi) ** 1.5 * model.body_length**3)
    return out


def _found(
    rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel
) -> tuple[Array, NDArray[np.bool_]]:
    """(N, C) chance of each row to be detected in each view, and whether its place is in the picture."""
    found, inside = np.zeros(paths.members.shape), np.zeros(paths.members.shape, bool)
    visible = stage(rig, obs, paths, model).share if model.detector == VISIBLE else None
    order = np.argsort(paths.frame, kind="stable")
    for c, camera in enumerate(rig):
        pixel = camera.project(paths.state[:, :3])
        inside[:, c] = (pixel >= 0).all(1) & (pixel < np.array(camera.size)).all(1)
        if visible is not None:
            clear = np.clip((visible[:, c] - HARDLY) / (MOSTLY - HARDLY), 0.0, 1.0)
        else:
            size = usual_size(obs, c)
            clear = 1.0 - cover_of(order, paths.frame, np.where(np.isfinite(pixel), pixel, -1e9), size)
        found[:, c] = model.hidden[c] + (model.clear[c] - model.hidden[c]) * clear
    return np.where(inside, found, 0.0), inside
