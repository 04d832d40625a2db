"""A recording's detections to its files of tracks; a long one section by section, and a stopped one goes on."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
from pydantic import BaseModel

from .. import __version__
from ..core.files import digest, remove_folder, write_json
from ..core.progress import Progress, silent
from ..core.resume import Journal, key_of, open_work
from ..methods.base import Method
from ..methods.joint.long.outcome import total
from ..methods.joint.long.sections import WHOLE, Looked, Survey
from ..methods.joint.long.windows import Piece
from ..methods.joint.method import Joint
from ..methods.result import Result
from ..methods.suspects import Suspect
from ..recordings import Detections, Recording, Tracks, write_table
from ..recordings.parts_file import FILE as PARTS
from ..recordings.storage import ROWS_PER_GROUP, read_table
from .tracking import with_poses

WORK = ".track"  # folder of a long run that is under way
KEPT_EVERY = 20.0  # seconds after which it is kept how far the look through a recording has come


@dataclass(frozen=True)
class Tracked:
    """Tracks that were written.

    Attributes
    ----------
    path : of ``tracks.csv``.
    summary : one line.
    notes : what a user should know, a line each.
    suspects : moments to check, the most doubtful first.
    settings : of the method, filled in.
    points : rows of the tracks.
    poses : a line about them, or None.
    """

    path: Path
    summary: str
    notes: tuple[str, ...]
    suspects: tuple[Suspect, ...]
    settings: BaseModel | None
    points: int
    poses: str | None = None


def track_into(
    recording: Recording,
    method: Method,
    progress: Progress = silent,
    point: str | None = None,
    rows: int = ROWS_PER_GROUP,
    pose_progress: Progress | None = None,
) -> Tracked:
    """Track a recording and write what was found into it.

    Parameters
    ----------
    recording : with detections.
    method : with its settings.
    progress : called with frames done and frames in all.
    point : part of the body that the tracks follow, of detections with parts.
    rows : detections that are read at once, of a long recording; the outcome does not depend on it.
    pose_progress : the same for poses.
    """
    if point is None and isinstance(method, Joint) and _may_be_long(recording):
        made_long = _track_long(recording, method, progress, rows)
        if made_long is not None:
            return made_long
    made = method.track(recording.rig, recording.detections, recording.fps, progress)
    return written(with_poses(recording, made, point, pose_progress), recording)


def written(result: Result, where: Recording | Path) -> Tracked:
    """Write a result.

    Parameters
    ----------
    result : tracks in memory.
    where : a recording, or a file of tracks.
    """
    path = result.save(where)
    poses = None if result.poses is None else result.poses.summary
    notes, found = result.notes, result.suspects
    return Tracked(path, result.summary, notes, found, result.settings, len(result.tracks), poses)


def _may_be_long(recording: Recording) -> bool:
    """Whether a recording is too long to be held in memory, as far as its files tell."""
    path = recording.folder / "detections.parquet"
    if not path.is_file() or (recording.folder / PARTS).exists():
        return False
    try:
        return bool(pq.read_metadata(path).num_rows > WHOLE)
    except (OSError, ValueError):  # the reader of the whole says what is wrong with it
        return False


def _track_long(recording: Recording, method: Joint, progress: Progress, rows: int) -> Tracked | None:
    """Track in sections, and go on where an earlier run of the same was stopped; None where that cannot be done."""
    folder = recording.folder
    made_from = {n: digest(folder / n) for n in ("recording.toml", "cameras.toml", "detections.parquet")}
    settings = method.settings.model_dump(mode="json")
    key = key_of({"version": __version__, "method": method.name, "settings": settings, **made_from})
    work = folder / WORK
    journal = open_work(work, key)
    pieces = partial(recording.iter_detections, rows)
    seen = journal.facts("survey", key)
    survey = _looked_through(recording, method, pieces, journal, key) if seen is None else Survey(**seen)
    run = method.long_run(recording.rig, pieces, survey)
    if run is None or survey is None:
        remove_folder(work)
        return None
    journal.note("survey", key, **asdict(survey))
    known = journal.facts("sections", key) or {}
    done, stopped = int(known.get("done", 0)), int(known.get("stopped", 0))
    for piece in run.go(progress, done, work):
        write_table(piece.tracks.to_table(), _part(work, done))
        beside = {"suspects": [asdict(s) for s in piece.suspects], "borders": list(piece.borders)}
        write_json(_part(work, done).with_suffix(".json"), beside)
        done, stopped = done + 1, run.engine.stopped
        journal.note("sections", key, done=done, stopped=stopped)
        run.forget(work, done)
    totals, names = total(lambda: (_piece(work, k) for k in range(done)), method.settings.scene)
    recording.write_track_pieces(lambda: (names.apply(_piece(work, k)).tracks for k in range(done)))
    recording.write_poses(None)
    notes = totals.notes(stopped, method.settings.scene, method.settings.animals)
    empty = Tracks.build([], [], [], cameras=recording.rig.names)
    result = Result(empty, totals.ranked, tuple(notes), method.name, method.settings, run.world.model(run.model))
    path = result.save_beside(recording)
    remove_folder(work)
    return Tracked(path, totals.summary, result.notes, result.suspects, method.settings, totals.points)


def _looked_through(
    recording: Recording, method: Joint, pieces: Callable[[int], Iterator[Detections]], journal: Journal, key: str
) -> Survey | None:
    """Look through a recording, and go on where an earlier look was stopped."""
    known = journal.facts("looked", key)
    kept = time.monotonic()

    def keep(so_far: Looked) -> None:
        nonlocal kept
        if time.monotonic() - kept >= KEPT_EVERY:
            journal.note("looked", key, **asdict(so_far))
            kept = time.monotonic()

    return method.survey(recording.rig, pieces, None if known is None else Looked(**known), keep)


def _part(work: Path, number: int) -> Path:
    return work / f"part-{number:06d}.parquet"


def _piece(work: Path, number: int) -> Piece:
    path = _part(work, number)
    beside = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    inner, at_border = beside["borders"]
    found = tuple(Suspect(**s) for s in beside["suspects"])
    return Piece(Tracks.from_table(read_table(path), str(path)), found, (inner, at_border))
