"""The states of a batch: who is where, and what went wrong."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from .manifest import Job
from .units import MAKE, Outcome, State, Work

SHORT: dict[State, str] = {
    "waiting": "waiting",
    "running": "running",
    "done": "done",
    "before": "done before",
    "wrong": "look",
    "skipped": "not needed",
    "failed": "failed",
    "blocked": "-",
}


class Board:
    """Who is where. Starters tell it; it may be read at any moment, and by any thread.

    Parameters
    ----------
    jobs : all recordings of the batch.
    work : what is done with them.
    """

    def __init__(self, jobs: Sequence[Job], work: Work) -> None:
        self.jobs = tuple(jobs)
        made = any(job.videos for job in jobs)
        self.steps = (MAKE, *work.steps) if made else work.steps
        self._lock = threading.Lock()
        self._states: dict[tuple[Path, str], State] = {
            (job.folder, step): "waiting" for job in jobs for step in work.steps_of(job)
        }
        self.outcomes: list[Outcome] = []
        self.hear: Callable[[Outcome], None] | None = None  # is told of every step that ends

    def begin(self, folder: Path, step: str) -> None:
        """Hear that a step has begun.

        Parameters
        ----------
        folder : of the recording.
        step : its name.
        """
        with self._lock:
            self._states[folder, step] = "running"

    def end(self, outcome: Outcome) -> None:
        """Hear how a step ended.

        Parameters
        ----------
        outcome : of the step.
        """
        with self._lock:
            self._states[outcome.folder, outcome.step] = outcome.state
            self.outcomes.append(outcome)
            if self.hear is not None:
                self.hear(outcome)

    def state(self, folder: Path, step: str) -> State | None:
        """Return the state of a step of a recording; None where it has no such step.

        Parameters
        ----------
        folder : of the recording.
        step : its name.
        """
        with self._lock:
            return self._states.get((folder, step))

    def row(self, job: Job) -> list[str]:
        """Return the states of one recording in words, a cell a step.

        Parameters
        ----------
        job : the recording.
        """
        states = [self.state(job.folder, step) for step in self.steps]
        return ["" if state is None else SHORT[state] for state in states]

    @property
    def counts(self) -> dict[str, int]:
        """How many steps are in each state, in the order of `SHORT`."""
        with self._lock:
            found = Counter(self._states.values())
        return {SHORT[state]: found[state] for state in SHORT if found[state]}

    @property
    def failed(self) -> list[Outcome]:
        """Steps that failed, in the order of the recordings."""
        return self._those("failed")

    @property
    def wrong(self) -> list[Outcome]:
        """Steps that were done and found something wrong with the data, in the order of the recordings."""
        return self._those("wrong")

    @property
    def held(self) -> list[Outcome]:
        """Steps that cannot begin, each with the reason, in the order of the recordings."""
        return [outcome for outcome in self._those("waiting") if outcome.line]

    @property
    def going(self) -> list[Outcome]:
        """Steps that others work on, each with who does, in the order of the recordings."""
        return self._those("running")

    def _those(self, state: State) -> list[Outcome]:
        place = {job.folder: k for k, job in enumerate(self.jobs)}
        return sorted((o for o in self.outcomes if o.state == state), key=lambda o: place[o.folder])
