"""``trackfish3d noise``: the paper's noise protocols on a copy of any recording."""

from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import InputError
from ...recordings import Recording
from ...synfish.noise import add_calibration_noise, add_detection_noise
from ...synfish.scenes import refuse_leftovers

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Disturb a recording by the noise protocols of the paper.",
)

Folder = Annotated[Path, typer.Argument(metavar="RECORDING", help="The recording to disturb.")]
Out = Annotated[Path, typer.Option("--out", help="Folder of the new recording; videos are not copied.")]
Seed = Annotated[int, typer.Option(help="Same seed, same noise.")]


def _open(recording: Path, out: Path, seed: int) -> Recording:
    if seed < 0:
        raise InputError(f"--seed {seed}: a seed is zero or more")
    if out.resolve() != recording.resolve():
        refuse_leftovers(out)
    return Recording.open(recording)


@app.command()
def calibration(
    recording: Folder,
    sigma: Annotated[float, typer.Option(help="Rotation in degrees, and translation in world units.")],
    out: Out,
    seed: Seed = 0,
) -> None:
    """Disturb the cameras' poses (for inference, or for training on wrong geometry)."""
    noisy = add_calibration_noise(_open(recording, out, seed), out, sigma, seed)
    print(f"{out}: {len(noisy.rig)} cameras disturbed by {sigma:g} degrees and {sigma:g} {noisy.units}")


@app.command()
def detections(
    recording: Folder,
    sigma: Annotated[float, typer.Option(help="Chance to lose a detection, and rate of false ones.")],
    out: Out,
    seed: Seed = 0,
) -> None:
    """Drop detections and inject false ones."""
    clean = _open(recording, out, seed)
    noisy = add_detection_noise(clean, out, sigma, seed)
    print(f"{out}: {len(clean.detections)} detections became {len(noisy.detections)}")
