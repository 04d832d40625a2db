"""A second look at the films of a recording with what its tracks expect, and tracks of what is then seen."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...core import provenance
from ...core.errors import InputError
from ...core.files import atomic_path, digest, read_json, remove_folder, write_json
from ...core.lock import locked
from ...core.progress import TaskProgress
from ...detection.again.changes import Changes, compare
from ...detection.again.films import look_at_films, write_looked
from ...detection.base import Detector
from ...detection.pipeline import WORK, check_videos
from ...detection.registry import detector_names, make_detector
from ...evaluation.truth_links import relink_recording
from ...media.video import Video
from ...methods.base import Method
from ...methods.registry import make_method
from ...methods.result import Result
from ...recordings import Detections, Recording, Tracks
from ..tracking import Source, open_recording
from .guard import objection

LOOKED = "look_again.json"
FIRST = {"detections.parquet": "detections.first.parquet", "tracks.parquet": "tracks.first.parquet"}
"""Files that a second look writes anew, and where what was there before is kept."""


@dataclass
class Looked:
    """What second looks made.

    Attributes
    ----------
    detections : of the last round that was worth it.
    result : of tracking these; None where no round was.
    rounds : what each of them changed.
    notes : what a user should know, a line each.
    refused : why the round after them was left out; None where none was.
    """

    detections: Detections
    result: Result | None = None
    rounds: list[Changes] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refused: str | None = None

    def lines(self) -> list[str]:
        """Return a line for each round."""
        out = [f"round {k + 1}: {changes}" for k, changes in enumerate(self.rounds)]
        if self.refused is not None:
            out.append(f"round {len(out) + 1}: left out, its tracks are worse: {self.refused}")
        return out


def look_again(
    recording: Source,
    *,
    rounds: int = 1,
    workers: int | None = None,
    previews: bool = True,
    progress: TaskProgress | None = None,
) -> Looked:
    """Look at the films again with what the tracks expect, track what is then seen, and write both.

    What was there before is kept as ``detections.first.parquet`` and ``tracks.first.parquet``; what each round
    changed is written to ``look_again.json``. It ends early where a round changes nothing, or makes tracks worse as
    far as can be told without truth (see `guard`): then what was there before it stays.

    Parameters
    ----------
    recording : with videos, detections that `detect` made of them, and tracks.
    rounds : of looking and tracking, at most.
    workers : cameras at once; as many as cores by default.
    previews : whether pictures to look at are drawn, as ``preview/<camera>-again.png``.
    progress : called with the name of a camera, its frames done and its frames in all.
    """
    source = open_recording(recording)
    if rounds < 1:
        raise InputError(f"rounds {rounds}: give one or more")
    if not (source.folder / "tracks.parquet").is_file() or not len(source.tracks):
        raise InputError(f"{source.folder}: has no tracks to look again with; run 'trackfish3d track' first")
    detector, method = detector_of(source), method_of(source)
    detector.ready()
    with locked(source.folder):
        films, _ = check_videos(source)
        keep_first(source.folder)
        looked = look_rounds(source, detector, method, source.tracks, films, rounds, workers, previews, progress)
        if looked.result is not None:
            write_looked(source, looked.detections, looked.notes)
            looked.result.save(source)
            source.forget()
            relink_recording(source)
        else:
            remove_folder(source.folder / WORK)
        note(source.folder, looked)
    return looked


def look_rounds(
    recording: Recording,
    detector: Detector,
    method: Method,
    tracks: Tracks,
    films: Mapping[str, Video],
    rounds: int,
    workers: int | None,
    previews: bool,
    progress: TaskProgress | None,
) -> Looked:
    """Look and track, until nothing changes or the tracks become worse; nothing is written.

    Parameters
    ----------
    recording : whose detections the tracks were made of.
    detector : that found them.
    method : that tracks.
    tracks : to begin with.
    films : by camera.
    rounds : at most.
    workers : cameras at once.
    previews : whether pictures to look at are drawn.
    progress : called with the name of a camera, its frames done and its frames in all.
    """
    looked = Looked(recording.detections)
    for _ in range(rounds):
        seen, made = look_at_films(
            recording,
            detector,
            looked.detections,
            tracks,
            videos=films,
            workers=workers,
            progress=progress,
            previews=previews,
        )
        result = method.track(recording.rig, seen, recording.fps)
        looked.refused = objection(tracks, result.tracks)
        if looked.refused is not None:
            break
        looked.rounds.append(compare(looked.detections, seen))
        looked.detections, looked.result, tracks = seen, result, result.tracks
        looked.notes += [n for n in made.notes if n not in looked.notes]
        if not looked.rounds[-1].any:
            break
    return looked


def keep_first(folder: Path) -> None:
    """Keep what a first look made, unless what is there is a second look's own.

    Parameters
    ----------
    folder : of the recording.
    """
    known = read_json(folder / LOOKED)
    ours = known.get("made", {}) if isinstance(known, dict) else {}
    if ours.get("detections.parquet") == digest(folder / "detections.parquet"):
        return
    for name, kept in FIRST.items():
        with atomic_path(folder / kept) as temporary:
            shutil.copyfile(folder / name, temporary)


def note(folder: Path, looked: Looked) -> None:
    """Write down what each round changed.

    Parameters
    ----------
    folder : of the recording.
    looked : what was done.
    """
    rounds = [{"added": c.added, "removed": c.removed, "moved": c.moved, "kept": c.kept} for c in looked.rounds]
    made = {"detections.parquet": digest(folder / "detections.parquet")} if looked.rounds else {}
    write_json(folder / LOOKED, {"rounds": rounds, "refused": looked.refused, "made": made})
    provenance.note(folder, "look again", [folder / n for n in FIRST.values()], {"rounds": len(rounds)})


def detector_of(recording: Recording) -> Detector:
    """Return the detector that made a recording's detections, with its settings.

    Parameters
    ----------
    recording : one that `detect` has seen.
    """
    path = recording.folder / "detections.settings.json"
    known = read_json(path)
    name = known.get("detector") if isinstance(known, dict) else None
    if name not in detector_names():
        raise InputError(
            f"{recording.folder}: its detections are not of 'trackfish3d detect'; a second look needs its detector"
        )
    settings = known.get("settings")
    given = {k: v for k, v in settings.items() if v is not None} if isinstance(settings, dict) else {}
    return make_detector(name, given)


def method_of(recording: Recording) -> Method:
    """Return the method that made a recording's tracks, with its settings.

    Parameters
    ----------
    recording : with tracks.
    """
    known = read_json(recording.folder / "tracks.settings.json")
    if not isinstance(known, dict) or not isinstance(known.get("method"), str):
        raise InputError(f"{recording.folder}: does not say how its tracks were made; run 'trackfish3d track' first")
    settings = known.get("settings")
    given = {k: v for k, v in settings.items() if v is not None} if isinstance(settings, dict) else {}
    return make_method(known["method"], given)
