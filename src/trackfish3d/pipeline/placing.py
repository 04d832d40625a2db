"""Cameras and clocks from a thing that moved before all of them, in one call."""

import csv
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np

from ..calibration.lenses import UNKNOWN_SIZE, blank_lens, read_lenses
from ..calibration.views import Views
from ..cameras import Camera
from ..cameras.formats import write_calibration
from ..core.errors import InputError
from ..core.files import atomic_path, plain_name, write_json
from ..refinement.unposed import (
    FromTracks,
    align_centres,
    calibrate_from_tracks,
    one_animal,
    read_selfcal,
    read_sightings,
    scale_world,
)


def calibrate_tracks(
    sources: Sequence[str],
    *,
    intrinsics: Path | None = None,
    size: tuple[int, int] | None = None,
    fps: dict[str, float] | None = None,
    synchronous: bool = False,
    distance: tuple[str, str, float] | None = None,
    centres: Path | None = None,
    units: str = "unit",
    say: Callable[[str], None] | None = None,
) -> FromTracks:
    """Place cameras of which only the lenses are known, and set their clocks, by one thing that moved.

    Parameters
    ----------
    sources : ``CAMERA=FILE`` with rows of frame, x, y; or one folder of MultiCamSelfCal, whose moments are common.
    intrinsics : lenses; without, they are guessed from ``size`` and fitted.
    size : of the pictures, px, where no lens says it.
    fps : by camera, frames a second, where they differ.
    synchronous : whether frame numbers already agree.
    distance : two cameras and how far apart they are: the world's scale.
    centres : CSV of camera, x, y, z: the world's frame and scale.
    units : of these.
    say : called with a line about each camera that is placed.
    """
    if len(sources) == 1 and Path(sources[0]).is_dir():
        seen, lenses, guessed = read_selfcal(sources[0])
        synchronous = True
        if intrinsics is not None:
            lenses, guessed = _lenses(list(seen), intrinsics), False
    else:
        files = _files(sources)
        animals = {name: read_sightings(path) for name, path in files.items()}
        guessed = intrinsics is None
        if intrinsics is not None:
            lenses = _lenses(list(animals), intrinsics)
        elif size is not None:
            lenses = {name: blank_lens(name, size, "standard") for name in animals}
        else:
            raise InputError("nothing is known of the lenses: give --intrinsics, or --size WxH of the pictures")
        _every_rate(fps, animals)
        seen = one_animal(lenses, animals, fps, synchronous)
    _every_rate(fps, seen)
    found = calibrate_from_tracks(lenses, seen, fps=fps, synchronous=synchronous, guessed=guessed, say=say)
    if centres is not None:
        return align_centres(found, _centres(centres), units)
    if distance is not None:
        for name in distance[:2]:
            if name not in found.rig.names:
                raise InputError(f"--distance: camera {name} was not placed; there are {', '.join(found.rig.names)}")
        return scale_world(found, *distance, units)
    return found


def _every_rate(fps: dict[str, float] | None, cameras: Collection[str]) -> None:
    if fps is not None and set(fps) != set(cameras):
        raise InputError(f"--fps: say it for every camera ({', '.join(cameras)}), or for none")


def _files(sources: Sequence[str]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for source in sources:
        name, equals, path = source.partition("=")
        if not equals:
            raise InputError(f"'{source}': say whose it is, CAMERA=FILE")
        if plain_name(name, "camera") in files:
            raise InputError(f"camera {name}: is there twice")
        files[name] = Path(path)
    if len(files) < 2:
        raise InputError("files of two cameras or more are needed, CAMERA=FILE each")
    return files


def _lenses(names: list[str], path: Path) -> dict[str, Camera]:
    lenses = read_lenses(path, Views.build(tuple(names), (UNKNOWN_SIZE,) * len(names), []))
    missing = [n for n in names if n not in lenses]
    if missing:
        raise InputError(f"{path}: has no lens of camera {missing[0]}")
    return lenses


def _centres(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        return {r["camera"]: np.array([float(r[k]) for k in "xyz"]) for r in rows}
    except (KeyError, ValueError, TypeError, UnicodeDecodeError, csv.Error):
        raise InputError(f"{path}: columns camera, x, y, z with numbers are expected") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


def write_placed(found: FromTracks, out: Path) -> tuple[Path, Path]:
    """Write the cameras, and beside them the clocks (JSON) and the path of the thing (CSV); both paths are returned.

    Parameters
    ----------
    found : cameras, clocks and path.
    out : calibration file to write.
    """
    write_calibration(found.rig, out)
    clocks, path = out.with_name(f"{out.stem}.clocks.json"), out.with_name(f"{out.stem}.path.csv")
    about = {
        "reference": found.reference,
        "cameras": {
            name: {
                "frame_of_reference": {"scale": scale, "shift": shift},
                "shift_sigma": found.sigma_frames[name],
                "median_error_px": found.error_px[name],
                "mean_error_px": found.mean_px[name],
            }
            for name, (scale, shift) in found.clock.items()
        },
        "lost": found.lost,
    }
    write_json(clocks, about)
    with atomic_path(path) as temporary:
        table = np.column_stack([found.time, found.path])
        np.savetxt(temporary, table, delimiter=",", header="frame,x,y,z", comments="", fmt="%.9g")
    return clocks, path
