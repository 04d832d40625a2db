"""Whose part is it: of every view, each animal takes the parts that its body expects, whatever instance they were in.

Pose detectors cut an animal in two, join two into one, give a part of the neighbour, or take left for right. What the
other views and the moments before and after say of a body tells which parts are its own.
"""

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import CameraRig
from ..recordings.detections import Detections
from .anatomy import Anatomy
from .segments import Segment, Sightings

Array = NDArray[np.float64]
GATE = 16.0  # squared sigmas beyond which a part is nobody's
FOREIGN, TURNED = 4.0, 4.0  # what it costs to take a part of another instance, or of the other side


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
    mirror = detections.skeleton.mirror if detections.skeleton is not None else np.zeros(0, np.int64)
    expected = [_expected(rig, s, anatomy) for s in segments]
    by_frame: dict[int, list[tuple[int, int]]] = {}
    for k, segment in enumerate(segments):
        for f, number in enumerate(segment.frame.tolist()):
            by_frame.setdefault(number, []).append((k, f))
    changed = 0
    for number, present in by_frame.items():
        begin, end = np.searchsorted(detections.frame, [number, number + 1])
        for c in range(len(rig)):
            rows = begin + np.flatnonzero(detections.camera[begin:end] == c)
            if not len(rows):
                continue
            pixel = np.stack([expected[k][0][f, c] for k, f in present])
            spread = np.stack([expected[k][1][f, c] for k, f in present])
            own = np.stack([segments[k].rows[f, c] for k, f in present])
            chosen, part = _assigned(sightings, rows, pixel, spread, own, mirror)
            for i, (k, f) in enumerate(present):
                changed += int((segments[k].rows[f, c] != chosen[i]).sum())
                segments[k].rows[f, c], segments[k].taken[f, c] = chosen[i], part[i]
    return changed


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


def _assigned(
    sightings: Sightings,
    rows: NDArray[np.int64],
    pixel: Array,
    spread: Array,
    own: NDArray[np.int64],
    mirror: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and parts (A, K) that each animal takes in one view: the cheapest first, nothing twice."""
    animals, parts = own.shape
    seen = sightings.pixel[rows]
    home = _home(own, rows)
    foreign = np.where(np.arange(len(rows))[None, :] == home[:, None], 0.0, FOREIGN)
    costs, keys = [], []
    for turned in (False, True):
        which = mirror if turned else np.arange(parts)
        if turned and (which == np.arange(parts)).all():
            continue
        off = seen[None, :, which] - pixel[:, None]
        cost = (off**2).sum(-1) / spread[:, None] + foreign[..., None] + (TURNED if turned else 0.0)
        if turned:
            cost[..., which == np.arange(parts)] = np.nan
        a, j, k = np.nonzero(cost < GATE)
        costs.append(cost[a, j, k])
        keys.append(np.column_stack([a, j, k, which[k]]))
    chosen, part = np.full((animals, parts), -1, np.int64), np.tile(np.arange(parts), (animals, 1))
    used = np.zeros((len(rows), parts), bool)
    cost, key = np.concatenate(costs), np.concatenate(keys)
    for a, j, k, source in key[np.argsort(cost, kind="stable")].tolist():
        if chosen[a, k] < 0 and not used[j, source]:
            chosen[a, k], part[a, k] = rows[j], source
            used[j, source] = True
    return chosen, part


def _home(own: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Place in ``rows`` (A,) of the instance that each animal has most of its parts from, -1 for none."""
    count = (own[:, :, None] == rows).sum(1)
    return np.where(count.any(1), count.argmax(1), -1)
