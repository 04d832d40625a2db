"""``trackfish3d train``: fit the association network to recordings, without labels."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console

from ..errors import InputError
from .track import parse_settings


def command(
    recordings: Annotated[list[Path], typer.Argument(help="Recordings to learn from; their truth is never read.")],
    out: Annotated[Path, typer.Option(help="Folder for the model, the log and the checkpoints.")],
    recipe: Annotated[str, typer.Option(help="fast, or paper (the published one, to the letter).")] = "fast",
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting of the recipe, key=value.")] = None,
) -> None:
    """Train the published network on geometric pseudo-labels; interrupted, the same command goes on."""
    try:
        import torch  # noqa: F401
    except ImportError:
        from ..errors import MissingExtraError

        raise MissingExtraError("PyTorch", "learn", "training") from None
    from ..training.picture import draw_log
    from ..training.scenes import Scene
    from ..training.settings import TrainingSettings, fast_recipe
    from ..training.trainer import Trainer

    changes = parse_settings(set_ or [])
    if recipe not in ("fast", "paper"):
        raise InputError(f"--recipe {recipe}: choose fast or paper")
    try:
        settings = fast_recipe(**changes) if recipe == "fast" else TrainingSettings.model_validate(changes)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"--set {'.'.join(str(p) for p in first['loc'])}: {first['msg']}") from None
    scenes = [Scene.load(path, out / "cache") for path in recordings]
    trainer = Trainer(scenes, settings, out)
    console = Console(stderr=True)

    def report(row: dict[str, float]) -> None:
        left = (settings.epochs - row["epoch"]) * sum(len(s.detections.frames) for s in scenes)
        console.print(
            f"epoch {row['epoch']:.0f}/{settings.epochs}  loss {row['loss']:.4f}  "
            f"association {row['association']:.4f}  "
            f"contrastive {row['contrastive']:.4f}  temporal {row['temporal']:.5f}  "
            f"{row['frames_per_second']:.0f} frames/s  {left / max(row['frames_per_second'], 1e-9) / 60:.0f} min left",
            highlight=False,
        )

    trainer.train(report)
    draw_log(trainer.log, out / "loss.png")
    best = out / "best.safetensors"
    print(best if best.exists() else out / f"epoch_{trainer.epoch}.safetensors")
