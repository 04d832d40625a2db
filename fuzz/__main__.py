"""Damage files of every reader and count what the readers make of it.

python -m fuzz --cases 100000 --seed 1              every reader
python -m fuzz --reader video-mp4 --cases 5000      one
python -m fuzz --minutes 20 --out docs/results/fuzz.md
python -m fuzz --state fuzz.json --minutes 0        writes what was reached so far
python -m fuzz --state fuzz.json                    goes on where an earlier run with that file stopped
"""

import argparse
import sys
from pathlib import Path

from .watch import State, watch
from .work import BAD, Tally, serve


def main() -> int:
    """Run the command; exit code 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--reader", action="append", default=[], help="only this one; repeatable")
    parser.add_argument("--cases", type=int, default=100_000, help="for each reader [100000]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="stop after so long, whatever was reached")
    parser.add_argument("--out", type=Path, help="write the table here (Markdown)")
    parser.add_argument("--state", type=Path, help="keep what was reached in this file, and go on from there")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve)
        return 0
    state = State(options.state, options.seed)
    if options.minutes == 0:  # what was reached so far
        found = dict(sorted(state.tallies.items()))
        page = table(found, options.seed)
        print(page)
        if options.out is not None:
            options.out.write_text(page, encoding="utf-8")
        return int(any(t.bad for t in found.values()))
    found = watch(options.reader, state, options.cases, options.minutes, lambda line: print(line, flush=True))
    for name, tally in found.items():
        for case, what, detail in tally.bad[:20]:
            print(f"{name} case {case}: {what} {detail}")
    page = table(found, options.seed)
    print(page)
    if options.out is not None:
        options.out.write_text(page, encoding="utf-8")
    return int(any(t.bad for t in found.values()))


def table(found: dict[str, Tally], seed: int) -> str:
    """Markdown of what happened."""
    every = sum(t.cases for t in found.values())
    least = min((t.cases for t in found.values()), default=0)
    whole = sum(t.cases >= 100_000 for t in found.values())
    wrong = {kind: sum(t.outcomes[kind] for t in found.values()) for kind in BAD}
    lines = [
        "# Damaged files",
        "",
        f"Made by `python -m fuzz --seed {seed}` (`make fuzz`). Each case takes a valid file, damages it (bytes cut,",
        "changed, inserted, doubled; numbers, words, lines, separators and encodings exchanged; sound tables, arrays",
        "and networks with a wild value) and reads it in a process that is watched. Right is a result that makes sense",
        "(`read`) or one line that names the file (`refused`). Wrong is an error of any other kind (`traceback`), the",
        "end of the process (`crash`), more than 20 s (`hang`), numbers that no camera, tank or clock has",
        "(`nonsense`), and a message that does not name the file (`unnamed`).",
        "",
        f"{every:,} cases, at least {least:,} a reader, 100,000 or more of {whole} of {len(found)} readers: "
        + ", ".join(f"{n} {kind}" for kind, n in wrong.items())
        + ".",
        "Cases are numbered, and done in runs that go on where the last one stopped (`fuzz.json` beside this page),",
        "each with the code of its day. What went wrong is done again in the next run, and counted as it is then.",
        "",
        "| reader | cases | read | refused | " + " | ".join(BAD) + " | CPU ms a case |",
        "|---|---|---|---|" + "---|" * len(BAD) + "---|",
    ]
    for name, t in found.items():
        counts = [t.outcomes[k] for k in ("read", "refused", *BAD)]
        speed = 1000 * t.seconds / max(t.cases, 1)
        lines.append(f"| {name} | {t.cases} | " + " | ".join(map(str, counts)) + f" | {speed:.1f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
