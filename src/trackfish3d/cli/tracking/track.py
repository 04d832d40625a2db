"""``trackfish3d track``: detections to tracks, by any method."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from ... import __version__
from ...core.compiled import compiling
from ...core.errors import InputError
from ...core.files import atomic_path
from ...methods.base import LEARN_EPOCHS, Method, setting_names, setting_values
from ...methods.registry import DEFAULT_METHOD, make_method, method_class, method_names, summaries
from ...methods.suspects import suspects_path, write_suspects
from ...recordings import Recording, Tracks, write_table, write_tracks_csv

_METHODS = "\n".join(f"{name:<10} {summary}" for name, summary in summaries().items())


def command(
    recording: Annotated[Path, typer.Argument(help="Folder of the recording.")],
    method: Annotated[
        str, typer.Option("--method", "-m", help=f"One of: {', '.join(method_names())}.")
    ] = DEFAULT_METHOD,
    out: Annotated[
        Path | None, typer.Option("--out", help="CSV or Parquet file; otherwise into the recording.")
    ] = None,
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
    chosen = make_method(method, with_network(method, parse_settings(set_ or []), model, learn))
    if settings:
        print_settings(chosen)
        return
    source = Recording.open(recording)
    detections = source.detections
    dark = [n for c, n in enumerate(source.rig.names) if not (detections.camera == c).any()]
    console = Console(stderr=True)
    for name in dark:
        console.print(f"camera {name} has no detections", highlight=False)
    ready = chosen.resolve(source.rig, detections) if len(detections) and len(source.rig) > 1 else chosen
    print(f"{method}: {_line(changed_settings(ready))}")
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar, compiling(_Compiling(bar)):
        task = bar.add_task("frames", total=None)
        tracks = ready.track(
            source.rig, detections, source.fps, lambda done, total: bar.update(task, completed=done, total=total)
        )
    where = write_result(source, tracks, out)
    write_settings(where.with_suffix(".settings.json"), method, ready)
    write_doubts(where, ready)
    print(f"{len(tracks.identities)} tracks, {len(tracks)} points, {100 * _observed(tracks):.1f} % observed: {where}")


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


def with_network(method: str, settings: dict[str, str], model: Path | None, learn: bool) -> dict[str, str]:
    """Add the flags about a trained network to settings, for a method that has one."""
    known = setting_names(method_class(method).Settings)
    added: dict[str, str] = {}
    if model is not None:
        added["model"] = str(model)
    if learn:
        added["learn"] = str(LEARN_EPOCHS)
    for name, value in added.items():
        if name not in known:
            raise InputError(f"--{name}: method {method} has no network that could be given or taught")
        if name in settings:
            raise InputError(f"--{name} and --set {name}={settings[name]}: give one of them (here {value})")
    return settings | added


def write_result(source: Recording, tracks: Tracks, out: Path | None) -> Path:
    """Write tracks to ``out`` by its suffix, or into the recording; returns the file."""
    if out is None:
        source.write_tracks(tracks)
        return source.folder / "tracks.csv"
    if out.suffix.lower() in (".parquet", ".pq"):
        write_table(tracks.to_table(), out)
    elif out.suffix.lower() == ".csv":
        write_tracks_csv(tracks, out)
    else:
        raise InputError(f"{out}: tracks are written as .csv or .parquet")
    return out


def write_doubts(where: Path, method: Method) -> None:
    """Write the moments at which identities may be wrong beside the tracks, for a method that knows them."""
    path = suspects_path(where)
    if not method.suspects:
        path.unlink(missing_ok=True)  # of the tracks that were there under this name before
    if method.suspects:
        write_suspects(method.suspects, path)
        worst = method.suspects[0]
        print(
            f"{len(method.suspects)} moments to check, the worst at frame {worst.first} "
            f"({100 * worst.probability:.0f} %): {path}"
        )
    if method.stopped:
        print(f"{method.stopped} searches ended before the best choice was proved (--set most_nodes=N searches longer)")


def write_settings(path: Path, name: str, method: Method) -> None:
    """Write what made the tracks: method, its settings with all lengths filled in, version."""
    content = {"method": name, "settings": method.settings.model_dump(mode="json"), "trackfish3d": __version__}
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def print_settings(method: Method) -> None:
    """Print each setting of a method: name, default, what it is."""
    about = setting_names(type(method.settings))
    for name, value in setting_values(method.settings).items():
        print(f"{name} = {value}  {about[name]}")


def changed_settings(method: Method) -> dict[str, Any]:
    """Return settings that are not the defaults: the user's, and those estimated from the recording."""
    usual = setting_values(type(method.settings)())
    return {name: value for name, value in setting_values(method.settings).items() if value != usual[name]}


def _observed(tracks: Tracks) -> float:
    return float(tracks.observed.mean()) if len(tracks) else 0.0


def _line(settings: dict[str, Any]) -> str:
    texts = [f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in settings.items()]
    return ", ".join(texts) or "all settings are the defaults"


class _Compiling:
    """Say once that kernels are being compiled, and show how many are done."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar
        self.task: TaskID | None = None

    def __call__(self, done: int) -> None:
        """Take the number of kernels that are done."""
        if self.task is None:
            self.bar.console.print("compiling, once ('trackfish3d warmup' does it beforehand)", highlight=False)
            self.task = self.bar.add_task("kernels", total=None)
        self.bar.update(self.task, completed=done)


class _Rate(TextColumn):
    """Frames a second."""

    def __init__(self) -> None:
        super().__init__("{task.speed}")

    def render(self, task: Any) -> Text:
        """Show the rate once there is one."""
        return Text(f"{task.speed:.0f}/s" if task.speed else "")
