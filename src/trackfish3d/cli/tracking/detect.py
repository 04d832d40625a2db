"""``trackfish3d detect``: from the videos of a recording to its detections."""

from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import InputError
from ...core.lock import locked
from ...core.settings import parse_settings, setting_lines
from ...detection.base import Detector
from ...detection.pipeline import Report, check_videos
from ...detection.registry import detector_names, make_detector, summaries
from ...pipeline.flat import DETECTIONS, TRACKS, detect_films
from ...pipeline.tracking import detect, is_untaught, taught_on
from ...recordings import Recording
from ...recordings.tracks_text import set_edited_aside
from .._progress import Bars

_DETECTORS = "\n".join(f"{name:<11} {summary}" for name, summary in summaries().items())


def command(
    recordings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RECORDING|FILM...",
            help="Folders of recordings, whose videos are videos/<camera>.*; or films, CAMERA=FILM, without a "
            "calibration.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Of films: folder of what was found; FILM_2d in the current folder otherwise.")
    ] = None,
    detector: Annotated[str, typer.Option("--detector", "-d", help=f"One of: {', '.join(detector_names())}.")] = (
        "background"
    ),
    weights: Annotated[
        Path | None, typer.Option(help="Trained weights of a detector that has some; as --set weights=FILE.")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting of the detector, key=value.")] = None,
    settings: Annotated[bool, typer.Option("--settings", help="Print the detector's settings and stop.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Cameras at once; as many as cores by default.")] = None,
    preview: Annotated[bool, typer.Option(help="Draw what was found into RECORDING/preview.")] = True,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace detections that are there.")] = False,
    train: Annotated[
        Path | None,
        typer.Option(
            "--train", help="Fit a YOLO segmenter instead, labelled by the background detector, in this folder."
        ),
    ] = None,
    synfish: Annotated[
        str | None, typer.Option(help="Train on simulated scenes instead of recordings: names with commas, or train.")
    ] = None,
    seed_offset: Annotated[int, typer.Option(min=0, help="Other schools of the simulated scenes.")] = 0,
    only_set: Annotated[bool, typer.Option("--only-set", help="Write the training set, fit nothing.")] = False,
) -> None:
    """Find the animals in every video of a recording; a stopped run goes on where it was.

    Films that belong to no recording need no calibration: their detections are written, and a track of
    every animal in the pixels of each view (tracks2d.csv).
    """
    values = parse_settings([*(set_ or []), *([] if weights is None else [f"weights={weights}"])])
    if train is not None:
        _train([Path(r) for r in recordings or []], train, synfish, seed_offset, values, only_set, settings)
        return
    if synfish is not None or only_set:
        raise InputError("--synfish and --only-set belong to --train FOLDER")
    chosen = make_detector(detector, values)
    if settings:
        print("\n".join(setting_lines(chosen.settings)))
        return
    if not recordings:
        raise InputError("detect: give the folder of a recording, or a film")
    if not is_untaught(chosen):
        chosen.ready()
    if not all((Path(text) / "recording.toml").is_file() for text in recordings):
        chosen.ready()
        _films(recordings, out, chosen, workers, preview, overwrite)
        return
    if out is not None:
        raise InputError("--out: belongs to films; the detections of a recording lie in it")
    sources = [Recording.open(folder) for folder in recordings]
    for source in sources:
        refuse_existing(source, overwrite)
    for source in sources:
        finder = _taught(source, chosen, workers)
        _forget_tracks(source)
        report = run(source, finder, workers, preview)
        print(f"{report.detections} detections in {len(report.cameras)} views: {source.folder / 'detections.parquet'}")
        if preview:
            print(f"look at {source.folder / 'preview'} before tracking")


def _films(
    texts: list[str], out: Path | None, detector: Detector, workers: int | None, preview: bool, overwrite: bool
) -> None:
    """Find animals in films without a calibration, and print what was found in each."""
    films: dict[str, str] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        if not equals or Path(text).exists():
            name, rest = Path(text.split("+")[0].replace("*", "")).stem, text
        if name in films:
            raise InputError(f"{text}: there are two films of {name}; write CAMERA=FILM")
        films[name] = rest
    with Bars(*films) as bars:
        found = detect_films(
            films, out, detector, workers=workers, previews=preview, overwrite=overwrite, progress=bars
        )
    for note in found.notes:
        bars.say(f"note: {note}")
    for name, fps in found.fps.items():
        frames, detections, tracks = found.of_camera(name)
        print(f"{name}: {detections} detections in {frames} frames at {fps:g} a second, {tracks} tracks in pixels")
    print(f"{found.folder / DETECTIONS} (for 'import', once the cameras are calibrated), {found.folder / TRACKS}")
    if preview:
        print(f"look at {found.folder / 'preview'} before you rely on it")
    if not len(found.detections):
        raise typer.Exit(1)


def _train(
    recordings: list[Path],
    out: Path,
    synfish: str | None,
    seed_offset: int,
    values: dict[str, str],
    only_set: bool,
    settings: bool,
) -> None:
    from . import train_detector

    if settings:
        train_detector.print_settings()
        return
    train_detector.train(recordings, out, synfish, seed_offset, values, only_set)


command.__doc__ = f"{command.__doc__}\n\n\b\nDetectors:\n{_DETECTORS}"


def refuse_existing(source: Recording, overwrite: bool) -> None:
    """Refuse to replace detections, unless told to."""
    if (source.folder / "detections.parquet").exists() and not overwrite:
        raise InputError(f"{source.folder}: has detections already; --overwrite replaces them, and removes its tracks")


def _forget_tracks(source: Recording) -> None:
    """Remove what was made of detections that will be replaced."""
    if (source.folder / "detections.parquet").exists():
        set_edited_aside(source.folder / "tracks.parquet")
        for name in ("tracks.parquet", "tracks.csv", "tracks_table.csv", "tracks.settings.json"):
            (source.folder / name).unlink(missing_ok=True)


def _taught(source: Recording, detector: Detector, workers: int | None) -> Detector:
    """Return a detector that is ready, taught on the recording where it has to be; prints what is said of it."""
    if not is_untaught(detector):
        return detector
    with Bars() as bars, locked(source.folder):
        finder, lines = taught_on(source, detector, check_videos(source)[0], workers, bars)
    print("\n".join(lines))
    return finder


def run(source: Recording, detector: Detector, workers: int | None, preview: bool) -> Report:
    """Detect with one progress bar a camera; prints what a user should know."""
    with Bars(*source.videos) as bars:
        report = detect(source, detector, workers=workers, progress=bars, previews=preview)
    for note in report.notes:
        bars.say(f"note: {note}")
    for camera in report.cameras:
        rate = camera.detections / max(camera.frames, 1)
        print(f"{camera.name}: {camera.frames} frames, {rate:.1f} detections a frame")
    return report
