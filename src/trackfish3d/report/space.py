"""What stands still in the 3D view: the box around the animals, the water's faces, the cameras."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras import Camera, CameraRig
from .packing import rounded

Array = NDArray[np.float64]
# Corners of a box are numbered by bits: bit k says low or high on axis k.
_BITS = np.array([[(c >> k) & 1 for k in range(3)] for c in range(8)])
_EDGES = [(a, a | (1 << k)) for k in range(3) for a in range(8) if not a >> k & 1]


@dataclass(frozen=True, eq=False)
class Space:
    """``low``, ``high`` (3,) corners of the box; ``up`` (3,) the world axis that points up."""

    low: Array
    high: Array
    up: Array

    @property
    def reach(self) -> Array:
        """(2, 3) bounds of what is drawn: a ghost further out would cost all others their precision."""
        return np.stack([self.low - 2 * (self.high - self.low), self.high + 2 * (self.high - self.low)])

    def to_json(self, rig: CameraRig) -> dict[str, Any]:
        """For the page."""
        return {
            "low": rounded(self.low),
            "high": rounded(self.high),
            "up": rounded(self.up),
            "water": [rounded(p) for p in water_faces(rig, self.low, self.high)],
            "frustums": [rounded(frustum(c, (self.low + self.high) / 2)) for c in rig],
        }


def space_of(rig: CameraRig, positions: Array) -> Space:
    """Box around positions (N, 3), far outliers aside, drawn out to water surfaces and glass close to it."""
    points = positions[np.isfinite(positions).all(1)]
    if len(points):
        first, third = np.percentile(points, [25, 75], axis=0)
        far = 4 * max(float((third - first).max()), 1e-9)
        near = ((points >= first - far) & (points <= third + far)).all(1)
        low, high = np.percentile(points[near] if near.any() else points, [0.2, 99.8], axis=0)
    else:
        middle = np.mean([c.centre for c in rig], axis=0)
        low = high = middle
    size = float((high - low).max())
    size = size if size > 0 else 1.0
    margin = np.maximum(0.06 * size, 0.5 * (0.15 * size - (high - low)))
    low, high = low - margin, high + margin
    for face in (f for c in rig for f in c.interfaces):
        axis = int(np.abs(face.normal).argmax())
        if abs(face.normal[axis]) < 0.98:
            continue
        if abs(face.point[axis] - low[axis]) < 0.5 * size and face.normal[axis] < 0:
            low[axis] = face.point[axis]
        elif abs(face.point[axis] - high[axis]) < 0.5 * size and face.normal[axis] > 0:
            high[axis] = face.point[axis]
    return Space(low, high, rig.up)


def frustum(camera: Camera, towards: Array) -> Array:
    """(5, 3) centre of the camera and the corners of its image, at a seventh of the way to `towards`.

    The corners follow the lens without water: what one sees of a camera stands in air.
    """
    depth = 0.14 * float(np.linalg.norm(towards - camera.centre))
    width, height = camera.size
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float64)
    rays = camera.without_water().rays(corners)
    direction = rays.direction
    if not rays.valid.all():  # beyond the lens' model: the pinhole's corners still show where it looks
        pinhole = np.column_stack([corners, np.ones(4)]) @ np.linalg.inv(camera.K).T @ camera.R
        direction = pinhole / np.linalg.norm(pinhole, axis=1, keepdims=True)
    along = direction @ camera.R[2]
    ends = camera.centre + direction * (depth / np.maximum(along, 0.2))[:, None]
    return np.concatenate([camera.centre[None], ends])


def water_faces(rig: CameraRig, low: Array, high: Array) -> list[Array]:
    """Polygons (K, 3) that the refracting planes cut out of the box, each plane once."""
    corners = low + _BITS * (high - low)
    planes: list[tuple[Array, Array]] = []
    for face in (f for c in rig for f in c.interfaces):
        same = any(abs(abs(n @ face.normal) - 1) < 1e-6 and abs((p - face.point) @ n) < 1e-6 for p, n in planes)
        if not same:
            planes.append((face.point, face.normal))
    polygons = []
    tolerance = 1e-9 * float(np.linalg.norm(high - low))
    for point, normal in planes:
        height = (corners - point) @ normal
        cut = [corners[i] for i in range(8) if abs(height[i]) <= tolerance]
        for a, b in _EDGES:
            if height[a] * height[b] < 0 and min(abs(height[a]), abs(height[b])) > tolerance:
                cut.append(corners[a] + (corners[b] - corners[a]) * height[a] / (height[a] - height[b]))
        if len(cut) < 3:
            continue
        polygon = np.array(cut)
        across = np.linalg.svd(polygon - polygon.mean(0))[2][:2]
        flat = (polygon - polygon.mean(0)) @ across.T
        polygons.append(polygon[np.argsort(np.arctan2(flat[:, 1], flat[:, 0]))])
    return polygons
