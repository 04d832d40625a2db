"""Train the networks of the paper's ablations with one budget each, and score them.

``python benchmarks/train_ablations.py RECORDINGS... --out FOLDER [--warmup 6] [--epochs 10] [--data SYNFISH]
[--rows full plus_DINOv3]``

Warm-up, with the association loss alone, is the same for all rows but the one without attention, so it is done once
(``warmup.safetensors``, and ``warmup_mlp.safetensors``), and every row goes on from there with its own losses for as
many epochs. Each network is ``FOLDER/<row>.safetensors``, named as the rows of the paper's tables; ``trackfish3d
benchmark ablation --models FOLDER`` then scores them on the test scenes. With ``FOLDER/models/features`` (made by
``benchmarks/visual_features.py``) a network that sees those features beside the geometric ones is trained as well, its
warm-up too. A run that was stopped goes on where it was.
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROWS: dict[str, tuple[str, ...]] = {
    "full": (),
    "without_contrastive": ("contrastive",),
    "without_temporal": ("temporal",),
    "without_both": ("contrastive", "temporal"),
    "mlp_only": ("transformer",),
}
VISUAL = "plus_DINOv3"  # the paper's row; ours has another image network
PROGRAM = [sys.executable, "-m", "trackfish3d"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--warmup", type=int, default=6, help="epochs with the association loss alone")
    parser.add_argument("--epochs", type=int, default=10, help="epochs after it")
    parser.add_argument("--data", type=Path, help="SynFish recordings made before; they are simulated else")
    parser.add_argument("--rows", nargs="+", choices=(*ROWS, VISUAL), default=(*ROWS, VISUAL), help="all, unless told")
    parser.add_argument("--set", action="append", default=[], help="a setting of the recipe")
    args = parser.parse_args()
    models = args.out / "models"

    def train(
        model: Path, epochs: int, warmup: int, without: tuple[str, ...], start: Path | None, visual: bool = False
    ) -> None:
        if model.exists():
            return
        command = [*PROGRAM, "train", *args.recordings, "--out", model]
        command += ["--set", f"epochs={epochs}", "--set", f"warmup_epochs={warmup}"]
        command += [] if start is None else ["--start", start]
        command += [x for part in without for x in ("--without", part)]
        if visual:
            command += [x for r in args.recordings for x in ("--features", models / "features" / f"{r.name}.npz")]
        command += [x for setting in args.set for x in ("--set", setting)]
        subprocess.run([str(c) for c in command], check=True)

    for name, without in ((n, w) for n, w in ROWS.items() if n in args.rows):
        attention = tuple(part for part in without if part == "transformer")
        warm = args.out / ("warmup_mlp.safetensors" if attention else "warmup.safetensors")
        train(warm, args.warmup, args.warmup, attention, None)
        train(models / f"{name}.safetensors", args.epochs, 0, without, warm)
    if VISUAL in args.rows and (models / "features").is_dir():
        warm = args.out / "warmup_visual.safetensors"
        train(warm, args.warmup, args.warmup, (), None, visual=True)
        train(models / f"{VISUAL}.safetensors", args.epochs, 0, (), warm, visual=True)
    command = [*PROGRAM, "benchmark", "ablation", "--models", models, "--out", args.out / "results", "--workers", "1"]
    command += ["--data", args.data] if args.data else []
    subprocess.run([str(c) for c in command], check=True)


if __name__ == "__main__":
    main()
