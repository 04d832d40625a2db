"""Starter of a batch on this machine: some processes, a recording each at a time."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from ...core.parallel import stop_workers, worker_pool
from .board import Board
from .manifest import Job
from .units import Outcome, Work, do_step

KILLED = "{}: the process that worked on it was killed, perhaps for want of memory; --workers 1 needs least"


def run_here(jobs: Sequence[Job], work: Work, workers: int, board: Board) -> None:
    """Work through recordings in processes of this machine; one that dies costs only its own recording.

    Parameters
    ----------
    jobs : the recordings.
    work : what is done with each.
    workers : recordings at once.
    board : hears how it goes on.
    """
    todo = deque(jobs)
    hands = [_Hand(todo, work, board) for _ in range(max(1, min(workers, len(jobs))))]
    threads = ThreadPoolExecutor(len(hands))
    try:
        going: list[Future[None]] = [threads.submit(hand.go) for hand in hands]
        wait(going)
        for thread in going:
            thread.result()
    except BaseException:
        todo.clear()
        for hand in hands:
            hand.stop()
        raise
    finally:
        threads.shutdown(wait=True)


class _Hand:
    """A thread with one process: takes recordings from the heap until there are none."""

    def __init__(self, todo: deque[Job], work: Work, board: Board) -> None:
        self._todo, self._work, self._board = todo, work, board
        self._pool: ProcessPoolExecutor | None = None
        self._stopped = False

    def go(self) -> None:
        while self._todo and not self._stopped:
            try:
                job = self._todo.popleft()
            except IndexError:  # another was faster
                break
            self._chain(job)
        if self._pool is not None:
            self._pool.shutdown()

    def _chain(self, job: Job) -> None:
        before: Outcome | None = None
        for step in self._work.steps_of(job):
            if self._stopped:
                return
            self._board.begin(job.folder, step)
            try:
                if self._pool is None:
                    self._pool = worker_pool(1)
                before = self._pool.submit(do_step, job, self._work, step, before).result()
            except BrokenProcessPool:
                self._pool = None
                if self._stopped:
                    return
                before = Outcome(job.folder, step, "failed", KILLED.format(job.name))
            self._board.end(before)

    def stop(self) -> None:
        self._stopped = True
        if self._pool is not None:
            stop_workers(self._pool)
