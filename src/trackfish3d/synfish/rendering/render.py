"""Pictures of the school: light that falls off with depth, caustics, floating particles, noise."""

from __future__ import annotations

import zlib

import numpy as np
from scipy.ndimage import gaussian_filter, zoom

from ...cameras import Camera
from ..body import BodyMesh
from ..observe import pose_frame
from ..school import School
from . import kernels
from .conditions import Conditions, Weather, mirrored
from .raster import View, project_vertices
from .tank_picture import Backdrop, tank_backdrop

_DEEP = np.array([0.012, 0.075, 0.115])
_BRIGHT = np.array([0.070, 0.270, 0.330])
_SAND = np.array([0.46, 0.43, 0.33])
GRAIN = 2.0  # standard deviation of the sensor noise, levels of 255


def caustic_texture(seed: int, size: int = 512) -> np.ndarray:
    """Return a repeating pattern (size, size) in 0..1: bright threads between the cells of random points."""
    rng = np.random.default_rng([seed, 11])
    points = rng.random((48, 2))
    axis = (np.arange(size) + 0.5) / size
    dx = np.abs(axis[:, None] - points[None, :, 0])
    dy = np.abs(axis[:, None] - points[None, :, 1])
    dx, dy = np.minimum(dx, 1 - dx), np.minimum(dy, 1 - dy)
    near = np.sort(np.sqrt(dx[None, :, :] ** 2 + dy[:, None, :] ** 2), axis=2)
    thread = np.exp(-((near[..., 1] - near[..., 0]) * 26.0))
    return np.ascontiguousarray(gaussian_filter(thread, 2.0, mode="wrap"), np.float32)


def _fractal(rng: np.random.Generator, size: int = 512) -> np.ndarray:
    """Repeating cloud-like texture (size, size) with mean 0, for the floor."""
    out = np.zeros((size, size))
    for sigma, weight in ((2, 0.25), (6, 0.35), (20, 0.6), (60, 0.8)):
        layer = gaussian_filter(rng.standard_normal((size, size)), sigma, mode="wrap")
        out += weight * layer / layer.std()
    return np.ascontiguousarray(out / out.std(), np.float32)


