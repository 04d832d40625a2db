"""Run everything that the page shows, each part resumable, and write the page."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...behaviour.abnormal.paper import METHODS
from ...behaviour.abnormal.scores import score_published, score_published_view
from ...core.errors import InputError
from ...core.progress import TaskProgress
from ...methods.baselines.learned.weights import shipped_weights
from ...methods.paper.checkpoint import shipped_model
from ...recordings import Recording, read_tracks
from ...synfish.scenes import benchmark_scenes
from ..audit import run_audit
from ..jobs import in_parallel
from ..paper import SYNFISH_TEST, paper_results
from ..plots import plot_mota_over_fish
from ..rivals.teaching import rival_names, scene_crops
from ..scenes import prepare
from ..suites import GATE_SYNFISH, Suite, make_suite, prepare_scenes, run_suite
from . import figures
from . import network_sections as network
from . import paper_tables as tables
from .document import Section, beside, write_page

GEOMETRIC = ("hungarian=hungarian:contain=true", "greedy=greedy:contain=true", "sort3d=sort3d:contain=true")
COLUMNS_DRAWN = {
    "paper": "TrackFish3D",
    tables.RECIPE: "TrackFish3D, recipe",
    "hungarian": "Hungarian",
    "greedy": "Greedy",
    "sort3d": "3D-SORT",
    "selfmva": "Self-MVA",
    "asnet": "ASNet",
    "rest": "ReST",
    "sambamotr": "SambaMOTR",
    "motip": "MOTIP",
    "mctr": "MCTR",
    "joint": "joint",
}


@dataclass(frozen=True)
class PaperRun:
    """What to run: ``seeds`` schools of a scene; ``zef`` the folder of 3D-ZeF; ``models`` networks of the ablations;
    ``model`` the network of method paper, ``zef_model`` that for two cameras, ``zef_noisy_model`` the same taught
    before disturbed cameras, ``recipe_model`` one by recipe paper to the letter, for a row of its own;
    ``second_detector`` the test scenes as recordings whose detections another detector found in their films.
    """

    out: Path
    workers: int = 2
    seeds: int = 3
    zef: Path | None = None
    models: Path | None = None
    model: Path | None = None
    zef_model: Path | None = None
    zef_noisy_model: Path | None = None
    recipe_model: Path | None = None
    second_detector: Path | None = None


def benchmark_paper(run: PaperRun, command: str, done: TaskProgress) -> Path:
    """Run all parts and write ``paper.html``; returns it.

    Parameters
    ----------
    run : what to run, and where to.
    command : that made it, for the page.
    done : called with what is being done, steps done and steps in all.
    """
    run.out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    synfish, folders = _synfish(run, done)
    good = [r for r in synfish if "error" not in r]
    average = tables.average(Section("SynFish test scenes, average"), good)
    for failed in (r for r in synfish if "error" in r):
        average.say(f"{failed['scene']}, {failed['label']}: {failed['error']}")
    plot_mota_over_fish(good, run.out / "mota_over_fish.png", True)
    over_fish = Section("MOTA over the number of fish").picture(run.out / "mota_over_fish.png", run.out)
    first = {s: folders[s] for s in SYNFISH_TEST}
    drawn = figures.trajectories(first, good, run.out / "synfish", _drawn(good), run.out / "trajectories.png")
    paths = Section("Trajectories of all scenes, from above").picture(drawn, run.out)
    second = _second(run, done)
    zef, zef_results = _zef(run, done)
    pigeons = tables.pigeons(Section("Pigeons"))
    ablation = _ablation(run, done)
    embedded = _embeddings(run, folders["test4"])
    audit, statistics = _audit(run, done)
    scenes = tables.per_scene(Section("SynFish test scenes, one by one"), good)
    weights = tables.weights(Section("Weights of linking"), _suite(run, "weights", None, done))
    noisy = _suite(run, "robustness", (_with("paper", run.model), "joint"), done, seeds=1)
    calibration = tables.noise(Section("Calibration noise"), noisy, "calibration")
    detection = tables.noise(Section("Detection noise"), noisy, "detection")
    anomaly = _anomaly(run)
    dense = tables.density(
        Section("Thirty fish"),
        _suite(run, "density", (*GEOMETRIC[:1], _with("paper", run.model), "joint"), done, ("thirty",)),
    )
    sections = [
        network.families(),
        average,
        second,
        over_fish,
        paths,
        zef,
        pigeons,
        ablation,
        embedded,
        network.budget(),
        network.hyperparameters(),
        statistics,
        scenes,
        weights,
        calibration,
        detection,
        network.runtime(run.model or shipped_model(), good),
        anomaly,
        network.sort3d(good, zef_results),
        dense,
        network.attention(),
        audit,
        network.training_noise(zef_results),
    ]
    words = (
        f"Made by `{command}` with trackfish3d {__version__}, {run.seeds} school(s) of each scene, in "
        f"{(time.perf_counter() - started) / 60:.0f} minutes. The paper's numbers are in brackets. SynFish here is a "
        "simulator of the paper's rigs and numbers of fish, second edition: the paper's own films cannot be had, so "
        "that rows are comparable in order, not to the digit.",
        "Networks: method paper with the shipped one (recipe fast on unlabelled schools, docs/model-card.md) unless "
        "another was given; rivals as their model cards say (docs/model-card-rivals.md).",
    )
    path = run.out / "paper.html"
    write_page(path, "The paper's tables and figures, and ours", words, sections)
    return path


def _with(label: str, model: Path | None) -> str:
    """Name method paper with a network and a label; no other gets it, as `joint` has networks of another kind."""
    return label if model is None else f"{label}=paper:model={model}"


def _drawn(results: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Label and heading of the methods that were run, in the order of their columns."""
    return {label: name for label, name in COLUMNS_DRAWN.items() if tables.has(results, label)}


