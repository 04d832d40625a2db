"""Tracks as a whole: exchange what was swapped, join what was torn, and tell how sure each link is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....cameras.rig import CameraRig
from ..model import TrackingModel
from ..observations import Observations
from ..settings import JointSettings
from .borders import Borders, find_borders
from .filtering import run_filter
from .repair import Filtered, Swaps, find_swaps, link_scores, stitch, undo_swaps
from .smoothing import smooth
from .trajectories import Trajectories

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
_MOST_ROUNDS = 12
_MOST_PRIOR = 100.0  # log-odds; what needs more to be one animal is none: a ghost, or another


@dataclass(eq=False)
class Refined:
    """Tracks with smoothed states, and what is doubtful about them.

    ``swaps``: moments at which two may still be exchanged; ``scores`` (N,): how well the past of each row agrees with
    its future (`repair.link_scores`); ``joins`` (J, 3): track, last frame before a gap and first after it; ``borders``:
    which tracks enter and leave the views; ``open``: whether animals were taken to come and go.
    """

    paths: Trajectories
    swaps: Swaps
    scores: Array
    joins: Ints
    borders: Borders
    open: bool


def refine(
    rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel, settings: JointSettings
) -> Refined:
    """Exchange and join tracks as their whole past and future say, until nothing changes, and smooth them.

    Where the number of animals is given, joins become easier until there are no more tracks than animals, or until none
    is left that could be one animal: a ghost is better left alone than joined.
    """
    q = model.acceleration**2
    joins: list[tuple[int, int, int]] = []
    come_and_go = settings.scene == "open"
    prior = settings.stitch_prior
    smooth(paths.begin, paths.frame, paths.state, paths.cov, q)
    for _ in range(_MOST_ROUNDS):
        forth, back = filter_both(rig, obs, paths, model)
        paths, done = undo_swaps(paths, find_swaps(paths, forth, back, model, settings), settings.swap_least)
        if not done:
            borders = find_borders(rig, paths, forth[2], back[2])
            come_and_go = settings.scene == "open" or (settings.scene == "auto" and borders.open)
            name, strength = stitch(paths, forth, back, model, settings, prior, borders if come_and_go else None)
            first, last = paths.begin[:-1], paths.begin[1:] - 1
            renamed = dict(zip(paths.name[first].tolist(), name.tolist(), strict=True))
            joins = [(renamed.get(t, t), a, b) for t, a, b in joins]
            for j in np.flatnonzero(np.isfinite(strength)):
                i = int(np.flatnonzero((name == name[j]) & (paths.frame[last] < paths.frame[first[j]]))[-1])
                joins.append((int(name[j]), int(paths.frame[last[i]]), int(paths.frame[first[j]])))
            if not np.isfinite(strength).any():
                if settings.animals is None or len(first) <= settings.animals or 2.0 * prior > _MOST_PRIOR:
                    break
                prior *= 2.0
                continue
            paths = fill(paths.renamed(np.repeat(name, np.diff(paths.begin))), settings.fill_gap)
        paths = filtered(rig, obs, paths, model)
        smooth(paths.begin, paths.frame, paths.state, paths.cov, q)
    return judged(rig, obs, paths, model, settings, joins, come_and_go)


def judged(
    rig: CameraRig,
    obs: Observations,
    paths: Trajectories,
    model: TrackingModel,
    settings: JointSettings,
    joins: list[tuple[int, int, int]],
    come_and_go: bool,
) -> Refined:
    """Return finished tracks with what is doubtful about them; ``joins`` and ``come_and_go`` as in `Refined`."""
    forth, back = filter_both(rig, obs, paths, model)
    swaps = find_swaps(paths, forth, back, model, settings)
    scores = link_scores(paths, forth, back, model, settings)
    borders = find_borders(rig, paths, forth[2], back[2])
    return Refined(paths, swaps, scores, np.array(joins, np.int64).reshape(-1, 3), borders, come_and_go)


def _filter(rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel, back: bool) -> Filtered:
    found: Filtered = run_filter(
        rig.packed, paths.begin, paths.frame, paths.members, paths.state, obs.u, obs.v, obs.noise,
        model.acceleration**2, model.velocity**2, model.body_length**2, 1e-4 * model.body_length, back,
    )  # fmt: skip
    return found


def filter_both(
    rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel
) -> tuple[Filtered, Filtered]:
    """States of all rows from the past, and from the future: see `filtering.run_filter`."""
    return _filter(rig, obs, paths, model, False), _filter(rig, obs, paths, model, True)


def filtered(rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel) -> Trajectories:
    """Return the same tracks with states filtered anew."""
    _, _, state, cov, _ = _filter(rig, obs, paths, model, False)
    return Trajectories(paths.name, paths.frame, paths.members, state, cov)


def fill(paths: Trajectories, most: int) -> Trajectories:
    """Add rows without detections in gaps of at most so many frames, on a straight line."""
    step = np.diff(paths.frame)
    at = np.flatnonzero((np.diff(paths.name) == 0) & (step > 1) & (step <= most))
    missing = step[at] - 1
    before = np.repeat(at, missing)
    ahead = np.arange(missing.sum()) - np.repeat(np.cumsum(missing) - missing, missing) + 1
    share = (ahead / np.repeat(step[at], missing))[:, None]
    added = Trajectories(
        paths.name[before],
        paths.frame[before] + ahead,
        np.full((len(before), paths.members.shape[1]), -1),
        (1 - share) * paths.state[before] + share * paths.state[before + 1],
        paths.cov[before],
    )
    joined = paths.join(added)
    return joined.renamed(joined.name)
