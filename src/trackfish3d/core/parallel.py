"""Processes that work beside this one, and end when it ends."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from .errors import TrackFishError

_LOOK_S = 1.0  # seconds between two looks whether the parent is still there


def worker_pool(
    workers: int, initializer: Callable[..., None] | None = None, initargs: tuple[Any, ...] = ()
) -> ProcessPoolExecutor:
    """Return a pool of new processes; a parent that is killed takes them along within a second or two.

    Processes are spawned: a fork would share locks of Numba and OpenMP. They do not run the user's script again, so it
    needs no ``if __name__ == "__main__"``; what they are given must be found in a module.

    Parameters
    ----------
    workers : how many.
    initializer : called first in each of them.
    initargs : what it is called with.
    """
    try:
        return ProcessPoolExecutor(
            workers, mp_context=_Context(), initializer=_begin, initargs=(os.getpid(), initializer, initargs)
        )
    except OSError as error:  # a broken pipe would end the program without a word
        why = error.strerror or type(error).__name__
        raise TrackFishError(f"the system lets no process work beside this one ({why}); give --workers 1") from None


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back while a process is started, which inherits that: it would print a traceback while it begins."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Process(SpawnProcess):
    """A process that knows nothing of the script that began it."""

    def start(self) -> None:
        """Begin, with the script out of sight: multiprocessing would import it in the new process."""
        main = sys.modules["__main__"]
        hidden = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
        main.__dict__.pop("__file__", None)
        main.__spec__ = None
        try:
            with _deaf_to_interrupts():
                super().start()
        finally:
            for name, value in hidden.items():
                setattr(main, name, value)


class _Context(SpawnContext):
    Process = _Process  # type: ignore[assignment]


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
