"""``trackfish3d evaluate``: scores of one or several sets of tracks, side by side."""

import re
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...core.errors import InputError
from ...core.files import digest
from ...evaluation import SceneScores, evaluate
from ...evaluation.association import association_of_tracks
from ...evaluation.blind import held_out_error, track_lengths
from ...evaluation.gate import default_gate
from ...evaluation.long.blind_files import held_out_sample, lengths_in
from ...evaluation.long.score_files import Frames, evaluate_files, long_tracks, long_truth
from ...evaluation.pose_scores import PCK, PoseScores
from ...evaluation.score_timeline import draw_timeline
from ...evaluation.tables import BLIND, COMPAT, FULL, SUMMARY, ScoreTable
from ...pipeline.results import evaluate_poses
from ...pipeline.tracking import NO_TRUTH, load_truth
from ...recordings import Recording, Tracks, read_tracks
from ...recordings.poses import FILE as POSES
from ...recordings.poses import TRUTH_FILE as TRUE_POSES
from ...recordings.tracks_text import note_edits


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
        typer.Option(help="Truth: a recording's folder, CSV (frame,id,x,y,z) or Parquet; else that of each recording."),
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
    raw: Annotated[bool, typer.Option("--raw", help="Tracks as the tracker left them, without edits.")] = False,
    plots: Annotated[
        Path | None, typer.Option(help="Folder for one PNG per file: who was lost, swapped, broken when.")
    ] = None,
) -> None:
    """Score tracks against the truth, or, where there is none, by what can be seen without it."""
    names = short_names(tracks)
    own = [path for path in tracks if (path / "truth.parquet").is_file()]
    if truth is None and own and len(own) < len(tracks):
        lacking = next(path for path in tracks if path not in own)
        if not lacking.exists():
            raise InputError(f"{lacking}: no such file or folder")
        raise InputError(
            f"{lacking}: has no truth of its own, {own[0]} has one; give --truth, or leave one of them out"
        )
    if truth is None and not own:
        if gate is not None or plots is not None or compat:
            raise InputError("--gate, --plots and --compat compare with the truth; give it with --truth")
        rows = {name: _blind_scores(path, raw) for name, path in zip(names, tracks, strict=True)}
        print_table(ScoreTable(rows, BLIND), Format.json if json else format, "without truth")
        return
    rows = {}
    gates: dict[str, str] = {}
    for name, path in zip(names, tracks, strict=True):
        distance, why = _gate(path, gate, len(tracks))
        gates[name] = f"{distance:g}{f' ({why})' if why else ''}"
        picture = None if plots is None else plots / f"{re.sub(r'[^A-Za-z0-9._-]+', '_', name)}.png"
        rows[name] = _scores(path, truth or path, distance, raw, picture)
    posed = {n: p for n, p in zip(names, tracks, strict=True) if _has_poses(p, truth or p)}
    columns = FULL if full or format is Format.terminal else SUMMARY
    same = len(set(gates.values())) == 1
    said = next(iter(gates.values())) if same else ", ".join(f"{name} {text}" for name, text in gates.items())
    print_table(
        ScoreTable(rows, (*columns, COMPAT) if compat else columns),
        Format.json if json else format,
        f"truth {truth or (tracks[0] if len(tracks) == 1 else 'of each')}, gate {said}",
    )
    if not json and format is Format.terminal:
        for name, path in posed.items():
            print_poses(name, evaluate_poses(path))


def _has_poses(path: Path, truth: Path) -> bool:
    """Whether a recording has poses and their truth; other truth than its own knows no parts here."""
    return path.is_dir() and path == truth and (path / POSES).is_file() and (path / TRUE_POSES).is_file()


def print_poses(name: str, scores: PoseScores) -> None:
    """Print the scores of poses: all, then part by part.

    Parameters
    ----------
    name : of the recording.
    scores : its scores.
    """
    table = Table(title=f"poses of {escape(name)}")
    for head in ("part", "found", *(f"PCK {100 * s:g} %" for s in PCK), "1 sigma", "2 sigma"):
        table.add_column(head, justify="left" if head == "part" else "right")
    near, sure = [scores.pck(s) for s in PCK], [scores.within(s) for s in (1, 2)]
    there = np.isfinite(scores.error).mean(0)
    for k, part in enumerate(scores.parts):
        table.add_row(escape(part), *(f"{100 * values[k]:.1f}" for values in (there, *near, *sure)))
    console = Console()
    console.print(table)
    d = scores.to_dict()
    limbs = "" if np.isnan(d["pcp"]) else f"PCP {100 * d['pcp']:.1f} %, "
    console.print(
        f"{limbs}MPJPE {d['mpjpe']:.4g}, IDF1 {100 * d['idf1']:.1f} %, {scores.switches} switches", highlight=False
    )


