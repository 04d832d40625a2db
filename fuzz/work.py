"""One process that reads damaged files, and one that watches it: whoever crashes or hangs is seen and replaced."""

import json
import mmap
import os
import selectors
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

HANG_S = 20.0  # of the processor, or ten times as much by the clock: the machine may have other work
MEMORY = 6 * 2**30
BAD = ("traceback", "crash", "hang", "nonsense", "unnamed")


@dataclass
class Tally:
    """What happened in the cases of one reader."""

    cases: int = 0
    seconds: float = 0.0  # of the processor
    outcomes: Counter[str] = field(default_factory=Counter)
    bad: list[tuple[int, str, str]] = field(default_factory=list)  # case, what, detail

    def add(self, outcomes: dict[str, int], bad: list[tuple[int, str, str]]) -> None:
        """Count the cases of a batch."""
        self.cases += sum(outcomes.values())
        self.outcomes.update(outcomes)
        self.bad.extend((case, what, detail) for case, what, detail in bad)


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


def serve(counter: Path) -> None:
    """Take jobs (reader, seed, cases) as lines of JSON and answer a line for each; the case at hand is in `counter`."""
    from .readers import all_readers, quietly

    _limit_memory()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer
    with counter.open("r+b") as file, tempfile.TemporaryDirectory(dir=_quick_folder()) as folder:
        at = mmap.mmap(file.fileno(), 8)
        readers = all_readers(Path(folder))
        valid = {r.target: r.target.read_bytes() for r in readers.values()}
        for reader in readers.values():  # compiles what is compiled once, and every valid file must be read
            assert quietly(reader) == [], reader.name
        print(json.dumps(sorted(readers)), file=answers)
        for line in sys.stdin:
            name, seed, cases = json.loads(line)
            reader = readers[name]
            outcomes: Counter[str] = Counter()
            bad = []
            for case in cases:
                at[:] = case.to_bytes(8, "little")
                what, detail = attempt(reader, seed, case, valid[reader.target])
                outcomes[what] += 1
                if what in BAD:
                    bad.append((case, what, detail))
            reader.target.write_bytes(valid[reader.target])
            print(json.dumps([outcomes, bad]), file=answers)


def _quick_folder() -> str | None:
    """Folder in memory, where the system has one: the disk would be most of a case."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and os.access(memory, os.W_OK) else None


def _limit_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


class Worker:
    """The process that reads, seen from the one that watches."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.readers: list[str] = []
        self.folder = tempfile.TemporaryDirectory(dir=_quick_folder())
        self.counter = Path(self.folder.name) / "case"
        self.counter.write_bytes(bytes(8))
        self.start()

    def start(self) -> None:
        """Start it, or start it again."""
        self.end_process()
        self.buffer = b""
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([sys.executable, "-m", "fuzz", "--serve", str(self.counter)], **pipes)
        self.readers = json.loads(self._line(300.0) or "[]")
        if not self.readers:
            raise RuntimeError(f"the process that reads did not start: python -m fuzz --serve {self.counter}")

    def end_process(self) -> None:
        """End the process and those that it has started, which would otherwise go on reading."""
        if self.process is None:
            return
        try:
            children = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.Error:
            children = []
        for process in (self.process, *children):
            try:
                process.kill()
            except psutil.Error:
                continue
        self.process.wait()

    def stop(self) -> None:
        """End it for good."""
        self.end_process()
        self.folder.cleanup()

    def _line(self, seconds: float) -> bytes | None:
        """Next line; None where it hangs in one case, b"" where the process has ended."""
        assert self.process is not None
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while b"\n" not in self.buffer:
                case, started, used = self.case, time.monotonic(), self.used
                while not selector.select(1.0):
                    if self.case != case:
                        case, started, used = self.case, time.monotonic(), self.used
                    elif self.used - used > seconds or time.monotonic() - started > 10 * seconds:
                        return None
                piece = os.read(pipe, 1 << 16)
                if not piece:
                    return b""
                self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    @property
    def case(self) -> int:
        """The case at hand."""
        return int.from_bytes(self.counter.read_bytes(), "little")

    @property
    def used(self) -> float:
        """Seconds of the processor that the process and its children have used."""
        assert self.process is not None
        used = 0.0
        try:
            parent = psutil.Process(self.process.pid)
            for process in (parent, *parent.children(recursive=True)):
                used += sum(process.cpu_times()[:4])  # with those of its children that have ended
        except psutil.Error:
            return used
        return used

    def run(self, name: str, seed: int, cases: list[int], tally: Tally) -> None:
        """Do some cases of a reader: whichever ends or holds up the process is counted, the others are done again."""
        while cases:
            assert self.process is not None
            assert self.process.stdin is not None
            before = self.used
            self.process.stdin.write(json.dumps([name, seed, cases]).encode() + b"\n")
            self.process.stdin.flush()
            line = self._line(HANG_S)
            if line:
                tally.seconds += max(self.used - before, 0.0)
                tally.add(*json.loads(line))
                return
            what = "hang" if line is None else "crash"
            at = self.case
            tally.add({what: 1}, [(at, what, "" if line is None else f"exit code {self.process.poll()}")])
            self.start()
            cases = [case for case in cases if case != at]
