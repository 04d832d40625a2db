"""The unit of work: one step of one recording. Done twice is done once, and who starts it makes no difference."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ...core.errors import InputError, TrackFishError
from ...core.lock import locked
from ...core.resume import Journal
from ...detection.pipeline import check_videos
from ...detection.registry import make_detector
from ...health.kept import kept_problems
from ...methods.base import Method
from ...methods.registry import DEFAULT_METHOD
from ...recordings import Recording
from ..films import common_rate, open_films, put_to_cameras
from ..run import refuse_foreign
from ..stages import JOURNAL, Runner, Silent, Stage
from ..steps import analyse_stage, calibration_of, check_stage, detect_stage, recording_stage, report_stage, track_stage
from ..tracking import chosen_method, rows_of_tracks, why_nothing
from .manifest import Job

STEPS = ("detect", "check", "track", "analyse", "report")
MAKE = "recording"  # the step before all others, of recordings that are made of films
State = Literal["waiting", "running", "done", "before", "wrong", "skipped", "failed", "blocked"]
"""Of a step: done now or ``before``; done, but something is ``wrong`` with the data; ``blocked`` by one that failed."""


@dataclass(frozen=True)
class Work:
    """What is done with every recording of a batch.

    Attributes
    ----------
    steps : some of `STEPS`, in their order.
    method : of tracking.
    settings : of the method.
    model : trained network of the method, or None.
    detector : name of the detector.
    detector_settings : its settings.
    analysis : settings of the analysis.
    gate : distance of a match for scores, world units, or None.
    again : whether finished steps are done again.
    cameras_at_once : films of one recording that are looked at together.
    """

    steps: tuple[str, ...] = STEPS
    method: str = DEFAULT_METHOD
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: Path | None = None
    detector: str = "background"
    detector_settings: Mapping[str, Any] = field(default_factory=dict)
    analysis: Mapping[str, Any] = field(default_factory=dict)
    gate: float | None = None
    again: bool = False
    cameras_at_once: int = 1

    def steps_of(self, job: Job) -> tuple[str, ...]:
        """Return the steps of one recording: made of films, it is made first.

        Parameters
        ----------
        job : the recording.
        """
        return (MAKE, *self.steps) if job.videos else self.steps


@dataclass(frozen=True)
class Outcome:
    """How a step of a recording ended.

    Attributes
    ----------
    folder : of the recording.
    step : its name.
    state : how it ended.
    line : about the outcome, or the error.
    seconds : that it took.
    """

    folder: Path
    step: str
    state: State
    line: str = ""
    seconds: float = 0.0

    @property
    def stops(self) -> bool:
        """Whether the steps that follow cannot be done."""
        return self.state in ("failed", "blocked")


def do_step(job: Job, work: Work, step: str, before: Outcome | None = None) -> Outcome:
    """Do one step of one recording, unless it is done; whatever goes wrong is told in the outcome.

    Parameters
    ----------
    job : the recording.
    work : what is done with every recording.
    step : the step's name.
    before : outcome of the step before it; where that failed, nothing is done.
    """
    if before is not None and before.stops:
        return Outcome(job.folder, step, "blocked", f"{before.step} failed")
    start = time.perf_counter()

    def ended(state: State, line: str) -> Outcome:
        return Outcome(job.folder, step, state, _one_line(line), time.perf_counter() - start)

    try:
        if step != MAKE:
            _there(job.folder)
        with locked(job.folder):
            return ended(*_done(job, work, step))
    except TrackFishError as error:
        gone = step != MAKE and not job.folder.exists()  # meanwhile: what a reader made of that is not the reason
        return ended("failed", _GONE.format(job.folder) if gone else str(error))
    except (OSError, MemoryError) as error:  # what the system refuses: a full disk, a folder that is gone, no memory
        return ended("failed", _refused(job.folder, error))
    except Exception as error:  # a defect of ours must not stop the other recordings
        return ended("failed", f"{job.folder}: {step} met a defect of the program, {type(error).__name__}: {error}")


def _done(job: Job, work: Work, step: str) -> tuple[State, str]:
    stage = stage_of(job, work, step)
    if isinstance(stage, str):
        return "skipped", stage
    hears = _Hears()
    Runner(job.folder, hears, work.again).do(stage)
    _there(job.folder)
    state: State = "before" if hears.before else "done"
    wrong = kept_problems(job.folder) if step == "check" else []
    if step == "track" and not rows_of_tracks(job.folder):
        wrong = [f"nothing could be tracked: {why_nothing(job.folder)}"]
    return ("wrong", "; ".join(wrong)) if wrong else (state, hears.line)


class _Hears(Silent):
    line = ""
    before = False

    def end(self, stage: str, text: str, before: bool) -> None:
        """Keep how it ended."""
        self.line, self.before = (text.splitlines() or [""])[0], before


def stage_of(job: Job, work: Work, step: str) -> Stage | str:
    """Return a step of a recording as a stage, or why it is not needed.

    Parameters
    ----------
    job : the recording.
    work : what is done with every recording.
    step : the step's name.
    """
    folder = job.folder
    if step == MAKE:
        return _making(job)
    if step == "detect":
        source = Recording.open(folder)
        if not source.videos and (folder / "detections.parquet").is_file():
            return "has detections and no films"
        finder = make_detector(work.detector, work.detector_settings)
        finder.ready()
        films, _ = check_videos(source, job.fps is not None)
        return detect_stage(
            folder, films, finder, work.detector_settings, work.cameras_at_once, any_rate=job.fps is not None
        )
    if step == "check":
        return check_stage(folder)
    if step == "track":
        return track_stage(folder, method_of(job, work), work.model)
    if step == "analyse":
        return analyse_stage(folder, work.analysis, threads=1)
    return report_stage(folder, work.gate)


def method_of(job: Job, work: Work) -> Method:
    """Return the method with the settings of one recording.

    Parameters
    ----------
    job : the recording.
    work : what is done with every recording.
    """
    return chosen_method(work.method, work.settings, job.animals, work.model, False, job.scene)


def _making(job: Job) -> Stage:
    assert job.calibration is not None
    refuse_foreign(job.folder)
    whole = calibration_of(job.calibration, job.units, job.water_plane)
    films = open_films(put_to_cameras(job.videos, whole), whole)
    rate = common_rate(films) if job.fps is None else job.fps
    rig = whole.select(tuple(films))
    return recording_stage(job.folder, rig, films, rate, {}, job.truth, job.calibration)


def state_of(job: Job, work: Work, step: str) -> tuple[State, str]:
    """Tell from the files alone whether a step is done, and what was said of it; nothing is written.

    Parameters
    ----------
    job : the recording.
    work : what is done with every recording.
    step : the step's name.
    """
    try:
        if step != MAKE:
            _there(job.folder)
        stage = stage_of(job, work, step)
        if isinstance(stage, str):
            return "skipped", stage
        facts = Journal(job.folder / JOURNAL).facts(stage.name, stage.key(), stage.outputs)
    except (TrackFishError, OSError) as error:
        return "waiting", _one_line(str(error))
    return ("waiting", "") if facts is None else ("before", _one_line(str(facts.get("line", ""))))


_GONE = "{}: is no recording, or is gone (it has no recording.toml)"


def _there(folder: Path) -> None:
    if folder.is_file():
        raise InputError(f"{folder}: is a file, not the folder of a recording; a list of recordings is a --manifest")
    if not (folder / "recording.toml").is_file():
        raise InputError(_GONE.format(folder))


def _refused(folder: Path, error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return f"{folder}: there is not enough memory for it"
    cause = error.strerror or str(error) or type(error).__name__
    return f"{folder if error.filename is None else os.fsdecode(error.filename)}: {cause}"


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
