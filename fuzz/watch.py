"""Long fuzzing: readers in turns, what was reached kept in a file, so that a later run goes on from there."""

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from .work import BAD, Tally, Worker

TURN_S = 30.0  # by the clock, for each reader before the next has its turn
BATCH_S = 2.0


class State:
    """Tallies of every reader and the next case of each, in a file of JSON, or in memory only."""

    def __init__(self, path: Path | None, seed: int) -> None:
        self.path, self.seed = path, seed
        self.tallies: dict[str, Tally] = {}
        if path is not None and path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["seed"] != seed:
                raise SystemExit(f"{path}: is of seed {kept['seed']}, not {seed}")
            for name, (cases, seconds, outcomes, bad) in kept["readers"].items():
                self.tallies[name] = Tally(cases, seconds, Counter(outcomes), [(c, w, d) for c, w, d in bad])

    def of(self, name: str) -> Tally:
        """Tally of a reader; its cases are done in order, so their number is the next one."""
        return self.tallies.setdefault(name, Tally())

    def save(self) -> None:
        """Write the file."""
        if self.path is None:
            return
        readers = {n: (t.cases, round(t.seconds, 3), t.outcomes, t.bad) for n, t in sorted(self.tallies.items())}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps({"seed": self.seed, "readers": readers}, indent=1), encoding="utf-8")
        beside.replace(self.path)


def again(worker: Worker, state: State, names: list[str]) -> None:
    """Do the cases once more that went wrong in an earlier run: what was mended since counts as it is now."""
    for name in names:
        old = state.of(name)
        if old.bad:
            new = Tally()
            worker.run(name, state.seed, [case for case, _, _ in old.bad], new)
            old.outcomes.subtract(Counter(what for _, what, _ in old.bad))
            old.outcomes.update(new.outcomes)
            old.bad = new.bad
            state.save()


def watch(
    names: list[str], state: State, cases: int, minutes: float | None, say: Callable[[str], None]
) -> dict[str, Tally]:
    """Run cases of some readers in turns, so that all have got about as far when the time is up."""
    worker = Worker()
    known = [n for n in worker.readers if not names or n in names]
    missing = set(names) - set(worker.readers)
    if missing:
        worker.stop()
        raise SystemExit(f"unknown reader {', '.join(sorted(missing))}; there are {', '.join(worker.readers)}")
    end = None if minutes is None else time.monotonic() + 60 * minutes
    turn = TURN_S if minutes is None else min(TURN_S, max(60 * minutes / len(known) / 4, 0.5))
    try:
        again(worker, state, known)
        while left := [n for n in known if state.of(n).cases < cases]:
            for name in sorted(left, key=lambda n: state.of(n).cases):
                if end is not None and time.monotonic() > end:
                    return {n: state.of(n) for n in known}
                _turn(worker, name, state, cases, turn)
                t = state.of(name)
                say(f"{name}: {t.cases} cases, {t.seconds:.0f} s, {sum(t.outcomes[b] for b in BAD)} bad")
                state.save()
    finally:
        worker.stop()
    return {n: state.of(n) for n in known}


def _turn(worker: Worker, name: str, state: State, cases: int, seconds: float) -> None:
    tally, until, batch = state.of(name), time.monotonic() + seconds, 50
    while tally.cases < cases and time.monotonic() < until:
        started = time.monotonic()
        first = tally.cases
        worker.run(name, state.seed, list(range(first, min(first + batch, cases))), tally)
        each = (time.monotonic() - started) / max(tally.cases - first, 1)
        batch = max(10, min(int(min(BATCH_S, seconds) / max(each, 1e-6)), 5000))
