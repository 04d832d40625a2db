"""``trackfish3d learn``: teach a pair network by recordings alone, in rounds of tracking and learning."""

import math
from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import InputError, MissingExtraError
from ...core.settings import input_errors, parse_settings
from ...recordings import Recording
from .._progress import Bars


def command(
    recordings: Annotated[list[Path], typer.Argument(help="Recordings to learn from; their truth is never read.")],
    out: Annotated[Path, typer.Option(help="The network, FILE.safetensors.")],
    rounds: Annotated[int, typer.Option(min=1, help="Rounds: track, learn, track with what was learned, learn.")] = 2,
    minutes: Annotated[
        float | None, typer.Option(help="Longest time a round may learn; without it, as many steps as set.")
    ] = None,
    start: Annotated[Path | None, typer.Option("--start", help="Network to go on from, not a fresh one.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting, key=value; steps=1000.")] = None,
) -> None:
    """Teach the default tracker its pair network, without labels, for 'track --model FILE'.

    It learns from the tracker's long tracks which detections of two cameras are one animal. To train the published
    network, use 'train'.
    """
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtraError("PyTorch", "learn", "learning") from None
    from ...methods.joint.learning.lessons import LearnSettings
    from ...methods.joint.learning.rounds import learn_rounds

    if out.suffix != ".safetensors":
        raise InputError(f"--out {out}: name the network FILE.safetensors")
    if minutes is not None and not minutes > 0:
        raise InputError(f"--minutes {minutes}: give a time above 0")
    with input_errors("--set "):
        settings = LearnSettings.model_validate(parse_settings(set_ or []))
    opened = [Recording.open(path) for path in recordings]
    with Bars("learning") as bars:
        learn_rounds(opened, out, settings, rounds, math.inf if minutes is None else minutes, start, bars.say)
    print(out)
