"""The verdict of an examination, kept beside a recording for the report and for whoever comes later."""

import json
from pathlib import Path

from ..core.files import atomic_path
from .verdict import Health

CHECK = "check.json"


def keep_verdict(folder: Path, health: Health) -> None:
    """Write ``check.json``.

    Parameters
    ----------
    folder : of the recording.
    health : what was found.
    """
    with atomic_path(folder / CHECK) as temporary:
        temporary.write_text(json.dumps({"problems": health.problems}, indent=1) + "\n", encoding="utf-8")


def kept_problems(folder: Path) -> list[str]:
    """Return the problems of the last examination, a line each; none where there was none.

    Parameters
    ----------
    folder : of the recording.
    """
    try:
        said = json.loads((folder / CHECK).read_text(encoding="utf-8"))["problems"]
        return [" ".join(str(line).split()) for line in said]
    except (OSError, ValueError, KeyError, TypeError):
        return []
