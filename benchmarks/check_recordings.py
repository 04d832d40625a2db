"""Recordings for `bench_check.py`, good ones and faulty ones, drawn at random and told by their number alone.

Most are made in NumPy: animals on smooth paths whose pace changes (cruise, burst and coast, darts, rest), projected
through the rig, with the errors of real detections: white noise, a lean of each camera's centroids along the body,
an error that wanders for ten frames, misses, false detections. Every tenth good one comes from the simulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from trackfish3d.cameras import Camera, CameraRig, Interface
from trackfish3d.recordings import Detections
from trackfish3d.synfish.detector import make_detector
from trackfish3d.synfish.observe import observe
from trackfish3d.synfish.presets import preset
from trackfish3d.synfish.rigs import common_point, look_at, paper_rig, random_rig, tank_rig, tank_water
from trackfish3d.synfish.school import Water, simulate_school

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """What a recording is like. Speeds in body lengths a frame, errors in px or body lengths."""

    rig: str
    cameras: int
    animals: int
    frames: int
    speed: float
    pace: str
    kind: str
    white_px: float
    lean: float
    wander: float
    miss: float
    false: float
    step: int
    first: int
    seed: int
    dry: bool = False  # filmed without the water of the rig


@dataclass(frozen=True)
class Case:
    """A recording to be judged; ``guilty`` are the cameras at fault, ``late`` the frames by which the first is,
    and ``slack`` the frames in which animals move as a lean could feign, 0.1 body lengths."""

    rig: CameraRig
    detections: Detections
    fault: str
    plan: str
    guilty: tuple[str, ...] = ()
    late: int = 0
    slack: int = 0


@dataclass(frozen=True)
class Film:
    """What was filmed: the true rig, pixels (C, T, N, 2) with all errors, NaN where missed, and body sizes."""

    rig: CameraRig
    position: Array
    pixels: Array
    half: Array
    plan: Plan


def draw_plan(rng: np.random.Generator, seed: int) -> Plan:
    """Draw what a good recording is like."""
    rig = str(rng.choice(["tank", "pool", "paper", "random"], p=[0.3, 0.2, 0.2, 0.3]))
    return Plan(
        rig=rig,
        cameras=int(rng.integers(2, 7)),
        animals=log_uniform(rng, 1, 30),
        frames=log_uniform(rng, 5, 2000),
        speed=float(np.exp(rng.uniform(np.log(0.01), np.log(0.3)))),
        pace=str(rng.choice(["cruise", "burst", "dart", "mixed", "rest"], p=[0.25, 0.3, 0.2, 0.15, 0.1])),
        kind=str(rng.choice(["boxes", "points", "masks"])),
        white_px=float(np.exp(rng.uniform(np.log(0.2), np.log(3.0)))),
        lean=0.04 * float(rng.random() < 0.7),
        wander=0.03 * float(rng.random() < 0.5) * float(rng.random()),
        miss=float(rng.uniform(0, 0.15)),
        false=float(rng.choice([0.0, 0.05])) * float(rng.random()),
        step=10 if rng.random() < 0.1 else 1,
        first=int(rng.choice([0, 1, -40, 12345])),
        seed=seed,
    )


def log_uniform(rng: np.random.Generator, low: int, high: int) -> int:
    return int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))


def pool_rig(cameras: int, rng: np.random.Generator) -> CameraRig:
    """Cameras above open water that fills z < 0, at different heights and places."""
    made = []
    for c in range(cameras):
        angle = 2 * np.pi * (c + rng.uniform(-0.25, 0.25)) / (1.3 * cameras)
        centre = np.array([np.cos(angle), np.sin(angle), 0.0]) * rng.uniform(12, 35) + [0, 0, rng.uniform(30, 55)]
        R, t = look_at(centre, np.array([0.0, 0.0, -7.0]) + rng.normal(size=3))
        focal = 1500.0 * np.linalg.norm(centre) / 50
        K = np.array([[focal, 0, 960.0], [0, focal, 600.0], [0, 0, 1]])
        faces = (Interface(np.zeros(3), np.array([0.0, 0.0, 1.0])),)
        made.append(
            Camera(f"cam{c}", (1920, 1200), K, np.array([rng.uniform(-0.1, 0), 0, 0, 0]), R, t, interfaces=faces)
        )
    return CameraRig(tuple(made), "cm")


def rig_and_water(plan: Plan, rng: np.random.Generator) -> tuple[CameraRig, Water, float]:
    """Return the rig, the box where the animals are, and their length."""
    if plan.rig in ("tank", "pool"):
        rig = tank_rig() if plan.rig == "tank" else pool_rig(plan.cameras, rng)
        pool = Water(np.array([-14.0, -14, -15]), np.array([14.0, 14, -0.5]))
        water, length = (tank_water(), 3.5) if plan.rig == "tank" else (pool, 3.0)
        return rig.without_water() if plan.dry else rig, water, length
    if plan.rig == "paper":
        rig = paper_rig(int(rng.integers(7)))
    else:
        rig = random_rig(plan.cameras, int(rng.integers(10**6)))
    return rig, Water.around(common_point(rig), np.array([8.0, 8.0, 6.0])), 2.5


def pace_of(plan: Plan, rng: np.random.Generator) -> Array:
    """(T, N) speed of every animal, in units of the plan's."""
    shape = (plan.frames, plan.animals)
    kind = plan.pace
    rate = np.ones(shape)
    if kind in ("burst", "mixed"):
        bursting = lfilter([1.0], [1.0, -0.85], (rng.random(shape) < 0.03).astype(float), axis=0)
        rate = 0.75 + 0.9 * np.minimum(bursting, 1.5)
    if kind == "cruise":
        rate *= np.exp(lfilter([0.05], [1.0, -0.98], rng.normal(size=shape), axis=0))
    if kind in ("dart", "mixed"):
        for animal in range(plan.animals):
            for begin in np.flatnonzero(rng.random(plan.frames) < 0.01):
                rate[begin : begin + int(rng.integers(5, 11)), animal] = rng.uniform(6, 12)
    if kind == "mixed":
        rate[:, rng.random(plan.animals) < 0.3] = 0.02
    if kind == "rest":
        rate = np.full(shape, float(rng.choice([0.0, 0.01])))
    return np.asarray(rate * np.exp(0.15 * rng.normal(size=plan.animals)))


