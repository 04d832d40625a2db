"""``trackfish3d benchmark``: methods on scenes, with the paper's numbers beside ours."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ...benchmark.audit import audit_report, run_audit
from ...benchmark.crowded.cmc import cmc_folder
from ...benchmark.crowded.crowd import half_of
from ...benchmark.paper import ABLATION_ROWS
from ...benchmark.plots import (
    hardest_scene,
    plot_mota_over_fish,
    plot_mota_over_noise,
    plot_trajectories,
    trajectories_of,
)
from ...benchmark.report import score_text, write_report
from ...benchmark.stage_report import run_stages, stage_report
from ...benchmark.suites import Suite, make_suite, run_suite
from ...benchmark.zef import zef_folder
from ...core.errors import InputError
from ...recordings import Recording
from .._progress import Bars

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Run methods on scenes and write one folder: report.md, results.json, plots. Interrupted runs resume.",
)

Methods = Annotated[
    str | None,
    typer.Option("--methods", help="Comma-separated: name, name:key=value:key=value, or label=name:key=value."),
]
Out = Annotated[Path, typer.Option("--out", help="Folder of the results.")]
Scenes = Annotated[str | None, typer.Option("--scenes", help="Comma-separated names of scenes.")]
Data = Annotated[Path | None, typer.Option("--data", help="SynFish recordings made before; they are simulated else.")]
ZefData = Annotated[Path | None, typer.Option("--data", help="Folder with 3D-ZeF; otherwise TRACKFISH3D_DATA.")]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Processes.")]
Model = Annotated[
    Path | None,
    typer.Option("--model", help="Network of method paper, in place of the shipped one; others as NAME:model=FILE."),
]
Seeds = Annotated[
    int, typer.Option("--seeds", min=1, help="Schools simulated for each scene; scores are mean and spread over them.")
]

Edition = Annotated[int, typer.Option("--edition", help="SynFish 2; 1: the slower, looser schools of before.")]
Keep = Annotated[
    str | None,
    typer.Option("--keep", help="Comma-separated labels whose rows stay as the results.json there has them."),
]


@app.command()
def synfish(
    out: Out,
    methods: Methods = None,
    model: Model = None,
    scenes: Scenes = None,
    data: Data = None,
    seeds: Seeds = 1,
    workers: Workers = 2,
    keep: Keep = None,
    edition: Edition = 2,
) -> None:
    """SynFish's test scenes (4 to 16 fish), gate 1.0."""
    _run("synfish", out, methods, scenes, data, workers, seeds, model, keep=keep, edition=edition)


@app.command()
def zef(
    out: Out,
    methods: Methods = None,
    model: Model = None,
    scenes: Scenes = None,
    data: ZefData = None,
    workers: Workers = 2,
    keep: Keep = None,
) -> None:
    """Score 3D-ZeF zebrafish, sequences 02 and 04, through water, gate 0.5 cm; published tracks beside."""
    _run("zef", out, methods, scenes, zef_folder(data), workers, model=model, keep=keep)


@app.command()
def crowd(
    out: Out,
    methods: Methods = None,
    half: Annotated[
        str, typer.Option("--half", help="tune: draws to choose settings by; report: the others.")
    ] = "report",
    scenes: Scenes = None,
    workers: Workers = 2,
    keep: Keep = None,
) -> None:
    """Crowds drawn at random within stated ranges, gate 1.0, with oracles of association and of centroids beside."""
    _run("crowd", out, methods, scenes or ",".join(half_of(half)), None, workers, keep=keep)


@app.command()
def cmc(
    out: Out,
    methods: Methods = None,
    scenes: Scenes = None,
    data: Annotated[Path | None, typer.Option("--data", help="Folder with cmc; otherwise TRACKFISH3D_DATA.")] = None,
    workers: Workers = 2,
    keep: Keep = None,
) -> None:
    """People in a room, boxes of visible parts and of whole bodies, gate 0.5 m; published tracks beside."""
    _run("cmc", out, methods, scenes, cmc_folder(data), workers, keep=keep)


