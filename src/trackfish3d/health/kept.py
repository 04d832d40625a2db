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
        said = {"problems": health.problems, "notes": health.notes}
        temporary.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def kept_problems(folder: Path) -> list[str]:
    """Return the problems of the last examination, a line each; none where there was none.

    Parameters
    ----------
    folder : of the recording.
    """
    return _kept(folder, "problems")


def kept_notes(folder: Path) -> list[str]:
    """Return what the last examination could not tell, a line each; none where there was none.

    Parameters
    ----------
    folder : of the recording.
    """
    return _kept(folder, "notes")


def _kept(folder: Path, what: str) -> list[str]:
    try:
        said = json.loads((folder / CHECK).read_text(encoding="utf-8"))[what]
        return [" ".join(str(line).split()) for line in said]
    except (OSError, ValueError, KeyError, TypeError):
        return []
