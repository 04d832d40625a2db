"""H.264 videos of a simulated school, one a camera."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np

from trackfish3d.cameras import CameraRig
from trackfish3d.errors import MissingExtraError
from trackfish3d.files import atomic_path
from trackfish3d.synfish.observe import mesh_for
from trackfish3d.synfish.render import Renderer
from trackfish3d.synfish.school import School


def write_video(path: Path, frames: Iterable[np.ndarray], size: tuple[int, int], fps: float) -> None:
    """Encode RGB pictures (H, W, 3) uint8 as H.264; one encoder thread, so that same pictures give same bytes."""
    try:
        import av
    except ImportError:
        raise MissingExtraError("av", "video", "writing video") from None
    with atomic_path(path) as temporary, av.open(str(temporary), "w", format="mp4") as container:
        stream = container.add_stream(
            "libx264", rate=Fraction(fps).limit_denominator(1001), options={"crf": "20", "preset": "veryfast"}
        )
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.codec_context.thread_count = 1
        for picture in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


def write_videos(
    school: School, rig: CameraRig, folder: Path, fps: float, seed: int, progress: Callable[[int], None] | None = None
) -> None:
    """Render and write ``videos/<camera>.mp4`` of a recording's folder; ``progress`` gets the pictures done."""
    mesh = mesh_for(school, rig)
    frames = len(school.position)
    for c, camera in enumerate(rig):
        renderer = Renderer(camera, school, mesh, seed)

        def pictures(renderer: Renderer = renderer, done: int = c * frames) -> Iterable[np.ndarray]:
            for frame in range(frames):
                yield renderer.draw(frame)
                if progress is not None:
                    progress(done + frame + 1)

        write_video(folder / "videos" / f"{camera.name}.mp4", pictures(), camera.size, fps)
