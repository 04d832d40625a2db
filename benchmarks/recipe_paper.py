"""How recipe `paper` does, along its training, on the schools it saw, on others of the same scenes, on test scenes.

``python benchmarks/recipe_paper.py FILE.training --seen FOLDER --unseen FOLDER [--out FILE.md]``;
`--seen` holds all scenes (``trackfish3d simulate synfish``), `--unseen` other schools of the train scenes
(``--seed-offset 20``), and ``FILE.training`` is what ``trackfish3d train seen/train? --recipe paper --out
FILE.safetensors`` left. Truth is read for scores alone.
"""

import argparse
import csv
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from label_free import GATE, recordings_of
from trackfish3d.core.files import atomic_path
from trackfish3d.evaluation import evaluate
from trackfish3d.methods.base import Method
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Recording

Scores = list[tuple[float, float]]  # MOTA and IDF1 of each school


def scored(recording: Recording, method: Method) -> tuple[float, float]:
    """MOTA and IDF1 of a method on a recording."""
    t = method.resolve(recording.rig, recording.detections).track(recording.rig, recording.detections, recording.fps)
    tracks, truth = t.tracks, recording.truth
    assert truth is not None
    s = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, GATE)
    return s.clear.mota, s.identity.idf1


def by_method(name: str, schools: list[Path]) -> Scores:
    """Scores of a method that has no network."""
    return [scored(Recording.open(folder), make_method(name, {})) for folder in schools]


def by_model(model: Path, schools: list[Path]) -> Scores:
    """Scores of method `paper` with a network."""
    return [scored(Recording.open(folder), make_method("paper", {"model": str(model)})) for folder in schools]


def cells(score: Callable[[list[Path]], Scores], kinds: list[list[Path]]) -> list[str]:
    """Means over the schools of each kind, and MOTA of each school of the last."""
    found = [score(schools) for schools in kinds]
    means = [np.mean(f, axis=0) for f in found]
    return [*(f"{100 * m:.1f} ({100 * i:.1f})" for m, i in means), ", ".join(f"{100 * m:.1f}" for m, _ in found[-1])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("training", type=Path)
    parser.add_argument("--seen", type=Path, required=True)
    parser.add_argument("--unseen", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/results/recipe_paper/report.md"))
    args = parser.parse_args()
    kinds = [
        [p for p in recordings_of([folder]) if p.name.startswith(start)]
        for folder, start in ((args.seen, "train"), (args.unseen, "train"), (args.seen, "test"))
    ]
    with (args.training / "log.csv").open(encoding="utf-8") as stream:
        log = {int(row["epoch"]): row for row in csv.DictReader(stream)}
    best = min(log, key=lambda n: (n <= 100, float(log[n]["loss"])))
    models = {int(p.stem.split("_")[1]): p for p in args.training.glob("epoch_*.safetensors")}
    settings = json.loads((args.training / "settings.json").read_text(encoding="utf-8"))
    lines = [
        "# Recipe paper, to the letter",
        "",
        f"Made by `python benchmarks/recipe_paper.py {shlex.join(sys.argv[1:])}`. One consecutive pair a step, AdamW "
        f"1e-4, seed {settings['seed']}, {max(log)} of {settings['epochs']} epochs so far, eight train scenes, "
        f"the first 100 with the association loss alone; the lowest training loss was that of epoch {best}. MOTA %, in "
        "brackets IDF1, means over eight train schools or six test schools, gate 1.0. Test scenes are looked at to "
        "report, not to choose an epoch.",
        "",
        "| | training loss: association | contrastive | temporal | schools it saw | others of the same scenes | test "
        "scenes | test1 to test6 |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for epoch, model in sorted(models.items()):
        losses = [f"{float(log[epoch][k]):.3f}" for k in ("association", "contrastive", "temporal")]
        lines.append(f"| epoch {epoch} | {' | '.join(losses + cells(lambda s, m=model: by_model(m, s), kinds))} |")
        print(lines[-1], flush=True)
    for name in ("sort3d", "joint"):
        found = cells(lambda s, n=name: by_method(n, s), kinds)
        lines.append(f"| `{name}`, which learns nothing | | | | {' | '.join(found)} |")
    with atomic_path(args.out) as temporary:
        temporary.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
