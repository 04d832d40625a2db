"""Which format a file of detections is in, by what it holds."""

import re
from pathlib import Path

from ...core.errors import InputError
from ...core.reading.dialect import dialect_of, encoding_of
from ..storage import is_number

_ULTRALYTICS = re.compile(r"\[[\s\[\],]*\{[^\[]*\"keypoints\"\s*:\s*\{")  # lists of COCO have a list there
_PEOPLE = re.compile(r"\{[^\[]*\"people\"\s*:")
_PIXELS = re.compile(r"\s*pt\d+_cam\d+_[XY]\s*")


def sniff(path: Path) -> str:
    """Return the name of the format of a file or folder: one of `FORMATS`.

    A name alone proves nothing (``.csv``, ``.txt`` and ``.h5`` are each used by several tools), so that only files in
    HDF5 are told apart by it.
    """
    if path.is_dir():
        return "openpose" if any(path.rglob("*.json")) and not any(path.rglob("*.txt")) else "yolo"
    try:
        with path.open("rb") as file:
            head = file.read(65536)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if not head.strip():
        raise InputError(f"{path}: is empty")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"\x89HDF"):
        kind = {".slp": "sleap", ".nc": "movement"}.get(path.suffix.lower())
        return kind or ("sleap-analysis" if path.name.lower().endswith(".analysis.h5") else "deeplabcut")
    if head.startswith(b"CDF"):
        return "movement"
    text = head.decode(encoding_of(head), errors="replace").lstrip()
    if text[:1] in ("{", "["):
        return "openpose" if _ULTRALYTICS.match(text) or _PEOPLE.match(text) else "coco"
    dialect = dialect_of(text)
    first = [name.strip().strip('"') for name in dialect.cells(text.split("\n", 1)[0])]
    if first[0] == "scorer":
        return "deeplabcut"
    if "part" in (name.lower() for name in first):
        return "poses"
    if any(_PIXELS.fullmatch(name) for name in first):
        return "dltdv"
    if len(first) >= 6 and all(is_number(name, dialect) for name in first):
        return "mot"
    return "csv"
