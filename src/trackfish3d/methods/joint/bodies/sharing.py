"""Detections that show two animals, or three: whose they are besides their holder, and what they say of each.

Where animals overlap in a view, a detector may draw one box around them. Tracking gives it to one of them; the others
seem to be missed, and the one is drawn to the middle of all. Finished tracks tell how large each body is and where it
should be seen, so that the box around one and around several can be compared with what was detected:

    left of a box = least (middle - half the width) of the animals it shows, and so for every side.

Every animal that a view missed may join one detection of another there, and two may join the same; two or three may
share one that nobody holds, for the middle of several is often too far from each. The choice of greatest total
likelihood is found exactly: detections choose sets of those who join (`packing.pack`).

An animal whose edge is the box's edge is half a body away from it; one whose edges are inside is anywhere in the box.
"""

from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....cameras.rig import CameraRig
from ..model import TrackingModel
from ..observations import Observations
from ..packing import pack
from ..refinement.trajectories import Trajectories
from .usual import stage

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
PRIOR = -1.0  # log-odds, before its box is looked at, that an animal which a view missed beside another is in its box
LEAST = 4.0  # log-likelihood ratio that one who joins must bring
ODD = 0.05  # share of sides that are anywhere
INSIDE = 0.5  # of a body's extent that must be in a box, along both axes
MOST = 4  # animals of which sets are tried for a detection, the likeliest ones
NODES = 20000  # steps after which the search in a component ends


class Bodies(NamedTuple):
    """Animals in views, (K, 2) for x and y each, px: middle, half the extent, and the variance of a side."""

    middle: Array
    half: Array
    variance: Array

    def of(self, rows: Ints) -> "Bodies":
        """Return some of them."""
        return Bodies._make(values[rows] for values in self)


class Scene(NamedTuple):
    """Detections (D,): box (D, 4), noise of a centroid, px, log density of false ones, frame and view, and its holder.

    ``moment`` ascends; ``holder`` is one of the bodies, -1 for nobody.
    """

    box: Array
    noise: Array
    log_clutter: Array
    moment: Ints
    holder: Ints


def around(bodies: Bodies) -> tuple[Array, Array, Ints]:
    """Return sides (..., 4) of the box around animals (..., K, 2), their variances, and whose each side is (..., 4)."""
    low, high = bodies.middle - bodies.half, bodies.middle + bodies.half
    whose = np.concatenate([low.argmin(-2), high.argmax(-2)], axis=-1)
    sides = np.concatenate([low.min(-2), high.max(-2)], axis=-1)
    every = np.concatenate([bodies.variance, bodies.variance], axis=-1)
    return sides, np.take_along_axis(every, whose[..., None, :], axis=-2)[..., 0, :], whose


def box_density(box: Array, sides: Array, variance: Array) -> Array:
    """Log density (...) of a box (..., 4): left, top, right, bottom, given where its sides should be."""
    wide = np.tile(np.maximum(box[..., 2:] - box[..., :2], 1.0), 2)
    same = np.exp(-0.5 * (box - sides) ** 2 / variance) / np.sqrt(2.0 * np.pi * variance)
    found: Array = np.log((1.0 - ODD) * same + ODD / (2.0 * wide)).sum(-1)
    return found


def shared(
    rig: CameraRig, obs: Observations, frame: Ints, paths: Trajectories, model: TrackingModel
) -> tuple[Observations, Trajectories]:
    """Let animals that a view missed share a detection with its holder, or with each other if nobody holds it.

    Parameters
    ----------
    rig : the cameras.
    obs : detections, as bodies explain them.
    frame : (D,) of each detection, ascending; cameras ascend within a frame.
    paths : finished tracks, smoothed.
    model : of the recording.

    Returns observations with rows more for animals that join (``shown`` names the detection), placed as the box's sides
    say of each animal; and tracks that hold these rows.
    """
    if model.body is None:
        return obs, paths
    views = paths.members.shape[1]
    bodies, place, lost = _seen_bodies(rig, obs, paths, model)
    moment = (paths.frame[:, None] * views + np.arange(views)).ravel()[place]
    members = paths.members.ravel()[place]
    holder = np.full(len(obs.u), -1, np.int64)
    holder[members[members >= 0]] = np.flatnonzero(members >= 0)
    taken = np.zeros(len(obs.u), bool)
    taken[paths.members[paths.members >= 0]] = True
    scene = Scene(obs.box, obs.noise, np.log(model.clutter)[obs.camera], frame * views + obs.camera, holder)
    owner, joins, weight = options(scene, taken & (holder < 0), bodies, moment[lost], lost)
    if not len(owner):
        return obs, paths
    return _joined(obs, paths, scene, bodies, place, chosen_groups(owner, joins, weight))


