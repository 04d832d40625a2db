"""Whose part is it: of every view, each animal takes the parts that its body expects, whatever instance they were in.

Pose detectors cut an animal in two, join two into one, give a part of the neighbour, or take left for right. What the
other views and the moments before and after say of a body tells which parts are its own.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..cameras.rig import CameraRig
from ..core.compiled import KERNEL, kernel
from ..maths.order import descending
from ..recordings.detections import Detections
from .anatomy import Anatomy
from .segments import Segment, Sightings

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
GATE = 16.0  # squared sigmas beyond which a part is nobody's
FOREIGN, TURNED = 4.0, 4.0  # what it costs to take a part of another instance, or of the other side


class Offers(NamedTuple):
    """Animals in the order of their frames: where views should see parts, pixel (E, C, K, 2), and its variance spread
    (E, C, K); rows and taken (E, C, K), the detections and their parts that they have.
    """

    pixel: Array
    spread: Array
    rows: Ints
    taken: Ints


def claim(
    rig: CameraRig, sightings: Sightings, detections: Detections, segments: list[Segment], anatomy: Anatomy
) -> int:
    """Give every part that was seen to the animal that expects it, in place; returns how many changed hands.

    Parameters
    ----------
    rig : the cameras.
    sightings : parts of all detections.
    detections : whose frames and cameras say what was seen where.
    segments : animals of the same frames, solved with covariances.
    anatomy : what was learnt.
    """
    assert detections.skeleton is not None
    if not segments:
        return 0
    expected = [_expected(rig, s, anatomy) for s in segments]
    number = np.concatenate([s.frame for s in segments])
    order = np.argsort(number, kind="stable")
    frames, begin = np.unique(number[order], return_index=True)
    offers = Offers(
        np.concatenate([pixel for pixel, _ in expected])[order],
        np.concatenate([spread for _, spread in expected])[order],
        np.concatenate([s.rows for s in segments])[order],
        np.concatenate([s.taken for s in segments])[order],
    )
    first, last = (np.searchsorted(detections.frame, frames, side) for side in ("left", "right"))
    camera, mirror = detections.camera.astype(np.int64), detections.skeleton.mirror
    changed = give(np.append(begin, len(order)), first, last, camera, sightings.pixel, mirror, offers)
    back = np.argsort(order)
    at = 0
    for segment in segments:
        mine = back[at : at + len(segment)]
        segment.rows, segment.taken = offers.rows[mine], offers.taken[mine]
        at += len(segment)
    return int(changed)


def _expected(rig: CameraRig, segment: Segment, anatomy: Anatomy) -> tuple[Array, Array]:
    """Where (F, C, K, 2) views should see the parts, and the variance (F, C, K) px^2 of that, noise included."""
    frames, parts = segment.points.shape[:2]
    pixel, spread = np.zeros((frames, len(rig), parts, 2)), np.zeros((frames, len(rig), parts))
    sigma = np.sqrt(np.einsum("fkii->fk", segment.covariance) / 3)
    flat = segment.points.reshape(-1, 3)
    for c, camera in enumerate(rig):
        at = camera.project(flat)
        aside = camera.project(flat + 1e-3 * anatomy.size * np.array([0.577, 0.577, 0.577]))
        more = camera.project(flat + 1e-3 * anatomy.size * np.array([0.707, -0.707, 0.0]))
        scale = np.maximum(np.linalg.norm(aside - at, axis=1), np.linalg.norm(more - at, axis=1)) / (
            1e-3 * anatomy.size
        )
        pixel[:, c] = at.reshape(frames, parts, 2)
        spread[:, c] = anatomy.sigma[c] ** 2 + (scale.reshape(frames, parts) * sigma) ** 2
    return pixel, spread


@kernel
def give(groups: Ints, first: Ints, last: Ints, camera: Ints, seen: Array, mirror: Ints, offers: Offers) -> int:
    """Give parts to animals, frame by frame and view by view: the cheapest first, nothing twice; counts changes.

    Parameters
    ----------
    groups : (G + 1,) where the animals of each frame begin in ``offers``.
    first, last : (G,) the detections of each frame, which are sorted by camera.
    camera : (N,) of the detections.
    seen : (N, K, 2) px, parts of the detections.
    mirror : (K,) the other of each left/right pair.
    offers : whose rows and parts are filled anew.
    """
    changed = 0
    for g in range(first.shape[0]):
        low = first[g]
        while low < last[g]:
            high = low
            while high < last[g] and camera[high] == camera[low]:
                high += 1
            changed += _give_view(groups[g], groups[g + 1], low, high, camera[low], seen, mirror, offers)
            low = high
    return changed


@njit(**KERNEL)
def _give_view(begin, end, low, high, c, seen, mirror, offers):  # type: ignore[no-untyped-def]
    """Give the parts of detections ``low`` to ``high`` of view c to animals ``begin`` to ``end``."""
    parts, animals, instances = seen.shape[1], end - begin, high - low
    rows, taken = offers.rows, offers.taken
    room = 2 * animals * instances * parts
    costs, keys = np.empty(room), np.empty((room, 3), np.int64)
    home = np.empty(animals, np.int64)
    for a in range(animals):
        home[a] = _home(rows, begin + a, c, low, high)
    count = 0
    for turned in range(2):
        for a in range(animals):
            for j in range(instances):
                for k in range(parts):
                    source = mirror[k] if turned else k
                    if turned and source == k:
                        continue
                    du = seen[low + j, source, 0] - offers.pixel[begin + a, c, k, 0]
                    dv = seen[low + j, source, 1] - offers.pixel[begin + a, c, k, 1]
                    cost = (du * du + dv * dv) / offers.spread[begin + a, c, k]
                    cost += (0.0 if home[a] == j else FOREIGN) + (TURNED if turned else 0.0)
                    if cost < GATE:
                        costs[count] = -cost
                        keys[count, 0], keys[count, 1], keys[count, 2] = a, j * parts + source, k
                        count += 1
    chosen, part = np.full((animals, parts), -1, np.int64), np.empty((animals, parts), np.int64)
    for a in range(animals):
        for k in range(parts):
            part[a, k] = k
    used = np.zeros(instances * parts, np.bool_)
    order = descending(costs[:count])
    for i in range(count):
        a, source, k = keys[order[i], 0], keys[order[i], 1], keys[order[i], 2]
        if chosen[a, k] < 0 and not used[source]:
            chosen[a, k], part[a, k] = low + source // parts, source % parts
            used[source] = True
    changed = 0
    for a in range(animals):
        for k in range(parts):
            if rows[begin + a, c, k] != chosen[a, k]:
                changed += 1
            rows[begin + a, c, k], taken[begin + a, c, k] = chosen[a, k], part[a, k]
    return changed


@njit(**KERNEL)
def _home(rows, e, c, low, high):  # type: ignore[no-untyped-def]
    """Place after ``low`` of the instance that an animal has most of its parts from in a view, -1 for none."""
    best, most = -1, 0
    for j in range(low, high):
        count = 0
        for k in range(rows.shape[2]):
            if rows[e, c, k] == j:
                count += 1
        if count > most:
            best, most = j - low, count
    return best
