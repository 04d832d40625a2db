"""``trackfish3d evaluate``: scores of one or several sets of tracks, side by side."""

import re
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from ...core.errors import InputError
from ...evaluation import evaluate
from ...evaluation.association import association_of_tracks
from ...evaluation.blind import held_out_error, track_lengths
from ...evaluation.gate import default_gate
from ...evaluation.score_timeline import draw_timeline
from ...evaluation.tables import BLIND, COMPAT, FULL, SUMMARY, ScoreTable
from ...pipeline.tracking import load_truth
from ...recordings import Recording, Tracks, Truth, read_tracks


class Format(str, Enum):
    """How to print."""

    terminal = "terminal"
    md = "md"
    csv = "csv"
    latex = "latex"
    json = "json"


def command(
    tracks: Annotated[
        list[Path], typer.Argument(help="Tracks: CSV (frame,id,x,y,z or tracks.csv), Parquet, or a recording's folder.")
    ],
    truth: Annotated[
        Path | None,
        typer.Option(
            help="Truth: a recording's folder, CSV (frame,id,x,y,z) or Parquet. A single recording has its own."
        ),
    ] = None,
    gate: Annotated[
        float | None,
        typer.Option(help="Greatest distance of a match, world units; a third of the estimated body length otherwise."),
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print; csv and json hold every score.")] = Format.terminal,
    json: Annotated[bool, typer.Option("--json", help="Same as --format json.")] = False,
    full: Annotated[bool, typer.Option("--full", help="All scores in md and latex too.")] = False,
    compat: Annotated[
        bool, typer.Option("--compat", help="Add MTBFm as 3D-ZeF's script has it (switches count as gaps).")
    ] = False,
    plots: Annotated[
        Path | None, typer.Option(help="Folder for one PNG per file: who was lost, swapped, broken when.")
    ] = None,
) -> None:
    """Score tracks against the truth, or, where there is none, by what can be seen without it."""
    names = short_names(tracks)
    if truth is None and len(tracks) == 1 and (tracks[0] / "truth.parquet").is_file():
        truth = tracks[0]
    if truth is None:
        if gate is not None or plots is not None or compat:
            raise InputError("--gate, --plots and --compat compare with the truth; give it with --truth")
        rows = {name: _blind_scores(path) for name, path in zip(names, tracks, strict=True)}
        print_table(ScoreTable(rows, BLIND), Format.json if json else format, "without truth")
        return
    why = ""
    if gate is None:
        if not (len(tracks) == 1 and tracks[0].is_dir()):
            raise InputError(
                "--gate is missing: the greatest distance of a match, world units, about a third of a body"
            )
        gate, why = default_gate(Recording.open(tracks[0]))
    if not 0 < gate < np.inf:
        raise InputError(f"--gate {gate:g}: give a distance above zero, in world units")
    known = load_truth(truth)
    rows = {}
    for name, path in zip(names, tracks, strict=True):
        found = load_tracks(path)
        _check_frames(path, found, truth, known)
        scores = evaluate(
            known.frame, known.identity, known.position, found.frame, found.track, found.position, gate=gate
        )
        rows[name] = scores.to_dict()
        association = association_of_tracks(found, known) if same_detections(path, truth) else None
        if association is not None:
            rows[name] |= association.to_dict()
        if scores.pairs.pred.dropped:
            _note(f"{path}: {scores.pairs.pred.dropped} points without a finite position are left out")
        if plots is not None:
            draw_timeline(scores, plots / f"{re.sub(r'[^A-Za-z0-9._-]+', '_', name)}.png", name)
    columns = FULL if full or format is Format.terminal else SUMMARY
    print_table(
        ScoreTable(rows, (*columns, COMPAT) if compat else columns),
        Format.json if json else format,
        f"truth {truth}, gate {gate:g}{f' ({why})' if why else ''}",
    )


def load_tracks(path: Path) -> Tracks:
    """Tracks of a file or of a recording's folder."""
    return Recording.open(path).tracks if path.is_dir() else read_tracks(path)


def same_detections(tracks: Path, truth: Path) -> bool:
    """Whether a row of detections means the same in both, so that pairs can be scored.

    It does not where the tracks' recording has other detections than the truth's, such as those of a film. Tracks
    beside which there are no detections are taken to be of the truth's.
    """
    folders = [path if path.is_dir() else path.parent for path in (tracks, truth)]
    if not all((folder / name).exists() for folder in folders for name in ("recording.toml", "detections.parquet")):
        return True
    one, other = (Recording.open(folder).detections for folder in folders)
    return len(one) == len(other) and all(
        np.array_equal(getattr(one, k), getattr(other, k)) for k in ("frame", "u", "v")
    )


def short_names(paths: list[Path]) -> list[str]:
    """Name files by as few trailing parts of their path as tell them apart; endings go where they are all alike.

    >>> short_names([Path("a/02/mff.csv"), Path("b/02/mff.csv"), Path("b/02/mvi.csv")])
    ['a/02/mff', 'b/02/mff', 'b/02/mvi']
    """
    parts = [path.resolve().parts for path in paths]
    if len(set(parts)) < len(parts):
        twice = next(path for k, path in enumerate(paths) if parts[k] in parts[:k])
        raise InputError(f"{twice}: is given twice")
    depth = 1
    while len({part[-depth:] for part in parts}) < len(parts):
        depth += 1
    same_ending = len({path.suffix for path in paths}) == 1
    names = ["/".join(part[-depth:]) for part in parts]
    return [name.removesuffix(path.suffix) if same_ending else name for name, path in zip(names, paths, strict=True)]


def print_table(table: ScoreTable, format: Format, title: str) -> None:
    """Print to standard output in the chosen form."""
    if format is Format.terminal:
        console = Console()
        # Piped output has no width of its own; the usual 80 would crush several files.
        (console if console.is_terminal else Console(width=160)).print(table.terminal(title))
        return
    texts = {Format.md: table.markdown, Format.csv: table.csv, Format.latex: table.latex, Format.json: table.json}
    sys.stdout.write(texts[format]())


def _blind_scores(path: Path) -> dict[str, float]:
    found = load_tracks(path)
    scores = track_lengths(found.frame, found.track).to_dict()
    if path.is_dir() and found.cameras:
        recording = Recording.open(path)
        scores |= held_out_error(recording.rig, found, recording.detections).to_dict()
    return scores


def _check_frames(path: Path, found: Tracks, truth: Path, known: Truth) -> None:
    """Refuse tracks that share no frame with the truth, and tell of those that reach beyond it."""
    if not len(found):
        _note(f"{path}: holds no tracks; every animal counts as lost")
        return
    outside = ~np.isin(found.frame, known.frame)
    theirs = f"{found.frame[0]}..{found.frame[-1]}"
    ours = f"{known.frame[0]}..{known.frame[-1]}"
    if outside.all():
        raise InputError(
            f"{path}: frames {theirs} share none with the truth's {ours} ({truth}); number both from the same start"
        )
    if outside.any():
        _note(
            f"{path}: {int(outside.sum())} of {len(found)} points are in frames without truth and count as false "
            f"(tracks {theirs}, truth {ours})"
        )


def _note(message: str) -> None:
    print(f"trackfish3d: note: {message}", file=sys.stderr)
