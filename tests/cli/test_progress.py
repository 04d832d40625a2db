"""Bars are there at once on a terminal, and nowhere else."""

import os
import select
import subprocess
import sys
import time

import pytest

WORK = """
import time
from trackfish3d.cli._progress import Bars
with Bars("camera top") as bars:
    {wait}
    bars("camera top", 3, 7)
    bars("camera front", 2, 9)
    print("a result")
    bars.say("a note")
    time.sleep(0.3)
    bars.end("camera front")
"""


def test_nothing_but_lines_is_printed_where_there_is_no_terminal():
    done = subprocess.run([sys.executable, "-c", WORK.format(wait="")], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("a result\n", "a note\n")


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_on_a_terminal_a_bar_moves_before_the_first_step_and_counts_steps():
    import pty

    here, there = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(
        [sys.executable, "-c", WORK.format(wait="time.sleep(1.5)")],
        stdout=subprocess.PIPE,
        stderr=there,
        env=environment,
    ) as process:
        os.close(there)
        pieces: list[tuple[float, bytes]] = []
        while process.poll() is None or select.select([here], [], [], 0.1)[0]:
            if select.select([here], [], [], 0.1)[0]:
                try:
                    pieces.append((time.monotonic(), os.read(here, 1 << 16)))
                except OSError:
                    break
        out = process.stdout.read() if process.stdout else b""
        os.close(here)
    shown = b"".join(piece for _, piece in pieces)
    first = next(at for at, piece in pieces if b"camera top" in piece)
    stepped = next(at for at, piece in pieces if b"3/7" in piece)
    assert stepped - first > 1  # it was there, and was redrawn, before the first step
    assert sum(at < stepped for at, _ in pieces) > 5
    assert b"2/9" in shown
    assert b"a note" in shown
    assert out == b"a result\n"  # standard output leads elsewhere and keeps its lines
