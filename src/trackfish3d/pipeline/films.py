"""Videos as a user names them, put to the cameras of a calibration."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..cameras import CameraRig
from ..core.errors import InputError
from ..media.video import Video

_SAME_RATE = 0.01  # frame rates further apart than this share are not the same


def put_to_cameras(videos: Mapping[str, str | Path] | Sequence[str | Path], rig: CameraRig) -> dict[str, Path]:
    """Return the file of each camera, in the rig's order.

    A file that is given without its camera belongs to the one that it is called after (``top.mp4``), or whose name is
    a word of its own (``2024-05-01_top.mp4``, not ``stop.mp4``).

    Parameters
    ----------
    videos : files by camera; or files alone, or texts ``CAMERA=FILE``.
    rig : the cameras.
    """
    given = list(videos.items()) if isinstance(videos, Mapping) else [_named(str(v), rig) for v in videos]
    found: dict[str, Path] = {}
    for name, file in given:
        rig.index(name)
        path = Path(file)
        if name in found:
            raise InputError(f"camera {name}: has two videos, {found[name].name} and {path.name}")
        found[name] = path
    if len(found) < 2:
        raise InputError("give the videos of two cameras or more: 3D needs two views")
    return {name: found[name] for name in rig.names if name in found}


def _named(text: str, rig: CameraRig) -> tuple[str, Path]:
    name, equals, rest = text.partition("=")
    if equals and not Path(text).exists():
        return name, Path(rest)
    return _camera_of(Path(text), rig), Path(text)


def _camera_of(path: Path, rig: CameraRig) -> str:
    if path.stem in rig.names:
        return path.stem
    fits = [n for n in rig.names if re.search(rf"(?<![A-Za-z0-9]){re.escape(n)}(?![A-Za-z0-9])", path.stem)]
    longest = [n for n in fits if not any(n != m and n in m for m in fits)]
    if len(longest) != 1:
        raise InputError(
            f"{path}: of which camera is it? the calibration has {', '.join(rig.names)}; write CAMERA={path.name}"
        )
    return longest[0]


def open_films(paths: dict[str, Path], rig: CameraRig) -> dict[str, Video]:
    """Open the video of each camera; its pictures must have the size that was calibrated."""
    films = {}
    for name, path in paths.items():
        film = Video.open(path)
        if film.size != rig[name].size:
            width, height = rig[name].size
            raise InputError(
                f"{path}: has {film.size[0]} x {film.size[1]} px, camera {name} was calibrated with {width} x {height}"
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

    Links of an earlier run are replaced. A film that lies there itself is somebody's: it is never removed.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder}: is {'a link' if folder.is_symlink() else 'a file'}, not a folder; move it away")
    folder.mkdir(parents=True, exist_ok=True)
    for name, film in films.items():
        for old in folder.iterdir():
            if old.stem != name or (old.exists() and old.samefile(film.path)):
                continue
            if not old.is_symlink():
                raise InputError(f"{old}: is another film of camera {name}; move it away, or name a new folder")
            old.unlink()
        target = folder / f"{name}{film.path.suffix.lower()}"
        if target.exists():
            continue
        target.unlink(missing_ok=True)  # a link that leads nowhere
        try:
            target.symlink_to(os.path.relpath(film.path.resolve(), folder.resolve()))
        except OSError:
            shutil.copyfile(film.path, target)
