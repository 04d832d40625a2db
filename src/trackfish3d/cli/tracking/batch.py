"""``trackfish3d batch``: many recordings, here or on a cluster."""

import sys
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ... import __version__
from ...core.settings import parse_settings
from ...detection.registry import detector_names
from ...methods.registry import DEFAULT_METHOD, method_names
from ...pipeline.batch.batch import Watch, batch, ordered, refuse_early, states
from ...pipeline.batch.board import Board
from ...pipeline.batch.manifest import find_jobs
from ...pipeline.batch.snakefile import write_snakefile
from ...pipeline.batch.units import STEPS, Outcome, Work

_STYLES = {"failed": "bold red", "look": "yellow", "running": "cyan", "done": "green"}
_MOST_ROWS = 30  # of recordings that are shown while it runs


def command(
    recordings: Annotated[
        list[str] | None, typer.Argument(help="Folders of recordings, or patterns: 'recordings/*'.")
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(help="CSV, a row a recording: recording, videos, calibration, group, animals, scene, fps, ..."),
    ] = None,
    steps: Annotated[str, typer.Option(help=f"Some of {','.join(STEPS)}.")] = ",".join(STEPS),
    cluster: Annotated[
        str, typer.Option(help="none: processes here; with Dask: local, tcp://HOST:PORT, slurm, pbs.")
    ] = "none",
    workers: Annotated[int | None, typer.Option(min=1, help="Recordings at once; one a core by default.")] = None,
    shard: Annotated[str | None, typer.Option(metavar="I/N", help="One part of an array job: 1/4 to 4/4.")] = None,
    write_snakefile_: Annotated[
        Path | None, typer.Option("--write-snakefile", metavar="FILE", help="Write a Snakefile instead, and stop.")
    ] = None,
    status: Annotated[bool, typer.Option("--status", help="Show what is done, and stop.")] = False,
    out: Annotated[
        str, typer.Option(help="Folder of batch.html and batch.csv, which compare groups; none writes neither.")
    ] = ".",
    detector: Annotated[str, typer.Option(help=f"One of: {', '.join(detector_names())}.")] = "background",
    method: Annotated[
        str, typer.Option("--method", "-m", help=f"One of: {', '.join(method_names())}.")
    ] = DEFAULT_METHOD,
    model: Annotated[Path | None, typer.Option("--model", help="Trained network of a method that has one.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting of the method, key=value.")] = None,
    detect_set: Annotated[list[str] | None, typer.Option(help="A setting of the detector, key=value.")] = None,
    analyse_set: Annotated[list[str] | None, typer.Option(help="A setting of the analysis, key=value.")] = None,
    queue_set: Annotated[
        list[str] | None,
        typer.Option(help="Of slurm and pbs: walltime_min, memory_gib, cores, queue, account, ...: key=value."),
    ] = None,
    gate: Annotated[float | None, typer.Option(help="Distance of a match for scores, world units.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Do finished steps again.")] = False,
    alarms_pass: Annotated[
        bool, typer.Option("--alarms-pass", help="Exit 0 where all was done, though 'check' found something wrong.")
    ] = False,
) -> None:
    """Work through many recordings: detect, check, track, analyse, report, each step once.

    A recording that fails is named with its error and does not stop the others; exit code 1 at the end. What is done
    is not done again unless its inputs, settings or the program's version changed. Files are the only state, so that
    the same command goes on after a stop, and every way of starting makes the same files.
    """
    named = recordings or []
    wanted = ordered([s.strip() for s in steps.split(",") if s.strip()])
    tracking, detecting, analysis = (parse_settings(s or []) for s in (set_, detect_set, analyse_set))
    work = Work(wanted, method, tracking, model, detector, detecting, analysis, gate)
    if write_snakefile_ is not None:
        jobs = find_jobs(named, manifest)
        refuse_early(jobs, work)
        same = _same_arguments(manifest, work, set_, detect_set, analyse_set)
        print(f"{write_snakefile(write_snakefile_, jobs, work, same, __version__)}: run it with 'snakemake --cores N'")
        return
    if status:
        return _show(states(named, manifest, work))
    made = batch(
        named,
        manifest,
        wanted,
        cluster=cluster,
        workers=workers,
        shard=shard,
        method=method,
        settings=tracking,
        model=model,
        detector=detector,
        detector_settings=detecting,
        analysis=analysis,
        queue=parse_settings(queue_set or []),
        gate=gate,
        again=again,
        summary=None if out == "none" else out,
        watch=LiveTable if sys.stderr.isatty() else Lines,
    )
    _show(made.board)
    if made.page is not None:
        print(f"groups compared: {made.page}")
    raise typer.Exit(1 if made.failed or (made.wrong and not alarms_pass) else 0)


