"""What a camera outside a glass tank sees behind the fish: floor, walls, seams, waterline, and the room around."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..school import Water

_WALL = np.array([0.30, 0.40, 0.42])
_SURFACE = np.array([0.55, 0.66, 0.68])  # from below it is a mirror of the bright tank
_SEAM = np.array([0.05, 0.07, 0.08])
_ROOM = np.array([0.030, 0.030, 0.034])
_GLASS = np.array([0.10, 0.11, 0.12])  # dry glass above the water, the room behind it
_LINE = np.array([0.62, 0.70, 0.72])
SEAM, LINE, RIM = 0.008, 0.003, 0.12  # widths of seams and waterline, height of the dry glass, in tank widths


@dataclass(frozen=True)
class Backdrop:
    """Planes (H, W) or (H, W, 3): where rays end (x, y), how far from the camera, what is there.

    ``floor`` is 1 where a ray ends on the floor, ``paint`` the colour of everything else, ``wet`` 1 where water lies
    between.
    """

    x: np.ndarray
    y: np.ndarray
    distance: np.ndarray
    floor: np.ndarray
    paint: np.ndarray
    wet: np.ndarray


def tank_backdrop(origin: np.ndarray, direction: np.ndarray, centre: np.ndarray, water: Water) -> Backdrop:
    """Follow rays (H, W, 3) in the water, from where they enter it, to the wall where they end.

    ``origin`` lies on the surface or the glass the camera looks through: a ray that enters beside the tank, or above
    the waterline, never is in the water.
    """
    low, high, up = water.low, water.high, water.up
    wide = float(np.max(high - low))
    slack = 1e-6 * wide
    inside = np.all((origin > low - slack) & (origin < high + slack), axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        to_wall = (np.where(direction > 0, high, low) - origin) / direction
    to_wall = np.where(np.abs(direction) > 1e-12, np.maximum(to_wall, 0), np.inf)
    axis = np.argmin(to_wall, axis=-1)
    along = np.where(inside, np.min(to_wall, axis=-1), 0.0)
    end = origin + along[..., None] * direction
    rises = direction[..., 2] * up > 0
    floor = inside & (axis == 2) & ~rises
    # A wall is brighter near the surface, where the light is.
    height = np.clip((end[..., 2] - low[2]) / (high[2] - low[2]), 0, 1)
    height = height if up > 0 else 1 - height
    paint = _WALL * (0.55 + 0.45 * height)[..., None]
    paint = np.where((inside & (axis == 2) & rises)[..., None], _SURFACE, paint)
    # Two faces meet where the end of a ray is near a second face.
    gaps = np.sort(np.minimum(np.abs(end - low), np.abs(end - high)), axis=-1)
    seam = np.exp(-((gaps[..., 1] / (SEAM * wide)) ** 2))[..., None]
    paint = paint * (1 - seam) + _SEAM * seam
    surface = high[2] if up > 0 else low[2]
    above = (origin[..., 2] - surface) * up
    dry = np.all((origin[..., :2] > low[:2] - slack) & (origin[..., :2] < high[:2] + slack), axis=-1)
    dry &= (above > 0) & (above < RIM * wide)
    outside = np.where(dry[..., None], _GLASS, _ROOM)
    paint = np.where(inside[..., None], paint, outside)
    # The waterline shines where the glass cuts the surface; whoever looks through the surface itself sees none.
    flat = np.ptp(np.where(inside, origin[..., 2], surface)) < slack
    if not flat:
        line = np.exp(-((above / (LINE * wide)) ** 2)) * (inside | dry)
        paint = paint * (1 - line[..., None]) + _LINE * line[..., None]
        floor = floor & (line < 0.5)
    distance = np.linalg.norm(end - centre, axis=-1)
    return Backdrop(end[..., 0], end[..., 1], distance, floor.astype(float), paint, inside.astype(float))