@app.command()
def robustness(
    out: Out,
    methods: Methods = None,
    model: Model = None,
    scenes: Scenes = None,
    data: Data = None,
    seeds: Seeds = 1,
    workers: Workers = 2,
    keep: Keep = None,
    edition: Edition = 2,
) -> None:
    """Calibration noise of 0.05, 0.1, 0.2 and detection noise of 0.05, 0.1, 0.2, 0.4."""
    _run("robustness", out, methods, scenes, data, workers, seeds, model, keep=keep, edition=edition)


@app.command()
def density(
    out: Out,
    methods: Methods = None,
    model: Model = None,
    scenes: Scenes = None,
    data: Data = None,
    seeds: Seeds = 1,
    workers: Workers = 2,
    keep: Keep = None,
    edition: Edition = 2,
) -> None:
    """Scenes of 30 and 100 fish."""
    _run("density", out, methods, scenes, data, workers, seeds, model, keep=keep, edition=edition)


@app.command()
def ablation(
    out: Out,
    methods: Methods = None,
    models: Annotated[
        Path | None,
        typer.Option("--models", help=f"Folder of networks to compare: {', '.join(ABLATION_ROWS)}.safetensors."),
    ] = None,
    scenes: Scenes = None,
    data: Data = None,
    seeds: Seeds = 1,
    workers: Workers = 2,
    edition: Edition = 2,
) -> None:
    """Networks trained without a part (--models), or methods with parts taken away: Kalman filter, gap filling, ..."""
    if methods is not None and models is not None:
        raise InputError("--methods and --models: give one of them")
    _run("ablation", out, methods, scenes, data, workers, seeds, models=models, edition=edition)


@app.command()
def weights(
    out: Out,
    model: Model = None,
    scenes: Scenes = None,
    data: Data = None,
    seeds: Seeds = 1,
    workers: Workers = 2,
    edition: Edition = 2,
) -> None:
    """Weigh distance and similarity in the linking of method paper from alpha 1 to 0, as the paper does."""
    _run("weights", out, None, scenes, data, workers, seeds, model, edition=edition)


@app.command()
def peers(
    out: Out,
    methods: Methods = None,
    model: Model = None,
    scenes: Scenes = None,
    data: Data = None,
    seeds: Seeds = 1,
    workers: Workers = 2,
    keep: Keep = None,
    edition: Edition = 2,
) -> None:
    """Other groups' trackers on the same detections: OpenPTV, 2D trackers lifted to 3D, matchSVT."""
    _run("peers", out, methods, scenes, data, workers, seeds, model, keep=keep, edition=edition)


@app.command()
def speed(
    out: Out, methods: Methods = None, model: Model = None, scenes: Scenes = None, data: Data = None, keep: Keep = None
) -> None:
    """Time a frame, one process at a time."""
    _run("speed", out, methods, scenes, data, 1, model=model, keep=keep)


@app.command()
def stages(
    out: Out,
    methods: Methods = None,
    model: Model = None,
    scenes: Scenes = None,
    data: Data = None,
    seeds: Seeds = 1,
    workers: Workers = 2,
    edition: Edition = 2,
) -> None:
    """Replace stages of methods by the truth, one at a time, and tell which pairs are wrong: for analysis only."""
    suite = make_suite("stages", split(methods), split(scenes), data, seeds, model, edition=edition)
    with Bars("starting") as bars:
        results = run_stages(suite, out, workers, bars.in_turn)
    print(stage_report(out, suite, results, _command()))
    if all("error" in r for r in results):
        raise InputError(f"nothing could be run: {results[0]['error']}")


@app.command()
def audit(out: Out, scenes: Scenes = None, data: Data = None, workers: Workers = 2, edition: Edition = 2) -> None:
    """Overlap and precision of geometric pseudo-labels of the scenes; no tracking."""
    with Bars("starting") as bars:
        rows = run_audit(out, split(scenes), data, workers, bars.in_turn, edition)
    print(audit_report(out, rows, _command()))


