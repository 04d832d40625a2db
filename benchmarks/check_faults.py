"""Faulty recordings for `bench_check.py`, drawn anew until the fault matters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from check_recordings import (
    Array,
    Case,
    Film,
    Plan,
    describe,
    detections_of,
    draw_plan,
    film,
    log_uniform,
    rig_and_water,
)
from trackfish3d.cameras import CameraRig, triangulate_ml
from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Detections
from trackfish3d.synfish.rigs import common_point

WET = ("tank", "pool")
# twenty draws of faults; the whole set repeats them
FAULTS = (
    "clock 1-7", "clock 8-29", "clock 30-199", "clock 200-500", "missing water", "missing water", "wrong water",
    "needless water", "swapped", "swapped", "camera twice", "frozen", "dead", "no parallax", "focal of two",
    "focal of many", "pose", "no common moment", "noise", "detections twice",
)  # fmt: skip
SMALL = "clock, small"


def true_error(rig: CameraRig, pixels: Array) -> float:
    """Median reprojection error in px of true pairs of views, at most 400 of them; 1e3 where rays do not meet."""
    errors = [0.0]
    for a in range(len(rig)):
        for b in range(a + 1, len(rig)):
            both = np.argwhere(np.isfinite(pixels[a]).all(-1) & np.isfinite(pixels[b]).all(-1))
            both = both[:: max(1, len(both) // 400)]
            if len(both):
                pair = np.stack([pixels[a][tuple(both.T)], pixels[b][tuple(both.T)]], 1).reshape(-1, 2)
                point = triangulate_ml(rig, pair, np.tile([a, b], len(both)), np.arange(len(both) + 1) * 2)
                errors.append(float(np.median(np.where(point.valid, point.error_px, 1e3))))
    return max(errors)


def faulty_case(number: int) -> Case:
    """The faulty recording of this number: drawn anew until the fault matters.

    A fault of calibration, clock or naming matters if it makes true pairs of detections three times as wrong as
    they were and wrong by 3 px, and a clock's if it also moves animals by 0.15 body lengths.
    """
    return _drawn(FAULTS[number % len(FAULTS)], number, 12)


def small_case(number: int) -> Case:
    """A recording with a clock that is off by too little to matter."""
    return _drawn(SMALL, number, 13)


def _drawn(fault: str, number: int, stream: int) -> Case:
    for trial in range(200):
        rng = np.random.default_rng([number, trial, stream])
        plan = _faulty_plan(fault, draw_plan(rng, 10_000 + 200 * number + trial), rng)
        case = spoil(fault, film(plan), rng)
        if case is not None:
            return case
    raise InputError(f"fault {number} ({fault}): no draw of 200 matters")


def _faulty_plan(fault: str, plan: Plan, rng: np.random.Generator) -> Plan:
    """Such a recording in which the fault can be: long enough, with animals that move."""
    if plan.pace == "rest":
        plan = replace(plan, pace="burst")
    plan = replace(plan, frames=plan.frames if plan.frames >= 60 else log_uniform(rng, 60, 2000), step=1)
    if "water" in fault:
        plan = replace(plan, rig=str(rng.choice(WET)), dry=fault == "needless water")
    if fault.startswith("clock"):
        plan = replace(plan, dry=rng.random() < 0.4)  # missing water could be blamed where the calibration has none
        plan = replace(plan, frames=max(plan.frames, log_uniform(rng, min(3 * _delays(fault)[0], 1500), 2000)))
    if fault == "focal of two":
        plan = replace(plan, rig=str(rng.choice(["tank", "random", "pool"])), cameras=2)
    if fault == "focal of many":
        plan = replace(plan, rig=str(rng.choice(["random", "pool", "paper"])), cameras=int(rng.integers(3, 7)))
    if fault == "no parallax":
        plan = replace(plan, rig=str(rng.choice(["random", "paper"])))
    return plan


def _delays(fault: str) -> tuple[int, int]:
    """Least and largest delay of a fault of the clock, frames."""
    if fault == SMALL:
        return 1, 300
    low, high = fault.removeprefix("clock ").split("-")
    return int(low), int(high)


def spoil(fault: str, shot: Film, rng: np.random.Generator) -> Case | None:
    """Put a fault into a film; None if it would not matter."""
    rig, plan = shot.rig, shot.plan
    who = int(rng.integers(len(rig)))
    name, words = rig[who].name, describe(plan)
    if fault.startswith("clock"):
        return _late(fault, shot, who, rng)
    if fault in ("missing water", "wrong water", "needless water", "focal of two", "focal of many", "pose"):
        wrong = _miscalibrated(fault, shot, who, rng)
        bad, fine = true_error(wrong, shot.pixels), true_error(rig, shot.pixels)
        guilty = rig.names if "water" in fault else (name,)
        return Case(wrong, detections_of(shot), fault, words, guilty) if bad > max(3 * fine, 3.0) else None
    if fault == "swapped":
        other = int(rng.choice([c for c in range(len(rig)) if c != who]))
        order = list(range(len(rig)))
        order[who], order[other] = other, who
        swapped = replace(shot, pixels=shot.pixels[order], half=shot.half[order])
        matters = true_error(rig, swapped.pixels) > max(3 * true_error(rig, shot.pixels), 3.0)
        return Case(rig, detections_of(swapped), fault, words, (name, rig[other].name)) if matters else None
    if fault == "camera twice":
        return _twice(shot, who, rng)
    if fault in ("frozen", "dead"):
        return _stopped(fault, shot, who, rng)
    if fault == "no parallax":
        return _one_place(shot, rng)
    found = detections_of(shot)
    if fault == "no common moment":
        return Case(rig, _apart(found, plan, rng), fault, words, rig.names)
    if fault == "noise":
        size = np.array([c.size for c in rig])[found.camera]
        spot = rng.random((len(found), 2)) * size
        box = () if plan.kind == "points" else (*(spot - 20).T, *(spot + 20).T)
        return Case(rig, Detections.build(rig.names, found.frame, found.camera, *spot.T, *box), fault, words)
    jitter = float(rng.choice([0.0, 0.2]))
    again = [np.concatenate([c, c + jitter * rng.normal(size=len(c))]) for c in (found.u, found.v)]
    boxes = () if plan.kind == "points" else [np.tile(c, 2) for c in (found.x1, found.y1, found.x2, found.y2)]
    twice = Detections.build(rig.names, np.tile(found.frame, 2), np.tile(found.camera, 2), *again, *boxes)
    return Case(rig, twice, "detections twice", words)


def _late(fault: str, shot: Film, who: int, rng: np.random.Generator) -> Case | None:
    """One camera early or late; films of one length have at least a quarter in common."""
    shift = int(rng.choice([-1, 1])) * log_uniform(rng, *_delays(fault))
    if abs(shift) > 3 * shot.plan.frames // 7:
        return None
    frames = shot.plan.frames
    inside = np.arange(frames)[(np.arange(frames) + shift >= 0) & (np.arange(frames) + shift < frames)]
    moved = shot.pixels[:, inside + shift].copy()
    moved[who] = shot.pixels[who][inside]
    _, _, length = rig_and_water(shot.plan, np.random.default_rng([shot.plan.seed, 1]))
    way = np.median(np.linalg.norm(shot.position[inside + shift] - shot.position[inside], axis=-1)) / length
    matters = way > 0.15 and true_error(shot.rig, moved) > max(3 * true_error(shot.rig, shot.pixels), 3.0)
    if matters == (fault == SMALL):
        return None
    found = detections_of(shot).shifted([shift if c == who else 0 for c in range(len(shot.rig))])
    if rng.random() < 0.7:  # films of one length, each numbered from its own beginning; else numbers tell the shift
        first, last = shot.plan.first + max(0, shift), shot.plan.first + frames + min(0, shift)
        found = found.select((found.frame >= first) & (found.frame < last))
    words = f"{describe(shot.plan)} late {shift} ({way:.2f} body lengths)"
    slack = int(0.1 / max(way / abs(shift), 1e-9))
    return Case(shot.rig, found, fault, words, (shot.rig[who].name,), shift, slack)


def _miscalibrated(fault: str, shot: Film, who: int, rng: np.random.Generator) -> CameraRig:
    rig = shot.rig
    if fault == "missing water":
        return rig.without_water()
    if fault == "needless water":
        return rig_and_water(replace(shot.plan, dry=False), np.random.default_rng([shot.plan.seed, 1]))[0]
    cameras = list(rig)
    if fault == "wrong water":
        move = (
            float(rng.choice([-1, 1])) * rng.uniform(0.1, 0.3) * np.linalg.norm(cameras[who].centre - common_point(rig))
        )
        for c, camera in enumerate(cameras):
            face = camera.interfaces[0]
            near = (camera.centre - face.point) @ face.normal
            place = face.point + face.normal * min(move, 0.8 * near)
            cameras[c] = replace(camera, interfaces=(replace(face, point=place),))
        return CameraRig(tuple(cameras), rig.units)
    camera = cameras[who]
    if fault.startswith("focal"):
        K = camera.K.copy()
        K[[0, 1], [0, 1]] *= float(rng.choice([0.8, 1.2]))
        cameras[who] = replace(camera, K=K)
    else:
        axis = rng.normal(size=3)
        turn = Rotation.from_rotvec(np.radians(rng.uniform(0.5, 4)) * axis / np.linalg.norm(axis)).as_matrix()
        cameras[who] = replace(camera, R=turn @ camera.R, t=turn @ camera.t)
    return CameraRig(tuple(cameras), rig.units)


def _twice(shot: Film, who: int, rng: np.random.Generator) -> Case:
    """One film stands for two cameras: in the place of another's, or as a camera more."""
    names = list(shot.rig.names)
    if rng.random() < 0.5:
        other = int(rng.choice([c for c in range(len(names)) if c != who]))
        pixels, half = shot.pixels.copy(), shot.half.copy()
        pixels[other], half[other] = pixels[who], half[who]
        quiet = replace(shot, pixels=pixels, half=half, plan=replace(shot.plan, false=0.0))
        found, rig, copy = detections_of(quiet), shot.rig, names[other]
    else:
        rig = CameraRig((*shot.rig, replace(shot.rig[who], name="again")), shot.rig.units)
        pixels = np.concatenate([shot.pixels, shot.pixels[who : who + 1]])
        half = np.concatenate([shot.half, shot.half[who : who + 1]])
        quiet = replace(shot, rig=rig, pixels=pixels, half=half, plan=replace(shot.plan, false=0.0))
        found, copy = detections_of(quiet), "again"
    return Case(rig, found, "camera twice", describe(shot.plan), (names[who], copy))


