"""``trackfish3d calibrate --from-tracks``: poses and clocks from one thing that moved."""

from pathlib import Path

import typer

from ...core.errors import InputError
from ...pipeline.placing import calibrate_tracks, write_placed
from ...refinement import RefusedError
from .import_ import parse_size


def place(
    sources: list[str],
    intrinsics: Path | None,
    size: str | None,
    fps: list[str],
    synchronous: bool,
    distance: str | None,
    centres: Path | None,
    units: str | None,
    out: Path,
) -> None:
    """Do what the options say, print it, and write it; exit code 1 where the tracks cannot tell."""
    rates = {name: _number(value, f"--fps {name}={value}") for name, _, value in (f.partition("=") for f in fps)}
    apart = None
    if distance is not None:
        names, _, length = distance.partition("=")
        first, comma, second = names.partition(",")
        if not comma:
            raise InputError(f"--distance {distance}: give A,B=LENGTH")
        apart = first, second, _number(length, f"--distance {distance}")
    try:
        found = calibrate_tracks(
            sources,
            intrinsics=intrinsics,
            size=None if size is None else parse_size(size),
            fps=rates or None,
            synchronous=synchronous,
            distance=apart,
            centres=centres,
            units=units or "unit",
        )
    except RefusedError as refused:
        print(f"refused: {refused}")
        raise typer.Exit(1) from None
    for name in found.rig.names:
        scale, shift = found.clock[name]
        clock = "the clock of all" if name == found.reference else f"frame {scale:.6f} x own {shift:+.2f} of the clock"
        print(f"camera {name}: error {found.error_px[name]:.2f} px (mean {found.mean_px[name]:.2f}); {clock}")
    for name, why in found.lost.items():
        print(f"camera {name}: not placed; {why}")
    clocks, path = write_placed(found, out)
    print(f"{out}, clocks {clocks}, path {path}")
    raise typer.Exit(1 if found.lost else 0)


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise InputError(f"{what}: a number above zero is expected")
    return value
