"""Sections about the network itself: families, parameters, settings, runtime, attention, noise while training."""

import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...methods.paper.settings import GroupingSettings, LinkSettings, LossSettings
from ..paper import COLUMNS, paper_results
from . import paper_tables as tables
from .document import Section

NOISY = "paper-noisy"  # label of the network that was taught before disturbed cameras
ATTENTION = {16: 2304, 30: 8100, 32: 9216, 64: 36864, 100: 90000}  # fish, and the paper's entries
BUDGET = {"encoder": 9216, "transformer": 579457, "predictor": 66432}  # the paper's parameters
SORT_SYNFISH = {"hungarian": "SAM3+Hungarian", "sort3d": "SAM3+3D-SORT", "paper": "TrackFish3D(SAM3)"}
SORT_ZEF = {"hungarian": "Hungarian+nearest", "sort3d": "3D-SORT", "paper": "TrackFish3D"}
TRAINING_HOURS = "3 to 5 of one core, by the time of a step (docs/training.md)"

FAMILY_ROWS = (
    ("Hungarian, greedy", "no", "no", "association by geometry, triangulated, nearest neighbours"),
    ("3D-SORT", "no", "no", "association by geometry, triangulated, Kalman filter"),
    ("Self-MVA", "no", "boxes only", "learned association, triangulated, nearest neighbours"),
    ("ASNet", "across views", "yes", "learned association, triangulated, nearest neighbours"),
    ("SambaMOTR, MOTIP", "over time", "yes", "2D tracks of each view, views matched once, triangulated"),
    ("ReST, MCTR", "across views and time", "yes", "2D tracks with identities of all views, triangulated"),
    ("TrackFish3D", "no", "no", "learned grouping, triangulated, learned linking"),
    ("joint", "no", "no", "one assignment over views and tracks a frame"),
)


def families() -> Section:
    """Return the table of families of methods."""
    return Section("Families of methods").table(
        ("", "identity labels", "looks at pictures", "how 3D comes about"), FAMILY_ROWS
    )


def budget() -> Section:
    """Parameters of each module, and the hyperparameters that both have."""
    from ...methods.paper.network import TrackFishNet

    counts = TrackFishNet().parameter_counts()
    rows = [[name, f"{n} ({BUDGET[name]})"] for name, n in counts.items()]
    rows.append(["total", f"{sum(counts.values())} ({sum(BUDGET.values())})"])
    return Section("Parameter budget").table(("", "parameters"), rows)


def hyperparameters() -> Section:
    """Return the settings of recipe paper, the paper's beside them."""
    from ...methods.paper.tracker import TrackerSettings
    from ...methods.paper.train.settings import TrainingSettings

    train = TrainingSettings()
    loss, group, link, merge = LossSettings(), train.grouping, LinkSettings(), TrackerSettings()
    pairs: list[tuple[str, float, float]] = [
        ("learning rate", train.learning_rate, 1e-4),
        ("weight decay", train.weight_decay, 1e-4),
        ("gradient clipping", train.clip_norm, 5.0),
        ("weight of the association loss", loss.association, 1.0),
        ("weight of the contrastive loss", loss.contrastive, 0.5),
        ("weight of the temporal loss", loss.temporal, 0.25),
        ("association threshold, training", group.threshold, 0.6),
        ("association threshold, inference", GroupingSettings().threshold, 0.5),
        ("weight of the probability in the affinity", group.weight_probability, 0.6),
        ("weight of the embedding in the affinity", group.weight_feature, 0.4),
        ("least group confidence", group.min_confidence, 0.3),
        ("two-camera threshold", group.two_view_threshold, 0.8),
        ("weight of the distance in linking", link.weight_distance, 0.6),
        ("weight of the similarity in linking", link.weight_similarity, 0.4),
        ("distance threshold", link.max_distance, 0.5),
        ("similarity threshold", link.min_similarity, 0.6),
        ("gap distance scale", link.gap_distance_scale, 0.15),
        ("gap similarity drop", link.gap_similarity_drop, 0.04),
        ("merge distance", merge.merge_distance, 2.0),
        ("merge similarity", merge.merge_similarity, 0.45),
        ("temperature", loss.temperature, 0.07),
        ("epochs", train.epochs, 400),
        ("warm-up epochs", train.warmup_epochs, 100),
        ("track memory, frames", link.memory, 10),
    ]
    section = Section("Hyperparameters of recipe paper").table(
        ("", "value"), [[name, f"{ours:g} ({paper:g})"] for name, ours, paper in pairs]
    )
    return section.say(
        "Cameras: the rigs are the paper's, number by number (docs/synfish.md). Where it contradicts itself: "
        "docs/training.md."
    )


