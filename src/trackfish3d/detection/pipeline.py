"""Videos of a recording to its detections: cameras in parallel processes, parts on disk, one table in the end."""

import multiprocessing
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..core.errors import InputError
from ..core.files import claim_folder, inside, remove_folder, write_json
from ..core.parallel import stop_workers, worker_pool
from ..core.progress import TaskProgress, of_task, silent_tasks
from ..media.video import Video
from ..recordings import Detections, Recording, Skeleton
from ..recordings.importers.poses.unite import centred
from .base import COLUMNS, Detector
from .camera_job import PART_FRAMES, CameraJob, CameraResult, run_camera
from .checkpoints import Checkpoints, parts_of, tables
from .registry import make_detector

WORK = ".detect"
_shared: Any = None


@dataclass
class Report:
    """What `detect` made: a result for each camera, and ``notes`` about them together, a line each."""

    cameras: list[CameraResult]
    notes: list[str] = field(default_factory=list)

    @property
    def detections(self) -> int:
        """Detections of all cameras."""
        return sum(c.detections for c in self.cameras)


def check_videos(
    recording: Recording, any_rate: bool = False, videos: Mapping[str, Video] | None = None
) -> tuple[dict[str, Video], list[str]]:
    """Return the videos of a recording by camera, and what is strange about them together.

    An `InputError` where they cannot be used: none at all, another size than calibrated, other frame rates.

    Parameters
    ----------
    recording : whose videos they are.
    any_rate : take other frame rates too: a file may say a wrong one, and frames belong together by their numbers.
    videos : those that are open already; by default the recording's are opened.
    """
    opened = dict(videos) if videos is not None else {n: Video.open(path) for n, path in recording.videos.items()}
    if not opened:
        names = ", ".join(f"videos/{n}.mp4" for n in recording.rig.names[:2])
        raise InputError(f"{recording.folder}: has no videos; put them there under the cameras' names ({names}, ...)")
    notes = [f"camera {n}: has no video" for n in recording.rig.names if n not in opened]
    for name, video in opened.items():
        want = recording.rig[name].size
        if tuple(want) != video.size:
            raise InputError(
                f"{video.path}: pictures are {video.size[0]}x{video.size[1]}, camera {name} is calibrated for "
                f"{want[0]}x{want[1]}; calibrate at the size of the video"
            )
    rates = {name: v.fps for name, v in opened.items()}
    slow, fast = min(rates, key=lambda n: rates[n]), max(rates, key=lambda n: rates[n])
    if rates[fast] > 1.01 * rates[slow]:
        differ = f"{fast} has {rates[fast]:g} frames a second, {slow} {rates[slow]:g}"
        if not any_rate:
            raise InputError(f"{recording.folder}: {differ}; frames would not belong together; convert one of them")
        notes.append(f"{differ}; taken as {recording.fps:g} for both")
    elif abs(rates[slow] / recording.fps - 1) > 0.01:
        notes.append(f"videos have {rates[slow]:g} frames a second, recording.toml says {recording.fps:g}")
    counts = {name: v.count for name, v in opened.items()}
    longest = max(counts.values())
    short = [f"{name} {count}" for name, count in counts.items() if count < longest]
    if short:
        notes.append(f"videos differ in length: {', '.join(short)} of {longest} frames; the rest is seen by the others")
    return opened, notes


def detect(
    recording: Recording,
    detector: Detector | None = None,
    *,
    videos: Mapping[str, Video] | None = None,
    workers: int | None = None,
    progress: TaskProgress | None = None,
    previews: bool = True,
    any_rate: bool = False,
) -> Report:
    """Detect animals in all videos of a recording and write its ``detections.parquet``.

    A run that was stopped goes on where it was when it is called again with the same detector and settings. What
    the detector learnt is written to ``detections.settings.json``, pictures to look at to ``preview/<camera>.png``.

    Parameters
    ----------
    recording : with videos.
    detector : what finds the animals; by default the background detector.
    videos : of the cameras, where they are open already.
    workers : cameras at once; as many as cores by default.
    progress : called with the name of a camera, its frames done and its frames in all.
    previews : whether pictures to look at are drawn.
    any_rate : whether the recording's frame rate holds, whatever the videos say.
    """
    chosen = make_detector("background") if detector is None else detector
    chosen.ready()
    opened, notes = check_videos(recording, any_rate, videos)
    first = recording.info.first_frame
    report = see_films(opened, recording.folder, chosen, first, workers, progress or silent_tasks, previews)
    report.notes[:0] = notes
    pieces = detections_of(recording.rig.names, report.cameras, recording.folder)
    if any("parts" in r.learnt for r in report.cameras):  # what is usual of a body is learnt from all frames
        pieces = iter([centred(Detections.concat(list(pieces) or [Detections.empty(recording.rig.names)]))])
    recording.write_detections(pieces)
    _settle(recording, report.cameras)
    finish(recording.folder, chosen, report)
    return report


