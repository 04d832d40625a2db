"""Many recordings in one call."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.errors import InputError
from ...core.lock import holder
from ...core.settings import make_settings
from ...methods.registry import DEFAULT_METHOD
from .board import Board
from .dask_cluster import QueueSettings, run_on_dask
from .group_measures import measures_of
from .group_page import Summary, write_summary
from .manifest import Job, find_jobs, shard_of
from .processes import run_here
from .units import MAKE, STEPS, Outcome, Work, method_of, state_of


@dataclass(frozen=True)
class Batch:
    """How a batch ended.

    Attributes
    ----------
    board : states of all recordings.
    page : that compares groups; None where nothing was analysed.
    """

    board: Board
    page: Path | None

    @property
    def failed(self) -> list[Outcome]:
        """Steps that failed, each with its error."""
        return self.board.failed

    @property
    def wrong(self) -> list[Outcome]:
        """Steps that were done and found something wrong with the data."""
        return self.board.wrong

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {state}" for state, n in self.board.counts.items())
        return f"<Batch of {len(self.board.jobs)} recordings: {counts}>"


def batch(
    recordings: str | Path | Sequence[str | Path] = (),
    manifest: str | Path | None = None,
    steps: Sequence[str] = STEPS,
    *,
    cluster: str = "none",
    workers: int | None = None,
    shard: str | None = None,
    method: str = DEFAULT_METHOD,
    settings: Mapping[str, Any] | None = None,
    model: str | Path | None = None,
    detector: str = "background",
    detector_settings: Mapping[str, Any] | None = None,
    analysis: Mapping[str, Any] | None = None,
    queue: Mapping[str, Any] | None = None,
    gate: float | None = None,
    again: bool = False,
    summary: str | Path | None = ".",
    watch: "type[Watch] | None" = None,
) -> Batch:
    """Work through many recordings; what is done already is not done again.

    A recording that fails does not stop the others. Files are the only state: two batches may share recordings, a
    stopped one goes on, and whichever way it is started, the files are the same.

    Parameters
    ----------
    recordings : folders or patterns of folders; of a manifest, those that are wanted. All of the manifest by default.
    manifest : CSV with a row for each recording: recording, videos, calibration, group, animals, ...
    steps : some of detect, check, track, analyse, report.
    cluster : "none" (processes here), "local", ``tcp://host:port``, "slurm" or "pbs" (Dask).
    workers : recordings at once; as many as cores by default, 16 for a queue.
    shard : ``i/n``, one part of an array job.
    method : of tracking.
    settings : of the method, by name.
    model : trained network of the method.
    detector : name of the detector.
    detector_settings : its settings by name.
    analysis : settings of the analysis, by name.
    queue : what a queue is asked for, by name (`QueueSettings`).
    gate : distance of a match for scores, world units.
    again : whether finished steps are done again.
    summary : folder of the page that compares groups; None writes none.
    watch : shows the board while it runs.
    """
    jobs = find_jobs([recordings] if isinstance(recordings, str | Path) else recordings, manifest)
    asked = make_settings(QueueSettings, queue or {}, "batch")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = workers or (16 if cluster in ("slurm", "pbs") else cores)
    work = Work(
        steps=ordered(steps),
        method=method,
        settings=dict(settings or {}),
        model=None if model is None else Path(model),
        detector=detector,
        detector_settings=dict(detector_settings or {}),
        analysis=dict(analysis or {}),
        gate=gate,
        again=again,
        cameras_at_once=max(1, count // len(jobs)) if cluster == "none" else asked.cores,
    )
    refuse_early(jobs, work)
    mine = jobs if shard is None else shard_of(jobs, shard)
    board = Board(mine, work)
    with nullcontext() if watch is None else watch(board):
        if cluster == "none":
            run_here(mine, work, count, board)
        else:
            run_on_dask(mine, work, count, board, cluster, asked)
    page = None if summary is None or shard is not None else summarise(jobs, Path(summary))
    return Batch(board, page)


class Watch(AbstractContextManager["Watch"]):
    """Shows a board while the block lasts.

    Parameters
    ----------
    board : the states.
    """

    def __init__(self, board: Board) -> None:
        self.board = board


def ordered(steps: Sequence[str]) -> tuple[str, ...]:
    """Return steps in the order in which they are done.

    Parameters
    ----------
    steps : their names; "recording" may be among them and is done in any case.
    """
    for step in steps:
        if step not in (MAKE, *STEPS):
            raise InputError(f"--steps {step}: there is no such step; choose of {', '.join(STEPS)}")
    return tuple(step for step in STEPS if step in steps)


def refuse_early(jobs: Sequence[Job], work: Work) -> None:
    """Refuse settings that no recording could be worked with, before anything begins.

    Parameters
    ----------
    jobs : the recordings.
    work : what is done with each.
    """
    from ...behaviour.settings import AnalysisSettings
    from ...detection.registry import make_detector

    if "detect" in work.steps:
        make_detector(work.detector, work.detector_settings)
    if "track" in work.steps:
        for job in jobs:
            method_of(job, work)
    make_settings(AnalysisSettings, work.analysis, "analyse")


def states(recordings: Sequence[str | Path], manifest: str | Path | None, work: Work) -> Board:
    """Return the states of a batch, by the files alone: what is done, worked on, and what cannot begin and why.

    Parameters
    ----------
    recordings : as of `batch`.
    manifest : as of `batch`.
    work : what would be done with each.
    """
    jobs = find_jobs(recordings, manifest)
    board = Board(jobs, work)
    for job in jobs:
        who, next_ = holder(job.folder), True
        for step in work.steps_of(job):
            state, line = state_of(job, work, step)
            if state == "waiting":
                if who is not None and next_:
                    state, line = "running", who
                line, next_ = line if next_ else "", False  # what the step before it will make is not missing
            board.end(Outcome(job.folder, step, state, line))
    return board


def summarise(jobs: Sequence[Job], folder: Path) -> Path | None:
    """Write the page that compares groups; None where no recording was analysed.

    Parameters
    ----------
    jobs : all recordings.
    folder : where the page goes.
    """
    values = {}
    for job in jobs:
        try:
            values[job.folder] = measures_of(job.folder)
        except InputError:  # it is named among those without measures
            values[job.folder] = {}
    known = tuple(job for job in jobs if values[job.folder])
    if not known:
        return None
    missing = tuple(job.name for job in jobs if not values[job.folder])
    return write_summary(folder, Summary(known, tuple(values[job.folder] for job in known), missing))
