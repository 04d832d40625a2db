"""How recipe `paper` does, along its training, on the schools it saw and on others of the same scenes.

``python benchmarks/recipe_paper.py FILE.training --seen FOLDER --unseen FOLDER [--out docs/results/recipe_paper.md]``;
each folder holds the train scenes (``trackfish3d simulate synfish --seed-offset``), and ``FILE.training`` is what
``trackfish3d train seen/train? --recipe paper --out FILE.safetensors`` left. Truth is read for scores alone.
"""

import argparse
import csv
import shlex
import sys
from pathlib import Path

import numpy as np

from label_free import GATE, recordings_of, tracked
from trackfish3d.core.files import atomic_path
from trackfish3d.evaluation import evaluate
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Recording


def by_method(name: str, schools: list[Path]) -> tuple[float, float]:
    """Mean MOTA and IDF1 of a method that has no network."""
    found = []
    for folder in schools:
        r = Recording.open(folder)
        tracks = make_method(name, {}).resolve(r.rig, r.detections).track(r.rig, r.detections, r.fps).tracks
        truth = r.truth
        assert truth is not None
        s = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, GATE)
        found.append((s.clear.mota, s.identity.idf1))
    mota, idf1 = np.mean(found, axis=0)
    return float(mota), float(idf1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("training", type=Path)
    parser.add_argument("--seen", type=Path, required=True)
    parser.add_argument("--unseen", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/results/recipe_paper.md"))
    args = parser.parse_args()
    seen, unseen = (
        [p for p in recordings_of([folder]) if p.name.startswith("train")] for folder in (args.seen, args.unseen)
    )
    with (args.training / "log.csv").open(encoding="utf-8") as stream:
        log = {int(row["epoch"]): row for row in csv.DictReader(stream)}
    best = min(log, key=lambda n: (n <= 100, float(log[n]["loss"])))
    models = {int(p.stem.split("_")[1]): p for p in args.training.glob("epoch_*.safetensors")}
    lines = [
        "# Recipe paper, to the letter",
        "",
        f"Made by `python benchmarks/recipe_paper.py {shlex.join(sys.argv[1:])}`. One consecutive pair a step, AdamW "
        f"1e-4, {max(log)} epochs over the eight train scenes, the first 100 with the association loss alone; the "
        f"lowest training loss was that of epoch {best}. Means over eight schools, gate 1.0.",
        "",
        "| | training loss: association | contrastive | temporal | MOTA % (IDF1) on schools it saw | on others of the "
        "same scenes |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for epoch, model in sorted(models.items()):
        losses = [f"{float(log[epoch][k]):.3f}" for k in ("association", "contrastive", "temporal")]
        scores = [f"{100 * m:.1f} ({100 * i:.1f})" for m, i in (tracked(model, s, 0) for s in (seen, unseen))]
        lines.append(f"| epoch {epoch} | {' | '.join(losses + scores)} |")
        print(lines[-1], flush=True)
    for name in ("sort3d", "joint"):
        scores = [f"{100 * m:.1f} ({100 * i:.1f})" for m, i in (by_method(name, s) for s in (seen, unseen))]
        lines.append(f"| `{name}`, which learns nothing | | | | {' | '.join(scores)} |")
    with atomic_path(args.out) as temporary:
        temporary.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
