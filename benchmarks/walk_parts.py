"""What the walks share: commands as a user types them, what they say, and a page of both."""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MOST_LINES = 45
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Walk:
    """A chapter: lines between commands, and what each command said, in one folder.

    Parameters
    ----------
    folder : where the commands are typed.
    environment : of the commands; that of this process by default.
    before : put before the program, to be somebody else.
    python : runs the program.
    """

    def __init__(
        self,
        folder: Path,
        environment: dict[str, str] | None = None,
        before: tuple[str, ...] = (),
        python: str = sys.executable,
    ) -> None:
        self.folder, self.environment, self.before, self.python = folder, environment, before, python
        self.text: list[str] = []
        self.tracebacks = 0

    def say(self, text: str) -> None:
        """Write a paragraph."""
        self.text += [text, ""]

    def do(self, line: str, expect: tuple[int, ...] = (0, 1, 2), shown: str | None = None) -> str:
        """Type ``trackfish3d`` and a line; returns what it said."""
        command = [*self.before, self.python, "-m", "trackfish3d", *shlex.split(line)]
        started = time.monotonic()
        made = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=3600,
        )
        said = _ESCAPES.sub("", made.stdout.decode("utf-8", errors="backslashreplace"))
        said = said.replace(f"{self.folder}/", "").replace(str(self.folder), ".")
        wrong = "Traceback (most recent call last)" in said or made.returncode not in expect
        self.tracebacks += wrong
        lines = said.rstrip().splitlines()
        if len(lines) > MOST_LINES:
            lines = [*lines[: MOST_LINES - 10], f"... ({len(lines) - MOST_LINES + 9} lines)", *lines[-9:]]
        self.text += ["```text", f"$ trackfish3d {shown or line}", *lines, f"[exit {made.returncode}]", "```", ""]
        print(f"  {line[:100]}: exit {made.returncode}, {time.monotonic() - started:.0f} s", flush=True)
        return said


def page(out: Path, head: str, chapters: dict[str, Callable[[], Walk]], state: Path, only: list[str]) -> int:
    """Do the chapters that are not in the state file, or those asked for; write the page and count what went wrong."""
    known: dict[str, Any] = json.loads(state.read_text()) if state.exists() else {}
    for title, work in chapters.items():
        if title in known and not any(o in title for o in only):
            continue
        if only and not any(o in title for o in only):
            continue
        print(title, flush=True)
        walk = work()
        known[title] = {"text": walk.text, "tracebacks": walk.tracebacks}
        state.parent.mkdir(parents=True, exist_ok=True)
        state.write_text(json.dumps(known, indent=1))
    done = [title for title in chapters if title in known]
    wrong = sum(known[t]["tracebacks"] for t in done)
    lines = [head.strip(), "", f"Commands that ended in a traceback or in any other code than 0, 1 or 2: {wrong}.", ""]
    for title in done:
        lines += [f"## {title}", "", *known[title]["text"]]
    out.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return wrong


def data_folder() -> Path:
    """The real recordings."""
    data = os.environ.get("TRACKFISH3D_DATA")
    if not data:
        raise SystemExit("set TRACKFISH3D_DATA to the folder of the real recordings")
    return Path(data)