def _seen_bodies(
    rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel
) -> tuple[Bodies, Ints, Ints]:
    """Return animals in the views that hold or miss them, row and view (K,) of each, and which of them are missed."""
    rows = stage(rig, obs, paths, model).rows
    spread = np.einsum("ncki,nij,nckj->nck", rows.J, paths.cov[:, :3, :3], rows.J)
    sized = rows.seen & (rows.half[..., 0] > 0)
    inside = (rows.pixel >= 0).all(2) & (rows.pixel < np.array([c.size for c in rig], float)).all(2)
    held, missed = sized & (paths.members >= 0), sized & (paths.members < 0) & inside
    place = np.flatnonzero((held | missed).ravel())
    bodies = Bodies(
        rows.pixel.reshape(-1, 2)[place],
        rows.half.reshape(-1, 4)[place, :2],
        (spread + rows.half[..., 2:] ** 2).reshape(-1, 2)[place],
    )
    return bodies, place, np.flatnonzero(missed.ravel()[place])


def chosen_groups(owner: Ints, joins: Ints, weight: Array) -> list[tuple[int, list[int]]]:
    """Return who shares each detection, by the choice of greatest total weight.

    Parameters
    ----------
    owner : (H,) detection of each choice.
    joins : (H, J) who would join, -1 for nobody; each may join once.
    weight : (H,) what that is worth, against nobody.
    """
    owners, which = np.unique(owner, return_inverse=True)
    items, at = np.unique(joins[joins >= 0], return_inverse=True)
    members = np.full((len(owners) + len(owner), joins.shape[1]), -1, np.int64)  # first of all: nobody joins
    members[len(owners) :][joins >= 0] = at
    chooser = np.concatenate([np.arange(len(owners)), which.reshape(-1)])
    value = np.concatenate([np.zeros(len(owners)), weight])
    order = np.argsort(chooser, kind="stable")
    chosen, _, _ = pack(chooser[order], members[order], value[order], len(owners), len(items), NODES)
    found = members[order][chosen]
    return [(int(owners[k]), items[row[row >= 0]].tolist()) for k, row in enumerate(found) if row.max(initial=-1) >= 0]


