"""A few pictures of each camera's video, small, to lie behind its view."""

import base64
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..recordings import Recording

PER_CAMERA = 10
WIDTH = 720
BUDGET = 3_000_000  # bytes of JPEG over all cameras
LOOK_AHEAD = 60  # frames decoded after a key frame to come close to the frame wanted


def thumbnails(recording: Recording) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """For each camera with a video, pictures as ``{"frame": number on the common clock, "jpeg": base64}``.

    Also returns what went wrong, one line each: a broken video must not cost the page. The first picture of a video
    has the recording's first frame number; the camera's time offset is added.
    """
    videos = recording.videos
    if not videos:
        return {}, []
    try:
        import av  # noqa: F401
    except ImportError:
        return {}, ["Pictures from the videos need PyAV: pip install 'trackfish3d[video]'."]
    found: dict[str, list[dict[str, Any]]] = {}
    problems = []
    left = BUDGET
    for k, (name, path) in enumerate(videos.items()):
        try:
            pictures = _pictures(path, left // (len(videos) - k))
        except (OSError, ValueError, IndexError) as error:
            problems.append(
                f"{path.name}: no pictures ({str(error).splitlines()[0][:120] if str(error) else error!r})."
            )
            continue
        first = recording.info.first_frame + recording.info.time_offset_frames.get(name, 0)
        found[name] = [{"frame": first + index, "jpeg": base64.b64encode(jpeg).decode()} for index, jpeg in pictures]
        left -= sum(len(jpeg) for _, jpeg in pictures)
    return found, problems


def _pictures(path: Path, budget: int) -> list[tuple[int, bytes]]:
    """Frame index and JPEG of up to `PER_CAMERA` pictures, evenly over the video, at most `budget` bytes together.

    Long videos are not decoded through: each picture is the nearest that a short way from a key frame reaches, and
    goes by its own number.
    """
    import av

    pictures: dict[int, bytes] = {}
    with av.open(str(path), metadata_errors="replace") as container:
        stream = container.streams.video[0]
        rate = Fraction(stream.average_rate or 30)
        base = Fraction(stream.time_base or Fraction(1, 1000))
        start = stream.start_time or 0
        total = stream.frames or int((stream.duration or 0) * base * rate)
        wanted = sorted({round(i * max(total - 1, 0) / max(PER_CAMERA - 1, 1)) for i in range(PER_CAMERA)})
        size = 0
        for target in wanted:
            container.seek(start + int(target / rate / base), stream=stream, backward=True)
            reached = None
            for step, frame in enumerate(container.decode(stream)):
                reached = frame
                index = round((frame.pts - start) * base * rate) if frame.pts is not None else target
                if index >= target or step >= LOOK_AHEAD:
                    break
            if reached is None or index in pictures:
                continue
            jpeg = _jpeg(reached)
            size += len(jpeg)
            if size > budget:
                break
            pictures[index] = jpeg
    return sorted(pictures.items())


def _jpeg(frame: Any) -> bytes:
    """One picture as JPEG, no wider than `WIDTH`."""
    import av

    width = min(WIDTH, frame.width) // 2 * 2
    height = max(2, round(frame.height * width / frame.width) // 2 * 2)
    small = frame.reformat(width=width, height=height, format="yuvj420p")
    small.pts = None
    codec: Any = av.CodecContext.create("mjpeg", "w")
    codec.width, codec.height, codec.pix_fmt = width, height, "yuvj420p"
    codec.time_base = Fraction(1, 25)
    codec.options = {"qmin": "5", "qmax": "5"}
    return b"".join(bytes(p) for p in [*codec.encode(small), *codec.encode(None)])
