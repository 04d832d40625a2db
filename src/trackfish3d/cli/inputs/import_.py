"""``trackfish3d import``: a recording from a calibration and somebody's detections."""

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ...cameras.formats import CalibrationWarning, read_calibration
from ...cameras.rig import CameraRig
from ...core.errors import InputError
from ...recordings import Detections, Recording, Truth
from ...recordings.importers import (
    FORMATS,
    DetectionsWarning,
    Dropped,
    align_by_time,
    import_truth,
    read_detections,
    read_timestamps,
)

_MADE = ("recording.toml", "detections.parquet", "truth.parquet", "tracks.parquet", "tracks.csv", "cameras.toml")


def command(
    cameras: Annotated[Path, typer.Option(help="Calibration, in any format 'convert' reads.")],
    detections: Annotated[list[str], typer.Option(help="File or folder; CAMERA=path for one camera's. Repeatable.")],
    out: Annotated[Path, typer.Option(help="Folder of the new recording.")],
    truth: Annotated[Path | None, typer.Option(help="True positions, for scores only.")] = None,
    fps: Annotated[float, typer.Option(help="Frames a second.", min=1e-6)] = 30.0,
    min_score: Annotated[float, typer.Option(help="Leave out detections below it.")] = 0.0,
    format: Annotated[str | None, typer.Option(help=f"One of {', '.join(FORMATS)}; default: by content.")] = None,
    columns: Annotated[str, typer.Option(help="Column names of a table: 'frame=FrameNumber,u=cx,v=cy'.")] = "",
    box_size: Annotated[
        float | None, typer.Option(help="Side of the box around points, px; default: 2 % of the image width.")
    ] = None,
    scores: Annotated[str, typer.Option(help="What scores are: probability, percent or sigmoid (logits).")] = (
        "probability"
    ),
    keypoint: Annotated[str | None, typer.Option(help="Body part of a pose file to track, or 'mean'.")] = None,
    sort: Annotated[bool, typer.Option("--sort", help="Let frame numbers go back within a camera.")] = False,
    time_offset: Annotated[
        list[str] | None, typer.Option(help="CAMERA=frames, added to its frame numbers. Repeatable.")
    ] = None,
    timestamps: Annotated[
        list[str] | None, typer.Option(help="CAMERA=file with columns frame, time (s). Repeatable.")
    ] = None,
    units: Annotated[str | None, typer.Option(help="Unit of the calibration's world, where it does not say.")] = None,
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Image size, where the calibration lacks it.")] = None,
    water_plane: Annotated[
        str | None, typer.Option(metavar="PLANE", help="Water, where the calibration lacks it: z=0 or x,y,z,nx,ny,nz.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing recording.")] = False,
) -> None:
    """Make a recording of a calibration and detections of any detector."""
    _refuse_existing(out, overwrite)
    dropped = Dropped()
    with _notes():
        rig = _calibration(cameras, size, units, water_plane)
        found = read_detections(
            _paths(detections, rig),
            rig,
            format,
            min_score=min_score,
            columns=_pairs(columns.split(",") if columns.strip() else [], "--columns"),
            box_size=box_size,
            scores=scores,
            sort=sort,
            keypoint=keypoint,
            dropped=dropped,
        )
    clocks = {n: read_timestamps(p) for n, p in _by_camera(timestamps or [], "--timestamps", rig).items()}
    if clocks:
        found = align_by_time(found, clocks, fps, dropped)
    offsets = {n: _frames(v, n) for n, v in _by_camera(time_offset or [], "--time-offset", rig).items()}
    true = import_truth(truth, rig) if truth is not None else None
    if overwrite and (out / _MADE[0]).exists():
        for name in _MADE:  # recording.toml first: what is half replaced must not open
            (out / name).unlink(missing_ok=True)
    made = Recording.create(out, rig, fps=fps, detections=found, truth=true, time_offset_frames=offsets)
    _summary(made, found, true, dropped)


