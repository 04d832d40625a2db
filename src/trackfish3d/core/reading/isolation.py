"""Native readers in a process of their own: a damaged file can end, hang or fill that process, and never this one.

HDF5, PyTables and SciPy's reader of MATLAB files are compiled code that trusts what it reads: some damaged files end
the process with a segmentation fault, which no ``except`` catches. Others leave the library in a state in which it
refuses sound files too, so nothing that has met a damaged file is used again: where the system can fork, every file is
read in a copy of a process that has read none.
"""

import contextlib
import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar

from ..errors import InputError, TrackFishError

T = TypeVar("T")
SECONDS, SECONDS_PER_MIB = 30.0, 1.0
MEMORY, MEMORY_PER_BYTE = 4 * 2**30, 50  # of address space, beyond which an allocation fails
_START = "import sys; sys.path[:] = {path!r}; from trackfish3d.core.reading.isolation import serve; serve()"
_WIDTH = 8  # bytes of a message's length
_FORKS = sys.platform == "linux"  # elsewhere, system libraries do not survive it


def read_isolated(
    function: Callable[..., T], path: Path, *args: Any, seconds: float = SECONDS, libraries: tuple[str, ...] = ()
) -> T:
    """Call ``function(path, *args)`` in another process, within limits of time and memory.

    Parameters
    ----------
    function : of a module, so that the other process finds it by name; what it returns travels as a pickle.
    path : file that it reads; the limits grow with its size.
    args : plain values.
    seconds : time limit of a small file.
    libraries : modules that `function` imports, loaded once for all files.
    """
    size = path.stat().st_size if path.is_file() else 0
    limit = seconds + SECONDS_PER_MIB * size / 2**20
    job = pickle.dumps((function, path, args, MEMORY + MEMORY_PER_BYTE * size, limit, libraries))
    with _LOCK:
        reader = _READERS.setdefault(libraries, _Reader())
        fresh = _FORKS or not reader.ready
        answer, ended = reader.ask(job, limit)
        if not fresh and not answer[0] and ended != "late":  # perhaps the fault of a file that it read before
            reader.end()
            answer, ended = reader.ask(job, limit)
        if not _FORKS and not answer[0]:
            reader.end()
    if ended:
        why = f"could not be read within {limit:.0f} s" if ended == "late" else f"its library broke down ({ended})"
        raise InputError(f"{path}: is damaged: {why}")
    fine, value = answer
    if not fine:
        raise value
    return value  # type: ignore[no-any-return]


class _Reader:
    """Another process, kept for the next file; it ends when this one does, because its input does."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.owner = 0

    @property
    def ready(self) -> bool:
        """Whether it runs, and is ours: a fork of this process has its own."""
        return self.process is not None and self.owner == os.getpid() and self.process.poll() is None

    def end(self) -> None:
        """End the process and its copies; the next file begins another."""
        if self.process is None or self.owner != os.getpid():
            return
        if _FORKS:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def ask(self, job: bytes, seconds: float) -> tuple[tuple[bool, Any], str]:
        """Return the answer (whether it was read, and what or why not) and, where there is none, how that ended."""
        if not self.ready:
            command = [sys.executable, "-c", _START.format(path=sys.path)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            self.process, self.owner = subprocess.Popen(command, start_new_session=True, **pipes), os.getpid()  # type: ignore[call-overload]
        process = self.process
        assert process is not None
        assert process.stdin is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.end()

        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            _send(process.stdin, job)
            answer = _receive(process.stdout)
        except OSError:
            answer = None
        finally:
            timer.cancel()
        if answer is not None:
            return pickle.loads(answer), ""
        self.end()
        return (False, None), "late" if late.is_set() else f"exit code {process.returncode}"


_LOCK = threading.Lock()
_READERS: dict[tuple[str, ...], _Reader] = {}  # by the libraries that each has loaded: fewer, and it is copied faster


def serve() -> None:
    """Answer jobs from standard input until it ends; runs in the other process."""
    jobs, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer
    while (job := _receive(jobs)) is not None:
        function, path, args, memory, seconds, libraries = pickle.loads(job)
        for name in libraries:
            try:
                importlib.import_module(name)
            except ImportError:
                continue  # the function says what is missing
        if not _FORKS:
            _limit_memory(memory)
            _send(answers, _answer(function, path, args))
            continue
        copy = os.fork()
        if copy == 0:
            signal.alarm(int(seconds) + 5)  # the one that waits for it may be gone
            _limit_memory(memory)
            _send(answers, _answer(function, path, args))
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
        if code:
            os._exit(128 - code if code < 0 else code)  # as shells count signals


def _answer(function: Callable[..., Any], path: Path, args: tuple[Any, ...]) -> bytes:
    try:
        return pickle.dumps((True, function(path, *args)))
    except TrackFishError as error:
        return pickle.dumps((False, error))
    except MemoryError:
        return pickle.dumps((False, InputError(f"{path}: is damaged, or too large: it does not fit into memory")))
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        return pickle.dumps((False, InputError(f"{path}: is damaged ({reason})")))


def _limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (size if hard < 0 else min(size, hard), hard))


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(len(message).to_bytes(_WIDTH, "little") + message)
    stream.flush()


def _receive(stream: Any) -> bytes | None:
    head = stream.read(_WIDTH)
    if len(head) < _WIDTH:
        return None
    length = int.from_bytes(head, "little")
    message: bytes = stream.read(length)
    return message if len(message) == length else None
