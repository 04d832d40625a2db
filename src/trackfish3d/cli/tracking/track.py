"""``trackfish3d track``: detections to tracks, by any method."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from pydantic import BaseModel

from ...core.compiled import compiling
from ...core.errors import InputError
from ...core.lock import locked
from ...core.settings import parse_settings, setting_names, setting_values
from ...methods.base import Method
from ...methods.registry import DEFAULT_METHOD, method_names, summaries
from ...methods.suspects import Suspect, suspects_path
from ...pipeline.keeping import keep_edits, pins_of
from ...pipeline.track_files import track_into, written
from ...pipeline.tracking import chosen_method, why_nothing, with_poses
from ...recordings import Recording
from ...recordings.parts_file import FILE as PARTS
from ...recordings.tracks_text import TABLE
from .._progress import Bars

_METHODS = "\n".join(f"{name:<10} {summary}" for name, summary in summaries().items())


def command(
    recording: Annotated[Path, typer.Argument(help="Folder of the recording.")],
    method: Annotated[
        str, typer.Option("--method", "-m", help=f"One of: {', '.join(method_names())}.")
    ] = DEFAULT_METHOD,
    out: Annotated[
        Path | None, typer.Option("--out", help="CSV or Parquet file; otherwise into the recording.")
    ] = None,
    animals: Annotated[int | None, typer.Option(min=1, help="How many animals there are, where that is known.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Animals come and go.")] = False,
    closed: Annotated[bool, typer.Option("--closed", help="No animal can leave; who is lost is still there.")] = False,
    region: Annotated[
        str | None, typer.Option(help="Track there only: x0:x1,y0:y1,z0:z1, or a file of corners x y, from above.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="Trained network of a method that has one; otherwise the shipped.")
    ] = None,
    learn: Annotated[
        bool, typer.Option("--learn", help="Let the network learn, without labels, on this recording first.")
    ] = False,
    point: Annotated[
        str | None, typer.Option("--point", help="Of poses: the part that tracks.csv follows; otherwise the middle.")
    ] = None,
    keep_edits_: Annotated[
        bool, typer.Option("--keep-edits", help="Keep the identities that people mended (edits.jsonl).")
    ] = False,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting of the method, key=value.")] = None,
    settings: Annotated[bool, typer.Option("--settings", help="Print the method's settings and stop.")] = False,
) -> None:
    """Track all animals of a recording in 3D."""
    given = parse_settings(set_ or [])
    chosen = chosen_method(method, given, animals, model, learn, scene_of(open_, closed), region)
    if settings:
        print_settings(chosen)
        return
    source = Recording.open(recording)
    if out is not None and out.suffix.lower() not in (".csv", ".parquet", ".pq"):
        raise InputError(f"{out}: tracks are written as .csv or .parquet")
    if keep_edits_:
        chosen = chosen.pinned(pins_of(source))
    with locked(source.folder) if out is None else nullcontext(), Bars() as bars, compiling(bars.compiled):
        for name in _dark(source):
            bars.say(f"camera {name} has no detections")
        poses = bars.start("poses") if (source.folder / PARTS).exists() else None
        if out is None and not keep_edits_:
            result = None
            made = track_into(source, chosen, bars.start("frames"), point, pose_progress=poses)
        else:
            result = chosen.track(source.rig, source.detections, source.fps, bars.start("frames"))
            result = with_poses(source, result, point, poses)
            made = written(result, source if out is None else out)
    kept = keep_edits(source, result).lines if keep_edits_ and out is None and result is not None else []
    print(f"{method}: {_line(changed_settings(made.settings))}")
    for note in [*made.notes, *kept]:
        print(note)
    if made.suspects:
        print(f"{_doubts(made.suspects)}: {suspects_path(made.path)}")
    table = made.path.with_name(TABLE)
    print(f"{made.summary}: {made.path}" + (f"; with units, times and sigmas: {table}" if out is None else ""))
    if made.poses is not None:
        print(made.poses)
    if not made.points:
        print(f"nothing could be tracked: {why_nothing(source)}")
        raise typer.Exit(1)


def _doubts(found: Sequence[Suspect]) -> str:
    """Say how many moments there are to check, and the worst."""
    worst, count = found[0], len(found)
    sure = f"{100 * worst.probability:.0f} %" if worst.probability >= 0.01 else "less than 1 %"
    where = f"frame {worst.first}, wrong with {sure}"
    return f"1 moment to check, at {where}" if count == 1 else f"{count} moments to check, the worst at {where}"


def scene_of(open_: bool, closed: bool) -> Literal["open", "closed"] | None:
    """Return what two flags say of a scene; None where neither is set."""
    if open_ and closed:
        raise InputError("--open and --closed: give one of them")
    return "open" if open_ else "closed" if closed else None


def _dark(source: Recording) -> list[str]:
    """Names of cameras without detections."""
    dark = set(range(len(source.rig)))
    for piece in source.iter_detections():
        dark -= set(np.unique(piece.camera).tolist())
        if not dark:
            break
    return [source.rig.names[c] for c in sorted(dark)]


command.__doc__ = f"{command.__doc__}\n\n\b\nMethods:\n{_METHODS}"


def print_settings(method: Method) -> None:
    """Print each setting of a method: name, default, what it is."""
    about = setting_names(type(method.settings))
    for name, value in setting_values(method.settings).items():
        print(f"{name} = {value}  {about[name]}")


def changed_settings(settings: BaseModel | None) -> dict[str, Any]:
    """Return settings that are not the defaults: the user's, and those estimated from the recording."""
    assert settings is not None
    usual = setting_values(type(settings)())
    return {name: value for name, value in setting_values(settings).items() if value != usual[name]}


def _line(settings: dict[str, Any]) -> str:
    texts = [f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in settings.items()]
    return ", ".join(texts) or "all settings are the defaults"
