"""The steps from films to a report as stages, each done once: what `run` and `batch` are made of."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..cameras import CameraRig
from ..cameras.formats import CalibrationWarning, read_calibration
from ..cameras.native import camera_table
from ..core.progress import Progress, TaskProgress
from ..detection.base import Detector
from ..detection.pipeline import detect
from ..evaluation.gate import default_gate
from ..evaluation.truth_links import relink_recording
from ..health.intake import take_in
from ..health.kept import CHECK, keep_verdict
from ..health.picture import animals, draw_rig
from ..health.verdict import judge
from ..media.video import Video
from ..methods.base import Method
from ..recordings import Recording, Truth
from ..recordings.edits.edit_log import FILE as EDITS
from ..report import write_report
from ..report.behaviour import FIGURES
from ..report.scoring import score
from ..report.thinning import stride_of
from .films import link_films
from .results import analyse
from .stages import Stage
from .track_files import track_into
from .tracking import load_truth

RECORDED = ("recording.toml", "cameras.toml")


def film_stamps(films: Mapping[str, Video]) -> dict[str, list[Any]]:
    """Return place, size and time of every video: their content would take too long to read.

    Parameters
    ----------
    films : by camera.
    """
    return {name: film.stamp for name, film in films.items()}


def film_files(films: Mapping[str, Video]) -> tuple[Path, ...]:
    """Return the files of all films, chapter by chapter.

    Parameters
    ----------
    films : by camera.
    """
    return tuple(file for film in films.values() for file in film.files)


def calibration_of(path: Path, units: str | None = None, water: str | None = None) -> CameraRig:
    """Read a calibration for films.

    Parameters
    ----------
    path : in any format that is read.
    units : of its world, where it does not say.
    water : plane, where it lacks it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # a size that is guessed wrong is told by the videos
        return read_calibration(path, units=units, water=water)


def recording_stage(
    folder: Path,
    rig: CameraRig,
    films: dict[str, Video],
    fps: float,
    offsets: Mapping[str, int],
    truth: Path | None = None,
    calibration: Path | None = None,
) -> Stage:
    """Write cameras.toml and recording.toml, and link the videos.

    Parameters
    ----------
    folder : of the recording.
    rig : cameras that have films.
    films : by camera.
    fps : frames a second.
    offsets : by camera, added to its frame numbers.
    truth : true positions, for scores only.
    calibration : file that the rig was read from.
    """
    settings: dict[str, Any] = {
        "videos": film_stamps(films),
        "cameras": [camera_table(c) for c in rig],
        "units": rig.units,
        "fps": fps,
        "offsets": dict(offsets),
        "truth": None if truth is None else str(truth),
    }
    inputs = () if truth is None else (truth / "truth.parquet" if truth.is_dir() else truth,)

    def work(progress: Progress) -> str:
        count = max(f.count for f in films.values())
        known = None if truth is None else _positions(load_truth(truth))
        (folder / "truth.parquet").unlink(missing_ok=True)
        link_films(films, folder / "videos")
        Recording.create(folder, rig, fps=fps, truth=known, frames=(0, count), time_offset_frames=dict(offsets))
        return f"{len(films)} cameras, {count} frames at {fps:g} a second"

    outputs = folder / "recording.toml", folder / "cameras.toml"
    known = () if calibration is None else (calibration,)
    return Stage("recording", inputs, settings, outputs, work, (*known, *film_files(films)))


def _positions(truth: Truth) -> Truth:
    """Only where the animals were: which detection showed them is about other detections."""
    return Truth.build(truth.frame, truth.identity, truth.position, heading=truth.heading, head=truth.head)


def detect_stage(
    folder: Path,
    films: Mapping[str, Video],
    detector: Detector,
    given: Mapping[str, Any],
    workers: int | None = None,
    any_rate: bool = False,
) -> Stage:
    """Find the animals in the videos.

    Parameters
    ----------
    folder : of the recording.
    films : by camera.
    detector : ready to look.
    given : its settings, as they were given.
    workers : cameras at once; as many as cores by default.
    any_rate : whether films may say other frame rates than the recording.
    """
    settings = {
        "videos": film_stamps(films),
        "detector": detector.name,
        "settings": {k: str(v) for k, v in given.items()},
        **detector.stamp(),
    }

    def work(progress: Progress) -> str:
        recording = Recording.open(folder)
        made = detect(
            recording, detector, videos=films, workers=workers, progress=counted(progress, films), any_rate=any_rate
        )
        relink_recording(recording)
        rates = [f"{c.detections / max(c.frames, 1):.1f}" for c in made.cameras]
        return "\n".join([f"{made.detections} detections, {' / '.join(rates)} a frame", *made.notes])

    return Stage("detect", (), settings, (folder / "detections.parquet",), work, film_files(films))


