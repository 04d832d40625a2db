"""One camera's video from the first frame to the last, in a process of its own."""

import copy
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from .. import __version__
from ..core.files import read_json, write_json
from ..core.progress import Progress
from ..media.video import Picture, Video
from ..media.video_checks import Knock, examine
from .base import Detector, FrameDetections
from .checkpoints import Checkpoints
from .preview import panel, write_picture

T = TypeVar("T")
PART_FRAMES = 500
PREVIEWS = 4


@dataclass(frozen=True)
class CameraJob:
    """What a process needs to know: the ``video`` of camera ``name``, the detector, and where to work."""

    name: str
    video: Video
    detector: Detector
    work: Path
    first_frame: int = 0
    threads: int = 1
    preview: Path | None = None


@dataclass
class CameraResult:
    """``frames`` read, ``parts`` written, ``detections`` in all, what was ``learnt``, and ``notes``, a line each."""

    name: str
    frames: int = 0
    parts: int = 0
    detections: int = 0
    learnt: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def run_camera(job: CameraJob, progress: Progress) -> CameraResult:
    """Detect in one video, part by part; goes on after the last part that is there."""
    video, detector = job.video, copy.deepcopy(job.detector)  # which `prepare` makes this camera's own
    parts = Checkpoints(job.work / job.name, PART_FRAMES)
    settings = detector.settings.model_dump(mode="json")
    made_from = {
        "video": video.stamp,
        "detector": [detector.name, settings, job.first_frame, PART_FRAMES, __version__, detector.stamp()],
    }
    done = parts.begin(made_from)
    learnt = parts.folder / "learnt.json"
    result = CameraResult(job.name, frames=video.count, parts=-(-video.count // PART_FRAMES))
    notes, knocks = examine(video, job.threads)
    result.notes += [*video.notes, *notes]
    stretches = stretches_of(video, detector, knocks)
    first = next((k for k, (_, stop) in enumerate(stretches) if stop > done * PART_FRAMES), 0)
    if done < result.parts:
        result.notes += detector.prepare(video.stretch(*stretches[first]), job.threads)
        if not done or not learnt.is_file():
            write_json(learnt, detector.describe())
        if done * PART_FRAMES > stretches[first][0]:
            detector.restore(parts.state(done - 1))
    result.learnt = read_json(learnt) or {}
    progress(min(done * PART_FRAMES, video.count), video.count)
    pictures = watch(video, detector, stretches[first:], done * PART_FRAMES, job.threads)
    _run(pictures, detector, parts, done, job, progress)
    if job.preview is not None and (panels := parts.panels()):
        write_picture(job.preview, panels)
    broken = sorted(video.skipped)
    if broken:
        result.notes.append(f"{len(broken)} broken frames left out, the first is {broken[0] + job.first_frame}")
    result.detections = sum(t.num_rows for k in range(result.parts) if (t := parts.read(k)) is not None)
    return result


def stretches_of(video: Video, detector: Detector, knocks: list[Knock]) -> list[tuple[int, int]]:
    """First frame and frame after the last of the parts of a film that a detector has to learn one by one."""
    ends = [k.frame for k in knocks] if detector.learns else []
    return list(pairwise([0, *ends, video.count]))


def watch(
    video: Video, detector: Detector, stretches: list[tuple[int, int]], start: int, threads: int
) -> Iterator[Picture]:
    """Yield the pictures from ``start`` on, read ahead; the detector, ready for the first stretch, learns the others.

    Each picture is to be seen before the next is asked for.
    """
    for k, (first, stop) in enumerate(stretches):
        if k:
            detector.prepare(video.stretch(first, stop), threads)
        yield from read_ahead(video.read(max(first, start), stop, threads=threads))


def see_film(video: Video, detector: Detector) -> tuple[list[str], Iterator[tuple[Picture, FrameDetections]]]:
    """Return what a user should know of a film, a line each, and its pictures with what is seen in them."""
    notes, knocks = examine(video)
    stretches = stretches_of(video, detector, knocks)
    notes += detector.prepare(video.stretch(*stretches[0]))
    return notes, ((p, detector.see(p)) for p in watch(video, detector, stretches, 0, 1))


def _run(
    pictures: Iterator[Picture], detector: Detector, parts: Checkpoints, done: int, job: CameraJob, progress: Progress
) -> None:
    """See pictures, and write each part as it is full."""
    video = job.video
    shown = {video.near(round((k + 0.5) * video.count / PREVIEWS)) for k in range(PREVIEWS)}
    frames: list[tuple[int, FrameDetections]] = []
    k = done
    for picture in pictures:
        while picture.number >= (k + 1) * PART_FRAMES:
            parts.write(k, frames, detector.state())
            frames, k = [], k + 1
        seen = detector.see(picture)
        frames.append((picture.number + job.first_frame, seen))
        if picture.number in shown:
            parts.write_panel(picture.number, panel(picture.rgb, seen))
        progress(picture.number + 1, video.count)
    while k * PART_FRAMES < video.count:
        parts.write(k, frames, detector.state())
        frames, k = [], k + 1
    progress(video.count, video.count)


def read_ahead(source: Iterator[T], depth: int = 4) -> Iterator[T]:
    """Yield the same items, made in a thread up to ``depth`` ahead: decoding then runs beside detection."""
    ready: queue.Queue[Any] = queue.Queue(depth)
    stop = threading.Event()
    end = object()

    def work() -> None:
        try:
            for item in source:
                while not stop.is_set():
                    try:
                        ready.put(item, timeout=0.2)
                        break
                    except queue.Full:
                        continue
                if stop.is_set():
                    return
            ready.put(end)
        except BaseException as error:
            ready.put(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not end:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        while not ready.empty():
            ready.get_nowait()
        thread.join()
