"""Train the networks of the paper's ablations with one budget each, and score them.

``python benchmarks/train_ablations.py RECORDINGS... --out FOLDER [--epochs 6] [--data SYNFISH] [--set key=value]``

Each network is ``FOLDER/<row>.safetensors``, named as the rows of the paper's tables; ``trackfish3d benchmark ablation
--models FOLDER`` then scores them on the test scenes. A run that was stopped goes on where it was.
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROWS: dict[str, tuple[str, ...]] = {
    "full": (),
    "without_temporal": ("temporal",),
    "without_contrastive": ("contrastive",),
    "without_both": ("contrastive", "temporal"),
    "mlp_only": ("transformer",),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--data", type=Path, help="SynFish recordings made before; they are simulated else")
    parser.add_argument("--set", action="append", default=[], help="a setting of the recipe")
    args = parser.parse_args()
    program = [sys.executable, "-m", "trackfish3d"]
    for name, without in ROWS.items():
        model = args.out / f"{name}.safetensors"
        if model.exists():
            continue
        command = [*program, "train", *args.recordings, "--out", model, "--set", f"epochs={args.epochs}"]
        command += ["--set", f"warmup_epochs={args.epochs // 4}"]
        command += [x for part in without for x in ("--without", part)]
        command += [x for setting in args.set for x in ("--set", setting)]
        subprocess.run([str(c) for c in command], check=True)
    command = [*program, "benchmark", "ablation", "--models", args.out, "--out", args.out / "results", "--workers", "1"]
    command += ["--data", args.data] if args.data else []
    subprocess.run([str(c) for c in command], check=True)


if __name__ == "__main__":
    main()
