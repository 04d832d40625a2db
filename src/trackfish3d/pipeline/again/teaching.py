"""Teaching a recording's own detector by what a second look makes of its films: no truth, nothing drawn by hand."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ...core.errors import InputError
from ...core.files import atomic_path, claim_folder, inside, read_json, remove_folder, write_json
from ...core.progress import TaskProgress, of_task, silent_tasks
from ...detection.again.expected import Expected, expect
from ...detection.again.look import SecondLook
from ...detection.background.detector import BackgroundDetector
from ...detection.background.settings import BackgroundSettings
from ...detection.learned.onnx import require_onnxruntime
from ...detection.learned.torch_glue import require_torch
from ...detection.pipeline import WORK, detections_of, see_films
from ...detection.taught.cells import factor_of
from ...detection.taught.lessons import Lessons, first_look, lessons_of, stretches_for, watch
from ...detection.taught.onnx_file import write_network
from ...detection.taught.taught_detector import MADE_BY, Network, TaughtDetector, TaughtSettings
from ...detection.taught.verdict import Agreement, Verdict
from ...media.video import Video
from ...methods.registry import DEFAULT_METHOD, make_method
from ...recordings import Detections, Recording, Tracks

FOLDER, WEIGHTS, SAID = "taught", "weights.onnx", "taught.json"
_STATE = "state.safetensors"
_FEWEST = 20  # cut-outs that can teach anything
TEACH = "teaching"


@dataclass(frozen=True)
class Taught:
    """A network that is ready: its file ``weights``, and what was said of it, ``lines``."""

    weights: Path
    lines: list[str]


def teach(
    recording: Recording,
    settings: TaughtSettings,
    videos: Mapping[str, Video],
    *,
    workers: int | None = None,
    progress: TaskProgress | None = None,
) -> Taught:
    """Teach a network on a recording, or return what was taught there with the same settings.

    What the tracks expect of every view tells a second look which pixels are whose; where there are no tracks, the
    films are detected and tracked first. Teaching that was stopped goes on where it was. The network is kept in the
    recording's folder ``taught``, beside what was said of it.

    Parameters
    ----------
    recording : with films.
    settings : of the detector; its weights are not known.
    videos : the films by camera.
    workers : cameras at once, of a first look; as many as cores by default.
    progress : called with the name of a task, its steps done and its steps in all.
    """
    folder = inside(recording.folder, FOLDER)
    stamp = _stamp(settings, videos)
    said = read_json(folder / SAID)
    if isinstance(said, dict) and said.get("stamp") == stamp and (folder / WEIGHTS).is_file():
        return Taught(folder / WEIGHTS, [str(line) for line in said.get("lines", [])])
    require_torch("learn", "detector taught")
    require_onnxruntime()
    claim_folder(folder)
    tell = progress or silent_tasks
    looks = _looks(recording, settings, videos, folder, workers, tell)
    factor = _prepare(looks, videos, tell)
    lessons = _lessons(looks, settings, videos, folder, stamp, factor, tell)
    if len(lessons) < _FEWEST:
        raise InputError(
            f"{recording.folder}: only {len(lessons)} animals were told apart by a second look, too few to teach; use "
            "--detector background"
        )
    from ...detection.taught.fit import fit
    from ...detection.taught.unet import REACH

    weights = fit(lessons, settings.steps, settings.seed, folder / _STATE, stamp, of_task(tell, TEACH))
    facts = {"made_by": MADE_BY, "reach": str(REACH), "factor": str(factor)}
    with atomic_path(folder / WEIGHTS) as temporary:
        temporary.write_bytes(write_network(weights, facts))
    verdict = _judge(looks, settings, videos, folder / WEIGHTS, tell)
    lines = [f"taught on {len(lessons)} animals", *verdict.lines()]
    numbers = {name: asdict(a) for name, a in vars(verdict).items()}
    write_json(folder / SAID, {"stamp": stamp, "held_out": numbers, "lines": lines})
    for name in [_STATE, *(_kept(c) for c in videos)]:
        (folder / name).unlink(missing_ok=True)
    remove_folder(folder / WORK)
    return Taught(folder / WEIGHTS, lines)


def _stamp(settings: TaughtSettings, videos: Mapping[str, Video]) -> str:
    """Return a digest of settings and films."""
    values = settings.model_dump(mode="json", exclude={"weights"})
    text = json.dumps([values, {name: video.stamp for name, video in videos.items()}], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _looks(
    recording: Recording,
    settings: TaughtSettings,
    videos: Mapping[str, Video],
    folder: Path,
    workers: int | None,
    progress: TaskProgress,
) -> dict[str, SecondLook]:
    """Second looks at every film, not prepared yet."""
    plain = BackgroundSettings(**settings.model_dump(include=set(BackgroundSettings.model_fields)))
    detections, tracks = _tracked(recording, plain, videos, folder, workers, progress)
    if not len(tracks):
        raise InputError(f"{recording.folder}: nothing could be tracked, so a second look has nothing to teach")
    expected = expect(recording.rig, detections, tracks)
    info = recording.info
    shift = {name: info.first_frame + info.time_offset_frames.get(name, 0) for name in videos}
    return {name: _look(plain, expected[recording.rig.index(name)], shift[name]) for name in videos}


def _look(settings: BackgroundSettings, expected: Expected, shift: int) -> SecondLook:
    return SecondLook(BackgroundDetector(settings), expected, shift)


def _tracked(
    recording: Recording,
    settings: BackgroundSettings,
    videos: Mapping[str, Video],
    folder: Path,
    workers: int | None,
    progress: TaskProgress,
) -> tuple[Detections, Tracks]:
    """Return detections and tracks of a recording, or those of a first look."""
    there = [(recording.folder / name).is_file() for name in ("detections.parquet", "tracks.parquet")]
    if all(there):
        return recording.detections, recording.tracks
    detector = BackgroundDetector(settings)
    report = see_films(videos, folder, detector, recording.info.first_frame, workers, progress, False)
    pieces = list(detections_of(recording.rig.names, report.cameras, folder))
    found = Detections.concat(pieces) if pieces else Detections.empty(recording.rig.names)
    found = found.shifted(recording.offsets)
    return found, make_method(DEFAULT_METHOD, {}).track(recording.rig, found, recording.fps).tracks


def _prepare(looks: Mapping[str, SecondLook], videos: Mapping[str, Video], progress: TaskProgress) -> int:
    """Learn what every film shows without animals, and how large they are; returns pixels of a cell's side."""
    minor = []
    for k, (name, look) in enumerate(looks.items()):
        progress("backgrounds", k, len(looks))
        look.prepare(videos[name])
        minor.append(_inner(look).appearance.minor)
    progress("backgrounds", len(looks), len(looks))
    return factor_of(minor)


