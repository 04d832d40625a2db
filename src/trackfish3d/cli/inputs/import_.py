"""``trackfish3d import``: a recording from a calibration and somebody's detections."""

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from ...cameras.formats import CalibrationWarning
from ...core.errors import InputError
from ...pipeline.importing import import_recording
from ...recordings import Recording
from ...recordings.importers import FORMATS, DetectionsWarning, Dropped
from ...recordings.whole_frames import iter_truth

_NO_RATE = (
    "WARNING: nobody said how many frames a second there are. {fps:g} is written down and marked as unknown:\n"
    "WARNING: no time in seconds and no speed is right. Import again with --fps, or set fps and fps_known = true\n"
    "WARNING: in {path}"
)


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
    keypoint: Annotated[
        str | None, typer.Option(help="Keep one body part of poses, or 'mean'; all parts without.")
    ] = None,
    sort: Annotated[bool, typer.Option("--sort", help="Let frame numbers go back within a camera.")] = False,
    time_offset: Annotated[
        list[str] | None, typer.Option(help="CAMERA=frames, added to its frame numbers. Repeatable.")
    ] = None,
    timestamps: Annotated[
        list[str] | None, typer.Option(help="CAMERA=file with columns frame, time (s). Repeatable.")
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Camera OLD of the calibration is NEW, as in the detections."),
    ] = None,
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
    dropped = Dropped()
    override = {"units": override_units, "size": override_size, "water": override_water_plane}
    clocks = _pairs(timestamps or [], "--timestamps")
    with _notes():
        made = import_recording(
            cameras,
            _paths(detections),
            out,
            truth=truth,
            fps=fps,
            min_score=min_score,
            format=format,
            columns=_pairs(columns.split(",") if columns.strip() else [], "--columns"),
            box_size=box_size,
            scores=scores,
            keypoint=keypoint,
            sort=sort,
            time_offset_frames={n: _frames(v, n) for n, v in _pairs(time_offset or [], "--time-offset").items()},
            timestamps=dict(clocks),
            rename=_pairs(rename or [], "--rename"),
            units=units,
            size=parse_size(size),
            water_plane=water_plane,
            index=index,
            override=[k for k, v in override.items() if v],
            overwrite=overwrite,
            dropped=dropped,
        )
    _summary(made, dropped)


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


def _paths(given: list[str]) -> list[str | Path] | dict[str, str | Path]:
    """``NAME=path`` for one camera's file; a path with a = in it that is there stays a path."""
    named: dict[str, str | Path] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            continue
        if name in named:
            raise InputError(f"--detections names camera {name} twice")
        named[name] = path
    if named and len(named) < len(given):
        raise InputError("--detections: give CAMERA=path for every file, or for none")
    return named or list(given)


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


def _frames(text: str, camera: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise InputError(f"--time-offset {camera}={text}: must be a whole number of frames") from None
    if abs(number) > 10**9:
        raise InputError(f"--time-offset {camera}={text}: is too large")
    return number


@dataclass
class _Seen:
    """What a camera saw, counted piece by piece: frames, the first and the last of them, gaps between, detections."""

    frames: int = 0
    first: int = 0
    last: int = 0
    gaps: int = 0
    detections: int = 0

    def add(self, frame: NDArray[np.int64]) -> None:
        """Count the next whole frames, ascending."""
        if not len(frame):
            return
        own = np.unique(frame)
        self.first = self.first if self.frames else int(own[0])
        before = self.last if self.frames else int(own[0])
        self.gaps += int((np.diff(own, prepend=before) > 1).sum())
        self.frames += len(own)
        self.last = int(own[-1])
        self.detections += len(frame)


def _seen(recording: Recording) -> list[_Seen]:
    """Count what each camera saw, by its own numbers of frames."""
    found = [_Seen() for _ in recording.rig.names]
    for piece in recording.iter_detections():
        for camera, counted in enumerate(found):
            counted.add(piece.frame[piece.camera == camera] - int(recording.offsets[camera]))
    return found


def _summary(recording: Recording, dropped: Dropped) -> None:
    """Print what was taken up for each camera, and what was not."""
    info = recording.info
    width = max(6, *(len(n) for n in recording.rig.names))
    print(f"recording {recording.folder}")
    heads = f"{'frames':>9}  {'first':>9}  {'last':>9}  {'gaps':>7}  {'detections':>11}  {'a frame':>7}"
    print(f"{'camera':<{width}}  {heads}")
    for name, seen in zip(recording.rig.names, _seen(recording), strict=True):
        if not seen.frames:
            print(f"{name:<{width}}  {'none':>9}")
            continue
        mean = seen.detections / seen.frames
        print(
            f"{name:<{width}}  {seen.frames:>9}  {seen.first:>9}  {seen.last:>9}  {seen.gaps:>7}  "
            f"{seen.detections:>11}  {mean:>7.1f}"
            + (f"  offset {info.time_offset_frames[name]:+d}" if name in info.time_offset_frames else "")
        )
    rate = f"at {info.fps:g} a second" if info.fps_known else "at an unknown rate"
    print(f"{info.frame_count} frames {rate}, world in {recording.units}")
    if not info.fps_known:
        print(_NO_RATE.format(path=recording.folder / "recording.toml", fps=info.fps), file=sys.stderr)
    known = recording.folder / "truth.parquet"
    if known.exists():
        animals, points = np.zeros(0, np.int64), 0
        for piece in iter_truth(known):
            animals, points = np.union1d(animals, piece.identity), points + len(piece)
        print(f"truth: {len(animals)} animals, {points} points")
    for (name, reason), count in sorted(dropped.items()):
        print(f"left out, {'all cameras' if name == 'all' else f'camera {name}'}: {count} {reason}")
