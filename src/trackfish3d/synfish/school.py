"""Schools: positions, headings and swimming of 1 to 1000 fish in a box of water."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.errors import InputError
from .presets import SchoolSettings
from .rendering.capsules import (
    CAPSULE_BEHIND,
    CAPSULE_HALF,
    CAPSULE_RADIUS,
    pose_in_water,
    pose_is_free,
    smallest_clearance,
)
from .school_kernels import RESTING, STARTING, step_school

# Above this share of the water filled by bodies, fish cannot turn without meeting.
PACKING_MAX = 0.06
# A school that swims slower than this share of its cruising speed, or of which more than this share stands still, is
# a jam: the shape of the water matters as much as its volume, so that only swimming tells.
PACE_MIN, BLOCKED_MAX = 0.4, 0.2
WARM_UP_FRAMES = 250


@dataclass(frozen=True, eq=False)
class Water:
    """A box of water, world units. ``up`` is +1 where z grows upwards, -1 where it grows with depth."""

    low: np.ndarray
    high: np.ndarray
    up: int = 1

    @property
    def centre(self) -> np.ndarray:
        """Middle of the box (3,)."""
        middle: np.ndarray = 0.5 * (self.low + self.high)
        return middle

    @property
    def volume(self) -> float:
        """Volume of the box in cubed world units."""
        return float(np.prod(self.high - self.low))

    @classmethod
    def around(cls, centre: np.ndarray, half: np.ndarray, up: int = 1) -> Water:
        """Box of half sizes ``half`` (3,) about ``centre`` (3,)."""
        centre, half = np.asarray(centre, float), np.asarray(half, float)
        return cls(centre - half, centre + half, up)


@dataclass(frozen=True, eq=False)
class School:
    """What a school did. T frames, N fish.

    position (T, N, 3) body centre; heading (T, N, 3) unit; speed (T, N) world units a frame; yaw_rate (T, N)
    radians a frame, positive to the fish's left; beat (T, N) phase of the tail beat, radians;
    length (N,) world units; shade (N,) brightness factor; cruise (N,) world units a frame;
    abnormal (N,) bool; starting (T, N) bool, in a fast start; resting (T, N) bool.
    """

    water: Water
    position: np.ndarray
    heading: np.ndarray
    speed: np.ndarray
    yaw_rate: np.ndarray
    beat: np.ndarray
    length: np.ndarray
    shade: np.ndarray
    cruise: np.ndarray
    abnormal: np.ndarray
    starting: np.ndarray
    resting: np.ndarray


def body_volume(length: float) -> float:
    """Volume of a fish's capsule, in cubed units of ``length``."""
    radius, half = CAPSULE_RADIUS * length, CAPSULE_HALF * length
    return float(np.pi * radius**2 * (2 * half + 4 / 3 * radius))


def check_room(fish: int, length: float, water: Water) -> None:
    """Refuse a school that cannot swim in its water, with one line that says what to change."""
    if fish < 1:
        raise InputError(f"a school needs at least one fish, {fish} asked for: set --fish to 1 or more")
    sides = water.high - water.low
    if np.any(sides < [1.4 * length, 1.4 * length, 0.5 * length]):
        size = " x ".join(f"{s:.1f}" for s in sides)
        raise InputError(f"the tank ({size}) is too small for fish {length:.2f} long: enlarge it or shorten the fish")
    packing = fish * body_volume(length) / water.volume
    if packing > PACKING_MAX:
        raise InputError(
            f"the tank is too small for the school: {fish} fish of length {length:.2f} fill {100 * packing:.0f} % "
            f"of the water (at most {100 * PACKING_MAX:.0f} %): fewer or shorter fish, or a larger volume"
        )


class BlockedSchoolError(InputError):
    """The fish of this draw block each other; another draw of the same school may not."""


def _check_pace(pace: np.ndarray, resting: np.ndarray, length: float) -> None:
    """Refuse a school whose fish block each other; ``pace`` (T, N) is speed over cruising speed, ``resting`` bool."""
    swimming = pace[~resting]
    if not len(swimming):
        return
    blocked = float((swimming < 0.1).mean())
    if swimming.mean() < PACE_MIN or blocked > BLOCKED_MAX:
        raise BlockedSchoolError(
            f"the tank is too small for the school: {pace.shape[1]} fish of length {length:.2f} block each other "
            f"({100 * swimming.mean():.0f} % of their cruising speed, {100 * blocked:.0f} % stand still): fewer or "
            "shorter fish, or a larger volume"
        )


def _place(rng: np.random.Generator, water: Water, length: np.ndarray, depth: np.ndarray) -> tuple[np.ndarray, ...]:
    """Random free poses, near each fish's preferred depth, longest trials first given up with a clear line."""
    fish = len(length)
    position = np.full((fish, 3), 1e9)
    heading = np.tile([1.0, 0.0, 0.0], (fish, 1))
    for i in range(fish):
        for trial in range(4000):
            angle = rng.uniform(0, 2 * np.pi)
            h = np.array([np.cos(angle), np.sin(angle), 0.0])
            x = rng.uniform(water.low, water.high)
            if trial < 200:
                x[2] = depth[i]
            if pose_in_water(*x, *h, length[i], water.low, water.high) and pose_is_free(
                i, *x, *h, position, heading, length
            ):
                position[i], heading[i] = x, h
                break
        else:
            raise InputError(f"the tank is too small for the school: no free place for fish {i + 1} of {fish}")
    return position, heading


