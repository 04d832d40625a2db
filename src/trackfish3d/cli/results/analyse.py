"""``trackfish3d analyse``: from tracks to behaviour."""

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console
from rich.table import Table

from ...behaviour.abnormal.paper import METHODS, WindowScores
from ...behaviour.abnormal.scores import score_default, score_published, score_published_view
from ...behaviour.analysis import Behaviour
from ...behaviour.settings import AnalysisSettings
from ...behaviour.streaming.netcdf import write_netcdf
from ...behaviour.streaming.output import TableFolder
from ...core.errors import InputError
from ...core.settings import make_settings, parse_settings, setting_lines
from ...evaluation.gate import default_gate
from ...pipeline.results import analyse
from ...recordings import Recording, read_tracks
from ...report import write_report
from .._progress import Bars

_SHOWN = 40


class Format(str, Enum):
    """Files of the tables."""

    parquet = "parquet"
    csv = "csv"


def command(
    recording: Annotated[Path, typer.Argument(help="Folder of the recording.")],
    tracks: Annotated[Path | None, typer.Option(help="Tracks to analyse instead of the recording's own.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the tables [default: behaviour in the recording].")
    ] = None,
    format: Annotated[Format, typer.Option(help="Files of the tables.")] = Format.parquet,
    netcdf: Annotated[bool, typer.Option("--netcdf", help="Also behaviour.nc, which 'movement' opens.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Tracks as the tracker left them, without edits.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Also write the report, with the figures in it.")] = False,
    window: Annotated[float | None, typer.Option(help="Seconds that are judged together [default: 10].")] = None,
    false_alarms: Annotated[
        float | None, typer.Option(help="Share of healthy animals that may be flagged [default: 0.01].")
    ] = None,
    observed_only: Annotated[bool, typer.Option("--observed-only", help="Leave interpolated points out.")] = False,
    up: Annotated[
        str | None, typer.Option(help="World axis that points up, as in -z [default: by the cameras].")
    ] = None,
    fps: Annotated[float | None, typer.Option(help="Frames a second, where the recording does not know it.")] = None,
    stimulus: Annotated[
        int | None, typer.Option(help="Frame of a stimulus: fast starts get their latency after it.")
    ] = None,
    abnormal: Annotated[
        str | None, typer.Option(help="True identities known to be abnormal, with commas: scores the detection.")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting, key=value or anomaly.key=value.")] = None,
    settings: Annotated[bool, typer.Option("--settings", help="Print the settings and stop.")] = False,
) -> None:
    """Measure swimming and schooling, find abnormal animals, write tables and figures."""
    given = parse_settings(set_ or [])
    named = {"anomaly.window_s": window, "anomaly.false_alarm_rate": false_alarms, "stimulus": stimulus}
    given |= {k: str(v) for k, v in named.items() if v is not None}
    given |= {"observed_only": "true"} if observed_only else {}
    chosen = make_settings(AnalysisSettings, given, "analyse")
    if settings:
        print("\n".join(setting_lines(chosen)))
        return
    source = Recording.open(recording)
    if abnormal is not None and source.truth is None:
        raise InputError(f"--abnormal {abnormal}: {recording} has no truth to compare with")
    if report and out is not None:
        raise InputError("--report shows the recording's own folder 'behaviour': leave --out away")
    with Bars() as bars:
        bar = bars.start("frames")
        found = analyse(source, tracks, out, settings=given, up=up, fps=fps, format=format.value, raw=raw, progress=bar)
    tables = found.tables
    if netcdf:
        write_netcdf(_points(tables), found.behaviour.plan, tables.folder / "behaviour.nc", source.folder.name)
    _print(found.behaviour, found.guessed)
    print(f"{', '.join(f'{name} {rows}' for name, rows in tables.rows.items())} rows: {tables.folder}")
    if abnormal is not None:
        _score(source, tracks, abnormal, tables, raw)
    if report:
        print(write_report(source, tracks=tracks, raw=raw))


def _points(tables: TableFolder) -> pa.Table:
    path = tables.path("points")
    if tables.format == "parquet":
        return pq.read_table(path)
    import pyarrow.csv as pacsv

    return pacsv.read_csv(path)


def _print(found: Behaviour, guessed: bool) -> None:
    unit, survey = found.plan.units, found.survey
    surface = "the highest points of the tracks" if guessed else "the surface"
    print(
        f"{len(survey.track)} tracks, {survey.frames} frames; a position is known to "
        f"{survey.sigma_position:.2g} {unit} (median sigma along an axis); depth is below {surface}"
    )
    if survey.told < 0.5:
        print(
            "these tracks come without covariances: sigmas are guessed from how points scatter about a smooth curve, "
            "and too small where the tracks were smoothed before"
        )
    table = Table(box=None, pad_edge=False)
    columns = {
        "track": "track",
        "points": "points",
        f"speed {unit}/s": f"speed_mean_{unit}_per_s",
        f"depth {unit}": f"depth_mean_{unit}",
        f"neighbour {unit}": f"nearest_neighbour_median_{unit}",
        "bursts/min": "bursts_per_min",
        "leads by s": "leads_by_s",
        "P(abnormal)": "abnormal_probability",
    }
    for name in columns:
        table.add_column(name, justify="right")
    table.add_column("")
    rows = found.fish.sort_by([("points", "descending")]).to_pylist()
    for row in rows[:_SHOWN]:
        shown = row | ({} if row["abnormal"] else {"abnormal_probability": float("nan")})
        cells = [_number(shown[c]) for c in columns.values()]
        word = f"abnormal: {row['evidence']}" if row["abnormal"] else ""
        table.add_row(*cells, word)
    console = Console(markup=False, emoji=False)
    (console if console.is_terminal else Console(width=160, markup=False, emoji=False)).print(table)
    if len(rows) > _SHOWN:
        print(f"... and {len(rows) - _SHOWN} more in the table 'fish'")
    if not np.isfinite(found.whole.p).any():
        print("too few animals together to judge who is abnormal (four are needed)")
    elif not found.whole.abnormal.any():
        print(f"nobody is flagged as abnormal ({100 * found.plan.settings.anomaly.false_alarm_rate:g} % false alarms)")
    _print_starts(found)


def _print_starts(found: Behaviour) -> None:
    """Print how many fast starts there are, and how soon after the stimulus, if there was one."""
    starts = found.starts
    line = f"{starts.num_rows} fast starts (peaks above {found.plan.fast * found.plan.fps:.3g} {found.plan.units}/s)"
    latency = starts["latency_s"].to_numpy()
    tracks = starts["track"].to_numpy()[np.isfinite(latency)]
    first = [float(np.nanmin(latency[starts["track"].to_numpy() == t])) for t in np.unique(tracks)]
    if found.plan.settings.stimulus is not None:
        line += f"; after the stimulus {len(first)} animals started"
        line += f", the middle one after {np.median(first):.3g} s" if first else ""
    print(line)


def _number(value: Any) -> str:
    if isinstance(value, float):
        return "–" if not np.isfinite(value) else f"{value:.3g}"
    return str(value)


def _score(source: Recording, tracks: Path | None, abnormal: str, tables: TableFolder, raw: bool) -> None:
    """Print how well the abnormal animals were found: published in 3D and in each view, and the default."""
    truth = source.truth
    assert truth is not None
    try:
        known = [int(i) for i in abnormal.split(",") if i.strip()]
    except ValueError:
        raise InputError(f"--abnormal {abnormal}: give identities of the truth, with commas") from None
    missing = sorted(set(known) - set(truth.identity.tolist()))
    if missing:
        raise InputError(f"--abnormal {abnormal}: the truth has no identity {missing[0]}")
    own = source.tracks if raw else source.mended_tracks
    found = own if tracks is None else read_tracks(tracks)
    gate = default_gate(source).distance
    rows: list[tuple[str, str, WindowScores]] = []
    results = {"3D": score_published(found, truth, known, gate)}
    if (source.folder / "detections.parquet").is_file():
        for k, name in enumerate(source.rig.names):
            results[f"2D {name}"] = score_published_view(source.detections, k, source.rig, truth, known)
    for label, scores in results.items():
        rows += [(label, method, scores[method]) for method in METHODS]
    path = tables.path("windows")
    if not path.is_file():
        print("no window could be judged", file=sys.stderr)
    else:
        import pyarrow.csv as pacsv

        windows = pq.read_table(path) if tables.format == "parquet" else pacsv.read_csv(path)
        scores_, alarms = score_default(windows, found, truth, known, gate)
        rows.append(("3D", "default", scores_))
        print(f"default: false alarms in {100 * alarms:.2f} % of the windows of healthy animals")
    for label, method, s in rows:
        numbers = f"exact {100 * s.exact:5.1f}  precision {100 * s.precision:5.1f}  recall {100 * s.recall:5.1f}"
        print(f"{label:<12} {method:<10} {numbers}  F1 {100 * s.f1:5.1f} %")