def _suite(
    run: PaperRun,
    name: str,
    methods: Sequence[str] | None,
    done: TaskProgress,
    scenes: Sequence[str] | None = None,
    seeds: int | None = None,
) -> list[dict[str, Any]]:
    """Results of a suite, without those that failed."""
    suite = make_suite(name, methods, scenes, None, seeds or run.seeds, None if methods else run.model)
    return [r for r in run_suite(suite, run.out / name, run.workers, done) if "error" not in r]


def _synfish(run: PaperRun, done: TaskProgress) -> tuple[list[dict[str, Any]], dict[str, Path]]:
    """All pipelines on the test scenes, with crops for those that look; folder of each scene."""
    rivals = [n for n in rival_names() if shipped_weights(n).is_file()]
    rivals += [f"{n}-boxes={n}:contain=true" for n in ("selfmva", "asnet") if n in rivals]
    rivals += [_with(tables.RECIPE, run.recipe_model)] if run.recipe_model else []
    methods = (*GEOMETRIC, *rivals, _with("paper", run.model), "joint", "oracle")
    suite = make_suite("synfish", methods, None, None, run.seeds)
    out = run.out / "synfish"
    folders = prepare_scenes(suite, out, run.workers, done)
    count = 0

    def heard(path: Path) -> None:
        nonlocal count
        count += 1
        done(f"crops {path.parent.name}", count, len(suite.scenes))

    known = {s.name: s for s in benchmark_scenes()}
    work = [(scene_crops, (known[s.base], folders[s.name], s.seed)) for s in suite.scenes]
    in_parallel(work, run.workers, heard)
    return run_suite(suite, out, run.workers, done), folders


def _second(run: PaperRun, done: TaskProgress) -> Section:
    """Run what the paper ran on its second detector, on the scenes that were given for it."""
    section, results = Section("SynFish test scenes with a second detector"), list[dict[str, Any]]()
    if run.second_detector is not None:
        methods = (*GEOMETRIC, _with("paper", run.model), "joint")
        suite = make_suite("synfish", methods, given_scenes(run.second_detector), run.second_detector, 1)
        every = run_suite(suite, run.out / "second", run.workers, done)
        results = [r for r in every if "error" not in r]
        for failed in (r for r in every if "error" in r):
            section.say(f"{failed['scene']}, {failed['label']}: {failed['error']}")
    return tables.second_detector(section, results)


def given_scenes(folder: Path) -> list[str]:
    """Test scenes that a folder holds as recordings."""
    found = [s for s in SYNFISH_TEST if (folder / s / "recording.toml").is_file()]
    if not found:
        raise InputError(f"{folder}: holds no recording of a test scene; they are called {', '.join(SYNFISH_TEST)}")
    return found


def _zef(run: PaperRun, done: TaskProgress) -> tuple[Section, list[dict[str, Any]]]:
    section = Section("3D-ZeF")
    if run.zef is None:
        return section.say("Not run: give --data FOLDER with 3D-ZeF, or set TRACKFISH3D_DATA."), []
    methods = ["hungarian", "greedy", "sort3d", *([_with("paper", run.zef_model)] if run.zef_model else []), "joint"]
    if run.zef_noisy_model:
        methods.append(_with(network.NOISY, run.zef_noisy_model))
    suite: Suite = make_suite("zef", methods, None, run.zef)
    every = run_suite(suite, run.out / "zef", run.workers, done)
    results = [r for r in every if "error" not in r]
    section = tables.zef(section, [r for r in results if r["label"] != network.NOISY])
    for failed in (r for r in every if "error" in r):
        section.say(f"{failed['scene']}, {failed['label']}: {failed['error']}")
    section.say(
        "The YOLOX detections of heads that come with 3D-ZeF, rays refracted at the water, a gate of 0.5 cm; the paper "
        "has its own detections, a pinhole model and part of the frames. published-* are tracks of other groups."
    )
    if run.zef_model is None:
        section.say("No row of method paper: the shipped network is for three cameras; give one with --zef-model.")
    folders = prepare_scenes(suite, run.out / "zef", run.workers, done)
    picture = figures.trajectories(folders, results, run.out / "zef", _drawn(results), run.out / "trajectories_zef.png")
    return section.picture(picture, run.out), results


