"""Crops of detections from the pictures of a simulated school, as its film would show them."""

import numpy as np

from ..cameras import CameraRig
from ..core.progress import Progress
from ..methods.baselines.learned.crops import SIZE, Crops, cut
from ..recordings.detections import Detections
from .observe import mesh_for
from .rendering.render import Renderer
from .school import School


def rendered_crops(
    school: School, rig: CameraRig, detections: Detections, seed: int, progress: Progress | None = None
) -> Crops:
    """Draw every frame that has detections in every camera and cut them out.

    Parameters
    ----------
    school : its frames are those of the detections.
    rig : the cameras.
    detections : of the school.
    seed : of floor, caustics and noise: the seed of the film.
    progress : called with pictures done and pictures in all.

    Returns
    -------
    (N, 3, SIZE, SIZE) in the order of the detections.
    """
    mesh = mesh_for(school, rig)
    out = np.zeros((len(detections), 3, SIZE, SIZE), np.uint8)
    frames = len(school.position)
    for c, camera in enumerate(rig):
        renderer = Renderer(camera, school, mesh, seed)
        mine = np.flatnonzero(detections.camera == c)
        begin = np.searchsorted(detections.frame[mine], np.arange(frames + 1))
        for t in range(frames):
            rows = mine[begin[t] : begin[t + 1]]
            if len(rows):
                out[rows] = cut(renderer.draw(t), detections.boxes[rows])
            if progress is not None:
                progress(c * frames + t + 1, frames * len(rig))
    return out