def _same_arguments(
    manifest: Path | None, work: Work, set_: list[str] | None, detect: list[str] | None, analyse: list[str] | None
) -> list[str]:
    """Arguments that every job of a Snakefile needs."""
    same = [] if manifest is None else ["--manifest", str(manifest.resolve())]
    same += ["--method", work.method, "--detector", work.detector]
    same += [] if work.model is None else ["--model", str(work.model.resolve())]
    same += [] if work.gate is None else ["--gate", repr(work.gate)]
    for option, values in (("--set", set_), ("--detect-set", detect), ("--analyse-set", analyse)):
        for value in values or []:
            same += [option, value]
    return same


def _table(board: Board, most: int | None = None) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("recording", *board.steps):
        table.add_column(name)
    rows = [(job, board.row(job)) for job in board.jobs]
    if most is not None and len(rows) > most:  # those at work, and those that failed, are what one looks for
        weight = {"running": 0, "failed": 1, "look": 2}
        rank = [min((weight.get(cell, 9) for cell in cells), default=9) for _, cells in rows]
        kept = sorted(sorted(range(len(rows)), key=lambda k: rank[k])[:most])
        rows = [rows[k] for k in kept]
    for job, cells in rows:
        table.add_row(Text(job.name), *(Text(cell, style=_STYLES.get(cell, "")) for cell in cells))
    return table


def _show(board: Board) -> None:
    console = Console(width=160, markup=False, emoji=False, highlight=False, soft_wrap=True)
    console.print(_table(board))
    for outcome in [*board.wrong, *board.failed]:
        word = "failed" if outcome.state == "failed" else "look"
        console.print(f"{outcome.folder} {outcome.step} {word}: {outcome.line}", style=_STYLES[word])
    for outcome in board.going:
        console.print(f"{outcome.folder} {outcome.step} running: {outcome.line}")
    for outcome in board.held:
        console.print(f"{outcome.folder} {outcome.step} cannot begin: {outcome.line}", style=_STYLES["look"])
    console.print(", ".join(f"{n} {state}" for state, n in board.counts.items()))


class Lines(Watch):
    """Prints a line on standard error for each step that ends: for logs."""

    def __enter__(self) -> "Lines":
        self.board.hear = _say
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.board.hear = None


def _say(outcome: Outcome) -> None:
    if outcome.state not in ("before", "skipped", "blocked"):
        text = f"{outcome.folder} {outcome.step} {outcome.state} in {outcome.seconds:.1f} s: {outcome.line}"
        print("".join(c if c.isprintable() else "?" for c in text), file=sys.stderr, flush=True)


class LiveTable(Watch):
    """Shows the table of states on a terminal, as it changes."""

    def __enter__(self) -> "LiveTable":
        console = Console(stderr=True, markup=False, emoji=False, highlight=False)
        self._live = Live(get_renderable=self._look, console=console, refresh_per_second=2, transient=True)
        self._live.start()
        return self

    def _look(self) -> Table:
        table = _table(self.board, _MOST_ROWS)
        table.caption = ", ".join(f"{n} {state}" for state, n in self.board.counts.items())
        return table

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