def _inner(look: SecondLook) -> BackgroundDetector:
    assert isinstance(look.inner, BackgroundDetector)
    return look.inner


def _lessons(
    looks: Mapping[str, SecondLook],
    settings: TaughtSettings,
    videos: Mapping[str, Video],
    folder: Path,
    stamp: str,
    factor: int,
    progress: TaskProgress,
) -> Lessons:
    """Cut out what all films teach; what one has taught is kept until the end: a stop costs one camera at most."""
    parts = []
    for c, (name, look) in enumerate(looks.items()):
        progress(name, 0, 1)
        path = folder / _kept(name)
        part = _read(path, stamp)
        if part is None:
            starts = stretches_for(videos[name], settings.pictures, settings.held_out)[0]
            part = lessons_of(videos[name], look, starts, factor, [settings.seed, c])
            with atomic_path(path) as temporary, temporary.open("wb") as file:
                np.savez(file, stamp=np.array(stamp), **vars(part))
        parts.append(part)
        progress(name, 1, 1)
    return Lessons.concat(parts)


def _kept(camera: str) -> str:
    return f"lessons.{camera}.npz"


def _read(path: Path, stamp: str) -> Lessons | None:
    """Lessons that are kept; None where there are none of this teaching."""
    try:
        with np.load(path, allow_pickle=False) as file:
            if str(file["stamp"]) != stamp:
                return None
            values: dict[str, Any] = {name: file[name] for name in Lessons.__dataclass_fields__}
            return Lessons(**{**values, "usual": float(values["usual"])})
    except (OSError, ValueError, KeyError, BadZipFile):
        return None


def _judge(
    looks: Mapping[str, SecondLook],
    settings: TaughtSettings,
    videos: Mapping[str, Video],
    weights: Path,
    progress: TaskProgress,
) -> Verdict:
    """Compare the taught detector and the background detector with second looks at pictures that were held back."""
    verdict = Verdict(Agreement(), Agreement())
    network = Network(weights)
    for k, (name, look) in enumerate(looks.items()):
        video = videos[name]
        progress("judging", k, len(looks))
        inner = _inner(look)
        for start in stretches_for(video, settings.pictures, settings.held_out)[1]:
            looked = {p.number: seen for p, _, _, seen in watch(video, look, start)}
            for agreement, detector in (
                (verdict.background, inner),
                (verdict.taught, TaughtDetector.like(inner, network)),
            ):
                found = first_look(detector, video, start)
                for number, seen in looked.items():
                    agreement.add(found[number], seen)
    progress("judging", len(looks), len(looks))
    return verdict
