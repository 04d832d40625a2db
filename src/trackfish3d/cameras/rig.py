"""An ordered set of cameras that share one world."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError
from .camera import Camera

_LONGEST_UNIT = 40  # letters


@dataclass(frozen=True, eq=False)
class CameraRig:
    """Cameras in a fixed order, and the unit of their world.

    Cameras are found by name; the order only fixes the columns of per-camera arrays.

    Parameters
    ----------
    cameras : one or more, each with a name of its own.
    units : unit of length of the world, such as ``cm``.
    """

    cameras: tuple[Camera, ...]
    units: str = "unit"

    def __post_init__(self) -> None:
        object.__setattr__(self, "cameras", tuple(self.cameras))
        if not self.cameras:
            raise InputError("a rig needs at least one camera")
        names = self.names
        twice = {n for n in names if names.count(n) > 1}
        if twice:
            raise InputError(f"camera name used twice: {', '.join(sorted(twice))}")
        if not 0 < len(self.units) <= _LONGEST_UNIT or not self.units.isprintable():
            raise InputError(f"units {self.units[:_LONGEST_UNIT]!a}: is no name of a unit of length")

    def __len__(self) -> int:
        return len(self.cameras)

    def __iter__(self) -> Iterator[Camera]:
        return iter(self.cameras)

    def __getitem__(self, key: int | str) -> Camera:
        return self.cameras[self.index(key) if isinstance(key, str) else key]

    @property
    def names(self) -> tuple[str, ...]:
        """The cameras' names, in order."""
        return tuple(c.name for c in self.cameras)

    def index(self, name: str) -> int:
        """Position of a camera in the rig.

        Parameters
        ----------
        name : of the camera.
        """
        try:
            return self.names.index(name)
        except ValueError:
            raise InputError(f"unknown camera '{name}'; the rig has {', '.join(self.names)}") from None

    @cached_property
    def packed(self) -> NDArray[np.float64]:
        """(C, P) all cameras for Numba kernels; see `cameras.layout`."""
        packed = np.stack([c.packed for c in self.cameras])
        packed.setflags(write=False)
        return packed

    @cached_property
    def matrices(self) -> NDArray[np.float64]:
        """(C, 3, 4) projection matrices of the lenses without distortion and water."""
        matrices = np.stack([c.matrix for c in self.cameras])
        matrices.setflags(write=False)
        return matrices

    @property
    def refractive(self) -> bool:
        """Whether any camera looks through an interface."""
        return any(c.interfaces for c in self.cameras)

    @property
    def up(self) -> NDArray[np.float64]:
        """(3,) the world axis that most likely points up.

        Cameras are mounted upright, and look level or down: an axis is up if it is up in the images, or if the cameras
        look against it (a camera above the tank knows nothing else).
        """
        axes = np.concatenate([np.eye(3), -np.eye(3)])
        votes = sum(axes @ (-c.R[1] - 0.75 * c.R[2]) for c in self)
        return np.asarray(axes[int(np.argmax(votes))])

    def without_water(self) -> "CameraRig":
        """Return the same rig with every interface taken away."""
        return CameraRig(tuple(c.without_water() for c in self.cameras), self.units)

    def select(self, names: tuple[str, ...]) -> "CameraRig":
        """Return the rig of some cameras.

        Parameters
        ----------
        names : of the cameras, in the order they shall have.
        """
        return CameraRig(tuple(self[n] for n in names), self.units)