def swim(plan: Plan, water: Water, length: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Positions and headings (T, N, 3): curves of incommensurate waves, gone along at the pace of `pace_of`."""
    waves = 5
    frequency = rng.uniform(0.4, 1.6, (waves, plan.animals, 3))
    phase = rng.uniform(0, 2 * np.pi, (waves, plan.animals, 3))
    size = rng.uniform(0.3, 1.0, (waves, plan.animals, 3))
    size *= 0.44 * (water.high - water.low) / size.sum(0)
    amplitude = size * rng.uniform(0.6, 1.0, (plan.animals, 1))
    middle = water.centre + (rng.random((plan.animals, 3)) - 0.5) * 0.1 * (water.high - water.low)
    typical = np.sqrt(0.5 * ((amplitude * frequency) ** 2).sum((0, 2)))  # world units a radian
    along = np.cumsum(pace_of(plan, rng) * plan.speed * length / typical, axis=0)
    angle = frequency[None] * along[:, None, :, None] + phase[None]
    position = middle + (amplitude[None] * np.sin(angle)).sum(1)
    velocity = (amplitude[None] * frequency[None] * np.cos(angle)).sum(1)
    return position, velocity / np.maximum(np.linalg.norm(velocity, axis=-1, keepdims=True), 1e-12)


def film(plan: Plan) -> Film:
    """Film animals as planned."""
    rng = np.random.default_rng([plan.seed, 1])
    rig, water, length = rig_and_water(plan, rng)
    position, heading = swim(plan, water, length, rng)
    shape = position.shape[:2]
    pixels, half = np.empty((len(rig), *shape, 2)), np.empty((len(rig), *shape, 2))
    for c, camera in enumerate(rig):
        white = rng.normal(size=(plan.frames, plan.animals))
        slow = lfilter(
            [np.sqrt(1 - 0.9**2)], [1, -0.9], np.concatenate([rng.normal(size=(40, plan.animals)), white]), 0
        )
        lean = plan.lean * rng.normal() + plan.wander * slow[40:]
        centre = camera.project((position + (lean * length)[..., None] * heading).reshape(-1, 3)).reshape(*shape, 2)
        nose = camera.project((position + 0.5 * length * heading).reshape(-1, 3)).reshape(*shape, 2)
        pixels[c] = centre + plan.white_px * rng.normal(size=centre.shape)
        half[c] = nose - centre
        lost = ~camera.in_image(pixels[c]) | (rng.random(shape) < plan.miss)
        pixels[c][lost] = np.nan
    return Film(rig, position, pixels, half, plan)


def detections_of(shot: Film, names: Sequence[str] | None = None) -> Detections:
    """Detections of a film as boxes, points or masks; frame numbers begin and step as planned."""
    plan, rng = shot.plan, np.random.default_rng([shot.plan.seed, 2])
    columns = []
    for c in range(len(shot.pixels)):
        t, n = np.nonzero(np.isfinite(shot.pixels[c]).all(-1))
        place, half = shot.pixels[c][t, n], np.nan_to_num(shot.half[c][t, n])
        extra = rng.random(len(t)) < plan.false
        spot = rng.uniform(0, 1, (extra.sum(), 2)) * shot.rig[c].size
        place, half = np.concatenate([place, spot]), np.concatenate([half, half[extra]])
        t = np.concatenate([t, t[extra]])
        columns.append(np.column_stack([t * plan.step + plan.first, np.full(len(t), c), place, half]))
    frame, camera, u, v, hx, hy = np.concatenate(columns).T
    names = names or shot.rig.names
    if plan.kind == "points" and plan.seed % 2:
        return Detections.build(names, frame, camera, u, v)
    if plan.kind == "points":  # as `import` writes them, with boxes of one size around them
        return Detections.build(names, frame, camera, u, v, u - 19, v - 19, u + 19, v + 19)
    size = np.maximum(np.hypot(hx, hy), 2.0)
    wide, high = np.abs(hx) + 0.15 * size, np.abs(hy) + 0.15 * size
    box = (u - wide, v - high, u + wide, v + high)
    if plan.kind == "boxes":
        return Detections.build(names, frame, camera, u, v, *box)
    angle = np.arctan2(hy, hx)
    angle = np.where(angle <= -np.pi / 2, angle + np.pi, np.where(angle > np.pi / 2, angle - np.pi, angle))
    return Detections.build(
        names, frame, camera, u, v, *box, area=0.4 * size**2, angle=angle, major=0.5 * size, minor=0.12 * size
    )


def good_case(number: int) -> Case:
    """The good recording of this number."""
    rng = np.random.default_rng([number, 11])
    plan = draw_plan(rng, number)
    if number % 10 == 9:
        return _simulated(number, rng)
    shot = film(plan)
    return Case(shot.rig, detections_of(shot), "none", describe(plan))


def _simulated(number: int, rng: np.random.Generator) -> Case:
    """A school of the simulator, with the failures of a real detector, as boxes, points or masks."""
    two = number % 20 == 9
    rig, fish = (tank_rig() if two else paper_rig(number % 7)), int(rng.integers(3, 9))
    water = tank_water() if two else Water.around(common_point(rig), np.array([8.0, 8.0, 6.0]))
    frames = int(rng.integers(60, 300))
    style = "tank" if two else str(rng.choice(["milling", "open", "startle"]))
    school = simulate_school(preset(style), water, fish, frames, number)
    seen, _ = observe(school, rig, make_detector("detector" if rng.random() < 0.7 else "ideal", fish, len(rig), number))
    kind = str(rng.choice(["boxes", "points", "masks"]))
    if kind != "masks":
        box = () if kind == "points" else (seen.x1, seen.y1, seen.x2, seen.y2)
        seen = Detections.build(rig.names, seen.frame, seen.camera, seen.u, seen.v, *box)
    return Case(rig, seen, "none", f"simulator {style} {fish} x {frames} {kind}")


def describe(plan: Plan) -> str:
    """The plan in one line."""
    return (
        f"{plan.rig}:{plan.cameras} {plan.animals} x {plan.frames} {plan.pace} {plan.speed:.3f} {plan.kind} "
        f"white {plan.white_px:.1f} lean {plan.lean:g} wander {plan.wander:.3f} step {plan.step}"
    )
