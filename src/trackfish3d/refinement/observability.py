"""What the tracks told of each parameter that was free, against what was known of it beforehand."""

from dataclasses import dataclass

import numpy as np

from .bundle import POSE, Settled
from .kernels import CLOCK, LEAN

_HARDLY = 0.5  # share of the variance beforehand; what tracks take away less of, they hardly tell
_TURN = float(np.degrees(1.0))
_CAMERA = {
    0: ("focal length", "px", 1.0),
    1: ("focal length, upright", "px", 1.0),
    4: ("distortion", "k1", 1.0),
    **{POSE + k: (f"turn about {axis}", "degrees", _TURN) for k, axis in enumerate("xyz")},
    **{POSE + 3 + k: (f"place along {axis}", "units", 1.0) for k, axis in enumerate("xyz")},
    CLOCK: ("clock", "frames", 1.0),
    CLOCK + 1: ("clock's rate", "ppm", 1e6),
    CLOCK + 2: ("readout", "frames", 1.0),
    LEAN: ("lean", "units", 1.0),
}
_PLANE = (("height", "units", 1.0), ("tilt", "degrees", _TURN), ("tilt, other axis", "degrees", _TURN))


@dataclass(frozen=True)
class Parameter:
    """One parameter that was free.

    Attributes
    ----------
    whose : name of the camera, ``water`` or ``water plane 1`` and so on.
    what : it is; turns and places are along the camera's own axes.
    unit : of both standard deviations; ``units`` is the rig's unit of length.
    sigma : standard deviation after the adjustment.
    beforehand : standard deviation before it.
    """

    whose: str
    what: str
    unit: str
    sigma: float
    beforehand: float

    @property
    def told(self) -> float:
        """Share of the variance beforehand that the tracks took away, 0 to 1."""
        return float(np.clip(1 - (self.sigma / self.beforehand) ** 2, 0.0, 1.0))

    @property
    def hardly(self) -> bool:
        """Whether the tracks say little of it."""
        return not self.told >= _HARDLY


def parameters_of(done: Settled, names: tuple[str, ...]) -> tuple[Parameter, ...]:
    """Return every parameter that was free, cameras in their order, then the water.

    Parameters
    ----------
    done : an adjustment.
    names : of the cameras.
    """
    sigma = np.sqrt(np.maximum(np.diag(done.covariance), 0.0))
    free = [
        (name, *_CAMERA[column], int(done.places[c, column]))
        for c, name in enumerate(names)
        for column in _CAMERA
        if done.places[c, column] >= 0
    ]
    for q, where in enumerate(done.plane_places):
        free += [(f"water plane {q + 1}", *what, int(at)) for what, at in zip(_PLANE, where, strict=True) if at >= 0]
    if done.index >= 0:
        free.append(("water", "refractive index", "", 1.0, done.index))
    return tuple(
        Parameter(whose, what, unit, float(scale * sigma[at]), float(scale * done.beforehand[at]))
        for whose, what, unit, scale, at in free
    )
