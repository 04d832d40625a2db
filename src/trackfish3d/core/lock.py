"""One writer at a time: a folder that is being worked on says who does it, and a second one is refused."""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .errors import InputError
from .files import naming

LOCK = ".trackfish3d.lock"


@contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Hold a folder while the block lasts.

    The system lets go of the lock when its owner ends, however it ends, so that nothing stale is ever in the way. A
    folder that cannot be written to is refused here, before hours of work are lost.

    Parameters
    ----------
    folder : made where it is not there.

    Raises
    ------
    InputError
        Where another process holds it (named with its age), or nothing can be written there.
    """
    path = Path(folder) / LOCK
    if path.is_symlink():
        raise InputError(f"{path}: is a link; move it away")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
    with file:
        if not _take(file):
            raise InputError(f"{folder}: is being worked on by {_owner(file)}; wait for it, or stop it")
        try:
            file.truncate(0)
            said = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time(), "command": _command()}
            with naming(path):
                os.write(file.fileno(), f"{json.dumps(said)}\n".encode())  # at once: closing has nothing left to write
            yield
        finally:
            path.unlink(missing_ok=True)


def holder(folder: str | Path) -> str | None:
    """Who works on a folder, in words, as far as its lock tells; None where nobody does. Nothing is locked or written.

    Of a process on another machine only the lock is known, which stays behind where it was killed.

    Parameters
    ----------
    folder : that may be worked on.
    """
    try:
        with (Path(folder) / LOCK).open(encoding="utf-8") as file:
            said = json.loads(file.read())
            if said["host"] == socket.gethostname() and not _alive(int(said["pid"])):
                return None
            return _owner(file)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _alive(pid: int) -> bool:
    if sys.platform == "win32":  # pragma: no cover  # a signal there would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def _command() -> str:
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200]


def _owner(file: IO[str]) -> str:
    """Who holds a lock, in words."""
    try:
        file.seek(0)
        said: dict[str, Any] = json.loads(file.read())
        minutes = (time.time() - float(said["since"])) / 60
        name = "".join(c if c.isprintable() else "?" for c in str(said["command"]))
        return f"process {int(said['pid'])} on {said['host']} ({name}) since {minutes:.0f} min"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _take(file: IO[str]) -> bool:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _take(file: IO[str]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: better to work than to refuse everybody
            return True
        return os.fstat(file.fileno()).st_nlink > 0  # the owner may have removed it in this very moment
