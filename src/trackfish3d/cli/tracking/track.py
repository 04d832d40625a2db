"""``trackfish3d track``: detections to tracks, by any method."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from ...core.errors import InputError
from ...methods.base import Method, setting_names, setting_values
from ...methods.registry import DEFAULT_METHOD, method_names, summaries
from ...methods.result import Result
from ...methods.suspects import suspects_path
from ...pipeline.tracking import chosen_method, why_nothing
from ...recordings import Recording

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
    model: Annotated[
        Path | None, typer.Option("--model", help="Trained network of a method that has one; otherwise the shipped.")
    ] = None,
    learn: Annotated[
        bool, typer.Option("--learn", help="Let the network learn, without labels, on this recording first.")
    ] = False,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting of the method, key=value.")] = None,
    settings: Annotated[bool, typer.Option("--settings", help="Print the method's settings and stop.")] = False,
) -> None:
    """Track all animals of a recording in 3D."""
    given = parse_settings(set_ or [])
    chosen = chosen_method(method, given, animals, model, learn)
    if settings:
        print_settings(chosen)
        return
    source = Recording.open(recording)
    if out is not None and out.suffix.lower() not in (".csv", ".parquet", ".pq"):
        raise InputError(f"{out}: tracks are written as .csv or .parquet")
    console = Console(stderr=True, markup=False, highlight=False)
    for name in _dark(source):
        console.print(f"camera {name} has no detections")
    columns = (TextColumn("frames"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("track", total=None)
        result = chosen.track(
            source.rig,
            source.detections,
            source.fps,
            lambda done, total: bar.update(task, completed=done, total=total),
        )
    where = result.save(source if out is None else out)
    print(f"{method}: {_line(changed_settings(result))}")
    for note in result.notes:
        print(note)
    if result.suspects:
        worst = result.suspects[0]
        print(
            f"{len(result.suspects)} moments to check, the worst at frame {worst.first} "
            f"({100 * worst.probability:.0f} %): {suspects_path(where)}"
        )
    print(f"{result.summary}: {where}")
    if not len(result.tracks):
        print(f"nothing could be tracked: {why_nothing(source)}")
        raise typer.Exit(1)


def _dark(source: Recording) -> list[str]:
    """Names of cameras without detections."""
    return [n for c, n in enumerate(source.rig.names) if not (source.detections.camera == c).any()]


command.__doc__ = f"{command.__doc__}\n\n\b\nMethods:\n{_METHODS}"


def parse_settings(pairs: list[str]) -> dict[str, str]:
    """Split ``key=value`` pairs."""
    out: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InputError(f"--set {pair}: write key=value")
        out[key.strip()] = value.strip()
    return out


def print_settings(method: Method) -> None:
    """Print each setting of a method: name, default, what it is."""
    about = setting_names(type(method.settings))
    for name, value in setting_values(method.settings).items():
        print(f"{name} = {value}  {about[name]}")


def changed_settings(result: Result) -> dict[str, Any]:
    """Return settings that are not the defaults: the user's, and those estimated from the recording."""
    assert result.settings is not None
    usual = setting_values(type(result.settings)())
    return {name: value for name, value in setting_values(result.settings).items() if value != usual[name]}


def _line(settings: dict[str, Any]) -> str:
    texts = [f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in settings.items()]
    return ", ".join(texts) or "all settings are the defaults"


class _Rate(TextColumn):
    """Frames a second."""

    def __init__(self) -> None:
        super().__init__("{task.speed}")

    def render(self, task: Any) -> Text:
        """Show the rate once there is one."""
        return Text(f"{task.speed:.0f}/s" if task.speed else "")
