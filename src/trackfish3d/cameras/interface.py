"""A flat boundary between two media on the way from the camera to the animals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import InputError

WATER = 1.333
AIR = 1.0


@dataclass(frozen=True, eq=False)
class Interface:
    """A plane at which light is refracted.

    Parameters
    ----------
    point : (3,) a point of the plane, world units.
    normal : (3,) its normal, towards the camera; any length, stored as a unit vector.
    n_camera : refractive index on the camera's side.
    n_animal : refractive index on the animals' side.
    """

    point: NDArray[np.float64]
    normal: NDArray[np.float64]
    n_camera: float = AIR
    n_animal: float = WATER

    def __post_init__(self) -> None:
        point, normal = _vector(self.point, "point"), _vector(self.normal, "normal")
        length = float(np.linalg.norm(normal))
        if length < 1e-12:
            raise InputError("interface: the normal has no length; give the plane's direction")
        for name in ("n_camera", "n_animal"):
            index = float(getattr(self, name))
            if not 0.5 <= index <= 5.0:
                raise InputError(f"interface: {name} = {index} is not a refractive index (air 1.0, water 1.333)")
            object.__setattr__(self, name, index)
        object.__setattr__(self, "point", point)
        object.__setattr__(self, "normal", normal / length)


def _vector(value: ArrayLike, what: str) -> NDArray[np.float64]:
    try:
        vector = np.array(value, dtype=np.float64).reshape(3)
    except (ValueError, TypeError):
        raise InputError(f"interface: {what} must be three numbers") from None
    if not np.isfinite(vector).all():
        raise InputError(f"interface: {what} is not finite")
    vector.setflags(write=False)
    return vector
