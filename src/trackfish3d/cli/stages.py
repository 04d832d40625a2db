"""Work in stages that are done once: a stopped run goes on where it stopped, a changed setting redoes what follows."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from .. import __version__
from ..core.files import atomic_path

JOURNAL = "run.json"
Report = Callable[[int, int], None]


@dataclass(frozen=True)
class Stage:
    """One step.

    ``inputs`` are files, whose content counts, and ``settings`` plain values: the stage is done again when either
    changes, or one of the ``outputs`` is gone. ``work`` gets a function to call with steps done and steps in all, and
    returns a line about the outcome, and below it what else a user should know.
    """

    name: str
    inputs: tuple[Path, ...]
    settings: dict[str, Any]
    outputs: tuple[Path, ...]
    work: Callable[[Report], str]

    def key(self) -> str:
        """Digest of everything the outcome depends on."""
        content = {
            "version": __version__,
            "settings": self.settings,
            "inputs": {p.name: digest(p) for p in self.inputs},
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def digest(path: Path) -> str:
    """SHA-256 of a file's content, or a word that it is not there."""
    if not path.is_file():
        return "missing"
    sums = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            sums.update(piece)
    return sums.hexdigest()


class Journal:
    """``run.json``: the key and the line of every stage that was finished."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL
        self.done: dict[str, dict[str, str]] = {}
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            self.done = {str(k): {"key": str(v["key"]), "line": str(v["line"])} for k, v in found.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            self.done = {}  # none yet, or damaged: everything is done again

    def line(self, stage: Stage) -> str | None:
        """Return what a stage said when it was finished, if that still holds."""
        entry = self.done.get(stage.name)
        if entry is None or entry["key"] != stage.key() or not all(p.exists() for p in stage.outputs):
            return None
        return entry["line"]

    def finish(self, stage: Stage, line: str) -> None:
        """Write down that a stage is finished."""
        self.done[stage.name] = {"key": stage.key(), "line": line}
        self.write()

    def write(self) -> None:
        """Write the journal; an empty one marks a folder as this run's before anything else is in it."""
        with atomic_path(self.path) as temporary:
            temporary.write_text(json.dumps(self.done, indent=1) + "\n", encoding="utf-8")


class Runner:
    """Does stages one after the other under one progress display."""

    def __init__(self, folder: Path, again: bool = False) -> None:
        self.journal = Journal(folder)
        self.again = again
        self.console = Console(stderr=True, highlight=False)
        columns = (
            TextColumn("{task.description:<9}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TimeRemainingColumn(),
        )  # fmt: skip
        self._bar = Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)

    def __enter__(self) -> "Runner":
        self.journal.write()
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def do(self, stage: Stage) -> None:
        """Do a stage, unless it is done, and print its line."""
        line = None if self.again else self.journal.line(stage)
        if line is not None:
            self._tell(stage.name, line, " (done before)")
            return
        task: TaskID = self._bar.add_task(stage.name, total=None)
        line = stage.work(lambda done, total: self._bar.update(task, completed=done, total=total))
        self._bar.remove_task(task)
        self.journal.finish(stage, line)
        self._tell(stage.name, line)

    def _tell(self, name: str, text: str, after: str = "") -> None:
        first, *notes = text.splitlines() or [""]
        for line in (f"{name}: {first}{after}", *(f"  {note}" for note in notes)):
            self.say(line)

    def say(self, line: str) -> None:
        """Print a line above the progress."""
        if self.console.is_terminal:
            self._bar.console.print(line, soft_wrap=True)
        else:
            print(line, flush=True)
