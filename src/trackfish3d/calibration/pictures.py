"""The pictures a calibration is made from: folders, patterns or videos, one source a camera."""

import glob
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError
from ..media.video import Video
from ._opencv import opencv

Picture = NDArray[np.uint8]
IMAGES = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".pgm", ".ppm", ".webp"}
VIDEOS = {".mp4", ".avi", ".mov", ".mkv", ".m4v", ".mpg", ".mpeg", ".webm", ".ts", ".mts", ".wmv", ".h264", ".264"}
FRAMES = 150  # of a video that are looked at, unless told how many to leave out


@dataclass(frozen=True)
class Source:
    """The pictures of one camera: image files, or one video."""

    camera: str
    files: tuple[Path, ...]

    @property
    def video(self) -> bool:
        """Whether it is a video."""
        return self.files[0].suffix.lower() in VIDEOS

    @cached_property
    def film(self) -> Video:
        """The video, opened once."""
        return Video.open(self.files[0])


def parse_sources(texts: list[str]) -> list[Source]:
    """Read ``NAME=FOLDER``, ``NAME=PATTERN`` or ``NAME=VIDEO``; without a name it is the folder's or the video's."""
    sources: dict[str, Source] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        try:
            if not equals or Path(text).exists():
                name, rest = "", text
            files = _expand(rest)
        except (OSError, ValueError) as error:
            raise InputError(f"{text[:80]}: cannot be opened ({error})") from None
        if not name:
            one = len(files) == 1 or Path(rest).is_dir()
            name = (files[0] if files[0].suffix.lower() in VIDEOS else files[0].parent).absolute().stem if one else ""
        if not name:
            raise InputError(f"{text}: write CAMERA={text}, so that the camera has a name")
        if name in sources:
            raise InputError(f"camera {name}: named twice; give all its pictures as one folder or pattern")
        sources[name] = Source(name, tuple(files))
    return list(sources.values())


def _expand(text: str) -> list[Path]:
    path = Path(text)
    if path.is_dir():
        found = sorted(f for f in path.iterdir() if f.is_file() and f.suffix.lower() in IMAGES)
        if not found:
            videos = [f.name for f in sorted(path.iterdir()) if f.suffix.lower() in VIDEOS]
            hint = f"; it has the video {videos[0]}: name that" if videos else ""
            raise InputError(f"{path}: holds no image (PNG, JPEG, TIFF, BMP){hint}")
        return found
    found = [path] if path.is_file() else sorted(Path(f) for f in glob.glob(text, recursive=True) if Path(f).is_file())
    if not found:
        raise InputError(f"{text}: no such file, folder or pattern with a file")
    kinds = {"video" if f.suffix.lower() in VIDEOS else "image" for f in found}
    if len(kinds) > 1 or (kinds == {"video"} and len(found) > 1):
        raise InputError(f"{text}: give either images or one video, not {len(found)} files of them")
    return found


def moments(sources: list[Source]) -> list[list[str]]:
    """For each source of images, the name of the moment at which each picture was taken, the same in all cameras.

    Files of the same name belong together, or those with the same number, where one of the numbers in their names
    is different for all pictures of a camera; otherwise the files in order, if there are equally many.
    """
    stems = [[f.stem for f in s.files] for s in sources]
    sets = [set(s) for s in stems]
    if len(sources) < 2 or (set.intersection(*sets) and all(len(s) == len(set(s)) for s in stems)):
        return stems
    numbers = [[re.findall(r"\d+", s) for s in one] for one in stems]
    fewest = min(len(n) for one in numbers for n in one)
    for place in range(1, fewest + 1):
        keys = [[str(int(n[-place])) for n in one] for one in numbers]
        if all(len(set(k)) == len(k) for k in keys) and set.intersection(*(set(k) for k in keys)):
            return keys
    if len({len(s) for s in stems}) > 1:
        counts = ", ".join(f"{s.camera} {len(s.files)}" for s in sources)
        raise InputError(
            f"cannot tell which pictures were taken together ({counts}); give files of one moment the same number"
        )
    return [[str(k + 1) for k in range(len(s))] for s in stems]


def video_step(sources: list[Source]) -> int:
    """Every how many frames to look at the videos: the same for all, since frames belong together by their number."""
    longest = max((s.film.count for s in sources if s.video), default=0)
    return max(1, longest // FRAMES)


def read_pictures(source: Source, names: list[str], every: int) -> Iterator[tuple[str, Picture]]:
    """Give the name of the moment and the grey picture (H, W), one after the other."""
    if source.video:
        yield from _video(source.film, every)
        return
    cv2 = opencv()
    for name, path in zip(names, source.files, strict=True):
        data = np.fromfile(path, np.uint8)  # not imread: it knows no names beyond ASCII on some systems
        picture = cv2.imdecode(data, cv2.IMREAD_GRAYSCALE) if len(data) else None
        if picture is None:
            raise InputError(f"{path}: is not an image that can be read")
        yield name, picture


def count_pictures(source: Source, every: int) -> int:
    """How many pictures `read_pictures` will give, as far as the video says."""
    if not source.video:
        return len(source.files)
    return -(-source.film.count // every)


def _video(video: Video, every: int) -> Iterator[tuple[str, Picture]]:
    """Every n-th frame by its number, which lost frames do not shift."""
    for picture in video.at(range(0, video.count, every)):
        yield str(picture.number), np.ascontiguousarray(picture.grey)
