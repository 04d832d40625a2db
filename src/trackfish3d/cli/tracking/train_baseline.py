"""``trackfish3d train-baseline``: teach a learned rival of the paper on SynFish's train scenes."""

from pathlib import Path
from typing import Annotated

import typer

from ...benchmark.rivals import rival_names, train_baseline
from .._progress import Bars


def command(
    name: Annotated[str, typer.Argument(help=f"Which one: {', '.join(rival_names())}.")],
    out: Annotated[Path, typer.Option(help="Weights, FILE.safetensors.")],
    data: Annotated[Path, typer.Option(help="Folder for the train scenes and their crops; made where missing.")],
    scenes: Annotated[str | None, typer.Option(help="Train scenes, with commas; all eight without.")] = None,
    frames: Annotated[int, typer.Option(min=12, help="Frames of each scene, from its start.")] = 60,
    schools: Annotated[int, typer.Option(min=1, help="Schools of each scene; more teach more.")] = 1,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of the optimiser; the rival's own without.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same weights.")] = 0,
) -> None:
    """Teach a learned rival of the paper with the identities of SynFish's train scenes."""
    names = None if scenes is None else [part.strip() for part in scenes.split(",") if part.strip()]
    with Bars() as bars:
        found = train_baseline(
            name, out, data, names, frames=frames, schools=schools, steps=steps, seed=seed, progress=bars
        )
    print(", ".join(f"{key} {value}" for key, value in found.items() if key != "scenes"))
    print(out)
