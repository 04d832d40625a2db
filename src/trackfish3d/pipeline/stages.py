"""Work in stages that are done once: a stopped run goes on where it stopped, a changed setting redoes what follows."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..core.files import atomic_path

JOURNAL = "run.json"
Progress = Callable[[int, int], None]
"""Called with steps done and steps in all."""


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
    work: Callable[[Progress], str]

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


class Listener:
    """Hears how a run goes on; this one prints a line for each stage. Subclasses may draw bars."""

    def begin(self, stage: str) -> Progress:
        """Hear that a stage begins; returns what it calls with steps done and steps in all."""
        return lambda done, total: None

    def end(self, stage: str, text: str, before: bool) -> None:
        """Hear that a stage has ended.

        Parameters
        ----------
        stage : its name.
        text : a line about the outcome, and below it what else a user should know.
        before : whether it was done in an earlier run.
        """
        first, *notes = text.splitlines() or [""]
        self.say(f"{stage}: {first}{' (done before)' if before else ''}")
        for note in notes:
            self.say(f"  {note}")

    def say(self, line: str) -> None:
        """Hear a line that belongs to no stage."""
        print(line, flush=True)


class Silent(Listener):
    """Hears and says nothing."""

    def say(self, line: str) -> None:
        """Say nothing."""


class Runner:
    """Does stages one after the other, each once.

    Parameters
    ----------
    folder : of the recording, where the journal is.
    listener : hears how it goes on.
    again : whether finished stages are done again.
    """

    def __init__(self, folder: Path, listener: Listener, again: bool = False) -> None:
        self.journal = Journal(folder)
        self.listener, self.again = listener, again
        self.journal.write()

    def do(self, stage: Stage) -> None:
        """Do a stage, unless it is done."""
        line = None if self.again else self.journal.line(stage)
        before = line is not None
        if line is None:
            line = stage.work(self.listener.begin(stage.name))
            self.journal.finish(stage, line)
        self.listener.end(stage.name, line, before)
