"""Recordings from a calibration and somebody's detections, in one call."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..cameras import CameraRig
from ..cameras.formats import read_calibration
from ..core import provenance
from ..core.errors import InputError
from ..core.files import remove_folder, renew_folder
from ..core.lock import locked
from ..core.reading.limits import FASTEST, LONGEST, SLOWEST
from ..recordings import Detections, Recording, parts_file, poses
from ..recordings.importers import (
    Clock,
    DetectionFiles,
    Dropped,
    align_by_time,
    find_detections,
    import_truth_with_parts,
    iter_imported_truth,
    read_timestamps,
)
from ..recordings.recording import ASSUMED_FPS
from ..recordings.tracks_text import TABLE, set_edited_aside
from ..recordings.whole_frames import rows_of

T = TypeVar("T")
WORK = ".import"  # folder of a long import that is under way
LONG_TRUTH = 1_000_000  # rows of true positions from which they are read piece by piece
_MADE = (
    "recording.toml",
    "detections.parquet",
    parts_file.FILE,
    "truth.parquet",
    poses.TRUTH_FILE,
    poses.FILE,
    poses.TEXT,
    "tracks.parquet",
    "tracks.csv",
    TABLE,
    provenance.FILE,
    "cameras.toml",
)


def import_recording(
    cameras: str | Path | CameraRig,
    detections: str | Path | Sequence[str | Path] | Mapping[str, str | Path],
    out: str | Path,
    *,
    truth: str | Path | None = None,
    fps: float | None = None,
    min_score: float = 0.0,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    box_size: float | None = None,
    scores: str = "probability",
    keypoint: str | None = None,
    sort: bool = False,
    time_offset_frames: Mapping[str, int] | None = None,
    timestamps: Mapping[str, str | Path] | None = None,
    rename: Mapping[str, str] | None = None,
    units: str | None = None,
    size: tuple[int, int] | None = None,
    water_plane: str | None = None,
    index: float | None = None,
    override: Sequence[str] = (),
    overwrite: bool = False,
    dropped: Dropped | None = None,
) -> Recording:
    """Make a recording of a calibration and detections of any detector.

    Parameters
    ----------
    cameras : a rig, or a calibration in any format that is read.
    detections : a file or folder, several, or one for each camera by its name.
    out : folder of the new recording.
    truth : true positions, for scores only.
    fps : frames a second; by `timestamps` otherwise, and unknown without both.
    min_score : detections below it are left out.
    format : one of `trackfish3d.recordings.importers.FORMATS`; by content otherwise.
    columns : our name of a column to its name in a table.
    box_size : side of the box around points, px.
    scores : what scores are: probability, percent or sigmoid.
    keypoint : the one body part of poses to keep, or ``mean``; all parts are kept without.
    sort : whether frame numbers may go back within a camera.
    time_offset_frames : by camera, added to its frame numbers.
    timestamps : by camera, a file with columns frame and time, s.
    rename : names of cameras in the calibration to those they shall have.
    units : unit of the calibration's world, where it does not say.
    size : of the images, (width, height) px, where the calibration lacks it.
    water_plane : water, where the calibration lacks it: ``z=0`` or ``x,y,z,nx,ny,nz``.
    index : refractive index of the water.
    override : of units, size and water: those that hold against what the calibration says.
    overwrite : whether an existing recording is replaced, with its tracks.
    dropped : counts what was left out, by camera and reason.
    """
    given = {name: value for name, value in locals().items() if name != "dropped"}
    options = {name: value for name, value in given.items() if value and value != "probability"}
    folder, counted = Path(out), Dropped() if dropped is None else dropped
    _refuse_existing(folder, overwrite)
    said = {"size": size, "units": units, "water": water_plane, "water_index": index}
    rig = _rig_of(cameras, said, rename, override)
    files = find_detections(
        detections,
        rig,
        format,
        min_score=min_score,
        columns=columns,
        box_size=box_size,
        scores=scores,
        sort=sort,
        keypoint=keypoint,
        dropped=counted,
    )
    found, rate = _on_one_clock(files, _of_rig(timestamps, rig), fps, folder / WORK / "parts")
    offsets = _near(_of_rig(time_offset_frames, rig))
    known = _known(truth, rig)
    with locked(folder):
        create = partial(Recording.create, rig=rig, fps=rate, detections=found, time_offset_frames=offsets, **known)
        made = _put_in(folder, create, overwrite) if isinstance(found, Detections) else _move_in(folder, create)
        sources = [*_files(cameras), *_files(detections), *_files(timestamps), *_files(truth)]
        provenance.note(folder, "import", dict.fromkeys(sources), options)
    return made


def _put_in(folder: Path, create: Callable[..., Recording], overwrite: bool) -> Recording:
    """Make a recording of what was read."""
    if overwrite:
        _make_room(folder)
    return create(folder)


def _move_in(folder: Path, create: Callable[..., Recording]) -> Recording:
    """Make a recording of what is read on the way: it replaces what is there when all of it was good."""
    work = renew_folder(folder / WORK)
    try:
        create(work / "new")
        _make_room(folder)
        for name in reversed(_MADE):  # recording.toml last, as it was the first to go
            if (work / "new" / name).exists():
                os.replace(work / "new" / name, folder / name)
    finally:
        remove_folder(work)
    return Recording.open(folder)


def _rig_of(
    cameras: str | Path | CameraRig,
    said: dict[str, Any],
    rename: Mapping[str, str] | None,
    override: Sequence[str],
) -> CameraRig:
    """Return a rig as it is, or read a calibration with what the caller says of it."""
    if isinstance(cameras, CameraRig):
        return cameras
    return read_calibration(Path(cameras), names=dict(rename or {}), override=list(override), **said)


def _known(truth: str | Path | None, rig: CameraRig) -> dict[str, Any]:
    """Return what `Recording.create` takes of the truth, parts among it."""
    if truth is None:
        return {}
    if (rows_of(Path(truth)) or 0) > LONG_TRUTH:
        return {"truth": iter_imported_truth(Path(truth), rig)}
    middles, parts = import_truth_with_parts(truth, rig)
    return {"truth": middles, "truth_poses": parts}


def _on_one_clock(
    files: DetectionFiles, timestamps: Mapping[str, str | Path], fps: float | None, work: Path
) -> tuple[Detections | Iterator[Detections], float | None]:
    """Read detections, of cameras that have clocks of their own on one clock, and the frame rate, None if not known.

    Long tables are read when they are asked for; a clock needs all of them at once.
    """
    clocks = {name: read_timestamps(path) for name, path in timestamps.items()}
    rate = _rate(fps, clocks)
    if not clocks and files.long:
        return files.pieces(work), rate
    found = files.read()
    if clocks:
        found = align_by_time(found, clocks, ASSUMED_FPS if rate is None else rate, files.dropped)
    return found, rate


def _near(offsets: dict[str, int]) -> dict[str, int]:
    """Return offsets that recordings can have; refuse others."""
    for name, frames in offsets.items():
        if abs(frames) > LONGEST:
            raise InputError(f"--time-offset {name}={frames}: is too large")
    return offsets


def _make_room(folder: Path) -> None:
    """Remove what an import makes and what was made of it; recording.toml first: half a recording must not open."""
    if (folder / _MADE[0]).exists():
        set_edited_aside(folder / "tracks.parquet")
        for name in _MADE:
            (folder / name).unlink(missing_ok=True)


def _of_rig(by_camera: Mapping[str, T] | None, rig: CameraRig) -> dict[str, T]:
    """Check that the names are those of cameras."""
    for name in by_camera or {}:
        rig.index(name)
    return dict(by_camera or {})


def _files(given: object) -> list[str | Path]:
    """Files and folders among what was given."""
    if isinstance(given, str | Path):
        return [given]
    if isinstance(given, Mapping):
        return list(given.values())
    return list(given) if isinstance(given, Sequence) else []


def _rate(fps: float | None, clocks: Mapping[str, Clock]) -> float | None:
    """Frames a second: as given, or by the clock of the first camera that has one; None where nothing says."""
    if fps is not None:
        if not SLOWEST <= fps <= FASTEST:
            raise InputError(f"--fps {fps:g}: no camera has that frame rate")
        return fps
    known = [c for c in clocks.values() if len(c[0]) > 1]
    if not known:
        return None
    frame, time = known[0]
    return float(1 / np.median(np.diff(time) / np.diff(frame)))


def _refuse_existing(out: Path, overwrite: bool) -> None:
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file; name a folder")
    if out.is_dir() and not overwrite:
        if (out / "recording.toml").exists():
            raise InputError(f"{out}: is already a recording; --overwrite replaces it, with its tracks")
        if any((out / name).exists() for name in _MADE):
            raise InputError(f"{out}: holds parts of a recording; --overwrite replaces them")