class Renderer:
    """Draws one camera's view of a school, frame by frame."""

    def __init__(
        self, camera: Camera, school: School, mesh: BodyMesh, seed: int, conditions: Conditions | None = None
    ) -> None:
        chosen = conditions or Conditions()
        length = float(school.length.max())
        self._weather = Weather(chosen, camera, school.water, len(school.position), length, seed)
        self._camera, self._school, self._mesh = camera, school, mesh
        self._row = camera.packed
        self.view = View(*camera.size)
        self._texture = caustic_texture(seed)
        self._rng = np.random.default_rng([seed, 13])
        shape = (camera.size[1], camera.size[0])
        self._frame = np.zeros((*shape, 3), np.float32)
        self._paint = np.zeros((*shape, 6), np.float32)
        # Floor and particles are the same for all cameras of a recording; the noise of each sensor is its own.
        sensor = np.random.default_rng([seed, 19, zlib.crc32(camera.name.encode())])
        self._grain = (GRAIN * sensor.standard_normal(1 << 20)).astype(np.float32)
        middle = school.water.centre
        corners = np.array(np.meshgrid(*zip(school.water.low, school.water.high, strict=True))).reshape(3, -1).T
        far = np.linalg.norm(corners - camera.centre, axis=1)
        self._clear_at = float(0.75 * far.min())
        self._reach = float(1.1 * (far.max() - self._clear_at))
        self._size = float(np.max(school.water.high - school.water.low))
        self._middle = middle
        self._background, self._water, self._floor = self._still()
        count = 220
        # Particles float in the tank, or in open water far around the school.
        box = school.water.high - school.water.low
        self._span = box if camera.interfaces else np.full(3, 1.8 * self._size)
        self._particles = middle + 0.5 * self._span * self._rng.uniform(-1, 1, (count, 3))
        self._drift = 0.0006 * self._size * self._rng.standard_normal((count, 3))
        self._glint = self._rng.uniform(0.02, 0.10, count)

    def _still(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return static background, colour of the water alone, and floor (caustic x, y, strength), each (H, W, 3)."""
        width, height = self._camera.size
        tank = len(self._camera.interfaces) > 0
        step = 2 if tank else 4  # rays change slowly over the image, but a tank has edges
        xs, ys = np.arange(0, width + step, step, dtype=float), np.arange(0, height + step, step, dtype=float)
        grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
        rays = self._camera.rays(grid)
        shape = (len(ys), len(xs))
        direction = np.nan_to_num(rays.direction).reshape(*shape, 3)
        origin = np.nan_to_num(rays.origin).reshape(*shape, 3)
        rise = direction[..., 2] * self._school.water.up
        if tank:
            back = tank_backdrop(origin, direction, self._camera.centre, self._school.water)
        else:
            back = self._open_water(origin, direction, rise)
        through = np.where(back.wet > 0, np.exp(-np.maximum(back.distance - self._clear_at, 0) / self._reach), 1.0)
        glow = np.clip(0.5 + 0.75 * rise, 0, 1)[..., None]
        water = _DEEP * (1 - glow) + _BRIGHT * glow
        planes = [back.x, back.y, through, back.floor, *np.moveaxis(back.paint, -1, 0), *np.moveaxis(water, -1, 0)]
        x, y, through, ground, *colour = [self._enlarge(p, step) for p in planes]
        scale = 1.2 * self._size
        sand = _lookup(_fractal(self._rng), (x / scale, y / scale))
        lit = (0.55 + 0.10 * sand)[..., None] * _SAND * np.array([0.45, 0.80, 0.85])
        lit = ground[..., None] * lit + (1 - ground[..., None]) * np.stack(colour[:3], axis=-1)
        water = np.stack(colour[3:], axis=-1)
        background = lit * through[..., None] + water * (1 - through[..., None])
        # Lens fall-off towards the corners.
        v, u = np.mgrid[0:height, 0:width]
        radius = np.hypot((u - width / 2) / width, (v - height / 2) / width)
        vignette = (1 - 0.55 * radius**2)[..., None]
        floor = np.stack([x / (0.45 * self._size), y / (0.45 * self._size), 0.35 * through * ground], axis=-1)
        return tuple(np.ascontiguousarray(a, np.float32) for a in (background * vignette, water * vignette, floor))  # type: ignore[return-value]

    def _open_water(self, origin: np.ndarray, direction: np.ndarray, rise: np.ndarray) -> Backdrop:
        """Follow rays to a floor some way below the school; there are no walls."""
        up = self._school.water.up
        bottom = self._school.water.low[2] if up > 0 else self._school.water.high[2]
        floor_z = bottom - up * 0.35 * self._size
        slope = np.where(rise < -1e-3, direction[..., 2], -1e-3 * up)
        along = np.where(rise < -1e-3, (floor_z - origin[..., 2]) / slope, 1e6)
        along = np.clip(along, 0, 1e6)
        x, y = origin[..., 0] + along * direction[..., 0], origin[..., 1] + along * direction[..., 1]
        all_ = np.ones(rise.shape)
        return Backdrop(np.clip(x, -1e4, 1e4), np.clip(y, -1e4, 1e4), along, all_, np.zeros((*rise.shape, 3)), all_)

    def _enlarge(self, plane: np.ndarray, step: int) -> np.ndarray:
        width, height = self._camera.size
        rows = np.arange(height) / step
        columns = np.arange(width) / step
        i, j = rows.astype(int), columns.astype(int)
        a, b = (rows - i)[:, None], (columns - j)[None, :]
        top = plane[i][:, j] * (1 - b) + plane[i][:, j + 1] * b
        low = plane[i + 1][:, j] * (1 - b) + plane[i + 1][:, j + 1] * b
        out: np.ndarray = top * (1 - a) + low * a
        return out

    def _attributes(self, frame: int, vertices: np.ndarray) -> np.ndarray:
        """Per vertex: s, dorsal, light, caustic x and y, fin; (N, V, 6)."""
        mesh, up = self._mesh, self._school.water.up
        heading = self._school.heading[frame]
        left = np.cross([0.0, 0.0, up], heading)
        left /= np.linalg.norm(left, axis=1, keepdims=True)
        dorsal = np.cross(heading, left)
        # Only the vertical part of the normal counts: light comes from the surface, a little from everywhere.
        tilt = (
            mesh.normals[:, 0] * heading[:, 2:] + mesh.normals[:, 1] * left[:, 2:] + mesh.normals[:, 2] * dorsal[:, 2:]
        )
        tilt = tilt * up
        out = np.zeros((*vertices.shape[:2], 6))
        out[..., 0] = mesh.vertices[:, 0]
        out[..., 1] = np.clip(mesh.vertices[:, 2] / 0.085, -1, 1)
        out[..., 2] = np.clip(0.42 + 0.50 * tilt, 0.05, 1)
        out[..., 3:5] = vertices[..., :2] / (0.25 * self._size)
        out[..., 5] = mesh.fin
        return out

    def draw(self, frame: int) -> np.ndarray:
        """Return the picture (H, W, 3) uint8 of one frame; the arrays of ``view`` then hold its masks.

        Fish that a wall mirrors are counted after the others there.
        """
        weather = self._weather
        vertices, attributes, shade = self._bodies(frame)
        self.view.draw(self._row, vertices, self._mesh.triangles)
        pixels = project_vertices(self._row, vertices)
        boxes = np.array([self.view.box(i) for i in range(len(vertices))]).reshape(-1, 4)
        owner, near = self.view.owner, self.view.near
        time = frame / 9.0
        kernels.light_background(self._background, self._floor, self._texture, time, self._frame)
        behind = owner >= len(self._school.shade)
        glass = self._frame[behind]
        kernels.paint_fish(pixels, self._mesh.triangles, boxes, owner, near, attributes, self._paint)
        kernels.shade_fish(
            boxes,
            owner,
            near,
            self._paint,
            shade,
            self._frame,
            self._water,
            self._clear_at,
            self._reach,
            self._texture,
            time,
        )
        if len(glass):
            self._frame[behind] = glass + weather.conditions.mirror * (self._frame[behind] - glass)
        self._splat(frame)
        weather.soil(frame, self._frame, near)
        weather.light(frame, self._frame)
        out = np.empty(self._frame.shape, np.uint8)
        start = int(np.random.default_rng([frame, 17]).integers(0, len(self._grain)))
        kernels.develop(weather.bend(frame, self._frame), owner, self._grain, start, out)
        return out

    def _bodies(self, frame: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Vertices (N, V, 3), attributes (N, V, 6) and shade (N,) of fish, and of their images in a mirror."""
        vertices = pose_frame(self._school, self._mesh, frame)
        attributes, shade = self._attributes(frame, vertices), self._school.shade
        chosen = self._weather.conditions
        if not chosen.mirror:
            return vertices, attributes, shade
        images = mirrored(vertices, self._school.water, chosen.wall)
        return np.concatenate([vertices, images]), np.tile(attributes, (2, 1, 1)), np.tile(shade, 2)

    def _splat(self, frame: int) -> None:
        place = self._particles + frame * self._drift - self._middle
        place = self._middle + np.mod(place + self._span / 2, self._span) - self._span / 2
        pixels = project_vertices(self._row, place[None])[0]
        focal = float(self._camera.K[0, 0])
        radius = np.clip(0.0016 * self._size * focal * pixels[:, 2], 0.8, 6.0)
        blur = np.clip(np.abs(pixels[:, 2] * np.linalg.norm(self._middle - self._camera.centre) - 1), 0, 1)
        kernels.splat(pixels, radius * (1 + 2 * blur), self._glint / (1 + 4 * blur), self.view.near, self._frame)


def _lookup(texture: np.ndarray, at: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Sample a repeating texture, four times finer than its pixels by spline, at (x, y) in units of its width."""
    fine = zoom(texture, 2, order=1, mode="grid-wrap", grid_mode=True)
    n = fine.shape[0]
    i = np.mod((at[0] * n).astype(np.int64), n)
    j = np.mod((at[1] * n).astype(np.int64), n)
    out: np.ndarray = fine[j, i]
    return out