def _stopped(fault: str, shot: Film, who: int, rng: np.random.Generator) -> Case:
    """A camera that sees nothing, or the same picture, from somewhere midway on."""
    at = int(shot.plan.frames * rng.uniform(0.3, 0.7))
    pixels, half = shot.pixels.copy(), shot.half.copy()
    pixels[who, at:] = np.nan if fault == "dead" else pixels[who, at]
    half[who, at:] = half[who, at]
    stopped = replace(shot, pixels=pixels, half=half, plan=replace(shot.plan, false=0.0))
    return Case(shot.rig, detections_of(stopped), fault, describe(shot.plan), (shot.rig[who].name,))


def _one_place(shot: Film, rng: np.random.Generator) -> Case:
    """All cameras stand where the first does, or next to it, turned a little."""
    first = shot.rig[0]
    reach = np.linalg.norm(common_point(shot.rig) - first.centre)
    cameras = []
    for c, camera in enumerate(shot.rig):
        turn = Rotation.from_rotvec(np.radians(2) * rng.normal(size=3)).as_matrix() @ first.R
        centre = first.centre + (c > 0) * float(rng.choice([0.0, 0.004])) * reach * rng.normal(size=3) / 1.7
        cameras.append(replace(first, name=camera.name, R=turn, t=-turn @ centre))
    rig = CameraRig(tuple(cameras), shot.rig.units)
    pixels = np.stack([c.project(shot.position.reshape(-1, 3)).reshape(*shot.position.shape[:2], 2) for c in rig])
    pixels += shot.plan.white_px * rng.normal(size=pixels.shape)
    pixels[~np.isfinite(shot.pixels)] = np.nan
    for c, camera in enumerate(rig):
        pixels[c][~camera.in_image(pixels[c])] = np.nan
    return Case(
        rig, detections_of(replace(shot, rig=rig, pixels=pixels)), "no parallax", describe(shot.plan), rig.names
    )


def _apart(found: Detections, plan: Plan, rng: np.random.Generator) -> Detections:
    """Cameras that never film at the same moment: in turns, or one after the other."""
    count = len(found.cameras)
    if rng.random() < 0.5:
        return found.select((found.frame - plan.first) % count == found.camera)
    return found.shifted(np.arange(count) * (plan.frames + 5))
