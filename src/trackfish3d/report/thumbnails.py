"""A few pictures of each camera's video, small, to lie behind its view; and those of a second look at it."""

import base64
import io
from typing import Any

from ..core.errors import InputError, MissingExtraError
from ..core.files import inside, read_json
from ..media.video import Video
from ..media.writer import encode_jpeg
from ..recordings import Recording

PER_CAMERA = 10
WIDTH = 720
BUDGET = 3_000_000  # bytes of JPEG over all cameras
_PNG = b"\x89PNG\r\n\x1a\n"
LOOKED_WIDTH = 960
COUNTS = ("added", "removed", "moved", "kept")
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


def second_looks(recording: Recording) -> dict[str, Any] | None:
    """Return the rounds' numbers of detections, and pictures of each camera before and after; None without a look.

    ``refused`` says why a round was left out, or is empty.

    Parameters
    ----------
    recording : that was looked at again, or not.
    """
    known = read_json(recording.folder / "look_again.json")
    rounds = known.get("rounds") if isinstance(known, dict) else None
    refused = known.get("refused") if isinstance(known, dict) else None
    refused = refused if isinstance(refused, str) else ""
    if not isinstance(rounds, list) or not (rounds or refused):
        return None
    counts = [[int(r[k]) for k in COUNTS] for r in rounds if isinstance(r, dict) and set(COUNTS) <= set(r)]
    pictures, left = [], BUDGET
    for name in recording.rig.names:
        try:
            both = [_jpeg(recording, f"{name}{ending}.png") for ending in ("", "-again")]
        except (InputError, OSError, ValueError, SyntaxError):
            continue  # none was drawn, or somebody has put something else there
        left -= sum(len(jpeg) for jpeg in both)
        if left < 0:
            break
        before, after = (base64.b64encode(jpeg).decode() for jpeg in both)
        pictures.append({"camera": name, "before": before, "after": after})
    return {"rounds": counts, "pictures": pictures, "refused": refused}


def _jpeg(recording: Recording, name: str) -> bytes:
    """Return a preview, its first two moments, as a small JPEG."""
    from PIL import Image

    path = inside(recording.folder, "preview", name)
    if path.is_symlink():
        raise InputError(f"{path}: is a link; previews are files")
    if not path.read_bytes().startswith(_PNG):
        raise InputError(f"{path}: is not a PNG")
    with Image.open(path, formats=("PNG",)) as drawn:
        picture = drawn.convert("RGB").crop((0, 0, drawn.width, drawn.height // 2))
    picture.thumbnail((LOOKED_WIDTH, 4 * LOOKED_WIDTH))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=75)
    return out.getvalue()
