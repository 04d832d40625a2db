"""Whether the cameras see through water that the calibration does not know of."""

from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from ..cameras import Camera, CameraRig, Interface
from ..cameras.interface import WATER
from .agreement import Sample, ViewErrors, meeting_points, pair_errors, typical_of_pairs

_STEPS = 5
_ROUNDS = 3


@dataclass(frozen=True)
class WaterFit:
    """Typical error in px without and with a guessed flat surface before each camera, and the guess in words."""

    without_px: float
    with_px: float
    surfaces: tuple[str, ...]

    @property
    def missing(self) -> bool:
        """Whether the guess explains the cameras so much better that there must be water."""
        return self.with_px < 0.75 * self.without_px and self.without_px - self.with_px > 0.5


def guess_water(sample: Sample, rig: CameraRig) -> WaterFit:
    """Try a flat surface across each world axis that cameras look along, at the place that fits best.

    The surface of a tank and its glass are square to the axes of nearly every rig's world, and cameras that look the
    same way look through the same one. Refraction through a slightly wrong plane is still far better than none:
    enough to tell that water is missing, not to calibrate it.
    """
    bare = [camera.without_water() for camera in rig]
    views = [ViewErrors.of(sample, camera, c) for c, camera in enumerate(bare)]
    start = typical_of_pairs(sample, views)
    animals = np.concatenate([meeting_points(a, b, pair_errors(sample, a, b)) for a, b in combinations(views, 2)])
    if not len(animals):
        return WaterFit(start, start, ())
    sides: dict[tuple[int, float], list[int]] = {}
    for c, camera in enumerate(bare):
        sides.setdefault(_axis_of_sight(camera), []).append(c)

    def place(side: tuple[int, float], share: float) -> float:
        axis, sign = side
        near = max(sign * bare[c].centre[axis] for c in sides[side])
        return float(sign * (near + share * (np.median(sign * animals[:, axis]) - near)))

    def look(shares: dict[tuple[int, float], float]) -> float:
        trial = list(views)
        for side, share in shares.items():
            for c in sides[side]:
                trial[c] = ViewErrors.of(sample, _with_surface(bare[c], *side, place(side, share)), c)
        return typical_of_pairs(sample, trial)

    # Water before one camera alone may be worse than none, so all sides are tried at once before each is refined.
    coarse = np.linspace(0.1, 0.95, 6)
    grid = product(coarse, repeat=len(sides)) if len(sides) <= 2 else ((s,) * len(sides) for s in coarse)
    best, shares = min(
        ((look(trial), trial) for trial in (dict(zip(sides, g, strict=True)) for g in grid)), key=lambda found: found[0]
    )
    width = 0.15
    for _ in range(_ROUNDS):
        for side in sides:
            for s in np.clip(shares[side] + width * np.linspace(-1, 1, _STEPS), 0.02, 0.99):
                error = look(shares | {side: float(s)})
                if error < best:
                    best, shares = error, shares | {side: float(s)}
        width /= 3
    words = tuple(
        f"{', '.join(bare[c].name for c in members)}: near {'xyz'[side[0]]} = {place(side, shares[side]):.3g}"
        for side, members in sides.items()
    )
    return WaterFit(start, best, words)


def _with_surface(camera: Camera, axis: int, sign: float, place: float) -> Camera:
    """Put a water surface across a world axis before the camera."""
    point, normal = np.zeros(3), np.zeros(3)
    point[axis], normal[axis] = place, -sign
    return replace(camera, interfaces=(Interface(point, normal, 1.0, WATER),))


def _axis_of_sight(camera: Camera) -> tuple[int, float]:
    """World axis that the camera looks along most, and in which direction."""
    sight = camera.R[2]
    axis = int(np.argmax(np.abs(sight)))
    return axis, float(np.sign(sight[axis]))