def _ablation(run: PaperRun, done: TaskProgress) -> Section:
    section = Section("Ablations: losses, visual features, attention")
    results: list[dict[str, Any]] = []
    if run.models is not None:
        suite = make_suite("ablation", None, None, None, run.seeds, models=run.models)
        results = [r for r in run_suite(suite, run.out / "ablation", run.workers, done) if "error" not in r]
    tables.ablation(section, results)
    if run.models is None:
        section.say("Quoted: give networks trained without a part with --models (benchmarks/train_ablations.py).")
    return section.say(
        "The paper's full row is not that of its test set (97.7 against 95.8), so that its scenes here are not known."
    )


def _embeddings(run: PaperRun, folder: Path) -> Section:
    section = Section("Embeddings of test4, one frame and five")
    models = {"shipped": run.model or shipped_model()}
    if run.recipe_model is not None:
        models["recipe paper"] = run.recipe_model
    if run.models is not None:
        wanted = ("full", "without_contrastive", "without_temporal")
        models |= {n.replace("_", " "): p for n in wanted if (p := run.models / f"{n}.safetensors").is_file()}
    picture = figures.embeddings(Recording.open(folder), models, run.out / "embeddings.png")
    section.picture(picture, run.out)
    return section.say("Principal plane of the embeddings; a colour a fish, a mark a camera.")


def _audit(run: PaperRun, done: TaskProgress) -> tuple[Section, Section]:
    rows = run_audit(run.out / "audit", None, None, run.workers, done)
    known = {s.name: s for s in benchmark_scenes()}
    audit, statistics = Section("Audit of pseudo-labels"), Section("Statistics of the scenes")
    statistics.table(
        ("", "fish", "frames", "cameras", "resolution", "OccScore", "level in the paper", "overlap %"),
        [
            [
                r["scene"],
                str(r["fish"]),
                str(known[r["scene"]].frames),
                "3",
                "1920x1080",
                f"{r['occ_score']:.3f}",
                f"({known[r['scene']].occlusion or '-'})",
                beside(f"{r['overlap']:.1f}", r["paper_overlap"]),
            ]
            for r in rows
        ],
    )
    published = paper_results()["pseudo_label_audit"]
    shown = []
    for fish in (4, 16, 30):
        mine = [r for r in rows if r["fish"] == fish and not r["scene"].startswith("train")]
        cells = []
        for key, name in (("audit_precision", "precision"), ("audit_recall", "recall")):
            cells.append(beside(f"{np.mean([r[key] for r in mine]):.1f}", published[str(fish)][name]))
        shown.append([str(fish), *cells, ", ".join(r["scene"] for r in mine)])
    return audit.table(("fish", "precision %", "recall %", "mean of"), shown), statistics


def _anomaly(run: PaperRun) -> Section:
    section = Section("Abnormal behaviour")
    scene = benchmark_scenes(["sick"])[0]
    suite = make_suite("synfish", ("joint",), ("sick",), None, 1)
    silent: TaskProgress = lambda name, done, total: None  # noqa: E731
    result = run_suite(suite, run.out / "anomaly", 1, silent)[0]
    if "error" in result:
        raise InputError(f"scene sick: {result['error']}")
    recording = Recording.open(prepare(suite.scenes[0], run.out / "anomaly" / "scenes", None))
    tracks = read_tracks(run.out / "anomaly" / "tracks" / f"{result['stem']}.parquet")
    truth = recording.truth
    assert truth is not None
    sick = scene.fish - 1
    table = {"3D": score_published(tracks, truth, [sick], GATE_SYNFISH)}
    for k in range(len(recording.rig)):
        table[f"2D_cam{k}"] = score_published_view(recording.detections, k, recording.rig, truth, [sick])
    published = paper_results()["anomaly_F1"]
    rows = [
        [name, *(beside(f"{100 * found[m].f1:.1f}", published[name][m]) for m in METHODS)]
        for name, found in table.items()
    ]
    section.table(("F1 %", "Isolation Forest", "LOF", "z-score", "consensus"), rows)
    picture = figures.sick_features(recording, tracks, sick, run.out / "anomaly.png")
    return section.picture(picture, run.out).say("Scene sick, tracks of method joint, windows of three frames.")