def sort3d(synfish: Sequence[dict[str, Any]], zef: Sequence[dict[str, Any]]) -> Section:
    """3D-SORT between the geometric baseline and method paper, on both sets."""
    rows = []
    for data, results, average, names in (
        ("SynFish", synfish, paper_results()["synfish_test_average"], SORT_SYNFISH),
        ("3D-ZeF", zef, paper_results()["zef_test_average"], SORT_ZEF),
    ):
        for label, name in names.items():
            rows.append([f"{data}, {label}", *_row(results, label, average[name])])
    return Section("3D-SORT").table(("", *tables.HEADS), rows)


def runtime(model: Path, results: Sequence[dict[str, Any]]) -> Section:
    """Parameters, times and memory of method paper, and the time of every method."""
    published = paper_results()["runtime_A100"]
    mine = [r for r in results if r["label"] == "paper" and r["seconds"] is not None]
    ms = 1000 * sum(r["seconds"] for r in mine) / max(sum(r["frames"] for r in mine), 1)
    from ...methods.paper.checkpoint import load_model

    net, _ = load_model(model)
    parameters = sum(p.numel() for p in net.parameters())
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    section = Section("Runtime").table(
        ("", "one thread of this machine", "paper, A100"),
        [
            ["parameters", f"{parameters}", f"({published['parameters']})"],
            ["inference, CPU ms a frame", f"{ms:.1f}", f"({published['inference_ms_per_frame']})"],
            ["peak memory, GB", f"{peak:.2f}, all of the process", f"({published['gpu_memory_gb']}, of the GPU)"],
            ["training, hours", TRAINING_HOURS, f"({published['training_hours']})"],
        ],
    )
    rows = []
    for label in dict.fromkeys(r["label"] for r in results):
        by = [r for r in results if r["label"] == label and r["seconds"] is not None]
        rows.append([label, f"{1000 * sum(r['seconds'] for r in by) / max(sum(r['frames'] for r in by), 1):.1f}"])
    return section.table(("CPU ms a frame, test scenes, after detection and crops", ""), rows)


def attention() -> Section:
    """Attention entries by number of fish, and the time of the network alone."""
    import torch

    from ...methods.paper.network import TrackFishNet

    net = TrackFishNet().eval()
    rows = []
    for fish in ATTENTION:
        n = 3 * fish
        raw = torch.rand(1, n, 9)
        with torch.inference_mode():
            net(raw, torch.ones(1, n, dtype=torch.bool))
            begin = time.process_time()
            for _ in range(5):
                net(raw, torch.ones(1, n, dtype=torch.bool))
        rows.append([str(fish), str(n), f"{n * n} ({ATTENTION[fish]})", f"{200 * (time.process_time() - begin):.1f}"])
    return Section("Attention over the number of fish").table(
        ("fish", "detections a frame", "attention entries", "network, CPU ms a frame"), rows
    )


def _row(results: Sequence[dict[str, Any]], label: str, published: dict[str, float]) -> list[str]:
    """Scores of a method with the paper's in brackets; the paper's alone where it was not run."""
    if any(r["label"] == label for r in results):
        return tables.score_row(results, label, published)
    return [f"({published[c[0]]:.1f})" if c[0] in published else "-" for c in COLUMNS]


def training_noise(results: Sequence[dict[str, Any]]) -> Section:
    """Scores of method paper on 3D-ZeF, taught before clean and before disturbed cameras."""
    published = paper_results()["zef_training_calibration_noise"]
    rows = []
    for (name, row), label in zip(published.items(), ("paper", NOISY), strict=True):
        rows.append([name, *_row(results, label, row)])
    section = Section("Calibration noise while training, 3D-ZeF").table(("", *tables.HEADS), rows)
    if not any(r["label"] == NOISY for r in results):
        section.say("Quoted: give networks of 3D-ZeF with --zef-model and --zef-noisy-model.")
    return section.say(
        "Ours as benchmarks/paper_real.py trains on 01 and 03, by the recipe it was given, 02 and 04 reported whole; "
        "the paper's by its own recipe on part of the frames."
    )
