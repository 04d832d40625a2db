"""Where animals were, once it is settled who they were: the last word on positions.

Tracks are told apart with noise that is a share of a box's diagonal, in which a body seen end-on is known far better
than one seen from the side. Half of the variance of centroids is of that kind: they lean along the body as the view
sees it. The other half is the same share of the whole body, however it is turned. So positions are weighed by both.

A detection far off is one of somebody else, or of half an animal, while tracks are told apart, and is doubted early.
Whose it is, is known here, and a lean is no reason to leave a view out: the mean of all views is better than that of
two which happen to agree. So the tail of the noise begins later.

A dart, too, is less rare than where it would excuse that two animals were exchanged. Its first frames, in which the
animal has hardly moved, are not told from calm ones and would be smoothed away: some frames before it count as slow
darts.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....cameras.rig import CameraRig
from ..model import TrackingModel
from ..observations import FLOOR_PX, Observations
from ..settings import JointSettings
from .darts import LEVELS
from .refine import Lines, darts_of, linear, smoothed_with
from .trajectories import Trajectories

Array = NDArray[np.float64]
WHOLE_BODY = 0.5  # share of the variance of centroids that does not depend on how the body is turned
LATER = 1.5  # times as far off as elsewhere a detection is doubted
DARTS = 3.0  # times as likely as elsewhere a dart is ...
MOST_DARTS = 0.3  # ... of steps at most
LEAD = 3  # frames before a dart that may belong to it


def settled(
    rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel, settings: JointSettings
) -> tuple[Observations, Trajectories]:
    """Return observations with noise as it was weighed, and the same tracks with positions weighed so.

    Parameters
    ----------
    rig : the cameras.
    obs : detections, as bodies explain them.
    paths : finished tracks.
    model : of the recording.
    settings : of the method.
    """
    lines = linear(rig, paths, model)
    darting = settings.model_copy(update={"dart_share": min(DARTS * settings.dart_share, MOST_DARTS)})
    steps = darts_of(obs, paths, model, darting, lines)
    steps = led(steps, paths, model.acceleration**2, (LEVELS[0] * model.dart) ** 2)
    evened = replace(obs, noise=even_noise(obs, paths, lines, model))
    wide = replace(evened, noise=LATER * evened.noise)
    found = smoothed_with(wide, paths, model, lines, LATER**2 * steps)
    found.cov /= LATER**2  # only tails were to change
    return evened, found


def led(steps: Array, paths: Trajectories, calm: float, dart: float) -> Array:
    """(N,) variances of acceleration in the step to each row, with a slow dart in the `LEAD` steps before each dart.

    Parameters
    ----------
    steps : (N,) variances, ``calm`` where there is no dart.
    paths : the tracks.
    calm : variance without a dart.
    dart : what a slow dart adds to it.
    """
    darting = steps > calm * (1.0 + 1e-9)
    soon = np.zeros(len(steps), bool)
    for ahead in range(1, LEAD + 1):
        soon[:-ahead] |= darting[ahead:] & (paths.name[ahead:] == paths.name[:-ahead])
    return np.where(soon & ~darting, calm + dart, steps)


def even_noise(obs: Observations, paths: Trajectories, lines: Lines, model: TrackingModel) -> Array:
    """(D,) noise of detections, px, half of it by the length of the whole body at their place.

    Points without boxes have noise of their own kind, and detections of no track keep theirs.
    """
    _, J, use = lines
    row, view = np.nonzero(use)
    if model.points or not len(row):
        return obs.noise
    detection = paths.members[row, view]
    length = model.body_length * np.sqrt(0.5 * (J[row, view] ** 2).sum((1, 2)))  # px
    share = model.noise[view]
    usual = float(np.median(length * share / obs.noise[detection]))
    out: Array = obs.noise.copy()
    whole = share * length / usual
    out[detection] = np.sqrt((1.0 - WHOLE_BODY) * obs.noise[detection] ** 2 + WHOLE_BODY * whole**2)
    return np.maximum(out, FLOOR_PX)
