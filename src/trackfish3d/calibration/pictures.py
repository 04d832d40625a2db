"""The pictures a calibration is made from: folders, patterns or videos, one source a camera."""

import glob
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError
from ..media.chapters import SUFFIXES, in_order
from ..media.video import Video
from .opencv import opencv

Picture = NDArray[np.uint8]
IMAGES = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".pgm", ".ppm", ".webp"}
_MOST = 32  # cameras
_SHARED = 0.5  # of the moments that two cameras must have in common, or they are no two cameras
FRAMES = 150  # of a video that are looked at, unless told how many to leave out


@dataclass(frozen=True)
class Source:
    """The pictures of one camera: image files, or a video, in one file or in chapters."""

    camera: str
    files: tuple[Path, ...]

    @property
    def video(self) -> bool:
        """Whether it is a video."""
        return self.files[0].suffix.lower() in SUFFIXES

    @cached_property
    def film(self) -> Video:
        """The video, opened once."""
        return Video.open(list(self.files))


def parse_sources(texts: list[str]) -> list[Source]:
    """Read ``NAME=FOLDER``, ``NAME=PATTERN`` or ``NAME=VIDEO``; without a name it is the folder's or the video's.

    A folder that is named alone may hold the pictures of all cameras: see `cameras_in`.
    """
    sources: dict[str, Source] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        try:
            if not equals or Path(text).exists():
                name, rest = "", text
            several = cameras_in(Path(rest)) if not name and Path(rest).is_dir() else {}
            if several and not sources and len(texts) == 1:
                return [Source(camera, tuple(files)) for camera, files in several.items()]
            files = _expand(rest)
        except (OSError, ValueError) as error:
            raise InputError(f"{text[:80]}: cannot be opened ({error})") from None
        if not name:
            one = len(files) == 1 or Path(rest).is_dir()
            name = (files[0] if files[0].suffix.lower() in SUFFIXES else files[0].parent).absolute().stem if one else ""
        if not name:
            raise InputError(f"{text}: write CAMERA={text}, so that the camera has a name")
        if name in sources:
            raise InputError(f"camera {name}: named twice; give all its pictures as one folder or pattern")
        sources[name] = Source(name, tuple(files))
    return list(sources.values())


def _expand(text: str) -> list[Path]:
    path = Path(text)
    if path.is_dir():
        found = images_in(path)
        if not found:
            videos = [f.name for f in sorted(path.iterdir()) if f.suffix.lower() in SUFFIXES]
            hint = f"; it has the video {videos[0]}: name that" if videos else ""
            raise InputError(f"{path}: holds no image (PNG, JPEG, TIFF, BMP){hint}")
        return found
    found = [path] if path.is_file() else sorted(Path(f) for f in glob.glob(text, recursive=True) if Path(f).is_file())
    if not found:
        raise InputError(f"{text}: no such file, folder or pattern with a file")
    kinds = {"video" if f.suffix.lower() in SUFFIXES else "image" for f in found}
    if len(kinds) > 1:
        raise InputError(f"{text}: give either images or a video, not {len(found)} files of both")
    return in_order(found) if kinds == {"video"} else found


def images_in(folder: Path) -> list[Path]:
    """Return the image files of a folder, sorted.

    Parameters
    ----------
    folder : where they are.
    """
    return sorted(f for f in folder.iterdir() if f.is_file() and f.suffix.lower() in IMAGES)


def cameras_in(folder: Path) -> dict[str, list[Path]]:
    """Return the pictures of each camera by its name; nothing where the folder is of one camera.

    A folder of several cameras has a folder, or a video, for each; or images whose names are alike but for one word or
    number (``top_01.png``, ``front_01.png``; ``cam1_007.png``, ``cam2_007.png``), the same moments for all.

    Parameters
    ----------
    folder : that was named without a camera.
    """
    images = images_in(folder)
    if not images:
        below = {d.name: images_in(d) for d in sorted(folder.iterdir()) if d.is_dir() and not d.is_symlink()}
        found = {name: files for name, files in below.items() if files}
        if not found:
            found = {f.stem: [f] for f in sorted(folder.iterdir()) if f.is_file() and f.suffix.lower() in SUFFIXES}
        return found if len(found) > 1 else {}
    pieces = [re.split(r"(\d+)", f.stem) for f in images]
    if len({len(p) for p in pieces}) > 1:
        return {}
    told = [k for k in range(1, len(pieces[0]), 2) if re.search(r"(cam|camera|view)[ _.-]*$", pieces[0][k - 1], re.I)]
    words, numbers = range(0, len(pieces[0]), 2), range(1, len(pieces[0]), 2)
    for place in (*told, *words, *numbers):
        found = _split(images, pieces, place)
        if found:
            return found
    return {}


def _split(images: list[Path], pieces: list[list[str]], place: int) -> dict[str, list[Path]]:
    """Pictures by what stands at one place of their names, where that can only be the camera."""
    files, moments = defaultdict(list), defaultdict(set)
    for file, piece in zip(images, pieces, strict=True):
        before = piece[place - 1] if place % 2 else ""
        name = f"{before}{piece[place]}".strip("_-. ")
        files[name].append(file)
        moments[name].add(tuple(piece[:place] + piece[place + 1 :]))
    if not 2 <= len(files) <= _MOST or not all(files) or min(len(f) for f in files.values()) < 2:
        return {}
    every = set().union(*moments.values())
    if any(len(m) < _SHARED * len(every) for m in moments.values()):
        return {}
    return dict(files)


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
