"""``trackfish3d train``: fit the association network to recordings, without labels."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import InputError, MissingExtraError
from ...core.files import atomic_path
from ...core.settings import input_errors, nested, parse_settings
from .._progress import Bars

if TYPE_CHECKING:
    from ...methods.paper.train.settings import TrainingSettings

ABLATIONS: dict[str, dict[str, Any]] = {
    "contrastive": {"losses": {"contrastive": 0.0}},
    "temporal": {"losses": {"temporal": 0.0}},
    "transformer": {"model": {"attention": False}},
}


def command(
    recordings: Annotated[list[Path], typer.Argument(help="Recordings to learn from; their truth is never read.")],
    out: Annotated[Path, typer.Option(help="The model, FILE.safetensors; log and checkpoints go to FILE.training/.")],
    recipe: Annotated[str, typer.Option(help="fast, or paper (the published one, to the letter).")] = "fast",
    held_out: Annotated[
        list[Path] | None, typer.Option("--held-out", help="Recording to choose the best epoch by, not learnt from.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", help=f"Ablation, one of: {', '.join(ABLATIONS)}; repeatable.")
    ] = None,
    calibration_noise: Annotated[
        float, typer.Option("--calibration-noise", help="Disturb the poses first: degrees and world units.")
    ] = 0.0,
    features: Annotated[
        list[Path] | None,
        typer.Option("--features", help="More features of a recording's detections (.npz, .parquet); one a recording."),
    ] = None,
    start: Annotated[Path | None, typer.Option("--start", help="Model to go on from, instead of a fresh one.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the recipe, key=value; losses.temporal=0.5.")
    ] = None,
) -> None:
    """Train the published network, without labels, for 'track --method paper --model FILE'.

    It learns from geometric pseudo-labels of the recordings. Interrupted, the same command goes on. To teach the
    default tracker, use 'learn'.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtraError("PyTorch", "learn", "training") from None
    from ...methods.paper.checkpoint import load_model
    from ...methods.paper.train.curves import draw_log
    from ...methods.paper.train.trainer import Trainer
    from ...methods.paper.train.training_scenes import TrainingScene

    if out.suffix != ".safetensors":
        raise InputError(f"--out {out}: name the model FILE.safetensors")
    changes: dict[str, Any] = dict(parse_settings(set_ or []))
    if calibration_noise:
        changes["calibration_noise"] = calibration_noise
    settings = make_settings(recipe, changes, without or [])
    folder = out.with_suffix(".training")

    every = [*recordings, *(held_out or [])]
    files: list[Path] | list[None] = features or [None] * len(every)
    if len(files) != len(every):
        raise InputError(f"--features: {len(files)} files for {len(every)} recordings; give one each, in their order")
    noise = [settings.calibration_noise] * len(recordings) + [0.0] * (len(every) - len(recordings))
    loaded = [
        TrainingScene.load(path, folder / "cache", file, sigma, settings.seed + i)
        for i, (path, file, sigma) in enumerate(zip(every, files, noise, strict=True))
    ]
    scenes, others = loaded[: len(recordings)], loaded[len(recordings) :]
    settings = with_features(settings, scenes[0].raw.shape[1])
    begin = None
    if start is not None:
        begin, n_cameras = load_model(start)
        if n_cameras != len(scenes[0].rig):
            raise InputError(f"{start}: was trained for {n_cameras} cameras, {recordings[0]} has {len(scenes[0].rig)}")
        settings = settings.model_copy(update={"model": begin.settings})
    trainer = Trainer(scenes, settings, folder, others, begin)
    with Bars() as bars:
        trainer.train(lambda row: bars.say(describe(row, settings)), bars.start("steps"))
    if trainer.team.rank:
        return
    draw_log(trainer.log, folder / "loss.png")
    best = folder / "best.safetensors"
    with atomic_path(out) as temporary:
        shutil.copyfile(best if best.exists() else folder / f"epoch_{trainer.epoch}.safetensors", temporary)
    bars.say(f"peak memory {peak_memory_mb(torch.cuda.is_available()):.0f} MB")
    print(out)


def make_settings(recipe: str, changes: dict[str, Any], without: list[str]) -> "TrainingSettings":
    """Return a recipe with changes and ablations, or an `InputError` that names the culprit."""
    from ...methods.paper.train.settings import TrainingSettings, fast_recipe

    if recipe not in ("fast", "paper"):
        raise InputError(f"--recipe {recipe}: choose fast or paper")
    changes = nested(changes)
    for name in without:
        if name not in ABLATIONS:
            raise InputError(f"--without {name}: choose one of {', '.join(ABLATIONS)}")
        for part, values in ABLATIONS[name].items():
            changes[part] = {**changes.get(part, {}), **values}
    with input_errors("--set "):
        return fast_recipe(**changes) if recipe == "fast" else TrainingSettings.model_validate(changes)


def with_features(settings: "TrainingSettings", columns: int) -> "TrainingSettings":
    """Return settings whose network takes so many features of a detection."""
    model = settings.model.model_copy(update={"raw_features": columns})
    return settings.model_copy(update={"model": model})


def describe(row: dict[str, float], settings: "TrainingSettings") -> str:
    """One line about an epoch."""
    held_out = "" if row["held_out"] != row["held_out"] else f"  held out {row['held_out']:.4f}"
    return (
        f"epoch {row['epoch']:.0f}/{settings.epochs}  loss {row['loss']:.4f}  association {row['association']:.4f}  "
        f"contrastive {row['contrastive']:.4f}  temporal {row['temporal']:.5f}{held_out}  "
        f"{row['frames_per_second']:.0f} frames/s"
    )


def peak_memory_mb(cuda: bool) -> float:
    """Largest memory this process has held, on the GPU where one is used."""
    import sys

    import torch

    if cuda:
        return torch.cuda.max_memory_allocated() / 2**20
    if sys.platform == "win32":
        return float("nan")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
