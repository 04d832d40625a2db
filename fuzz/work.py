"""One process that reads damaged files, and one that watches it: whoever crashes or hangs is seen and replaced."""

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

HANG_S = 20.0  # of the processor, or ten times as much by the clock: the machine may have other work
MEMORY = 6 * 2**30
BAD = ("traceback", "crash", "hang", "nonsense", "unnamed")


@dataclass
class Tally:
    """What happened in the cases of one reader."""

    cases: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    bad: list[tuple[int, str, str]] = field(default_factory=list)  # case, what, detail

    def add(self, case: int, outcome: str, detail: str) -> None:
        """Count a case."""
        self.cases += 1
        self.outcomes[outcome] += 1
        if outcome in BAD:
            self.bad.append((case, outcome, detail))


def attempt(reader: "object", seed: int, case: int, valid: bytes) -> tuple[str, str]:
    """Do one case: damage the valid file, read it, put it back; return what happened."""
    from trackfish3d.core.errors import TrackFishError

    from .mutations import damaged
    from .readers import Reader, quietly

    assert isinstance(reader, Reader)
    rng = np.random.default_rng([seed, case, *reader.name.encode()])
    remake = reader.remake
    wild = remake is not None and rng.random() < 0.5
    reader.target.write_bytes(remake(rng, valid) if wild and remake else damaged(rng, valid, reader.text))
    try:
        nonsense = quietly(reader)
    except TrackFishError as error:
        message = str(error)
        named = str(reader.opened) in message or str(reader.target) in message
        if not named or "\n" in message:
            return "unnamed", message[:300]
        return "refused", ""
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return "traceback", f"{type(error).__name__}: {str(error)[:150]!r} at {Path(last.filename).name}:{last.lineno}"
    return ("nonsense", "; ".join(nonsense)[:300]) if nonsense else ("read", "")


def serve() -> None:
    """Take jobs (reader, seed, first case, last) as lines of JSON and answer a line for each case."""
    from .readers import all_readers, quietly

    _limit_memory()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer
    with tempfile.TemporaryDirectory() as folder:
        readers = all_readers(Path(folder))
        valid = {r.target: r.target.read_bytes() for r in readers.values()}
        for reader in readers.values():  # compiles what is compiled once, and every valid file must be read
            assert quietly(reader) == [], reader.name
        print(json.dumps(sorted(readers)), file=answers)
        for line in sys.stdin:
            name, seed, first, last = json.loads(line)
            reader = readers[name]
            for case in range(first, last):
                print(json.dumps(["start", case]), file=answers)
                print(json.dumps([case, *attempt(reader, seed, case, valid[reader.target])]), file=answers)
            reader.target.write_bytes(valid[reader.target])


def _limit_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


class Worker:
    """The process that reads, seen from the one that watches."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.readers: list[str] = []
        self.start()

    def start(self) -> None:
        """Start it, or start it again."""
        self.stop()
        self.buffer = b""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([sys.executable, "-m", "fuzz", "--serve"], **pipes)  # type: ignore[call-overload]
        self.readers = json.loads(self._line(300.0) or "[]")
        if not self.readers:
            raise RuntimeError("the process that reads did not start: python -m fuzz --serve")

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _line(self, seconds: float) -> bytes | None:
        """Next line; None where it hangs, b"" where the process has ended."""
        assert self.process is not None
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while b"\n" not in self.buffer:
                started, used = time.monotonic(), self._used()
                while not selector.select(1.0):
                    if self._used() - used > seconds or time.monotonic() - started > 10 * seconds:
                        return None
                piece = os.read(pipe, 1 << 16)
                if not piece:
                    return b""
                self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    def _used(self) -> float:
        """Seconds of the processor that the process and its children have used."""
        assert self.process is not None
        used = 0.0
        try:
            parent = psutil.Process(self.process.pid)
            for process in (parent, *parent.children(recursive=True)):
                used += sum(process.cpu_times()[:2])
        except psutil.Error:
            return used
        return used

    def run(self, name: str, seed: int, first: int, last: int, tally: Tally, until: float | None = None) -> int:
        """Do cases of a reader, at most until a time; return the next case."""
        assert self.process is not None
        assert self.process.stdin is not None
        batch = 100
        started = time.monotonic()
        while first < last and (until is None or time.monotonic() < until):
            stop = min(first + batch, last)
            self.process.stdin.write(json.dumps([name, seed, first, stop]).encode() + b"\n")
            self.process.stdin.flush()
            first = self._batch(first, stop, tally)
            assert self.process.stdin is not None
        tally.seconds += time.monotonic() - started
        return first

    def _batch(self, first: int, stop: int, tally: Tally) -> int:
        while first < stop:
            line = self._line(HANG_S)
            if not line:
                code = self.process.poll() if self.process is not None else None
                tally.add(first, "hang" if line is None else "crash", "" if line is None else f"exit code {code}")
                self.start()
                return first + 1
            found = json.loads(line)
            if found[0] == "start":
                continue
            tally.add(*found)
            first = found[0] + 1
        return stop


def watch(
    names: list[str], seed: int, cases: int, minutes: float | None, say: Callable[[str], None]
) -> dict[str, Tally]:
    """Run cases of some readers in turns, so that all have got as far when the time is up."""
    worker = Worker()
    known = [n for n in worker.readers if not names or n in names]
    missing = set(names) - set(worker.readers)
    if missing:
        worker.stop()
        raise SystemExit(f"unknown reader {', '.join(sorted(missing))}; there are {', '.join(worker.readers)}")
    tallies = {n: Tally() for n in known}
    end = None if minutes is None else time.monotonic() + 60 * minutes
    reached = dict.fromkeys(known, 0)
    share = 25.0 if minutes is None else max(60 * minutes / len(known) / 4, 2.0)
    while any(reached[n] < cases for n in known) and (end is None or time.monotonic() < end):
        for name in known:
            until = time.monotonic() + share
            until = until if end is None else min(until, end)
            reached[name] = worker.run(name, seed, reached[name], cases, tallies[name], until)
            t = tallies[name]
            say(f"{name}: {t.cases} cases, {t.seconds:.0f} s, {sum(t.outcomes[b] for b in BAD)} bad")
    worker.stop()
    return tallies
