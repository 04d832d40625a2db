"""Native readers in a process of their own: a damaged file can end, hang or fill that process, and never this one.

HDF5, PyTables and SciPy's reader of MATLAB files are compiled code that trusts what it reads: some damaged files end
the process with a segmentation fault, which no ``except`` catches.
"""

import os
import pickle
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


def read_isolated(function: Callable[..., T], path: Path, *args: Any, seconds: float = SECONDS) -> T:
    """Call ``function(path, *args)`` in another process, within limits of time and memory.

    Parameters
    ----------
    function : of a module, so that the other process finds it by name; what it returns travels as a pickle.
    path : file that it reads; the limits grow with its size.
    args : plain values.
    seconds : time limit of a small file.
    """
    size = path.stat().st_size if path.is_file() else 0
    limit = seconds + SECONDS_PER_MIB * size / 2**20
    job = pickle.dumps((function, path, args, MEMORY + MEMORY_PER_BYTE * size))
    with _Reader.lock:
        fresh = not _Reader.ready()
        answer, ended = _Reader.ask(job, limit)
        if answer is None and not fresh and ended != "late":  # perhaps the fault of a file that it read before
            answer, ended = _Reader.ask(job, limit)
    if answer is None:
        why = f"could not be read within {limit:.0f} s" if ended == "late" else f"its library broke down ({ended})"
        raise InputError(f"{path}: is damaged: {why}")
    fine, value = pickle.loads(answer)
    if not fine:
        raise value
    return value  # type: ignore[no-any-return]


class _Reader:
    """The one other process, kept for the next file; it ends when this one does, because its input does."""

    lock = threading.Lock()
    process: "subprocess.Popen[bytes] | None" = None
    owner = 0

    @classmethod
    def ready(cls) -> bool:
        return cls.process is not None and cls.owner == os.getpid() and cls.process.poll() is None

    @classmethod
    def ask(cls, job: bytes, seconds: float) -> tuple[bytes | None, str]:
        """Return the answer, or None and how the process ended."""
        if not cls.ready():
            command = [sys.executable, "-c", _START.format(path=sys.path)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            cls.process, cls.owner = subprocess.Popen(command, **pipes), os.getpid()  # type: ignore[call-overload]
        process = cls.process
        assert process is not None
        assert process.stdin is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

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
            return answer, ""
        process.kill()
        process.wait()
        return None, "late" if late.is_set() else f"exit code {process.returncode}"


def serve() -> None:
    """Answer jobs from standard input until it ends; runs in the other process."""
    jobs, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer
    while (job := _receive(jobs)) is not None:
        function, path, args, memory = pickle.loads(job)
        _limit_memory(memory)
        try:
            answer = pickle.dumps((True, function(path, *args)))
        except TrackFishError as error:
            answer = pickle.dumps((False, error))
        except MemoryError:
            answer = pickle.dumps((False, InputError(f"{path}: is damaged, or too large: it does not fit into memory")))
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            answer = pickle.dumps((False, InputError(f"{path}: is damaged ({reason})")))
        _send(answers, answer)


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
