"""A few pictures of each camera's video, small, to lie behind its view."""

import base64
from typing import Any

from ..core.errors import InputError, MissingExtraError
from ..media.video import Video
from ..media.writer import encode_jpeg
from ..recordings import Recording

PER_CAMERA = 10
WIDTH = 720
BUDGET = 3_000_000  # bytes of JPEG over all cameras
LOOK_AHEAD = 60  # frames decoded after a key frame to come close to the frame wanted


def thumbnails(recording: Recording) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Return, for each camera with a video, pictures as ``{"frame": number on the common clock, "jpeg": base64}``.

    Also returns what went wrong, one line each: a broken video must not cost the page. The first picture of a video
    has the recording's first frame number; the camera's time offset is added.

    Parameters
    ----------
    recording : with videos or without.
    """
    videos = recording.videos
    found: dict[str, list[dict[str, Any]]] = {}
    problems = []
    left = BUDGET
    for k, (name, path) in enumerate(videos.items()):
        try:
            pictures = _pictures(Video.open(path), left // (len(videos) - k))
        except MissingExtraError:
            return {}, ["Pictures from the videos need PyAV: pip install 'trackfish3d[video]'."]
        except (InputError, OSError, ValueError) as error:
            lines = str(error).removeprefix(f"{path}: ").splitlines() or [repr(error)]
            problems.append(f"{path.name}: no pictures ({lines[0][:120]}).")
            continue
        first = recording.info.first_frame + recording.info.time_offset_frames.get(name, 0)
        found[name] = [{"frame": first + number, "jpeg": base64.b64encode(jpeg).decode()} for number, jpeg in pictures]
        left -= sum(len(jpeg) for _, jpeg in pictures)
    return found, problems


def _pictures(video: Video, budget: int) -> list[tuple[int, bytes]]:
    """Frame number and JPEG of up to `PER_CAMERA` pictures, evenly over the video, at most `budget` bytes together.

    Long videos are not decoded through: each picture is the nearest that a short way from a key frame reaches.
    """
    evenly = {round(i * (video.count - 1) / max(PER_CAMERA - 1, 1)) for i in range(PER_CAMERA)}
    pictures: list[tuple[int, bytes]] = []
    for picture in video.at(video.near(number, LOOK_AHEAD) for number in evenly):
        jpeg = encode_jpeg(picture, WIDTH)
        budget -= len(jpeg)
        if budget < 0:
            break
        pictures.append((picture.number, jpeg))
    return pictures
