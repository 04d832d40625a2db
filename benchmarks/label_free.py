"""What each label-free step of recipe `fast` gains on schools that were not trained on.

``python benchmarks/label_free.py --train FOLDER --more FOLDER... --held-out FOLDER --work FOLDER [--frames 30000]
[--start FILE] [--out docs/results/label_free.md]``; each folder holds recordings (``trackfish3d simulate synfish
--seed-offset``).

Every row adds one step to the row above and sees the same number of frames: the train scenes with the published labels,
with labels that all views agree on, with augmentation, with more schools of the same kind, and with learning on the
recording before it is tracked. The held-out
loss is that of the labels a row learns from, so that the first is no measure for the others; MOTA and IDF1 are means
over the held-out schools at gate 1.0, for which alone truth is read. A run that was stopped goes on where it was.

With ``--start``, both kinds of labels go on from a network that knows the rigs, on all schools.
"""

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from trackfish3d.evaluation import evaluate
from trackfish3d.methods.paper.checkpoint import load_model
from trackfish3d.methods.paper.method import Paper, PaperSettings
from trackfish3d.methods.paper.train.settings import fast_recipe
from trackfish3d.methods.paper.train.trainer import Trainer
from trackfish3d.methods.paper.train.training_scenes import TrainingScene
from trackfish3d.recordings import Recording

PUBLISHED: dict[str, Any] = {"agreed_labels": False, "drop_detections": 0.0, "jitter": 0.0}
AGREED: dict[str, Any] = {"drop_detections": 0.0, "jitter": 0.0}
AUGMENTED: dict[str, Any] = {"drop_detections": 0.1, "jitter": 0.05, "frame_skip": 2}
KNOWING: dict[str, Any] = {
    "drop_detections": 0.05,
    "jitter": 0.0,
    "frame_skip": 2,
}  # of the shipped network's last part
GATE = 1.0


def recordings_of(folders: list[Path]) -> list[Path]:
    return [path.parent for folder in folders for path in sorted(folder.glob("*/recording.toml"))]


def trained(
    name: str, scenes: list[TrainingScene], held_out: list[TrainingScene], args: Any, changes: dict[str, Any]
) -> Trainer:
    pairs = sum(len(window) for s in scenes for window in s.windows(fast_recipe().window))
    epochs = max(2, math.ceil(args.frames / pairs))
    start = None if args.start is None else load_model(args.start)[0]
    if start is not None:
        changes = changes | {"model": start.settings, "learning_rate": 7e-4}
    settings = fast_recipe(epochs=epochs, warmup_epochs=0 if start is not None else epochs // 4, **changes)
    trainer = Trainer(scenes, settings, args.work / name, held_out, start)
    trainer.train(lambda r: print(f"{name}: epoch {r['epoch']:.0f}/{epochs} held out {r['held_out']:.4f}", flush=True))
    return trainer


def tracked(model: Path, schools: list[Path], learn: int) -> tuple[float, float]:
    """Mean MOTA and IDF1."""
    found = []
    for folder in schools:
        recording = Recording.open(folder)
        tracks = Paper(PaperSettings(model=model, learn=learn)).track(recording.rig, recording.detections).tracks
        truth = recording.truth
        assert truth is not None
        scores = evaluate(
            truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, GATE
        ).to_dict()
        print(f"  {folder.name}: MOTA {scores['mota']:.3f} IDF1 {scores['idf1']:.3f}", flush=True)
        found.append((scores["mota"], scores["idf1"]))
    mota, idf1 = np.mean(found, axis=0)
    return float(mota), float(idf1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--more", type=Path, nargs="+", required=True)
    parser.add_argument("--held-out", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--frames", type=int, default=30_000)
    parser.add_argument("--learn", type=int, default=10, help="epochs on the recording to be tracked")
    parser.add_argument("--start", type=Path, help="network to go on from: only labels are compared then")
    parser.add_argument("--out", type=Path, default=Path("docs/results/label_free.md"))
    args = parser.parse_args()
    schools = recordings_of([args.held_out])

    def load(folders: list[Path]) -> list[TrainingScene]:
        return [TrainingScene.load(path, args.work / "cache") for path in folders]

    train = load([p for p in recordings_of([args.train]) if p.name.startswith("train")])
    more, held_out = load(recordings_of(args.more)), load(schools)
    rows = []
    steps = (
        ("train scenes", train, PUBLISHED),
        ("+ labels that views agree on", train, AGREED),
        ("+ augmentation", train, AUGMENTED),
        ("+ more schools", train + more, AUGMENTED),
    )
    if args.start is not None:
        steps = (
            ("every plausible pair", train + more, {**KNOWING, "agreed_labels": False}),
            ("pairs that views agree on", train + more, KNOWING),
        )
    for name, scenes, changes in steps:
        folder = name.strip("+ ").replace(" ", "_")
        trainer = trained(folder, scenes, held_out, args, changes)
        model = args.work / folder / "best.safetensors"
        rows.append((name, f"{trainer.best:.3f}", *tracked(model, schools, 0)))
        print(rows[-1], flush=True)
    if args.learn:
        rows.append((f"+ {args.learn} epochs on the recording", "", *tracked(model, schools, args.learn)))
    lines = [
        "# What label-free steps gain",
        "",
        f"Made by `python benchmarks/label_free.py --frames {args.frames} --learn {args.learn}`: {len(train)} train "
        f"scenes, {len(more)} more schools, {len(schools)} schools held out, gate 1.0.",
        "",
        "| | held-out loss | MOTA % | IDF1 % |",
        "|---|---:|---:|---:|",
        *(f"| {name} | {loss} | {100 * mota:.1f} | {100 * idf1:.1f} |" for name, loss, mota, idf1 in rows),
    ]
    args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(args.out)


if __name__ == "__main__":
    main()
