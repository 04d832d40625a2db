"""Work in stages that are done once: a stopped run goes on where it stopped, a changed setting redoes what follows."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..core import provenance
from ..core.files import digest
from ..core.progress import Progress, silent
from ..core.resume import Journal, key_of

JOURNAL = provenance.FILE


@dataclass(frozen=True)
class Stage:
    """One step.

    ``inputs`` are files, whose content counts, and ``settings`` plain values: the stage is done again when either
    changes, or one of the ``outputs`` is gone. ``sources`` are further files to be written down. ``work`` gets a
    function to call with steps done and steps in all, and returns a line about the outcome, and below it what else a
    user should know.
    """

    name: str
    inputs: tuple[Path, ...]
    settings: dict[str, Any]
    outputs: tuple[Path, ...]
    work: Callable[[Progress], str]
    sources: tuple[Path, ...] = ()

    def key(self) -> str:
        """Digest of everything the outcome depends on."""
        content = {
            "version": __version__,
            "settings": self.settings,
            "inputs": {p.name: digest(p) for p in self.inputs},
        }
        return key_of(content)


class Listener:
    """Hears how a run goes on; this one prints a line for each stage. Subclasses may draw bars."""

    def begin(self, stage: str) -> Progress:
        """Hear that a stage begins; returns what it calls with steps done and steps in all.

        Parameters
        ----------
        stage : its name.
        """
        return silent

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
        """Hear a line that belongs to no stage.

        Parameters
        ----------
        line : the line.
        """
        print(line, flush=True)


class Silent(Listener):
    """Hears and says nothing."""

    def say(self, line: str) -> None:
        """Say nothing.

        Parameters
        ----------
        line : what is not said.
        """


class Runner:
    """Does stages one after the other, each once.

    Parameters
    ----------
    folder : of the recording, where the journal is.
    listener : hears how it goes on.
    again : whether finished stages are done again.
    """

    def __init__(self, folder: Path, listener: Listener, again: bool = False) -> None:
        self.journal = Journal(folder / JOURNAL)
        self.listener, self.again = listener, again
        self.journal.write()

    def do(self, stage: Stage) -> None:
        """Do a stage, unless it is done."""
        known = None if self.again else self.journal.facts(stage.name, stage.key(), stage.outputs)
        if known is None:
            made = provenance.entry([*stage.sources, *stage.inputs], stage.settings)  # as it was before the work
            known = {"line": stage.work(self.listener.begin(stage.name)), **made}
            self.journal.note(stage.name, stage.key(), **known)
            self.listener.end(stage.name, known["line"], before=False)
        else:
            self.listener.end(stage.name, str(known.get("line", "")), before=True)
