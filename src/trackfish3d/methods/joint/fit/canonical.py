"""A recording in one standing order, about its own centre, counted from its first frame.

What does not matter to the animals must not matter to the tracker: the order of cameras and of rows, where the world's
origin lies (a map's coordinates have seven digits before the point), and the number of the first frame.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ....cameras.camera import Camera
from ....cameras.rig import CameraRig
from ....recordings.detections import Detections
from ..model import TrackingModel

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Canonical:
    """A recording in its standing order, and the way back.

    ``rig``, ``detections`` : what is tracked. ``camera`` (C,), ``row`` (N,) : what each was called. ``origin`` (3,) :
    its place in the world; ``first`` : number of its first frame.
    """

    rig: CameraRig
    detections: Detections
    camera: Ints
    row: Ints
    origin: Array
    first: int

    @classmethod
    def of(cls, rig: CameraRig, detections: Detections) -> "Canonical":
        """Put a recording in order: cameras and rows by what they saw."""
        first = int(detections.frame.min(initial=0)) if len(detections) else 0
        return cls.under(rig, detections, camera_order(looks(rig, detections)), first)

    @classmethod
    def under(
        cls, rig: CameraRig, detections: Detections, camera: Ints, first: int, row_before: int = 0
    ) -> "Canonical":
        """Put a part of a recording in order, under a standing order of its cameras (`camera_order`).

        first : number of the recording's first frame; row_before : detections of the recording before these.
        """
        aside = _aside(rig, detections)
        place = np.argsort(camera)[detections.camera]
        row = np.lexsort((aside, detections.v, place, detections.frame))
        names = tuple(rig.names[c] for c in camera)
        origin = np.mean([rig[int(c)].centre for c in camera], axis=0)
        ordered = replace(
            detections.select(row),
            cameras=names,
            camera=place[row].astype(np.int16),
            frame=detections.frame[row] - first,
        )
        moved = CameraRig(tuple(_moved(rig[n], origin) for n in names), rig.units)
        return cls(moved, ordered, camera, row + row_before, origin, first)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the cameras, in the order in which they came."""
        return tuple(self.rig.names[k] for k in np.argsort(self.camera))

    def members(self, members: Ints) -> Ints:
        """Return detections (N, C) of tracks by the rows and the cameras that they came from; -1 stays."""
        out = np.empty_like(members)
        out[:, self.camera] = np.where(members >= 0, self.row[members], -1)
        return out

    def model(self, model: TrackingModel) -> TrackingModel:
        """Return what was fitted, cameras in the order in which they came."""
        back = np.argsort(self.camera)
        return model.with_(**{k: getattr(model, k)[back] for k in ("noise", "clear", "hidden", "clutter")})


def looks(rig: CameraRig, detections: Detections) -> Array:
    """(3, C) detections of each camera, and the sums of how high and how far aside they are, px; parts add up."""
    weights = (None, detections.v, _aside(rig, detections))
    return np.array([np.bincount(detections.camera, weights=w, minlength=len(rig)) for w in weights], float)


def camera_order(looks: Array) -> Ints:
    """Return the standing order (C,) of cameras by `looks` (3, C) of the whole recording."""
    count, high, wide = looks
    return np.lexsort((wide, high, count))


def _aside(rig: CameraRig, detections: Detections) -> Array:
    """(N,) distance of detections from the middle column of their picture, px."""
    return np.asarray(np.abs(detections.u - np.array([c.size[0] / 2 for c in rig])[detections.camera]))


def _moved(camera: Camera, origin: Array) -> Camera:
    """Return the camera in a world whose origin is at ``origin``."""
    faces = tuple(replace(f, point=np.asarray(f.point) - origin) for f in camera.interfaces)
    return replace(camera, t=-camera.R @ (camera.centre - origin), interfaces=faces)
