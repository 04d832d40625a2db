"""A drawing of the rig: cameras, their fields of view, the water, and where the animals are."""

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..cameras import Camera, CameraRig
from ..core.drawing import plain_text
from ..core.files import atomic_path
from ..recordings import Detections
from .agreement import Sample, ViewErrors, meeting_points, pair_errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933")


def animals(rig: CameraRig, detections: Detections, frames: int = 60) -> Array:
    """(N, 3) points of the best-matched detections of a few frames, to show where the animals are."""
    sample = Sample.draw(detections, frames).still(frames)
    views = [ViewErrors.of(sample, camera, c) for c, camera in enumerate(rig)]
    points = [np.zeros((0, 3))]
    for a, b in pairwise(views):
        m = pair_errors(sample, a, b)
        if len(m.error):
            points.append(meeting_points(a, b, m.select(m.error <= np.median(m.error))))
    return np.concatenate(points)


@plain_text
def draw_rig(rig: CameraRig, points: Array, path: str | Path) -> None:
    """Write a PNG: the rig in 3D, and along each world axis."""
    figure = rig_figure(rig, points)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=90, format="png")


@plain_text
def rig_figure(rig: CameraRig, points: Array) -> "Figure":
    """Draw the rig in 3D, and along each world axis; ``points`` (N, 3) show where the animals are, world units."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 9), layout="constrained")
    grid = figure.add_gridspec(2, 2)
    solid: Any = figure.add_subplot(grid[0, 0], projection="3d")
    flat = [figure.add_subplot(grid[i]) for i in ((0, 1), (1, 0), (1, 1))]
    views = (("x", "y"), ("x", "z"), ("y", "z"))
    if len(points):
        solid.scatter(*points.T, s=3, color="#777777", alpha=0.5, linewidths=0)
        for axis, (h, v) in zip(flat, views, strict=True):
            axis.plot(points[:, "xyz".index(h)], points[:, "xyz".index(v)], ".", ms=2, color="#777777", alpha=0.5)
    target = np.median(points, axis=0) if len(points) else np.mean([c.centre for c in rig], axis=0)
    for i, camera in enumerate(rig):
        colour = _COLOURS[i % len(_COLOURS)]
        for line in _frustum(camera, target):
            solid.plot(*line.T, color=colour, lw=1)
            for axis, (h, v) in zip(flat, views, strict=True):
                axis.plot(line[:, "xyz".index(h)], line[:, "xyz".index(v)], color=colour, lw=0.8)
        solid.text(*camera.centre, f" {camera.name}", color=colour)
        for axis, (h, v) in zip(flat, views, strict=True):
            place = camera.centre[["xyz".index(h), "xyz".index(v)]]
            axis.plot(*place, "s", color=colour, ms=6)
            axis.annotate(
                camera.name, (place[0], place[1]), xytext=(6, 4), textcoords="offset points", color=colour, fontsize=10
            )
        for face in camera.interfaces:
            patch = _plane(face.point, face.normal, points if len(points) else target[None])
            solid.plot(*patch.T, color="#3399cc", lw=1, ls="--")
            for axis, (h, v) in zip(flat, views, strict=True):
                axis.plot(patch[:, "xyz".index(h)], patch[:, "xyz".index(v)], color="#3399cc", lw=0.8, ls="--")
    solid.set(xlabel="x", ylabel="y", zlabel="z")
    solid.set_aspect("equal")
    if rig.up[2] < 0:
        solid.invert_zaxis()
    solid.set_title("cameras, animals (grey), water (dashed)", fontsize=11)
    for axis, (h, v) in zip(flat, views, strict=True):
        axis.set(xlabel=f"{h} ({rig.units})", ylabel=f"{v} ({rig.units})", aspect="equal")
        axis.set_title(f"along {({'x', 'y', 'z'} - {h, v}).pop()}", fontsize=11)
        axis.grid(alpha=0.3)
        if rig.up["xyz".index(v)] < 0:  # a world whose axis points down is drawn as it stands
            axis.invert_yaxis()
    return figure


def _frustum(camera: Camera, target: Array) -> list[Array]:
    """Corner rays of the image, bent at the water, to the distance of the animals, and the frame they span there."""
    w, h = camera.size
    inside = np.array([[0.02, 0.02], [0.98, 0.02], [0.98, 0.98], [0.02, 0.98]]) * [w, h]
    rays = camera.rays(inside)
    reach = np.linalg.norm(target - camera.centre)
    ends = []
    lines = []
    for origin, direction, ok in zip(rays.origin, rays.direction, rays.valid, strict=True):
        if ok:
            end = origin + direction * max(reach - np.linalg.norm(origin - camera.centre), 0.3 * reach)
            lines.append(np.stack([camera.centre, origin, end]))
            ends.append(end)
    return [*lines, np.stack([*ends, ends[0]])] if len(ends) > 2 else lines


def _plane(point: Array, normal: Array, around: Array) -> Array:
    """(5, 3) outline of a piece of a plane that covers the animals."""
    across = np.linalg.svd(normal[None])[2][1:]
    flat = (around - point) @ across.T
    low, high = np.quantile(flat, [0.01, 0.99], axis=0)
    margin = 0.25 * max(float((high - low).max()), 1e-6)
    (u0, v0), (u1, v1) = low - margin, high + margin
    corners = np.array([[u0, v0], [u1, v0], [u1, v1], [u0, v1], [u0, v0]])
    return np.asarray(point + corners @ across)