def counted(progress: Progress, films: Mapping[str, Video]) -> TaskProgress:
    """Return what hears of each camera and tells of all.

    Parameters
    ----------
    progress : called with frames done and frames in all.
    films : by camera.
    """
    done = dict.fromkeys(films, 0)
    total = sum(f.count for f in films.values())

    def count(camera: str, frames: int, _: int) -> None:
        done[camera] = frames
        progress(sum(done.values()), total)

    return count


def check_stage(folder: Path, found: str = "detections.parquet") -> Stage:
    """Say whether cameras, clocks and water agree; if not, that is no reason to stop.

    Parameters
    ----------
    folder : of the recording.
    found : file of the detections that tell.
    """

    def work(progress: Progress) -> str:
        recording = Recording.open(folder)
        recording.detections_file = found
        intake = take_in(recording)  # all of it, or of a long recording a sample
        health = judge(recording, intake)
        draw_rig(recording.rig, animals(recording.rig, intake.detections), folder / "rig.png")
        keep_verdict(folder, health)
        return health.summary

    return Stage("check", recorded(folder, found), {}, (folder / "rig.png", folder / CHECK), work)


def track_stage(folder: Path, method: Method, network: Path | None = None) -> Stage:
    """Make tracks of the detections.

    Parameters
    ----------
    folder : of the recording.
    method : with its settings.
    network : file that the method reads, where it counts by its content.
    """
    settings = {"method": method.name, "settings": method.settings.model_dump(mode="json")}

    def work(progress: Progress) -> str:
        made = track_into(Recording.open(folder), method, progress)
        return "\n".join([made.summary, *made.notes])

    outputs = tuple(folder / n for n in ("tracks.parquet", "tracks.csv"))
    inputs = recorded(folder) if network is None else (*recorded(folder), network)
    return Stage("track", inputs, settings, outputs, work)


def analyse_stage(folder: Path, given: Mapping[str, Any], threads: int | None = None) -> Stage:
    """Measure swimming and schooling.

    Parameters
    ----------
    folder : of the recording.
    given : settings of the analysis, as they were given.
    threads : blocks measured at once; as many as cores by default.
    """

    def work(progress: Progress) -> str:
        found = analyse(folder, settings=given, progress=progress, threads=threads)
        rows = found.tables.rows
        return f"{rows['fish']} tracks, {rows.get('points', 0)} points measured, {rows.get('bursts', 0)} bursts"

    inputs = tuple(folder / n for n in ("recording.toml", "cameras.toml", "tracks.parquet", EDITS))
    outputs = (folder / "behaviour" / FIGURES, folder / "behaviour" / "fish.parquet")
    return Stage("analyse", inputs, {"settings": {k: str(v) for k, v in given.items()}}, outputs, work)


def report_stage(folder: Path, gate: float | None = None) -> Stage:
    """Write the page, and the scores where the truth is known.

    Parameters
    ----------
    folder : of the recording.
    gate : distance of a match for scores, world units; by the body length otherwise.
    """
    made = ("tracks.parquet", "tracks.settings.json", "truth.parquet", CHECK, EDITS, f"behaviour/{FIGURES}")
    inputs = (*recorded(folder), *(folder / n for n in made))

    def work(progress: Progress) -> str:
        recording = Recording.open(folder)
        distance = default_gate(recording).distance if gate is None else gate
        page = write_report(recording, gate=distance)
        long = stride_of(recording) > 1  # scores of a long one would need all of it in memory
        scores = None if long else score(recording.truth, recording.mended_tracks, distance)
        line = str(page)
        if scores is not None:
            c, i = scores.clear, scores.identity
            line += f" (gate {distance:g}: MOTA {100 * c.mota:.1f} %, IDF1 {100 * i.idf1:.1f} %, {c.switches} switches)"
        return line

    return Stage("report", inputs, {"gate": gate}, (folder / "report.html",), work)


def recorded(folder: Path, found: str = "detections.parquet") -> tuple[Path, ...]:
    """Return the files that everything after detection rests on.

    Parameters
    ----------
    folder : of the recording.
    found : file of the detections.
    """
    return tuple(folder / name for name in (*RECORDED, found))
