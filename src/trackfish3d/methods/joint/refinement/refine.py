"""Tracks as a whole: exchange what was swapped, join what was torn, and tell how sure each link is."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ....cameras.rig import CameraRig
from ..kernels import TAIL_SCALE, TAIL_SHARE
from ..model import TrackingModel
from ..observations import Observations
from ..parts.tool_tracks import ToolTracks
from ..settings import JointSettings
from .borders import Borders, find_borders
from .darts import find_darts
from .filtering import linearised, run_filter
from .pins import NONE, Pins
from .repair import Filtered, Swaps, find_swaps, link_scores, stitch, undo_swaps
from .smoothing import smooth
from .trajectories import Trajectories

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Lines = tuple[Array, Array, NDArray[np.bool_]]
_MOST_ROUNDS = 12
_MOST_PRIOR = 100.0  # log-odds; what needs more to be one animal is none: a ghost, or another


@dataclass(eq=False)
class Refined:
    """Tracks with smoothed states, and what is doubtful about them.

    ``swaps``: moments at which two may still be exchanged; ``scores`` (N,): how well the past of each row agrees with
    its future (`repair.link_scores`); ``joins`` (J, 3): track, last frame before a gap and first after it; ``borders``:
    which tracks enter and leave the views; ``open``: whether animals were taken to come and go; ``pins``: what
    people said; ``body_length``: world units.
    """

    paths: Trajectories
    swaps: Swaps
    scores: Array
    joins: Ints
    borders: Borders
    open: bool
    pins: Pins = NONE
    body_length: float = 1e-9


def refine(
    rig: CameraRig,
    obs: Observations,
    paths: Trajectories,
    model: TrackingModel,
    settings: JointSettings,
    pins: Pins = NONE,
) -> Refined:
    """Exchange and join tracks as their whole past and future say, until nothing changes, and smooth them.

    Where the number of animals is given, joins become easier until there are no more tracks than animals, or until none
    is left that could be one animal: a ghost is better left alone than joined. What people said in ``pins`` is kept.
    """
    joins: list[tuple[int, int, int]] = []
    come_and_go = settings.scene == "open"
    prior = settings.stitch_prior
    pins = pins.bound(paths)
    if len(obs.tracklet):
        paths = ToolTracks(obs, paths).torn()
    paths = smoothed(rig, obs, pins.enforce(paths), model, settings)
    known = None
    for _ in range(_MOST_ROUNDS):
        forth, back = filter_both(rig, obs, paths, model)
        swaps = pins.allowed(paths, _swaps(obs, paths, forth, back, model, settings))
        paths, done = undo_swaps(paths, swaps, settings.swap_least)
        if not done:
            borders = find_borders(rig, paths, forth[2], back[2])
            come_and_go = settings.scene == "open" or (settings.scene == "auto" and borders.open)
            edge = borders if come_and_go else None
            name, strength = stitch(paths, forth, back, model, settings, prior, edge, _said(obs, pins))
            first, last = paths.begin[:-1], paths.begin[1:] - 1
            renamed = dict(zip(paths.name[first].tolist(), name.tolist(), strict=True))
            joins = [(renamed.get(t, t), a, b) for t, a, b in joins]
            for j in np.flatnonzero(np.isfinite(strength)):
                i = int(np.flatnonzero((name == name[j]) & (paths.frame[last] < paths.frame[first[j]]))[-1])
                joins.append((int(name[j]), int(paths.frame[last[i]]), int(paths.frame[first[j]])))
            if not np.isfinite(strength).any():
                if settings.animals is None or len(first) <= settings.animals or 2.0 * prior > _MOST_PRIOR:
                    known = forth, back
                    break
                prior *= 2.0
                continue
            paths = fill(paths.renamed(np.repeat(name, np.diff(paths.begin))), settings.fill_gap)
        paths = smoothed(rig, obs, paths, model, settings)
    if (held := pins.enforce(paths)) is not paths:
        paths, known = smoothed(rig, obs, held, model, settings), None
    return judged(rig, obs, paths, model, settings, joins, come_and_go, pins, known)


def judged(
    rig: CameraRig,
    obs: Observations,
    paths: Trajectories,
    model: TrackingModel,
    settings: JointSettings,
    joins: list[tuple[int, int, int]],
    come_and_go: bool,
    pins: Pins = NONE,
    known: tuple[Filtered, Filtered] | None = None,
) -> Refined:
    """Return finished tracks with what is doubtful about them; ``joins`` and the rest as in `Refined`.

    known : `filter_both` of these paths, where that was done before.
    """
    forth, back = filter_both(rig, obs, paths, model) if known is None else known
    swaps = _swaps(obs, paths, forth, back, model, settings)
    scores = link_scores(paths, forth, back, model, settings)
    borders = find_borders(rig, paths, forth[2], back[2])
    done = np.array(joins, np.int64).reshape(-1, 3)
    return Refined(paths, swaps, scores, done, borders, come_and_go, pins, model.body_length)


def _swaps(
    obs: Observations,
    paths: Trajectories,
    forth: Filtered,
    back: Filtered,
    model: TrackingModel,
    settings: JointSettings,
) -> Swaps:
    """Moments at which two tracks may be exchanged, by their motion and by the tool's own tracks, if it gave any."""
    found = find_swaps(paths, forth, back, model, settings)
    return ToolTracks(obs, paths).swapped(found, model.body_length) if len(obs.tracklet) else found


