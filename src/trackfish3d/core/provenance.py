"""What a recording was made from: ``run.json``, an entry for each stage, beside what `run` knows it by."""

import hashlib
import importlib.metadata
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .. import __version__
from .files import digest, read_json, write_json

FILE = "run.json"
LARGE = 256 * 2**20  # bytes, beyond which only both ends of a file are digested
_END = 2**20
_PACKAGES = ("numpy", "scipy", "numba", "pyarrow", "torch", "av")


def note(folder: Path, stage: str, inputs: Iterable[str | Path], options: Mapping[str, Any]) -> None:
    """Write down what a stage was made from; the same inputs, options and versions make the same bytes.

    An entry of that name is replaced, with the key that `run` knew it by: what another command made is not its own.

    Parameters
    ----------
    folder : of the recording.
    stage : its name: "import", "detect", "track", ...
    inputs : files and folders that were read.
    options : plain values by name, as the user gave them or as they were filled in.
    """
    entries = read(folder)
    entries[stage] = entry(inputs, options)
    write_json(folder / FILE, entries)


def entry(inputs: Iterable[str | Path], options: Mapping[str, Any]) -> dict[str, Any]:
    """Describe what something was made from: its inputs with their digests, options, versions.

    Parameters
    ----------
    inputs : files and folders that were read.
    options : plain values by name.
    """
    return {
        "inputs": [_described(Path(path)) for path in inputs],
        "options": {name: _plain(value) for name, value in sorted(options.items())},
        "versions": _versions(),
    }


def read(folder: Path) -> dict[str, Any]:
    """Return the entries by stage; none where nothing was written down.

    Parameters
    ----------
    folder : of the recording.
    """
    found = read_json(folder / FILE)
    return found if isinstance(found, dict) else {}


def _described(path: Path) -> dict[str, Any]:
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file())
        sums = hashlib.sha256()
        for file in files:
            sums.update(f"{file.relative_to(path).as_posix()} {digest(file)}\n".encode(errors="surrogateescape"))
        return {"path": _text(path), "files": len(files), "sha256": sums.hexdigest()}
    if not path.is_file():
        return {"path": _text(path), "sha256": "missing"}
    size = path.stat().st_size
    if size <= LARGE:
        return {"path": _text(path), "bytes": size, "sha256": digest(path)}
    with path.open("rb") as film:
        first = film.read(_END)
        film.seek(size - _END)
        ends = hashlib.sha256(first + film.read(_END)).hexdigest()
    return {"path": _text(path), "bytes": size, "sha256_of_first_and_last_mebibyte": ends}


def _versions() -> dict[str, str]:
    found = {"trackfish3d": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(v) for v in value]
    return _text(value)


def _text(value: Any) -> str:
    """As text, also where a file name is not UTF-8."""
    return str(value).encode("utf-8", errors="backslashreplace").decode()
