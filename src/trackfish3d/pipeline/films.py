"""Videos as a user names them, put to the cameras of a calibration."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..cameras import CameraRig
from ..core.errors import InputError
from ..core.files import MARK, claim_folder, remove_folder, write_json
from ..media.chapters import LIST, Piece
from ..media.video import Video

_SAME_RATE = 0.01  # frame rates further apart than this share are not the same


Film = str | Path | Sequence[Piece]
"""A film as a user names it: a file, a folder, pattern or list of its chapters, or a text with ``+`` between them."""


def put_to_cameras(videos: Mapping[str, Film] | Sequence[str | Path], rig: CameraRig) -> dict[str, Film]:
    """Return the film of each camera, in the rig's order.

    A film that is given without its camera belongs to the one that it is called after (``top.mp4``), or whose name is
    a word of its own (``2024-05-01_top.mp4``, not ``stop.mp4``).

    Parameters
    ----------
    videos : films by camera; or films alone, or texts ``CAMERA=FILM``. A film is a file; of one in chapters it is
        their folder, a pattern, or the files in the order of time with ``+`` between them.
    rig : the cameras.
    """
    given = list(videos.items()) if isinstance(videos, Mapping) else [_named(str(v), rig) for v in videos]
    found: dict[str, Film] = {}
    for name, film in given:
        rig.index(name)
        if name in found:
            raise InputError(
                f"camera {name}: has two videos, {found[name]} and {film}; "
                f"if they are chapters of one film, write {name}={found[name]}+{film}"
            )
        found[name] = film
    if len(found) < 2:
        raise InputError("give the videos of two cameras or more: 3D needs two views")
    return {name: found[name] for name in rig.names if name in found}


def _named(text: str, rig: CameraRig) -> tuple[str, Film]:
    name, equals, rest = text.partition("=")
    if equals and not Path(text).exists():
        return name, rest
    return _camera_of(Path(text), rig), text


def _camera_of(path: Path, rig: CameraRig) -> str:
    if path.stem in rig.names or path.name in rig.names:
        return path.stem if path.stem in rig.names else path.name
    fits = [n for n in rig.names if re.search(rf"(?<![A-Za-z0-9]){re.escape(n)}(?![A-Za-z0-9])", path.stem)]
    longest = [n for n in fits if not any(n != m and n in m for m in fits)]
    if len(longest) != 1:
        raise InputError(
            f"{path}: of which camera is it? the calibration has {', '.join(rig.names)}; write CAMERA={path.name}"
        )
    return longest[0]


def open_films(paths: Mapping[str, Film], rig: CameraRig) -> dict[str, Video]:
    """Open the video of each camera; its pictures must have the size that was calibrated."""
    films = {}
    for name, path in paths.items():
        film = Video.open(path)
        if film.size != rig[name].size:
            width, height = rig[name].size
            raise InputError(
                f"{film.path}: has {film.size[0]} x {film.size[1]} px, camera {name} was calibrated with {width} x "
                f"{height}"
            )
        films[name] = film
    return films


def common_rate(films: dict[str, Video]) -> float:
    """Frames a second of all videos."""
    rates = {name: film.fps for name, film in films.items()}
    first = next(iter(rates))
    for name, rate in rates.items():
        if abs(rate / rates[first] - 1) > _SAME_RATE:
            raise InputError(
                f"camera {name} has {rate:g} frames a second, camera {first} {rates[first]:g}; they must run together "
                "(--fps sets the rate if a file is wrong)"
            )
    return float(np.median(list(rates.values())))


def link_films(films: dict[str, Video], folder: Path) -> None:
    """Put the videos into a recording's folder as links, or, where the system has none, as copies.

    A film in chapters becomes a folder, called after the camera, with a link to each. Links of an earlier run are
    replaced. A film that lies there itself is somebody's: it is never removed.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder}: is {'a link' if folder.is_symlink() else 'a file'}, not a folder; move it away")
    folder.mkdir(parents=True, exist_ok=True)
    for name, film in films.items():
        single = len(film.chapters) == 1
        for old in folder.iterdir():
            _clear(old, name, film.path if single else None)
        if single:
            _link(film.path, folder / f"{name}{film.path.suffix.lower()}")
            continue
        chapters = folder / name
        if chapters.exists() and all(f.parent.samefile(chapters) for f in film.files):
            continue  # they lie there
        claim_folder(chapters)
        listed: list[str | int] = []
        end = 0
        for k, (file, begin) in enumerate(zip(film.chapters, film.begin, strict=True)):
            if begin > end:
                listed.append(begin - end)
            listed.append(f"{k + 1:04d}{file.path.suffix.lower()}")
            _link(file.path, chapters / str(listed[-1]))
            end = begin + file.length
        write_json(chapters / LIST, listed)


def _clear(old: Path, name: str, film: Path | None) -> None:
    """Remove what an earlier run linked for a camera; refuse to remove anything else."""
    ours = old.is_dir() and not old.is_symlink() and (old / MARK).is_file()
    if (old.name if old.is_dir() else old.stem) != name or (film and old.exists() and old.samefile(film)):
        return
    if ours:
        remove_folder(old)
    elif old.is_symlink():
        old.unlink()
    elif not (old.is_dir() and film is None):
        raise InputError(f"{old}: is another film of camera {name}; move it away, or name a new folder")


def _link(film: Path, target: Path) -> None:
    if target.exists():
        return
    target.unlink(missing_ok=True)  # a link that leads nowhere
    try:
        target.symlink_to(os.path.relpath(film.resolve(), target.parent.resolve()))
    except OSError:
        shutil.copyfile(film, target)
