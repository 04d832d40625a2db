"""Starter of a batch on a Dask cluster: of this machine, one that runs, or one that a queue (Slurm, PBS) gives."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ...core.errors import InputError, MissingExtraError
from .board import Board
from .manifest import Job
from .units import Outcome, Work, do_step

QUEUES = {"slurm": "SLURMCluster", "pbs": "PBSCluster"}
_LOOK_S = 0.5  # seconds between two looks at the scheduler
ANSWER_S = 20  # seconds that a scheduler has to answer
_PURPOSE = "batch --cluster"


class QueueSettings(BaseModel):
    """What a queue is asked for, for each worker."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    walltime_min: int = Field(240, ge=10, description="minutes that a worker may live; it ends itself before")
    memory_gib: float = Field(4.0, gt=0, description="memory of a worker, GiB")
    cores: int = Field(1, ge=1, description="cores of a worker; more only help detection")
    queue: str | None = Field(None, description="queue or partition")
    account: str | None = Field(None, description="account that is charged")
    interface: str | None = Field(None, description="network interface between nodes, as in ib0")
    directives: str = Field("", description="further lines of the job's head, with | between")
    prologue: str = Field("", description="lines of shell before the worker starts, with | between: module load ...")


def run_on_dask(
    jobs: Sequence[Job],
    work: Work,
    workers: int,
    board: Board,
    cluster: str,
    settings: QueueSettings,
) -> None:
    """Work through recordings on a cluster; a worker that is lost costs what it was doing, which another does again.

    Parameters
    ----------
    jobs : the recordings.
    work : what is done with each.
    workers : most workers at once.
    board : hears how it goes on.
    cluster : "local", the address of a scheduler (``tcp://host:8786``), "slurm" or "pbs".
    settings : what a queue is asked for.
    """
    with _client(cluster, workers, settings) as client:
        futures: dict[str, tuple[Job, str, Any]] = {}
        for number, job in enumerate(jobs):
            before = None
            for step in work.steps_of(job):
                key = f"{step}-{number}-{os.getpid()}-{time.time_ns()}"
                # A step of a worker that is lost is done again by another: files are the only state.
                before = client.submit(do_step, job, work, step, before, key=key, pure=False, retries=0)
                futures[key] = (job, step, before)
        try:
            _watch(client, futures, board)
        except BaseException:
            client.cancel([future for _, _, future in futures.values()], force=True)
            raise


def _watch(client: Any, futures: Mapping[str, tuple[Job, str, Any]], board: Board) -> None:
    """Tell the board of every change until all is done."""
    open_, begun = dict(futures), set()
    while open_:
        at_work = {str(key) for keys in client.processing().values() for key in keys}
        for key in list(open_):
            job, step, future = open_[key]
            if future.done():
                del open_[key]
                board.end(_outcome(job, step, future))
            elif key in at_work and key not in begun and _ready(open_, job, step):
                begun.add(key)
                board.begin(job.folder, step)
        if open_:
            time.sleep(_LOOK_S)


def _ready(open_: Mapping[str, tuple[Job, str, Any]], job: Job, step: str) -> bool:
    """Whether no earlier step of the recording is open."""
    first = next(s for other, s, _ in open_.values() if other is job)
    return first == step


def _outcome(job: Job, step: str, future: Any) -> Outcome:
    if future.status == "finished":
        made: Outcome = future.result()
        return made
    error = future.exception() if future.status == "error" else None
    if type(error).__name__ == "KilledWorker":
        return Outcome(job.folder, step, "failed", f"{job.name}: every worker that did it was killed; more memory?")
    cause = f"{type(error).__name__}: {error}" if error is not None else f"it was {future.status}"
    return Outcome(job.folder, step, "failed", f"{job.name}: the cluster could not do it ({' '.join(cause.split())})")


@contextmanager
def _client(cluster: str, workers: int, settings: QueueSettings) -> Iterator[Any]:
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("dask and distributed", "cluster", _PURPOSE) from None
    dask: Any = distributed
    if "://" in cluster:
        try:
            client = dask.Client(cluster, timeout=ANSWER_S)
        except (OSError, ValueError) as error:
            raise InputError(f"--cluster {cluster}: no scheduler answers ({' '.join(str(error).split())})") from None
        with client:
            yield client
    elif cluster == "local":
        with (
            dask.LocalCluster(
                n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, memory_limit=0
            ) as made,
            dask.Client(made) as client,
        ):
            yield client
    else:
        with queue_cluster(cluster, settings) as made:
            made.adapt(minimum=0, maximum=workers)
            with dask.Client(made) as client:
                yield client


def queue_cluster(queue: str, settings: QueueSettings) -> Any:
    """Return a cluster whose workers are jobs of a queue; nothing is asked for before `adapt` or `scale`.

    A worker ends itself before its wall time, and at a moment of its own: killed by the queue, it would take along what
    it did, and all of them at once (dask-jobqueue 122).

    Parameters
    ----------
    queue : "slurm" or "pbs".
    settings : what the queue is asked for.
    """
    if queue not in QUEUES:
        raise InputError(f"--cluster {queue}: choose none, local, tcp://host:port, {', '.join(QUEUES)}")
    try:
        import dask_jobqueue
    except ImportError:
        raise MissingExtraError("dask-jobqueue", "cluster", f"{_PURPOSE} {queue}") from None
    minutes = settings.walltime_min
    life = ["--nthreads", "1", "--lifetime", f"{minutes - max(3, minutes // 12)}m"]
    life += ["--lifetime-stagger", f"{max(2, minutes // 24)}m"]
    hours = f"{minutes // 60:02d}:{minutes % 60:02d}:00"
    return getattr(dask_jobqueue, QUEUES[queue])(
        cores=settings.cores,
        processes=1,
        memory=f"{settings.memory_gib:g}GiB",
        walltime=hours,
        queue=settings.queue,
        account=settings.account,
        interface=settings.interface,
        worker_extra_args=life,
        job_extra_directives=[line for line in settings.directives.split("|") if line],
        job_script_prologue=[line for line in settings.prologue.split("|") if line],
        scheduler_options={"dashboard_address": None},
    )
