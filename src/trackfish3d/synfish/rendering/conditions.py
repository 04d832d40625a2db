"""What makes films difficult: light that changes, waves, dirt, mirrors in the glass, a camera that is knocked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import njit
from pydantic import Field, model_validator

from ...cameras import Camera
from ...core.errors import InputError
from ...core.settings import Settings
from ..school import School, Water

_WAVES = 5  # of the surface, that bend the picture
_FLAKE = 0.35  # of the light, what flakes of dirt take away at most


class Conditions(Settings):
    """How a film is worse than a still tank under steady light; each is off unless told."""

    light_drift: float = Field(0.0, ge=0, lt=1, description="share by which the light falls and comes back in the film")
    flicker: float = Field(0.0, ge=0, lt=1, description="deviation of the light from picture to picture, as a share")
    lamp_frames: str = Field("", description="frames at which a lamp on one side goes out, on, out ...: '60,120'")
    lamp: float = Field(0.5, ge=0, lt=1, description="share of the light that this lamp gives on its side")
    ripple_px: float = Field(0.0, ge=0, le=20, description="by which waves of the surface bend the picture, px")
    dirt: int = Field(0, ge=0, le=1000, description="flakes that drift through the water")
    dirt_size: float = Field(0.12, gt=0, le=1, description="their size, in body lengths")
    mirror: float = Field(0.0, ge=0, le=1, description="share of light that a wall of glass throws back")
    mirror_wall: str = Field("x+", pattern="^[xyz][+-]$", description="that wall: the side of the water it is on")
    rest: int = Field(0, ge=0, description="fish that rest in the middle of the film")
    rest_share: float = Field(0.5, ge=0, le=1, description="share of the film for which they rest")
    nudge_frame: int | None = Field(None, ge=1, description="frame from which the camera points elsewhere")
    nudge_px: float = Field(12.0, description="by how much, px to the right and half of it down")

    @model_validator(mode="after")
    def _readable(self) -> Conditions:
        _ = self.switches
        return self

    @property
    def switches(self) -> list[int]:
        """Frames at which the lamp is switched."""
        try:
            return [int(word) for word in self.lamp_frames.split(",") if word.strip()]
        except ValueError:
            raise InputError(f"lamp_frames '{self.lamp_frames}': write frames with commas between") from None

    @property
    def wall(self) -> tuple[int, int]:
        """Axis of the mirror's normal, and its sign."""
        return "xyz".index(self.mirror_wall[0]), 1 if self.mirror_wall[1] == "+" else -1


def mirrored(points: np.ndarray, water: Water, wall: tuple[int, int]) -> np.ndarray:
    """Return points (..., 3) as a wall of the water shows them, behind itself.

    Parameters
    ----------
    points : (..., 3) world units.
    water : whose wall it is.
    wall : axis of its normal, and its sign.
    """
    axis, sign = wall
    out = points.copy()
    out[..., axis] = 2 * (water.high if sign > 0 else water.low)[axis] - out[..., axis]
    return out


def rested(school: School, conditions: Conditions) -> School:
    """Return the school with some fish, the first ones, that lie still in the middle of the time and then go on.

    Parameters
    ----------
    school : T frames, N fish.
    conditions : how many rest, and for how long.
    """
    number = conditions.rest
    frames, fish = school.position.shape[:2]
    if number > fish:
        raise InputError(f"rest {number}: the school has {fish} fish")
    if not number:
        return school
    first = round(0.5 * (1 - conditions.rest_share) * frames)
    last = frames - first
    f = np.arange(frames)
    own = np.where(f < first, f, np.where(f < last, first, f - (last - first)))
    still = (f >= first) & (f < last)

    def held(values: np.ndarray, at_rest: float | None = None) -> np.ndarray:
        out = values.copy()
        out[:, :number] = values[own, :number]
        if at_rest is not None:
            out[still, :number] = at_rest
        return out

    return replace(
        school,
        position=held(school.position),
        heading=held(school.heading),
        speed=held(school.speed, 0.0),
        yaw_rate=held(school.yaw_rate, 0.0),
        beat=held(school.beat),
        starting=held(school.starting, 0.0),
        resting=held(school.resting, 1.0),
    )


