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
from ...core import provenance
from ...core.errors import InputError
from ...core.reading.limits import FASTEST, SLOWEST
from ...recordings import Detections, Recording, Truth
from ...recordings.importers import (
    FORMATS,
    Clock,
    DetectionsWarning,
    Dropped,
    align_by_time,
    import_truth,
    read_detections,
    read_timestamps,
)
from ...recordings.recording import ASSUMED_FPS
from ...recordings.tracks_text import TABLE

_NO_RATE = (
    "WARNING: nobody said how many frames a second there are. {fps:g} is written down and marked as unknown:\n"
    "WARNING: no time in seconds and no speed is right. Import again with --fps, or set fps and fps_known = true\n"
    "WARNING: in {path}"
)
_MADE = (
    "recording.toml", "detections.parquet", "truth.parquet", "tracks.parquet", "tracks.csv", TABLE, provenance.FILE,
    "cameras.toml",
)  # fmt: skip


def command(
    cameras: Annotated[Path, typer.Option(help="Calibration, in any format 'convert' reads.")],
    detections: Annotated[list[str], typer.Option(help="File or folder; CAMERA=path for one camera's. Repeatable.")],
    out: Annotated[Path, typer.Option(help="Folder of the new recording.")],
    truth: Annotated[Path | None, typer.Option(help="True positions, for scores only.")] = None,
    fps: Annotated[float | None, typer.Option(help="Frames a second; known by --timestamps as well.")] = None,
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
    rename: Annotated[list[str] | None, typer.Option(metavar="OLD=NEW", help="A camera's name. Repeatable.")] = None,
    units: Annotated[str | None, typer.Option(help="Unit of the calibration's world, where it does not say.")] = None,
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Image size, where the calibration lacks it.")] = None,
    water_plane: Annotated[
        str | None, typer.Option(metavar="PLANE", help="Water, where the calibration lacks it: z=0 or x,y,z,nx,ny,nz.")
    ] = None,
    index: Annotated[float | None, typer.Option(help="Refractive index of the water; 1.333 if nothing says.")] = None,
    override_units: Annotated[bool, typer.Option("--override-units", help="--units holds, not the file.")] = False,
    override_size: Annotated[bool, typer.Option("--override-size", help="--size holds, not the file.")] = False,
    override_water_plane: Annotated[
        bool, typer.Option("--override-water-plane", help="--water-plane holds, not the file.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing recording.")] = False,
) -> None:
    """Make a recording of a calibration and detections of any detector."""
    said = {name: value for name, value in locals().items() if value not in (None, False, "", "probability")}
    _refuse_existing(out, overwrite)
    dropped = Dropped()
    override = {"units": override_units, "size": override_size, "water": override_water_plane}
    with _notes():
        rig = read_calibration(
            cameras,
            size=parse_size(size),
            units=units,
            water=water_plane,
            water_index=index,
            names=_pairs(rename or [], "--rename"),
            override=[k for k, v in override.items() if v],
        )
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
    rate = _rate(fps, clocks)
    if clocks:
        found = align_by_time(found, clocks, ASSUMED_FPS if rate is None else rate, dropped)
    offsets = {n: _frames(v, n) for n, v in _by_camera(time_offset or [], "--time-offset", rig).items()}
    true = import_truth(truth, rig) if truth is not None else None
    if overwrite and (out / _MADE[0]).exists():
        for name in _MADE:  # recording.toml first: what is half replaced must not open
            (out / name).unlink(missing_ok=True)
    made = Recording.create(out, rig, fps=rate, detections=found, truth=true, time_offset_frames=offsets)
    told = [*_file_names(detections, rig), *_by_camera(timestamps or [], "--timestamps", rig).values()]
    provenance.note(out, "import", [cameras, *told, *([truth] if truth else [])], said)
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


def parse_size(text: str | None) -> tuple[int, int] | None:
    """Read width and height in px, written as 1920x1080."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d{1,6})\s*[xX,]\s*(\d{1,6})\s*", text)
    if match is None:
        raise InputError(f"--size '{text}': write width and height as 1920x1080")
    return int(match[1]), int(match[2])


def _rate(fps: float | None, clocks: dict[str, Clock]) -> float | None:
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


def _file_names(given: list[str], rig: CameraRig) -> list[str | Path]:
    """Files and folders of ``--detections``, each once."""
    paths = _paths(given, rig)
    return list(dict.fromkeys(paths.values() if isinstance(paths, dict) else paths))


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
    rate = f"at {info.fps:g} a second" if info.fps_known else "at an unknown rate"
    print(f"{info.frame_count} frames {rate}, world in {recording.units}")
    if not info.fps_known:
        print(_NO_RATE.format(path=recording.folder / "recording.toml", fps=info.fps), file=sys.stderr)
    if truth is not None:
        print(f"truth: {len(np.unique(truth.identity))} animals, {len(truth)} points")
    for (name, reason), count in sorted(dropped.items()):
        print(f"left out, {'all cameras' if name == 'all' else f'camera {name}'}: {count} {reason}")