def _gate(path: Path, told: float | None, count: int) -> tuple[float, str]:
    """Largest distance of a match, and why where it was not told."""
    if told is not None:
        if not 0 < told < np.inf:
            raise InputError(f"--gate {told:g}: give a distance above zero, in world units")
        return told, ""
    if not path.is_dir():
        what = "--gate is missing" if count == 1 else f"{path}: is a file, so --gate is missing"
        raise InputError(f"{what}: the greatest distance of a match, world units, about a third of a body")
    return default_gate(Recording.open(path))


def _scores(path: Path, truth: Path, gate: float, raw: bool, picture: Path | None) -> dict[str, float]:
    """Every score of one set of tracks, by name; with a picture of them, for which all must be in memory."""
    linked = same_detections(path, truth)
    long, known_file = long_tracks(path, raw), long_truth(truth)
    scores: SceneScores
    if picture is None and long is not None and known_file is not None:
        note_edits(long[0])
        scores, frames, association = evaluate_files(long[0], known_file, gate, linked)
        if not scores.clear.truth_points:
            raise InputError(NO_TRUTH.format(truth))
        _check_frames(path, frames, truth)
    else:
        known, found = load_truth(truth), load_tracks(path, raw)
        _check_frames(path, Frames.of(found, known), truth)
        made = evaluate(known.frame, known.identity, known.position, found.frame, found.track, found.position, gate)
        association = association_of_tracks(found, known) if linked else None
        if picture is not None:
            draw_timeline(made, picture, picture.stem)
        scores = made
    values = scores.to_dict() | ({} if association is None else association.to_dict())
    if scores.dropped_predictions:
        _note(f"{path}: {scores.dropped_predictions} points without a finite position are left out")
    return values


def load_tracks(path: Path, raw: bool = False) -> Tracks:
    """Tracks of a file or of a recording's folder, those as mended unless ``raw``."""
    if not path.is_dir():
        return read_tracks(path)
    recording = Recording.open(path)
    return recording.tracks if raw else recording.mended_tracks


def same_detections(tracks: Path, truth: Path) -> bool:
    """Whether a row of detections means the same in both, so that pairs can be scored.

    It does not where the tracks' recording has other detections than the truth's, such as those of a film. Tracks
    beside which there are no detections are taken to be of the truth's.
    """
    folders = [path if path.is_dir() else path.parent for path in (tracks, truth)]
    if folders[0].resolve() == folders[1].resolve():
        return True
    if not all((folder / name).exists() for folder in folders for name in ("recording.toml", "detections.parquet")):
        return True
    if len({digest(folder / name) for folder in folders for name in ("recording.toml", "detections.parquet")}) == 2:
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
        console = Console(emoji=False)
        # Piped output has no width of its own; the usual 80 would crush several files.
        (console if console.is_terminal else Console(width=160, emoji=False)).print(table.terminal(title))
        return
    texts = {Format.md: table.markdown, Format.csv: table.csv, Format.latex: table.latex, Format.json: table.json}
    sys.stdout.write(texts[format]())


def _blind_scores(path: Path, raw: bool) -> dict[str, float]:
    long = long_tracks(path, raw)
    if long is not None:
        file, rows = long
        scores = lengths_in(file).to_dict()
        if path.is_dir():
            held_out, stride = held_out_sample(Recording.open(path), file, rows)
            scores |= held_out.to_dict()
            _note(f"{path}: held-out errors are those of every {stride}th frame")
        return scores
    found = load_tracks(path, raw)
    scores = track_lengths(found.frame, found.track).to_dict()
    if path.is_dir() and found.cameras:
        recording = Recording.open(path)
        scores |= held_out_error(recording.rig, found, recording.detections).to_dict()
    return scores


def _check_frames(path: Path, frames: Frames, truth: Path) -> None:
    """Refuse tracks that share no frame with the truth, and tell of those that reach beyond it."""
    if frames.tracks is None or frames.truth is None:
        _note(f"{path}: holds no tracks; every animal counts as lost")
        return
    theirs, ours = (f"{first}..{last}" for first, last in (frames.tracks, frames.truth))
    if frames.outside == frames.points:
        raise InputError(
            f"{path}: frames {theirs} share none with the truth's {ours} ({truth}); number both from the same start"
        )
    if frames.outside:
        _note(
            f"{path}: {frames.outside} of {frames.points} points are in frames without truth and count as false "
            f"(tracks {theirs}, truth {ours})"
        )


def _note(message: str) -> None:
    print(f"trackfish3d: note: {message}", file=sys.stderr)