class Weather:
    """Conditions of one camera's film, from picture to picture; same seed, same film.

    Parameters
    ----------
    conditions : what is difficult.
    camera : that films.
    water : what it films.
    frames : of the film.
    length : of a body, world units.
    seed : of what is random.
    """

    def __init__(
        self, conditions: Conditions, camera: Camera, water: Water, frames: int, length: float, seed: int
    ) -> None:
        self.conditions, self._camera, self._water, self._frames = conditions, camera, water, frames
        rng = np.random.default_rng([seed, 23])
        self._flicker = 1 + conditions.flicker * rng.standard_normal(frames)
        width, height = camera.size
        x, y = np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)
        # The lamp stands to the left: its light falls off across the picture.
        self._lamp = (conditions.lamp * np.exp(-1.5 * (x / width)))[None, :, None]
        self._x, self._y = x, y
        self._wave = rng.uniform([0.02, 0, 0.1], [0.06, 2 * np.pi, 0.3], (_WAVES, 3))  # a pixel, phase, a frame
        self._wave_angle = rng.uniform(0, 2 * np.pi, _WAVES)
        box = water.high - water.low
        self._flakes = water.low + box * rng.random((conditions.dirt, 3))
        self._flow = 0.004 * length * rng.standard_normal((conditions.dirt, 3)) + 0.01 * length * np.array([1, 0.3, 0])
        self._flake = rng.uniform(0.4, 1.0, (conditions.dirt, 2)) * np.array([0.5 * conditions.dirt_size * length, 1])

    def light(self, frame: int, picture: np.ndarray) -> None:
        """Let the light of the moment fall on a picture (H, W, 3) of linear light.

        Parameters
        ----------
        frame : of the film.
        picture : changed in place.
        """
        c = self.conditions
        drift = 1 - 0.5 * c.light_drift * (1 - np.cos(2 * np.pi * frame / max(self._frames - 1, 1)))
        gain = np.float32(drift * self._flicker[frame])
        out = sum(s <= frame for s in c.switches) % 2
        if out:
            picture *= gain * (1 - self._lamp).astype(np.float32)
        elif gain != 1:
            picture *= gain

    def soil(self, frame: int, picture: np.ndarray, near: np.ndarray) -> None:
        """Let flakes drift through a picture (H, W, 3), unless a fish is before them.

        Parameters
        ----------
        frame : of the film.
        picture : changed in place.
        near : (H, W) one over the distance of what is drawn.
        """
        if not len(self._flakes):
            return
        box = self._water.high - self._water.low
        place = self._water.low + np.mod(self._flakes + frame * self._flow - self._water.low, box)
        pixel = np.nan_to_num(self._camera.project(place), nan=-1e6)
        away = np.linalg.norm(place - self._camera.centre, axis=1)
        radius = float(self._camera.K[0, 0]) * self._flake[:, 0] / away
        _darken(pixel, radius, _FLAKE * self._flake[:, 1], 1 / away, near, picture)

    def bend(self, frame: int, picture: np.ndarray) -> np.ndarray:
        """Return a picture (H, W, 3) as the waves and a knocked camera show it.

        Parameters
        ----------
        frame : of the film.
        picture : as still water would show it.
        """
        c = self.conditions
        knocked = c.nudge_frame is not None and frame >= c.nudge_frame
        if not c.ripple_px and not knocked:
            return picture
        dx = np.zeros(picture.shape[:2], np.float32)
        dy = np.zeros(picture.shape[:2], np.float32)
        for (number, phase, rate), angle in zip(self._wave, self._wave_angle, strict=True):
            if c.ripple_px:
                ux, uy = np.cos(angle), np.sin(angle)
                along = number * (ux * self._x[None, :] + uy * self._y[:, None]) + phase + rate * frame
                slope = np.float32(c.ripple_px / np.sqrt(_WAVES)) * np.sin(along, dtype=np.float32)
                dx += np.float32(ux) * slope
                dy += np.float32(uy) * slope
        if knocked:
            dx -= np.float32(c.nudge_px)
            dy -= np.float32(0.5 * c.nudge_px)
        out = np.empty_like(picture)
        _sample(picture, dx, dy, out)
        return out


@njit(cache=True)
def _darken(pixel, radius, strength, nearness, near, picture):  # type: ignore[no-untyped-def]
    """Take light away in soft discs (M, 2), unless something is before them."""
    height, width = picture.shape[0], picture.shape[1]
    for i in range(len(pixel)):
        u, v, r = pixel[i, 0], pixel[i, 1], max(radius[i], 0.7)
        for y in range(max(int(v - 2 * r), 0), min(int(v + 2 * r) + 2, height)):
            for x in range(max(int(u - 2 * r), 0), min(int(u + 2 * r) + 2, width)):
                if near[y, x] <= nearness[i]:
                    d = ((x - u) ** 2 + (y - v) ** 2) / (r * r)
                    keep = 1.0 - strength[i] * np.exp(-d * d)
                    for k in range(3):
                        picture[y, x, k] *= keep


@njit(cache=True)
def _sample(picture, dx, dy, out):  # type: ignore[no-untyped-def]
    """Picture (H, W, 3) read between its pixels, ``dx``, ``dy`` (H, W) away, into ``out``."""
    height, width = picture.shape[0], picture.shape[1]
    for y in range(height):
        for x in range(width):
            u = min(max(x + dx[y, x], 0.0), width - 1.001)
            v = min(max(y + dy[y, x], 0.0), height - 1.001)
            i, j = int(u), int(v)
            a, b = u - i, v - j
            for k in range(3):
                top = picture[j, i, k] * (1 - a) + picture[j, i + 1, k] * a
                low = picture[j + 1, i, k] * (1 - a) + picture[j + 1, i + 1, k] * a
                out[y, x, k] = top * (1 - b) + low * b