@contextmanager
def _notes() -> Iterator[None]:
    """Print, at the end, what readers had to assume, each once."""
    kinds = (CalibrationWarning, DetectionsWarning)
    with warnings.catch_warnings(record=True) as caught:
        for kind in kinds:
            warnings.simplefilter("always", kind)
        yield
    for text in dict.fromkeys(str(n.message) for n in caught if issubclass(n.category, kinds)):
        print(f"note: {text}", file=sys.stderr)


def _calibration(path: Path, size: str | None, units: str | None, water: str | None) -> CameraRig:
    match = re.fullmatch(r"(\d{1,6})[xX](\d{1,6})", size or "0x0")
    if match is None:
        raise InputError(f"--size '{size}': write width and height as 1920x1080")
    pixels = (int(match[1]), int(match[2])) if size else None
    return read_calibration(path, size=pixels, units=units, water=water)


def _refuse_existing(out: Path, overwrite: bool) -> None:
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file; name a folder")
    if out.is_dir() and not overwrite:
        if (out / "recording.toml").exists():
            raise InputError(f"{out}: is already a recording; --overwrite replaces it, with its tracks")
        if any((out / name).exists() for name in _MADE):
            raise InputError(f"{out}: holds parts of a recording; --overwrite replaces them")


def _paths(given: list[str], rig: CameraRig) -> list[str | Path] | dict[str, str | Path]:
    """``NAME=path`` for one camera's file; a path with a = in it that names no camera stays a path."""
    named = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            continue
        rig.index(name)
        if name in named:
            raise InputError(f"--detections names camera {name} twice")
        named[name] = path
    if named and len(named) < len(given):
        raise InputError("--detections: give CAMERA=path for every file, or for none")
    return dict(named) if named else list(given)


def _pairs(texts: list[str], option: str) -> dict[str, str]:
    pairs = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key or not value:
            raise InputError(f"{option}: '{text}' is not NAME=VALUE")
        if key in pairs:
            raise InputError(f"{option}: {key} is there twice")
        pairs[key] = value
    return pairs


def _by_camera(texts: list[str], option: str, rig: CameraRig) -> dict[str, str]:
    pairs = _pairs(texts, option)
    for name in pairs:
        rig.index(name)
    return pairs


def _frames(text: str, camera: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise InputError(f"--time-offset {camera}={text}: must be a whole number of frames") from None
    if abs(number) > 10**9:
        raise InputError(f"--time-offset {camera}={text}: is too large")
    return number


def _summary(recording: Recording, detections: Detections, truth: Truth | None, dropped: Dropped) -> None:
    """Print what was taken up for each camera, and what was not."""
    info = recording.info
    width = max(6, *(len(n) for n in recording.rig.names))
    print(f"recording {recording.folder}")
    heads = f"{'frames':>9}  {'first':>9}  {'last':>9}  {'gaps':>7}  {'detections':>11}  {'a frame':>7}"
    print(f"{'camera':<{width}}  {heads}")
    for k, name in enumerate(recording.rig.names):
        frames = detections.frame[detections.camera == k]
        own = np.unique(frames)
        if not len(own):
            print(f"{name:<{width}}  {'none':>9}")
            continue
        gaps = int((np.diff(own) > 1).sum())
        mean = len(frames) / len(own)
        print(
            f"{name:<{width}}  {len(own):>9}  {own[0]:>9}  {own[-1]:>9}  {gaps:>7}  {len(frames):>11}  {mean:>7.1f}"
            + (f"  offset {info.time_offset_frames[name]:+d}" if name in info.time_offset_frames else "")
        )
    print(f"{info.frame_count} frames at {info.fps:g} a second, world in {recording.units}")
    if truth is not None:
        print(f"truth: {len(np.unique(truth.identity))} animals, {len(truth)} points")
    for (name, reason), count in sorted(dropped.items()):
        print(f"left out, {'all cameras' if name == 'all' else f'camera {name}'}: {count} {reason}")
