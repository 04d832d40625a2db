"""Videos as H.264, and single pictures of them as JPEG."""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import MissingExtraError
from ..core.files import atomic_path
from .video import Picture


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


def encode_jpeg(picture: Picture, width: int) -> bytes:
    """Return a picture as JPEG.

    Parameters
    ----------
    picture : of a video.
    width : px that it has at most.
    """
    import av

    frame = picture.frame
    width = min(width, frame.width) // 2 * 2
    height = max(2, round(frame.height * width / frame.width) // 2 * 2)
    small = frame.reformat(width=width, height=height, format="yuvj420p")
    small.pts = None
    codec: Any = av.CodecContext.create("mjpeg", "w")
    codec.width, codec.height, codec.pix_fmt = width, height, "yuvj420p"
    codec.time_base = Fraction(1, 25)
    codec.options = {"qmin": "5", "qmax": "5"}
    return b"".join(bytes(p) for p in [*codec.encode(small), *codec.encode(None)])