def _said(obs: Observations, pins: Pins) -> Callable[[Trajectories, Array], None]:
    """Return what puts the word of the tool, and then that of people, into log-odds of links."""

    def weigh(paths: Trajectories, value: Array) -> None:
        if len(obs.tracklet):
            value += ToolTracks(obs, paths).link_odds()
        pins.weigh(paths, value)

    return weigh


def linear(rig: CameraRig, paths: Trajectories, model: TrackingModel) -> Lines:
    """Return the cameras as they are about the states of tracks (`filtering.linearised`)."""
    found: Lines = linearised(rig.packed, paths.members, paths.state, 1e-4 * model.body_length)
    return found


def filtered(
    obs: Observations, noise: Array, paths: Trajectories, model: TrackingModel, lines: Lines, q: Array, back: bool
) -> Filtered:
    """Return states of all rows in one direction of time, ``back`` or forwards (`filtering.run_filter`).

    Parameters
    ----------
    obs : detections.
    noise : (D,) of them, px.
    paths : tracks.
    model : of the recording.
    lines : cameras about these tracks (`linear`).
    q : (N,) variance of acceleration in the step to each row.
    back : whether the future tells, instead of the past.
    """
    found: Filtered = run_filter(
        paths.begin,
        paths.frame,
        paths.members,
        paths.state,
        lines,
        obs.u,
        obs.v,
        noise,
        q,
        model.velocity**2,
        model.body_length**2,
        back,
    )
    return found


def filter_both(
    rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel
) -> tuple[Filtered, Filtered]:
    """States of all rows from the past, and from the future, to tell whether these are of one animal.

    All steps are calm: two tracks that were exchanged look as if both had darted, and a dart would excuse it.
    """
    lines, q = linear(rig, paths, model), np.full(len(paths.name), model.acceleration**2)
    r = obs.noise
    return filtered(obs, r, paths, model, lines, q, False), filtered(obs, r, paths, model, lines, q, True)


def smoothed(
    rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel, settings: JointSettings
) -> Trajectories:
    """Return the same tracks with states given all their detections, and darts where they are likely."""
    lines = linear(rig, paths, model)
    return smoothed_with(obs, paths, model, lines, darts_of(obs, paths, model, settings, lines))


def darts_of(
    obs: Observations, paths: Trajectories, model: TrackingModel, settings: JointSettings, lines: Lines
) -> Array:
    """(N,) variances of acceleration in the step to each row, larger in darts."""
    found: Array = find_darts(
        paths.begin,
        paths.frame,
        paths.state,
        lines,
        obs.u,
        obs.v,
        obs.noise,
        paths.members,
        model.acceleration**2,
        model.velocity**2,
        model.body_length**2,
        settings.dart_share,
        model.dart**2,
    )
    return found


def smoothed_with(obs: Observations, paths: Trajectories, model: TrackingModel, lines: Lines, q: Array) -> Trajectories:
    """Return the same tracks with states given all their detections and variances of acceleration (N,)."""
    noise = obs.noise
    for again in (False, True):
        _, _, state, cov, _ = filtered(obs, noise, paths, model, lines, q, False)
        smooth(paths.begin, paths.frame, state, cov, q)
        if not again:
            noise = doubted(obs, paths, lines, state, cov)
    return Trajectories(paths.name, paths.frame, paths.members, state, cov)


def doubted(obs: Observations, paths: Trajectories, lines: Lines, state: Array, cov: Array) -> Array:
    """Noise (D,) of all detections, px, wider for those that the rest of their track speaks against.

    The filter judges a detection by what came before it, and the first view of a frame by no other view. Smoothed
    states (N, 6) judge all alike: the expected square of an error is that of its residual and what the state is
    uncertain by, and counts as little as one in the tail of the noise does (`kernels.absorb`). Without the order of
    views, none is preferred.
    """
    pixel, J, use = lines
    row, view = np.nonzero(use)
    d, J = paths.members[row, view], J[row, view]
    off = np.stack([obs.u[d], obs.v[d]], axis=1) - pixel[row, view]
    off -= np.einsum("nki,ni->nk", J, state[row, :3] - paths.state[row, :3])
    square = (off**2).sum(1) + np.einsum("nki,nij,nkj->n", J, cov[row, :3, :3], J)
    square /= obs.noise[d] ** 2
    out: Array = obs.noise.copy()
    wide = TAIL_SCALE**2
    tail = expit(0.5 * square * (1.0 - 1.0 / wide) - np.log((1.0 - TAIL_SHARE) * wide / TAIL_SHARE))
    out[d] /= np.sqrt(1.0 - tail + tail / wide)
    return out


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
