"""From a school and a rig to what a recording holds: detections and the truth about them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..cameras import CameraRig
from ..core.progress import Progress
from ..detection.masks.moments import ALONE, BOTTOM, COUNT, LEFT, RIGHT, TOP
from ..recordings.detections import Detections
from ..recordings.truth import Truth
from .body import HEAD, BodyMesh, body_mesh, detail_for, pose_bodies
from .detector import Detector
from .rendering.raster import View, half_sums
from .rigs import check_sees
from .school import School

_NAMES = ("u", "v", "x1", "y1", "x2", "y2", "score", "area", "angle", "major", "minor")


def mesh_for(school: School, rig: CameraRig) -> BodyMesh:
    """Mesh as fine as the nearest view of the water's middle needs."""
    pixels = 0.0
    for camera in rig:
        distance = float(np.linalg.norm(camera.centre - school.water.centre))
        pixels = max(pixels, float(camera.K[0, 0]) * float(school.length.max()) / distance)
    return body_mesh(*detail_for(pixels))


def pose_frame(school: School, mesh: BodyMesh, frame: int) -> np.ndarray:
    """Vertices (N, V, 3) of all fish in one frame."""
    vertices: np.ndarray = pose_bodies(
        mesh.vertices,
        mesh.centre,
        school.position[frame],
        school.heading[frame],
        school.speed[frame] / school.cruise,
        school.yaw_rate[frame],
        school.beat[frame],
        school.length,
        float(school.water.up),
    )
    return vertices


def heads_of(school: School) -> np.ndarray:
    """Middle of every head (T, N, 3), world units: a point on the bent spine, not on the line of the heading."""
    spine = np.array([[HEAD, 0.0, 0.0]])
    mesh = body_mesh()
    shape = BodyMesh(spine, mesh.normals, mesh.triangles, mesh.fin, mesh.centre)
    return np.stack([pose_frame(school, shape, t)[:, 0] for t in range(len(school.position))])


def _cutter(view: View) -> Callable[[int, float, float, float, float], np.ndarray]:
    def cut(fish: int, u: float, v: float, ax: float, ay: float) -> np.ndarray:
        halves: np.ndarray = half_sums(view.owner, fish, view.box(fish), u, v, ax, ay)
        return halves

    return cut


def observe(
    school: School,
    rig: CameraRig,
    detector: Detector,
    progress: Progress | None = None,
    mesh: BodyMesh | None = None,
) -> tuple[Detections, Truth]:
    """Draw every frame in every view and let the detector look at it.

    Parameters
    ----------
    school : School
    rig : CameraRig
    detector : IdealDetector or FittedDetector
    progress : callable, optional
        Called with frames done and frames in all.
    mesh : BodyMesh, optional
        Bodies of another shape; the usual ones as fine as the views need, where it is not given.

    Returns
    -------
    detections : Detections
        With second moments of the masks.
    truth : Truth
        Body centre, head and heading; per camera the projection of the centre (u, v), the box of the visible mask
        (NaN where nothing is visible), the visible fraction, and the row of the detection that holds the
        fish: two merged fish share one.
    """
    check_sees(rig, school.water)
    frames, fish = school.position.shape[:2]
    mesh = mesh_for(school, rig) if mesh is None else mesh
    views = [View(*camera.size) for camera in rig]
    packed = rig.packed
    boxes = np.full((frames, fish, len(rig), 4), np.nan)
    visible = np.zeros((frames, fish, len(rig)))
    row = np.full((frames, fish, len(rig)), -1, np.int64)
    parts: list[np.ndarray] = []
    frame_of: list[np.ndarray] = []
    camera_of: list[np.ndarray] = []
    rows = 0
    for t in range(frames):
        vertices = pose_frame(school, mesh, t)
        for c, view in enumerate(views):
            sums, contacts = view.draw(packed[c], vertices, mesh.triangles)
            seen = sums[:, COUNT] > 0
            boxes[t, seen, c] = sums[seen][:, [LEFT, TOP, RIGHT, BOTTOM]]
            visible[t, seen, c] = sums[seen, COUNT] / sums[seen, ALONE]
            found = detector.see(c, rig[c].size, sums, contacts, _cutter(view))
            count = len(found.columns["u"])
            row[t, :, c] = np.where(found.row >= 0, found.row + rows, -1)
            parts.append(np.stack([found.columns[name] for name in _NAMES]))
            frame_of.append(np.full(count, t))
            camera_of.append(np.full(count, c))
            rows += count
        if progress is not None:
            progress(t + 1, frames)
    table = dict(zip(_NAMES, np.concatenate(parts, axis=1), strict=True))
    detections = Detections.build(
        rig.names, np.concatenate(frame_of), np.concatenate(camera_of).astype(np.int16), **table
    )
    return detections, _truth(school, rig, boxes, visible, row)


def _truth(school: School, rig: CameraRig, boxes: np.ndarray, visible: np.ndarray, row: np.ndarray) -> Truth:
    frames, fish = school.position.shape[:2]
    position = school.position.reshape(-1, 3)
    pixels = np.stack([camera.project(position) for camera in rig], axis=1)
    flat = boxes.reshape(frames * fish, len(rig), 4)
    return Truth(
        frame=np.repeat(np.arange(frames), fish),
        identity=np.tile(np.arange(fish), frames),
        position=position,
        heading=school.heading.reshape(-1, 3),
        head=heads_of(school).reshape(-1, 3),
        cameras=rig.names,
        u=pixels[..., 0],
        v=pixels[..., 1],
        x1=flat[..., 0],
        y1=flat[..., 1],
        x2=flat[..., 2],
        y2=flat[..., 3],
        visible=visible.reshape(frames * fish, len(rig)),
        detection=row.reshape(frames * fish, len(rig)),
    )
