"""Deeper decisions: the recording is read again from its end with all animals known, and from its beginning again.

What goes wrong in a crowd begins, more often than not, with an animal that is not known yet: its detections are taken
by tracks of its neighbours, which then go on with it. Read backwards from its end, where all are known, the same
stretch is easy. Each pass starts with the tracks that the last one ended with and is another reading of the whole
recording. Of any two readings the better parts are put together (`combining`), and kept where the whole is likelier.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....cameras.rig import CameraRig
from ..arguments import FutureFrames
from ..engine import Engine
from ..model import TrackingModel
from ..observations import Observations
from ..refinement.depth import seen_in_depth
from ..refinement.trajectories import Trajectories
from ..settings import JointSettings
from .combining import combined
from .ending import ended
from .turning import Course, going_back, turned_back

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
ENOUGH = 1e-3  # share of the log-likelihood that a pass must gain for another to follow


class Reading(NamedTuple):
    """What several passes make of a recording.

    paths : the tracks; None without any.
    passes : how often the recording was gone through.
    stopped : components of assignments whose search ended early, in all passes.
    gaining : whether the last of them gained enough for another, which settings forbid.
    """

    paths: Trajectories | None
    passes: int
    stopped: int
    gaining: bool


def read(
    rig: CameraRig,
    course: Course,
    model: TrackingModel,
    settings: JointSettings,
    step: Callable[[int, int], None],
) -> Reading:
    """Track a recording forwards, and where tracks are torn, backwards and forwards again while that gains.

    Parameters
    ----------
    rig : the cameras.
    course : the recording.
    model, settings : of the recording, and of the method.
    step : called after each frame with how many are done, and how many there are as far as is known.
    """
    engine = Engine(rig, model, settings)
    best = _pass(engine, rig, course, model, step, 0)
    stopped, passes = engine.stopped, 1
    if best is None or not torn(best, course, settings.window):
        return Reading(best, passes, stopped, False)
    best, value = ended(rig, course.obs, best, model, settings)
    ways = (course, course.turned())
    gaining = True
    while gaining and passes < settings.passes:
        known = going_back(engine.live, course)
        name, engine = engine.next_name, Engine(rig, model, settings)
        engine.start(known, course.first - 1, name)
        other = _pass(engine, rig, ways[passes % 2], model, step, passes)
        stopped, passes = stopped + engine.stopped, passes + 1
        if other is None:
            break
        if passes % 2 == 0:
            other = turned_back(other, ways[1])
        before = float(value.sum())
        best, value = likelier(rig, course.obs, (best, value), other, model, settings)
        gaining = float(value.sum()) - before > ENOUGH * abs(before)
    return Reading(best, passes, stopped, gaining and settings.passes > 1)


def torn(paths: Trajectories, course: Course, window: int) -> bool:
    """Whether a track begins late or ends early, by more than ``window`` frames.

    Where all animals are known from the first frame to the last, another pass finds nothing new.
    """
    begin = paths.begin
    late = paths.frame[begin[:-1]] - course.frames[0] > window
    early = course.last - paths.frame[begin[1:] - 1] > window
    return bool(late.any() or early.any())


def _pass(
    engine: Engine,
    rig: CameraRig,
    course: Course,
    model: TrackingModel,
    step: Callable[[int, int], None],
    passes: int,
) -> Trajectories | None:
    """Go through a recording; returns the tracks, None without any."""
    n = len(course.frames)
    for k, frame in enumerate(course.frames.tolist()):
        rows = slice(int(course.offsets[k]), int(course.offsets[k + 1]))
        engine.step(frame, rows, course.obs, FutureFrames(course.frames, course.offsets, k))
        step(passes * n + k + 1, (passes + 1) * n)
    engine.finish()
    if not engine.confirmed:
        return None
    paths = Trajectories.of(engine.logs, engine.confirmed)
    paths = seen_in_depth(rig, course.obs, paths, model) if len(paths.name) else paths
    return paths if len(paths.name) else None


def likelier(
    rig: CameraRig,
    obs: Observations,
    best: tuple[Trajectories, Array],
    other: Trajectories,
    model: TrackingModel,
    settings: JointSettings,
) -> tuple[Trajectories, Array]:
    """Return the likeliest of two readings and of what both make together, and the worth (N,) of its rows.

    Parameters
    ----------
    rig, obs : the cameras and their detections.
    best : a reading and the worth of its rows.
    other : another reading.
    model, settings : of the recording, and of the method.
    """
    pair = [best, ended(rig, obs, other, model, settings)]
    pair.sort(key=lambda reading: -float(reading[1].sum()))
    (one, value), (two, other_value) = pair
    both, knots = combined(one, two, value, other_value)
    if knots:
        both, together = ended(rig, obs, both, model, settings)
        if together.sum() > value.sum():
            return both, together
    return one, value
