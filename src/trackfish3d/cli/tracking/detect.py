"""``trackfish3d detect``: from the videos of a recording to its detections."""

from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import InputError
from ...core.settings import parse_settings, setting_lines
from ...detection.base import Detector
from ...detection.pipeline import Report
from ...detection.registry import detector_names, make_detector, summaries
from ...pipeline.tracking import detect
from ...recordings import Recording
from .._progress import Bars

_DETECTORS = "\n".join(f"{name:<11} {summary}" for name, summary in summaries().items())


def command(
    recordings: Annotated[
        list[Path] | None, typer.Argument(metavar="RECORDING...", help="Folders; their videos are videos/<camera>.*")
    ] = None,
    detector: Annotated[str, typer.Option("--detector", "-d", help=f"One of: {', '.join(detector_names())}.")] = (
        "background"
    ),
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
    """Find the animals in every video of a recording; a stopped run goes on where it was."""
    values = parse_settings(set_ or [])
    if train is not None:
        _train(recordings or [], train, synfish, seed_offset, values, only_set, settings)
        return
    if synfish is not None or only_set:
        raise InputError("--synfish and --only-set belong to --train FOLDER")
    chosen = make_detector(detector, values)
    if settings:
        print("\n".join(setting_lines(chosen.settings)))
        return
    if not recordings:
        raise InputError("detect: give the folder of a recording")
    chosen.ready()
    sources = [Recording.open(folder) for folder in recordings]
    for source in sources:
        refuse_existing(source, overwrite)
    for source in sources:
        report = run(source, chosen, workers, preview)
        print(f"{report.detections} detections in {len(report.cameras)} views: {source.folder / 'detections.parquet'}")
        if preview:
            print(f"look at {source.folder / 'preview'} before tracking")


def _train(
    recordings: list[Path], out: Path, synfish: str | None, seed_offset: int, values: dict[str, str], only_set: bool,
    settings: bool,
) -> None:  # fmt: skip
    from . import train_detector

    if settings:
        train_detector.print_settings()
        return
    train_detector.train(recordings, out, synfish, seed_offset, values, only_set)


command.__doc__ = f"{command.__doc__}\n\n\b\nDetectors:\n{_DETECTORS}"


def refuse_existing(source: Recording, overwrite: bool) -> None:
    """Refuse to replace detections, unless told to; what was made of the old ones goes with them."""
    if not (source.folder / "detections.parquet").exists():
        return
    if not overwrite:
        raise InputError(f"{source.folder}: has detections already; --overwrite replaces them, and removes its tracks")
    for name in ("tracks.parquet", "tracks.csv", "tracks_table.csv", "tracks.settings.json"):
        (source.folder / name).unlink(missing_ok=True)


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