@app.command()
def paper(
    out: Out,
    quick: Annotated[bool, typer.Option("--quick", help="One school of each scene instead of three.")] = False,
    data: ZefData = None,
    model: Model = None,
    zef_model: Annotated[Path | None, typer.Option("--zef-model", help="Network of method paper for 3D-ZeF.")] = None,
    zef_noisy_model: Annotated[
        Path | None, typer.Option("--zef-noisy-model", help="The same, taught before disturbed cameras.")
    ] = None,
    recipe_model: Annotated[
        Path | None, typer.Option("--recipe-model", help="Network by recipe paper to the letter, for its row.")
    ] = None,
    models: Annotated[
        Path | None, typer.Option("--models", help="Folder of networks without a part, as of ablation.")
    ] = None,
    second_detector: Annotated[
        Path | None,
        typer.Option(
            "--second-detector", help="Folder of test scenes with what another detector found in their films."
        ),
    ] = None,
    workers: Workers = 2,
) -> None:
    """Every table and figure of the paper on one page, paper.html, its numbers beside ours; resumes."""
    from ...benchmark.page import PaperRun, benchmark_paper

    try:
        zef_data = zef_folder(data)
    except InputError:
        if data is not None:
            raise
        zef_data = None
    seeds = 1 if quick else 3
    run = PaperRun(
        out, workers, seeds, zef_data, models, model, zef_model, zef_noisy_model, recipe_model, second_detector
    )
    with Bars("starting") as bars:
        page = benchmark_paper(run, _command(), bars.in_turn)
    print(page)


def _run(
    name: str,
    out: Path,
    methods: str | None,
    scenes: str | None,
    source: Path | None,
    workers: int,
    seeds: int = 1,
    model: Path | None = None,
    models: Path | None = None,
    keep: str | None = None,
    edition: int = 2,
) -> None:
    suite = make_suite(name, split(methods), split(scenes), source, seeds, model, models, edition)
    console = Console(stderr=True, markup=False, emoji=False)
    with Bars("starting") as bars:
        results = run_suite(suite, out, workers, bars.in_turn, split(keep) or ())
    good = [r for r in results if "error" not in r]
    for r in results:
        if "error" in r:
            console.print(f"{r['scene']} {r['label']}: {r['error']}", highlight=False)
    write_report(out / "report.md", suite, results, _command(), draw(suite, good, out))
    for r in good:
        print(f"{r['scene']:<24} {r['label']:<26} MOTA {100 * (r['scores']['mota'] or 0):6.1f}")
    for label in dict.fromkeys(r["label"] for r in good if suite.name != "robustness"):
        print(f"{'average':<24} {label:<26} MOTA {score_text(good, label, 'mota', True):>6}")
    print(f"{out / 'report.md'}, {out / 'results.json'}")
    if not good:
        raise InputError(f"nothing could be run: {results[0]['error'] if results else 'no scenes'}")


def draw(suite: Suite, results: Sequence[dict[str, Any]], out: Path) -> list[Path]:
    """Draw what suits the suite; returns the files."""
    if not results or suite.name == "speed":
        return []
    if suite.name == "robustness":
        plot_mota_over_noise(results, out / "mota_over_noise.png")
        return [out / "mota_over_noise.png"]
    plots = []
    if len({r["scores"]["animals"] for r in results}) > 1:
        plot_mota_over_fish(results, out / "mota_over_fish.png", suite.name == "synfish")
        plots.append(out / "mota_over_fish.png")
    scene = hardest_scene(results)
    made = (out / "scenes" / scene, (suite.source or out) / scene)
    folder = next(p for p in made if (p / "recording.toml").exists())
    path = out / f"trajectories_{scene}.png"
    plot_trajectories(Recording.open(folder), trajectories_of(out, results, scene), suite.gate, path)
    plots.append(path)
    networks = {v.label: Path(v.settings["model"]) for v in suite.variants if "model" in v.settings}
    if suite.name == "ablation" and networks:
        from ...benchmark.page.figures import embeddings

        plots.append(embeddings(Recording.open(folder), networks, out / f"embeddings_{scene}.png"))
    return plots


def split(text: str | None) -> list[str] | None:
    """Comma-separated names to a list; None stays None."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _command() -> str:
    return "trackfish3d " + shlex.join(sys.argv[1:])
