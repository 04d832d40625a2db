"""How recipe `paper` does on the schools it saw, on others of the same scenes, and on test scenes.

``python benchmarks/recipe_paper.py MODEL... [--more NAME=MODEL...] --seen FOLDER --unseen FOLDER [--out FILE]``;
`MODEL` is what ``trackfish3d train seen/train? --recipe paper --out MODEL`` wrote, or a checkpoint in its
``.training``; `--more` are networks of other recipes, to compare under a name; `--seen` holds all scenes
(``trackfish3d simulate synfish``), `--unseen` other schools of the train scenes (``--seed-offset 20``). Scores are kept
in ``numbers.json`` beside `FILE` by what the weights are, so that a further seed costs its own time. Truth is read for
scores alone.
"""

import argparse
import csv
import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

import hypothesis_parts as parts
from paper_hypotheses import table
from trackfish3d.benchmark.jobs import score
from trackfish3d.benchmark.paper import paper_results
from trackfish3d.core.files import atomic_path, digest
from trackfish3d.methods.registry import make_method

TRAIN = tuple(f"train{k}" for k in range(1, 9))
TEST = tuple(f"test{k}" for k in range(1, 7))
# What the paper says of thresholds at inference: the affinity's in the methods, all three in N.3.
THRESHOLDS: dict[str, dict[str, float]] = {
    "affinity alone": {},
    "cosine 0.55": {"min_cosine": 0.55},
    "cosine 0.55, probability 0.6": parts.GATES,
}
BASELINES = {
    "3D-SORT": ("sort3d", {}),
    "3D-SORT, with the box test": ("sort3d", {"contain": "true"}),
    "`joint`": ("joint", {}),
}

WORDS = """\
SynFish's second edition, one consecutive pair a step, AdamW 1e-4, 400 epochs, the first 100 with the association loss \
alone, eight train scenes. MOTA %, in brackets IDF1, means over eight train schools or six test schools, one school of \
each, gate 1.0; after the semicolon the thresholds of grouping at inference. *Others* are other schools of the train \
scenes. Test scenes are looked at to report, not to choose an epoch or a threshold."""


