"""The published method on real animals: trained on some sequences, scored on others.

``python benchmarks/paper_real.py --data FOLDER --work FOLDER [--recipe fast] [--epochs 12] [--out FILE.md]``

3D-ZeF: trained without labels on 01 and 03 (two fish each), scored on 02 and 04 (five fish each), and again with the
poses of the training cameras disturbed by 0.1 degrees and 0.1 cm. Recipe `paper` sees the first 800 frames of each, as
the paper does; recipe `fast` all. Bats (recipe `fast`): trained on the first half of the recording, scored on the
second. Truth is read for scores only. A run that was stopped goes on where it was.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

from trackfish3d.benchmark.zef import GATE_CM, write_sequence, zef_folder
from trackfish3d.cameras.perturb import perturb_rig
from trackfish3d.evaluation import evaluate
from trackfish3d.methods.paper.method import Paper, PaperSettings
from trackfish3d.methods.paper.settings import GroupingSettings
from trackfish3d.methods.paper.train.settings import TrainingSettings, fast_recipe
from trackfish3d.methods.paper.train.trainer import Trainer
from trackfish3d.methods.paper.train.training_scenes import TrainingScene
from trackfish3d.recordings import Recording, Truth

PAPER_FRAMES = 800  # of each train sequence that the paper sees
CROWD = 6  # times that a recording of two fish is laid over itself, so that it teaches what a school does
GATE_BATS = 0.5  # metres; the manual points of two cameras agree to about a tenth of it
COLUMNS = {
    "MOTA": "mota",
    "IDF1": "idf1",
    "HOTA": "hota",
    "MT": "mt",
    "ML": "ml",
    "IDSw": "switches",
    "Frag": "fragmentations",
    "MTBFs": "mtbf_s",
}


def trained(scenes: list[TrainingScene], folder: Path, settings: TrainingSettings) -> Path:
    trainer = Trainer(scenes, settings, folder)
    trainer.train(lambda row: print(f"{folder.name}: epoch {row['epoch']:.0f} loss {row['loss']:.4f}", flush=True))
    return folder / "best.safetensors"


def row(name: str, model: Path, recording: Recording, gate: float) -> list[str]:
    method = Paper(PaperSettings(model=model, grouping=GroupingSettings()))
    tracks = method.track(recording.rig, recording.detections).tracks
    truth = recording.truth
    assert truth is not None
    found = evaluate(
        truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, gate
    ).to_dict()
    shares = {"MOTA", "IDF1", "HOTA", "MT", "ML"}
    cells = [f"{100 * found[key]:.1f}" if c in shares else f"{found[key]:.1f}" for c, key in COLUMNS.items()]
    print(name, dict(zip(COLUMNS, cells, strict=True)), flush=True)
    return [name, *cells]


def training_scene(recording: Recording, cache: Path, settings: TrainingSettings, seed: int) -> TrainingScene:
    """What the recipe sees of a sequence, before cameras as disturbed as it says."""
    rig, det = recording.rig, recording.detections
    if settings.recipe == "paper":
        det = det.select(det.frame < det.frames[0] + PAPER_FRAMES)
    if settings.calibration_noise:
        rig = perturb_rig(rig, settings.calibration_noise, seed)
    return TrainingScene.of(recording.folder.name, rig, det, cache)


def zef(source: Path, work: Path, settings: TrainingSettings, sigmas: list[float]) -> list[list[str]]:
    recordings = {}
    for sequence in ("01", "02", "03", "04"):
        folder = work / f"zef{sequence}"
        recordings[sequence] = Recording.open(folder) if folder.exists() else write_sequence(sequence, source, folder)
    rows = []
    for sigma in sigmas:
        changed = settings.model_copy(update={"calibration_noise": sigma})
        scenes = [training_scene(recordings[s], work / "cache", changed, i) for i, s in enumerate(("01", "03"))]
        name = "noisy" if sigma else "clean"
        model = trained(scenes, work / f"zef_{settings.recipe}_{name}", changed)
        for sequence in ("02", "04"):
            label = f"3D-ZeF {sequence}" + (", trained on disturbed poses (0.1)" if sigma else "")
            rows.append(row(label, model, recordings[sequence], GATE_CM))
    return rows


def bats(source: Path, work: Path, settings: TrainingSettings) -> list[list[str]]:
    whole = work / "bats"
    if not whole.exists():
        (points,) = source.glob("*xypts.csv")
        (space,) = source.glob("*xyzpts.csv")
        command = [sys.executable, "-m", "trackfish3d", "import", "--cameras", source / "dlt_coefficients.csv"]
        command += ["--detections", points, "--truth", space, "--size", "640x512", "--units", "m", "--out", whole]
        subprocess.run([str(c) for c in command], check=True)
    recording = Recording.open(whole)
    det, truth = recording.detections, recording.truth
    assert truth is not None
    middle = int(np.median(det.frames))
    late = truth.frame > middle
    second = Recording.create(
        work / "bats_second",
        recording.rig,
        fps=recording.fps,
        detections=det.select(det.frame > middle),
        truth=Truth.build(truth.frame[late], truth.identity[late], truth.position[late]),
    )
    scene = TrainingScene.of("bats", recording.rig, det.select(det.frame <= middle))
    # So short a recording is not laid over itself: moments apart, animals have hardly moved.
    longer = {"epochs": 20 * settings.epochs, "warmup_epochs": 20 * settings.warmup_epochs, "crowd": 1}
    changed = settings.model_copy(update=longer)
    model = trained([scene], work / "bats_model", changed)
    return [row("bats, second half", model, second, GATE_BATS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with zef/ and bats/")
    parser.add_argument("--work", type=Path, required=True, help="folder for recordings and models")
    parser.add_argument("--recipe", choices=("fast", "paper"), default="fast")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument(
        "--sigmas", type=float, nargs="+", default=[0.0, 0.1], help="noise of the train cameras, 3D-ZeF"
    )
    parser.add_argument("--out", type=Path, default=Path("docs/results/paper_real.md"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.work.mkdir(parents=True, exist_ok=True)
    fast = fast_recipe(
        epochs=args.epochs,
        warmup_epochs=args.epochs // 3,
        window=3,
        windows_a_step=4,
        crowd=CROWD,
        drop_detections=0.05,
        jitter=0,
        model={"dropout": 0.0},
    )
    letter = TrainingSettings(epochs=args.epochs, warmup_epochs=args.epochs // 4, checkpoint_epochs=10, device="cpu")
    settings = fast if args.recipe == "fast" else letter
    rows = bats(args.data / "bats", args.work, settings) if args.recipe == "fast" else []
    rows += zef(zef_folder(args.data), args.work, settings, args.sigmas)
    if args.recipe == "fast":
        words = f"3D-ZeF laid over itself at {CROWD} times (`crowd`)"
    else:
        words = f"{args.epochs} epochs instead of 400, the first {PAPER_FRAMES} frames of each train sequence"
    lines = [
        "# The published method on real animals",
        "",
        f"Made by `python benchmarks/paper_real.py --recipe {args.recipe} --epochs {args.epochs}`: no labels, {words}; "
        f"gates {GATE_CM} cm (3D-ZeF) and {GATE_BATS} m (bats). Shares in percent. 3D-ZeF is trained on 01 and 03, "
        "bats on the first half of the recording.",
        "",
        "| scored on | " + " | ".join(COLUMNS) + " |",
        "|---|" + "---:|" * len(COLUMNS),
        *("| " + " | ".join(cells) + " |" for cells in rows),
    ]
    args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(args.out)


if __name__ == "__main__":
    main()
