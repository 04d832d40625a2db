"""Processes that work beside this one, and end when it ends."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

_LOOK_S = 1.0  # seconds between two looks whether the parent is still there


def worker_pool(
    workers: int, initializer: Callable[..., None] | None = None, initargs: tuple[Any, ...] = ()
) -> ProcessPoolExecutor:
    """Return a pool of new processes; a parent that is killed takes them along within a second or two.

    Processes are spawned: a fork would share locks of Numba and OpenMP.

    Parameters
    ----------
    workers : how many.
    initializer : called first in each of them.
    initargs : what it is called with.
    """
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(
        workers, mp_context=context, initializer=_begin, initargs=(os.getpid(), initializer, initargs)
    )


def stop_workers(pool: ProcessPoolExecutor) -> None:
    """End the processes of a pool at once, whatever they do.

    Parameters
    ----------
    pool : that `worker_pool` made.
    """
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()


def _begin(parent: int, initializer: Callable[..., None] | None, initargs: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent decides
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    if initializer is not None:
        initializer(*initargs)


def _end_with(parent: int) -> None:
    """End this process when another one has become its parent."""
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(1)