def simulate_school(
    settings: SchoolSettings, water: Water, fish: int, frames: int, seed: int, abnormal: int = 0
) -> School:
    """Simulate a school after a warm-up that lets it forget where it was put.

    Parameters
    ----------
    settings : SchoolSettings
        Zones, weights and rates; see `trackfish3d.synfish.presets`.
    water : Water
        The box nobody leaves.
    fish : int
        How many fish.
    frames : int
        How many frames.
    seed : int
        Same seed, same school.
    abnormal : int
        How many fish (the last ones) are sick: half the speed, erratic heading, little schooling, a place of
        their own far from the others.
    """
    check_room(fish, settings.length, water)
    if frames < 1:
        raise InputError(f"a scene needs at least one frame, {frames} asked for")
    if not 0 <= abnormal <= fish:
        raise InputError(f"{abnormal} abnormal fish asked for in a school of {fish}")
    rng = np.random.default_rng(seed)
    sick = np.arange(fish) >= fish - abnormal
    length = settings.length * np.clip(1 + settings.size_variation * rng.standard_normal(fish), 0.85, 1.15)
    cruise = settings.cruise * length * np.clip(1 + settings.speed_variation * rng.standard_normal(fish), 0.7, 1.3)
    cruise = np.where(sick, 0.5 * cruise, cruise)
    social = np.where(sick, 0.1, np.clip(1 + 0.15 * rng.standard_normal(fish), 0.5, 1.5))
    erratic = np.where(sick, 4.0, np.clip(1 + 0.2 * rng.standard_normal(fish), 0.5, 1.6))
    shade = np.clip(1 + 0.08 * rng.standard_normal(fish), 0.8, 1.2)
    # Depths are stratified, one layer a fish: individuals that prefer the same depth would share it by chance.
    inner = 0.5 * (water.high[2] - water.low[2]) - CAPSULE_RADIUS * settings.length * 1.5
    layer = (rng.permutation(fish) + 0.5 + 0.3 * rng.uniform(-1, 1, fish)) / fish
    depth = water.centre[2] + inner * (2 * layer - 1)
    home = np.zeros((fish, 4))
    corner = rng.choice([-1.0, 1.0], (fish, 3)) * 0.7
    home[:, :3] = water.centre + corner * 0.5 * (water.high - water.low)
    home[:, 3] = np.where(sick, 1.5, 0.0)

    position, heading = _place(rng, water, length, depth)
    speed = cruise.copy()
    spin, wander, burst = np.zeros((fish, 3)), np.zeros((fish, 3)), np.zeros(fish)
    doing, done = np.zeros((fish, 4)), np.zeros((frames, fish, 4))
    row = settings.row((water.volume / fish) ** (1 / 3))
    out = np.empty((4, frames, fish, 3))
    for t in range(-WARM_UP_FRAMES, frames):
        before = position.copy()
        step_school(
            position,
            heading,
            speed,
            spin,
            wander,
            burst,
            doing,
            length,
            cruise,
            social,
            erratic,
            home,
            depth,
            water.low,
            water.high,
            row,
            rng.standard_normal((fish, 3)),
            rng.random(fish),
        )
        if t >= 0:
            out[0, t], out[1, t], out[2, t], out[3, t] = position, heading, spin, position - before
            done[t] = doing
    speeds = np.linalg.norm(out[3], axis=2)
    starting, resting = done[..., STARTING] > 0, done[..., RESTING] > 0
    _check_pace(speeds / cruise, resting, settings.length)
    yaw = out[2, :, :, 2] * water.up
    beat = np.cumsum(0.12 + 0.35 * speeds / cruise, axis=0) + rng.uniform(0, 2 * np.pi, fish)
    return School(water, out[0], out[1], speeds, yaw, beat, length, shade, cruise, sick, starting, resting)


def school_statistics(school: School) -> dict[str, float]:
    """Speed, turning and safety of a school, for printing and for tests.

    ``largest_step`` is the largest step in units of the fish's own cruising speed; ``clearance`` the smallest
    distance between two bodies over the scene (world units, inf for one fish); ``margin`` the smallest
    distance of any body to a wall or the surface.
    """
    step = np.linalg.norm(np.diff(school.position, axis=0), axis=2)
    cosine = np.einsum("tnk,tnk->tn", school.heading[1:], school.heading[:-1])
    turn = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    size = school.length[:, None]
    middle = school.position - CAPSULE_BEHIND * size * school.heading
    reach = np.abs(school.heading) * CAPSULE_HALF * size + CAPSULE_RADIUS * size
    margin = np.minimum(middle - reach - school.water.low, school.water.high - reach - middle)
    mean_heading = school.heading.mean(axis=1)
    return {
        "mean_speed": float(school.speed.mean()),
        "speed_body_lengths": float((school.speed / school.length).mean()),
        "largest_step": float((step / school.cruise).max()) if len(step) else 0.0,
        "mean_turn_deg": float(turn.mean()) if len(turn) else 0.0,
        "largest_turn_deg": float(turn.max()) if len(turn) else 0.0,
        "polarisation": float(np.linalg.norm(mean_heading, axis=1).mean()),
        "clearance": float(smallest_clearance(school.position, school.heading, school.length).min()),
        "margin": float(margin.min()),
        "standstill": float((school.speed < 0.1 * school.cruise).mean()),
    }
