"""What the masks of a track say of its body: planes that hold its axis, and extents at its distance."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..cameras.camera import Rays
from ..recordings import Detections, Tracks

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
HALF = 2.0  # standard deviations of a filled ellipse in half its axis


@dataclass(frozen=True)
class Silhouettes:
    """Masks of tracks, a row each (M,).

    Attributes
    ----------
    row : (M,) row of the tracks.
    camera : (M,) whose mask it is.
    normal : (M, 3) of the plane through the camera that holds the long axis.
    view : (M, 3) direction in which the animal is seen.
    long, wide : (M,) whole axes of the mask at the animal's distance, world units.
    area : (M,) of the mask there, world units squared.
    """

    row: Ints
    camera: Ints
    normal: Array
    view: Array
    long: Array
    wide: Array
    area: Array

    @classmethod
    def of(cls, rig: CameraRig, detections: Detections, tracks: Tracks) -> "Silhouettes":
        """Look at every mask that a track used alone.

        Parameters
        ----------
        rig : the cameras.
        detections : with masks.
        tracks : of these detections.
        """
        assert detections.angle is not None
        assert detections.major is not None
        assert detections.minor is not None
        assert detections.area is not None
        parts = []
        own = (tracks.detection >= 0) & ~tracks.shared
        for c, camera in enumerate(rig):
            row = np.flatnonzero(own[:, c])
            seen = tracks.detection[row, c]
            along = np.column_stack([np.cos(detections.angle[seen]), np.sin(detections.angle[seen])])
            across = np.column_stack([-along[:, 1], along[:, 0]])
            at = tracks.position[row]
            middle = detections.centroids[seen]
            reach = HALF * detections.major[seen, None]
            ends = [_beside(camera.rays(middle + side * reach * along), at) for side in (-1, 1)]
            edge = HALF * detections.minor[seen, None]
            sides = [_beside(camera.rays(middle + side * edge * across), at) for side in (-1, 1)]
            view = camera.rays(middle).direction
            axis = ends[1] - ends[0]
            normal = np.cross(view, axis)
            with np.errstate(invalid="ignore", divide="ignore"):
                normal /= np.linalg.norm(normal, axis=1, keepdims=True)
                long = np.linalg.norm(axis - view * (axis * view).sum(1, keepdims=True), axis=1)
                wide = np.linalg.norm(sides[1] - sides[0], axis=1)
                pixel = long / (2 * reach[:, 0])
            area = detections.area[seen] * pixel**2
            good = np.isfinite(normal).all(1) & np.isfinite(long) & np.isfinite(wide) & (long > 0)
            camera_of = np.full(good.sum(), c)
            parts.append((row[good], camera_of, normal[good], view[good], long[good], wide[good], area[good]))
        joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
        order = np.argsort(joined[0], kind="stable")
        return cls(*(column[order] for column in joined))


def _beside(rays: Rays, point: Array) -> Array:
    """(N, 3) points of rays that are nearest to points."""
    away = np.einsum("ij,ij->i", point - rays.origin, rays.direction)
    return np.asarray(rays.origin + away[:, None] * rays.direction)