def options(
    scene: Scene, barred: NDArray[np.bool_], bodies: Bodies, moment: Ints, lost: Ints
) -> tuple[Ints, Ints, Array]:
    """Return who may share: detections (H,), up to three who join (H, 3) or -1, and the log-likelihood ratio (H,).

    Parameters
    ----------
    scene : the detections.
    barred : (D,) detections that nobody may join.
    bodies : all animals in views.
    moment : (L,) frame and view of those whom a view missed.
    lost : (L,) which bodies these are.
    """
    begin = np.searchsorted(scene.moment, moment, "left")
    count = np.searchsorted(scene.moment, moment, "right") - begin
    who = np.repeat(lost, count)
    whose = np.repeat(begin, count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    low = np.maximum(bodies.middle[who] - bodies.half[who], scene.box[whose, :2])
    high = np.minimum(bodies.middle[who] + bodies.half[who], scene.box[whose, 2:])
    near = (high - low > 2.0 * INSIDE * bodies.half[who]).all(1) & ~barred[whose]
    who, whose = who[near], whose[near]
    order = np.argsort(whose, kind="stable")
    who, whose = who[order], whose[order]
    single = np.flatnonzero(scene.holder[whose] >= 0)
    gain = _gain(scene, bodies, whose[single], who[single][:, None])
    found = [(whose[single], who[single][:, None], gain)]
    # sets of several are asked where one alone is not out of the question, or nobody holds the detection
    asked = np.ones(len(scene.moment), bool)
    asked[whose[single]] = False
    asked[whose[single[gain > 0.0]]] = True
    cuts = np.flatnonzero(np.diff(whose)) + 1
    for begin, end in zip([0, *cuts], [*cuts, len(whose)], strict=True):
        if end - begin < 2 or not asked[whose[begin]]:
            continue
        d, near_by = int(whose[begin]), who[begin:end]
        off = np.abs(bodies.middle[near_by] - 0.5 * (scene.box[d, :2] + scene.box[d, 2:])).sum(1)
        near_by = near_by[np.argsort(off, kind="stable")[:MOST]]
        for size in (2,) if scene.holder[d] >= 0 else (2, 3):
            sets = np.array(list(combinations(near_by.tolist(), size)), np.int64).reshape(-1, size)
            owner = np.full(len(sets), d)
            found.append((owner, sets, _gain(scene, bodies, owner, sets)))
    owners = np.concatenate([owner for owner, _, _ in found])
    joins = np.vstack([np.pad(sets, ((0, 0), (0, 3 - sets.shape[1])), constant_values=-1) for _, sets, _ in found])
    weight = np.concatenate([value for _, _, value in found])
    good = weight > LEAST * (joins >= 0).sum(1)
    return owners[good], joins[good], weight[good]


def _gain(scene: Scene, bodies: Bodies, d: Ints, who: Ints) -> Array:
    """(H,) log-likelihood ratio of "detections d (H,) show who (H, J), too" against holders alone, or false ones.

    Either all of these detections have holders, or none has.
    """
    if not len(d):
        return np.zeros(0)
    noise, box, holder = 2.0 * (scene.noise[d] ** 2)[:, None], scene.box[d], scene.holder[d]
    if holder[0] < 0:
        everyone = who
        alone = scene.log_clutter[d] - np.log(16.0 * bodies.half[who[:, 0]].prod(1))
    else:
        everyone = np.column_stack([holder, who])
        own, own_variance, _ = around(bodies.of(holder[:, None]))
        alone = box_density(box, own, own_variance + noise)
    sides, variance, _ = around(bodies.of(everyone))
    return np.asarray(box_density(box, sides, variance + noise) - alone + PRIOR * who.shape[1])


def _joined(
    obs: Observations,
    paths: Trajectories,
    scene: Scene,
    bodies: Bodies,
    place: Ints,
    groups: list[tuple[int, list[int]]],
) -> tuple[Observations, Trajectories]:
    """Give those who join rows of their own, and place all whom a detection shows by its sides."""
    n = len(obs.u)
    everyone = [(d, joining if scene.holder[d] < 0 else [int(scene.holder[d]), *joining]) for d, joining in groups]
    source = [d for d, who in everyone for _ in who[1:]]
    out = obs.repeated(np.concatenate([np.arange(n), np.array(source, np.int64)]))
    members = paths.members.copy()
    added = n
    for d, who in everyone:
        at, deviation = placed(scene.box[d], float(scene.noise[d]), bodies.of(np.array(who)))
        for k, body in enumerate(who):
            row = d if k == 0 else added
            out.u[row], out.v[row], out.noise[row] = at[k, 0], at[k, 1], deviation[k]
            members.ravel()[place[body]] = row
            added += k > 0
    return out, replace(paths, members=members)


def placed(box: Array, noise: float, bodies: Bodies) -> tuple[Array, Array]:
    """Return where a box (4,) of several animals says that each is (K, 2), px, and the deviation (K,) of that."""
    whose = around(bodies)[2]
    n = len(bodies.middle)
    at, variance = np.empty((n, 2)), np.empty((n, 2))
    for k in range(n):
        for axis in range(2):
            low, high = box[axis], box[2 + axis]
            from_low, from_high = whose[axis] == k, whose[2 + axis] == k
            half = bodies.half[k, axis]
            if from_low and from_high:
                at[k, axis], variance[k, axis] = 0.5 * (low + high), noise**2
            elif from_low or from_high:
                at[k, axis] = low + half if from_low else high - half
                variance[k, axis] = 2.0 * noise**2 + bodies.variance[k, axis]
            else:
                at[k, axis] = 0.5 * (low + high)
                variance[k, axis] = noise**2 + max(high - low - 2.0 * half, 0.0) ** 2 / 12.0 + half**2 / 3.0
    return at, np.sqrt(variance.mean(1))
