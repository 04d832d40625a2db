"""H.264 videos."""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np

from ..core.errors import MissingExtraError
from ..core.files import atomic_path


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
