"""Where a result comes from: the settings beside it and the versions of what made the page."""

import importlib.metadata
import json
import platform
from pathlib import Path
from typing import Any

from .. import __version__
from ..cameras.native import read_toml
from ..core.errors import InputError
from .packing import rounded

_PACKAGES = ("numpy", "scipy", "numba", "pyarrow", "torch", "av", "opencv-python-headless")
_MOST = 400  # values shown of one file


def settings_of(folder: Path) -> list[dict[str, Any]]:
    """Read the settings beside a result: every ``*.toml`` but the cameras', and ``*settings*.json``.

    Each is ``{"file": name, "values": [[dotted name, value], ...]}``. A file that cannot be read is not shown: the
    commands that need it say what is wrong with it.
    """
    found = []
    for path in sorted([*folder.glob("*.toml"), *folder.glob("*settings*.json")]):
        if path.name == "cameras.toml":
            continue
        try:
            content = read_toml(path) if path.suffix == ".toml" else json.loads(path.read_text(encoding="utf-8"))
        except (InputError, ValueError, OSError):
            continue
        values = list(_flat("", content))
        if values:
            found.append({"file": path.name, "values": values[:_MOST]})
    return found


def versions() -> list[list[str]]:
    """Name and version of the package, Python, and the packages it stands on that are installed."""
    found = [["trackfish3d", __version__], ["python", platform.python_version()]]
    for name in _PACKAGES:
        try:
            found.append([name, importlib.metadata.version(name)])
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _flat(name: str, value: Any) -> list[list[str]]:
    if isinstance(value, dict):
        return [row for k, v in value.items() for row in _flat(f"{name}.{k}" if name else str(k), v)]
    text = json.dumps(rounded(value), default=str) if not isinstance(value, str) else value
    return [[name or "value", text if len(text) <= 200 else text[:199] + "…"]]
