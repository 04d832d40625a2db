"""Films of a simulated school, one a camera."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..cameras import CameraRig
from ..core.progress import Progress
from ..media.writer import write_video
from .observe import mesh_for
from .rendering.conditions import Conditions
from .rendering.render import Renderer
from .school import School


def write_videos(
    school: School,
    rig: CameraRig,
    folder: Path,
    fps: float,
    seed: int,
    progress: Progress | None = None,
    conditions: Conditions | None = None,
) -> None:
    """Render and write ``videos/<camera>.mp4`` of a recording's folder.

    Parameters
    ----------
    school : what is filmed.
    rig : the cameras.
    folder : of the recording.
    fps : frames a second.
    seed : of floor, particles, noise and what is difficult.
    progress : hears of pictures.
    conditions : what makes the films difficult; nothing by default.
    """
    mesh = mesh_for(school, rig)
    frames = len(school.position)
    for c, camera in enumerate(rig):
        renderer = Renderer(camera, school, mesh, seed, conditions)

        def pictures(renderer: Renderer = renderer, done: int = c * frames) -> Iterable[np.ndarray]:
            for frame in range(frames):
                yield renderer.draw(frame)
                if progress is not None:
                    progress(done + frame + 1, frames * len(rig))

        write_video(folder / "videos" / f"{camera.name}.mp4", pictures(), camera.size, fps)
