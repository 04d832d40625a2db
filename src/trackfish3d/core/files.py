"""Files that are either complete or not there, names that are safe in a path, and folders that are ours to remove."""

import errno
import hashlib
import json
import math
import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import InputError
from .reading.dialect import encoding_of

MARK = ".trackfish3d"  # in every folder that may be emptied and removed again
_MARK_TEXT = "This folder holds work in progress of trackfish3d, which removes it when the work is done.\n"
_LONGEST_NAME = 100  # bytes: suffixes and temporary names fit beside it in the 255 of most file systems
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}  # full, used up, too large, broken, locked
_RESERVED = {"con", "prn", "aux", "nul", "clock$", *(f"{n}{k}" for n in ("com", "lpt") for k in range(1, 10))}


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it there when the block ends well, remove it otherwise.

    What a killed process left of the same file is removed on the way.

    Parameters
    ----------
    path : the file to write; its folder is made where it is not there.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError(f"{path}: is a folder; name a file")
        if path.exists() and not path.is_file():  # a device or a pipe, which a rename would take away from everybody
            raise InputError(f"{path}: is no file that can be replaced; name another")
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
        begin = f"{_hidden(path)}{os.getpid()}."
        handle, name = tempfile.mkstemp(prefix=begin, suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None
    os.close(handle)
    temporary = Path(name)
    try:
        with naming(path):
            yield temporary
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Let an error of a disk that takes no more name the file: what the system raises on writing does not.

    Parameters
    ----------
    path : what is being written.
    """
    try:
        yield
    except OSError as error:
        told = re.search(r"\[errno (\d+)\]", str(error))  # as Arrow writes it
        number = error.errno or (int(told[1]) if told else None)
        if number not in _DISK or (error.filename is not None and error.errno):
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


def _hidden(path: Path) -> str:
    """How the names of a file's temporaries begin; the number of the process that writes them follows."""
    return f".{path.stem}.tf3d-"


def _sweep(path: Path) -> None:
    """Remove temporaries of a file whose writer is gone."""
    begin = _hidden(path)
    with os.scandir(path.parent) as entries:
        left = [e.name for e in entries if e.name.startswith(begin) and e.name.endswith(path.suffix)]
    for name in left:
        number = name[len(begin) :].partition(".")[0]
        if number.isdecimal() and not _alive(int(number)):
            (path.parent / name).unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    """Whether a process of this number runs, as far as can be told."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def read_text(path: str | Path) -> str:
    """Return the text of a file, or an `InputError` that names it."""
    path = Path(path)
    try:
        content = path.read_bytes()
        return content.decode(encoding_of(content)).replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, not a file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not a text file in UTF-8 or UTF-16; save it so") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None


def write_json(path: str | Path, content: Any, indent: int | None = 1) -> None:
    """Write a JSON file, complete or not at all; numbers that are not finite become null, which every reader takes.

    Parameters
    ----------
    path : the file.
    content : plain values.
    indent : blanks a level; None writes one line, for what only programs read.
    """
    text = json.dumps(finite(content), indent=indent, allow_nan=False)
    with atomic_path(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def read_json(path: str | Path) -> Any:
    """Return what a JSON file of our own holds; None where it is not there or damaged, so that it is made again.

    Parameters
    ----------
    path : the file.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def finite(value: Any) -> Any:
    """Return plain values with None for numbers that are not finite: JSON has none.

    Parameters
    ----------
    value : dicts, lists, numbers and text.
    """
    if isinstance(value, Mapping):
        return {name: finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def digest(path: str | Path) -> str:
    """Return the SHA-256 of a file's content in hexadecimal digits, or "missing" where there is none.

    Parameters
    ----------
    path : the file.
    """
    path = Path(path)
    if not path.is_file():
        return "missing"
    sums = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            sums.update(piece)
    return sums.hexdigest()


def stamp(path: Path) -> list[Any]:
    """Return what a large file is known by without reading it: its place, its size and when it was written.

    Parameters
    ----------
    path : the file, which is there.
    """
    facts = path.stat()
    return [str(path.resolve()), facts.st_size, facts.st_mtime]


def plain_name(name: str, what: str) -> str:
    """Return a name that comes from a file if it can be part of a path on every system.

    Parameters
    ----------
    name : the name, as it was read.
    what : what is called so, for the message: "camera".

    Raises
    ------
    InputError
        Where the name is empty or longer than 100 bytes, has a slash, a backslash, a colon or a control character,
        begins with a dot, ends with a dot or a blank, or is reserved by Windows (CON, NUL, COM1, ...).
    """
    shown = ascii(name if len(name) <= 40 else f"{name[:40]}...")
    reason = _why_not_plain(name)
    if reason:
        raise InputError(
            f"{what} {shown}: {reason}; names become file names, so give it a plain one (letters, digits, - _)"
        )
    return name


def _why_not_plain(name: str) -> str:
    try:
        size = len(name.encode("utf-8"))
    except UnicodeEncodeError:
        return "is not valid text"
    if not name.strip():
        return "is empty"
    if size > _LONGEST_NAME:
        return f"is longer than {_LONGEST_NAME} bytes"
    if any(c in '/\\:*?"<>|' or unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in name):
        return "has a character that file names cannot have"
    if name.startswith(".") or name != name.strip() or name.endswith("."):
        return "begins or ends with a dot or a blank"
    if name.split(".")[0].strip().lower() in _RESERVED:
        return "is reserved by Windows"
    return ""


def refuse_strange(path: str | Path) -> None:
    """Refuse a path that is not text: libraries that read and write tables cannot open it.

    Parameters
    ----------
    path : as the system names it.
    """
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{str(path)!a}: the name is not UTF-8, and cannot be opened; rename it") from None


def inside(folder: str | Path, *parts: str) -> Path:
    """Return a path below a folder that no link leads out of.

    A recording may come from a stranger: its sub-folders are written to only where they are folders. The last part may
    be a link, because `atomic_path` replaces it and never follows it.

    Parameters
    ----------
    folder : where the path begins; it may itself be a link, because the user named it.
    *parts : plain names below it.
    """
    path = Path(folder)
    for part in parts[:-1]:
        path = path / part
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise InputError(f"{path}: is {'a link' if path.is_symlink() else 'a file'}, not a folder; move it away")
    return path / parts[-1]


def claim_folder(path: Path) -> Path:
    """Make a folder that we may remove again, and mark it; one that is there must be marked or empty.

    Parameters
    ----------
    path : the folder, made with its parents.
    """
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise InputError(f"{path}: is {'a link' if path.is_symlink() else 'a file'}, not a folder; move it away")
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not (path / MARK).is_file():
            if any(path.iterdir()):
                raise InputError(f"{path}: was not made by trackfish3d and is not empty; move it away")
            (path / MARK).write_text(_MARK_TEXT, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None
    return path


def remove_folder(path: Path) -> None:
    """Remove a folder that `claim_folder` made; anything else is refused, and what is not there is no error.

    Parameters
    ----------
    path : the folder.
    """
    if not path.is_symlink() and not path.exists():
        return
    if path.is_symlink() or not (path / MARK).is_file():
        raise InputError(f"{path}: was not made by trackfish3d; move it away")
    shutil.rmtree(path, ignore_errors=True)


def renew_folder(path: Path) -> Path:
    """Empty a folder of ours, or make it.

    Parameters
    ----------
    path : the folder.
    """
    if (path / MARK).is_file():
        remove_folder(path)
    return claim_folder(path)