@dataclass
class Book:
    """Numbers that were measured, in a file, by name."""

    path: Path
    numbers: dict[str, Any] = field(default_factory=dict)

    def get(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a number of the book, measured and written if it is not there."""
        if not self.numbers and self.path.exists():
            self.numbers = json.loads(self.path.read_text(encoding="utf-8"))
        if name not in self.numbers:
            self.numbers[name] = make()
            with atomic_path(self.path) as temporary:
                temporary.write_text(json.dumps(self.numbers, indent=1) + "\n", encoding="utf-8")
        return self.numbers[name]


@dataclass(frozen=True)
class Trained:
    """A network of recipe `paper`: its file, seed, epochs it has seen of how many, and its log."""

    path: Path
    seed: int
    epoch: int
    epochs: int
    log: dict[int, dict[str, str]]

    @property
    def label(self) -> str:
        """Seed, and the epoch of a checkpoint."""
        return f"seed {self.seed}" + ("" if self.epoch == self.epochs else f", epoch {self.epoch}")

    @classmethod
    def open(cls, path: Path) -> "Trained":
        """Read what stands beside a network."""
        whole = not path.stem.startswith("epoch_")
        folder = path.with_suffix(".training") if whole else path.parent
        settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
        with (folder / "log.csv").open(encoding="utf-8") as stream:
            log = {int(row["epoch"]): row for row in csv.DictReader(stream)}
        epoch = max(log) if whole else int(path.stem.split("_")[1])
        return cls(path, settings["seed"], epoch, settings["epochs"], log)


def schools(args: argparse.Namespace) -> dict[str, list[Path]]:
    """Recordings by kind."""
    return {
        "seen": [args.seen / name for name in TRAIN],
        "others": [args.unseen / name for name in TRAIN],
        "test": [args.seen / name for name in TEST],
    }


def of_network(book: Book, model: Path, folders: list[Path], kind: str, label: str) -> dict[str, list[float]]:
    """MOTA and IDF1 of a network on schools under thresholds at inference."""
    name = f"{digest(model)[:16]} {folders[0].parent.name} {kind} {label}"
    return book.get(name, lambda: parts.tracked(model, folders, **THRESHOLDS[label]))  # type: ignore[no-any-return]


def of_method(book: Book, label: str, folders: list[Path], kind: str) -> dict[str, list[float]]:
    """MOTA and IDF1 of a method that learns nothing."""

    def make() -> dict[str, list[float]]:
        found = {}
        for folder in folders:
            scene = parts.opened(folder)
            method, settings = BASELINES[label]
            tracks = make_method(method, settings).track(scene.rig, scene.detections, scene.fps).tracks
            found[folder.name] = parts.percent(score(scene.truth, tracks, parts.GATE))
        return parts.with_mean(found)

    return book.get(f"{label} {folders[0].parent.name} {kind}", make)  # type: ignore[no-any-return]


def cells(found: dict[str, dict[str, list[float]]]) -> list[str]:
    """Means over the schools of each kind, and MOTA of each test scene."""
    means = [f"{m:.1f} ({i:.1f})" for m, i in (found[kind]["mean"] for kind in ("seen", "others", "test"))]
    return [*means, *(f"{found['test'][name][0]:.1f}" for name in TEST)]


def spread(rows: list[dict[str, dict[str, list[float]]]]) -> list[str]:
    """Mean and standard deviation over seeds."""

    def one(values: list[float]) -> str:
        return f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"

    means = [one([r[kind]["mean"][0] for r in rows]) for kind in ("seen", "others", "test")]
    return [*means, *(one([r["test"][name][0] for r in rows]) for name in TEST)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="*")
    parser.add_argument("--more", nargs="*", default=[], metavar="NAME=MODEL")
    parser.add_argument("--seen", type=Path, required=True)
    parser.add_argument("--unseen", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/results/recipe_paper/report.md"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    book, kinds = Book(args.out.parent / "numbers.json"), schools(args)
    models = sorted((Trained.open(path) for path in args.models), key=lambda m: (m.epoch, m.seed))
    rows = []
    for label in THRESHOLDS:
        for epoch in sorted({m.epoch for m in models}, reverse=True):
            mine = [m for m in models if m.epoch == epoch]
            scores = [{k: of_network(book, m.path, f, k, label) for k, f in kinds.items()} for m in mine]
            rows += [[f"{m.label}; {label}", *cells(s)] for m, s in zip(mine, scores, strict=True)]
            if len(mine) > 1:
                rows.append([f"mean of {len(mine)}, epoch {epoch}; {label}", *spread(scores)])
    for name, _, path in (text.partition("=") for text in args.more):
        for label in list(THRESHOLDS)[:1]:
            found = {k: of_network(book, Path(path), f, k, label) for k, f in kinds.items()}
            rows.append([f"{name}; {label}", *cells(found)])
    for label in BASELINES if models else ():
        rows.append([label, *cells({k: of_method(book, label, f, k) for k, f in kinds.items()})])
    published = paper_results()
    scenes = published["synfish_test_MOTA_per_scene"]["TrackFish3D(SAM3)"]
    mean = published["synfish_test_average"]["TrackFish3D(SAM3)"]["MOTA"]
    rows.append(["the paper, its own scenes", "", "", f"{mean:.1f}", *(f"{x:.1f}" for x in scenes)])
    losses = [
        [m.label, *(f"{float(m.log[m.epoch][k]):.3f}" for k in ("association", "contrastive", "temporal"))]
        for m in models
    ]
    lines = [
        "# Recipe paper, to the letter" if models else "# Recipe paper, and how it goes on",
        "",
        f"Made by `python benchmarks/recipe_paper.py {shlex.join(sys.argv[1:])}`. {WORDS}",
        *table(["", "schools it saw", "others", "test", *TEST], rows),
    ]
    if models:
        lines += ["Losses of the last epoch.", *table(["", "association", "contrastive", "temporal"], losses)]
    with atomic_path(args.out) as temporary:
        temporary.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(args.out)


if __name__ == "__main__":
    main()