def see_films(
    films: Mapping[str, Video],
    folder: Path,
    detector: Detector | Mapping[str, Detector],
    first_frame: int,
    workers: int | None,
    progress: TaskProgress,
    previews: bool,
    ending: str = "",
) -> Report:
    """Let a detector see every film; what it finds waits in the folder, for `detections_of` and `finish`.

    Parameters
    ----------
    films : by camera.
    folder : where parts wait and pictures to look at are drawn.
    detector : what finds the animals; or by camera.
    first_frame : number of every film's first frame.
    workers : cameras at once; as many as cores by default.
    progress : called with the name of a camera, its frames done and its frames in all.
    previews : whether pictures to look at are drawn.
    ending : of the names of these pictures, after that of the camera.
    """
    work = claim_folder(folder / WORK)
    cores = os.cpu_count() or 1
    workers = max(1, min(len(films), workers or cores))
    jobs = [
        CameraJob(
            name=name,
            video=video,
            detector=detector[name] if isinstance(detector, Mapping) else detector,
            work=work,
            first_frame=first_frame,
            threads=max(1, cores // workers),
            preview=inside(folder, "preview", f"{name}{ending}.png") if previews else None,
        )
        for name, video in films.items()
    ]
    results = _run_jobs(jobs, workers, progress)
    notes = [f"camera {r.name}: {note}" for r in results for note in r.notes]
    return Report(results, notes + [f"camera {r.name}: no animals found" for r in results if not r.detections])


def finish(folder: Path, detector: Detector, report: Report) -> None:
    """Write down how detections were made, and remove what waited.

    Parameters
    ----------
    folder : as of `see_films`.
    detector : that has seen the films.
    report : what it made.
    """
    content = {
        "detector": detector.name,
        "settings": detector.settings.model_dump(mode="json"),
        "learnt": {r.name: r.learnt for r in report.cameras},
        "notes": report.notes,
        "trackfish3d": __version__,
    }
    write_json(folder / "detections.settings.json", content)
    remove_folder(folder / WORK)


def _settle(recording: Recording, results: list[CameraResult]) -> None:
    """Let recording.toml count the frames of the videos."""
    offsets = [recording.info.time_offset_frames.get(r.name, 0) for r in results]
    last = max(recording.info.first_frame + o + r.frames for o, r in zip(offsets, results, strict=True))
    count = max(recording.info.frame_count, last - recording.info.first_frame)
    if count != recording.info.frame_count:
        recording.info.frame_count = count
        recording.write_info()


def detections_of(names: tuple[str, ...], results: list[CameraResult], folder: Path) -> Iterator[Detections]:
    """Yield detections of all cameras, part by part, so that no long video is ever whole in memory.

    Parameters
    ----------
    names : of the cameras.
    results : of `see_films`.
    folder : as there.
    """
    parts = [Checkpoints(folder / WORK / r.name, PART_FRAMES) for r in results]
    for row in tables(parts, max(r.parts for r in results)):
        here = [(names.index(r.name), t) for r, t in zip(results, row, strict=True) if t is not None]
        known = [c for c in COLUMNS if all(c in t.column_names for _, t in here)]
        columns: dict[str, Any] = {c: np.concatenate([t[c].to_numpy() for _, t in here]) for c in ("frame", *known)}
        camera = np.concatenate([np.full(t.num_rows, c, np.int16) for c, t in here])
        named = next((r.learnt["parts"] for r in results if "parts" in r.learnt), None)
        if named is not None:
            columns["skeleton"] = Skeleton(tuple(named))
            columns["parts"] = np.concatenate([parts_of(t, len(named)) for _, t in here])
        yield Detections.build(names, columns.pop("frame"), camera, **columns)


def _run_jobs(jobs: list[CameraJob], workers: int, progress: TaskProgress) -> list[CameraResult]:
    """Run one job a camera; a single worker needs no process of its own."""
    if workers == 1:
        return [run_camera(job, of_task(progress, job.name)) for job in jobs]
    context = multiprocessing.get_context("spawn")
    done = context.Array("q", len(jobs) + 1, lock=False)  # frames of each, and whether to stop
    with worker_pool(workers, _adopt, (done,)) as pool:
        futures = [pool.submit(_work, k, job) for k, job in enumerate(jobs)]
        try:
            while not all(f.done() for f in futures) and not any(f.done() and f.exception() for f in futures):
                for k, job in enumerate(jobs):
                    progress(job.name, done[k], job.video.count)
                time.sleep(0.1)
        except BaseException:  # Ctrl-C: a background that is being learnt would not hear of it for long
            stop_workers(pool)
            raise
        finally:
            done[len(jobs)] = not all(f.done() for f in futures)
            for future in futures:
                future.cancel()
        failed = [error for f in futures if f.done() and not f.cancelled() and (error := f.exception()) is not None]
        for error in failed:
            raise error
        return [f.result() for f in futures]


class _Stopped(Exception):
    """Another camera failed."""


def _adopt(shared: Any) -> None:
    global _shared
    _shared = shared


def _work(k: int, job: CameraJob) -> CameraResult:
    def tell(frames: int, total: int) -> None:
        if _shared[len(_shared) - 1]:
            raise _Stopped
        _shared[k] = frames

    return run_camera(job, tell)
