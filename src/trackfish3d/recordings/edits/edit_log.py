"""``edits.jsonl``: one line an edit, only ever added to; undo and redo are lines too."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from pydantic import ValidationError

from ...core.errors import InputError
from ...core.lock import locked
from .kinds import LINE, AnyEdit, Base, Redo, Undo

FILE = "edits.jsonl"
MOST = 256 * 2**20  # bytes: a million edits and more
_PATIENCE = 10.0  # seconds to wait for another writer


@dataclass(frozen=True)
class EditLog:
    """What a log says.

    Attributes
    ----------
    active : edits that hold, in order.
    undone : edits that were undone and can be redone; the next one last.
    base : digest of the tracks that later edits are of; empty where no edit was made.
    of : digest of the tracks that each active edit was made on.
    kept : numbers of the edits that the tracks of ``base`` were solved under.
    last : number of the last line.
    turned : number of the last line that undid or redid something.
    size : bytes that count; a torn end, which was never acknowledged, is beyond them.
    """

    active: tuple[AnyEdit, ...] = ()
    undone: tuple[AnyEdit, ...] = ()
    base: str = ""
    of: tuple[str, ...] = ()
    kept: frozenset[int] = frozenset()
    last: int = 0
    turned: int = 0
    size: int = 0

    def older(self, digest: str) -> tuple[AnyEdit, ...]:
        """Return the edits that hold, were made on other tracks, and were neither repeated nor kept since.

        Parameters
        ----------
        digest : of the tracks.
        """
        done = {e.again for e in self.active} | (self.kept if self.base == digest else frozenset())
        return tuple(e for e, of in zip(self.active, self.of, strict=True) if of != digest and e.id not in done)

    def on(self, digest: str) -> tuple[AnyEdit, ...]:
        """Return the edits that hold and were made on the tracks of this digest.

        Parameters
        ----------
        digest : of the tracks.
        """
        return tuple(e for e, of in zip(self.active, self.of, strict=True) if of == digest)


def read_log(path: Path) -> EditLog:
    """Return what a log says; nothing where there is none.

    Parameters
    ----------
    path : the file.

    Raises
    ------
    InputError
        Where a line is damaged, named by its number. An unfinished last line was never acknowledged and is passed over.
    """
    if path.is_symlink():
        raise InputError(f"{path}: is a link; edits are kept in a file of the recording")
    try:
        if path.stat().st_size > MOST:
            raise InputError(f"{path}: is larger than {MOST // 2**20} MB, which no log of edits is")
        content = path.read_bytes()
    except FileNotFoundError:
        return EditLog()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    return _Reader(path).read(content)


class _Reader:
    """Goes through the lines of a log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.active: list[tuple[AnyEdit, str]] = []
        self.undone: list[tuple[AnyEdit, str]] = []
        self.base, self.last, self.turned = "", 0, 0
        self.kept: frozenset[int] = frozenset()

    def read(self, content: bytes) -> EditLog:
        """Return what the content of a log says."""
        size = 0
        for number, line in enumerate(content.split(b"\n"), 1):
            whole = size + len(line) < len(content)
            if line.strip():
                try:
                    self._take(line, f"{self.path}: line {number}")
                except InputError:
                    if whole:
                        raise
                    break  # the end of a write that was cut off
            size += len(line) + whole
        edits, of = [e for e, _ in self.active], [b for _, b in self.active]
        undone = tuple(e for e, _ in self.undone)
        return EditLog(tuple(edits), undone, self.base, tuple(of), self.kept, self.last, self.turned, size)

    def _take(self, line: bytes, where: str) -> None:
        try:
            said = LINE.validate_python(json.loads(line.decode("utf-8")))
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"].startswith("union_tag"):
                raise InputError(f"{where}: is no edit: its 'kind' is missing or not known") from None
            place = ".".join(str(p) for p in first["loc"]) or "line"
            raise InputError(f"{where}: {place[:80]}: {first['msg'][:200]}") from None
        except (ValueError, RecursionError):
            raise InputError(f"{where}: is not JSON; restore the file, or take this line out") from None
        if said.id <= self.last:
            raise InputError(f"{where}: has number {said.id} after {self.last}; lines were put in or moved")
        if isinstance(said, Base):
            self.base, self.kept = said.tracks, frozenset(said.kept)
        elif isinstance(said, Undo):
            if not self.active or self.active[-1][0].id != said.of:
                raise InputError(f"{where}: undoes {said.of}, which is not the last edit")
            self.undone.append(self.active.pop())
        elif isinstance(said, Redo):
            if not self.undone or self.undone[-1][0].id != said.of:
                raise InputError(f"{where}: redoes {said.of}, which was not undone last")
            self.active.append(self.undone.pop())
        else:
            self.active.append((said, self.base))
            self.undone = []
        self.last = said.id
        self.turned = said.id if isinstance(said, Undo | Redo) else self.turned


Make = Callable[[EditLog, int, str], "Undo | Redo | AnyEdit"]


def append(path: Path, tracks: str, make: Make) -> "tuple[EditLog, Undo | Redo | AnyEdit]":
    """Add a line under a lock, and return the log with it once the disk has it.

    Parameters
    ----------
    path : the file, made where it is not there.
    tracks : digest of the tracks that the edit is of.
    make : called with the log as it is now, a number and the time; returns the line, or raises what is wrong with it.
    """
    with _alone(path.parent):
        log = read_log(path)
        number, when = log.last + 1, datetime.now(timezone.utc).isoformat(timespec="seconds")
        lines: list[Undo | Redo | AnyEdit | Base] = []
        if log.base != tracks:
            lines.append(Base(id=number, when=when, tracks=tracks))
            number += 1
        said = make(log, number, when)
        if isinstance(said, Undo | Redo):
            lines = []
            said = said.model_copy(update={"id": log.last + 1})
        _write(path, log.size, [*lines, said])
        return read_log(path), said


def solved(path: Path, tracks: str, kept: tuple[int, ...]) -> None:
    """Note that new tracks were solved under edits of older ones.

    Parameters
    ----------
    path : the file of the log.
    tracks : digest of the new tracks.
    kept : numbers of the edits.
    """
    with _alone(path.parent):
        log = read_log(path)
        when = datetime.now(timezone.utc).isoformat(timespec="seconds")
        _write(path, log.size, [Base(id=log.last + 1, when=when, tracks=tracks, kept=kept)])


def _write(path: Path, size: int, lines: "list[Undo | Redo | AnyEdit | Base]") -> None:
    text = "".join(line.model_dump_json(exclude_defaults=False) + "\n" for line in lines).encode()
    new = not path.exists()
    try:
        with path.open("r+b" if not new else "x+b") as file:
            file.truncate(size)
            file.seek(size)
            if size:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    text = b"\n" + text
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if new and os.name == "posix":
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error}); the edit is not kept") from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a recording's folder, waiting a little for others who write an edit."""
    until = time.monotonic() + _PATIENCE
    while True:
        held = locked(folder)
        try:
            held.__enter__()
            break
        except InputError:
            if time.monotonic() > until or not os.access(folder, os.W_OK):
                raise
            time.sleep(0.02)
    try:
        yield
    finally:
        held.__exit__(None, None, None)
