"""``trackfish3d convert``: calibrations of other tools into this package's file, or into another tool's."""

import warnings
from pathlib import Path
from typing import Annotated

import typer

from ...cameras import CameraRig
from ...cameras.formats import (
    FORMATS,
    CalibrationWarning,
    describe_formats,
    detect_format,
    read_calibration,
    write_calibration,
)
from ...core.errors import InputError
from .import_ import parse_size

_READ = ", ".join(FORMATS)
_WRITE = ", ".join(f.name for f in FORMATS.values() if f.write)


def _list(value: bool) -> None:
    if value:
        typer.echo(describe_formats())
        raise typer.Exit


def command(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Calibration file, or folder.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; an OpenCV folder has no suffix.")],
    from_: Annotated[
        str | None, typer.Option("--from", help=f"Format of IN; by its content if left out: {_READ}.")
    ] = None,
    to: Annotated[str | None, typer.Option("--to", help=f"Format of OUT: {_WRITE}. By its name if left out.")] = None,
    units: Annotated[str | None, typer.Option(help="Unit of the world: mm, cm, m, ...; with --scale, of OUT.")] = None,
    scale: Annotated[float | None, typer.Option(help="Factor for all lengths, e.g. 0.1 from mm to cm.")] = None,
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Image size in px, if IN does not say it.")] = None,
    water_plane: Annotated[
        str | None,
        typer.Option(
            "--water-plane",
            "--water",
            metavar="PLANE",
            help="Water surface for all cameras, in the unit of OUT: z=0, or a point and a normal x,y,z,nx,ny,nz.",
        ),
    ] = None,
    water_index: Annotated[float | None, typer.Option(help="Refractive index of the water [1.333].")] = None,
    names: Annotated[str | None, typer.Option(metavar="A,B,...", help="Other names for the cameras, in order.")] = None,
    origin: Annotated[str | None, typer.Option(help="DLT only: v counts from the top or the bottom.")] = None,
    override_units: Annotated[bool, typer.Option("--override-units", help="--units holds, not IN.")] = False,
    override_size: Annotated[bool, typer.Option("--override-size", help="--size holds, not IN.")] = False,
    override_water_plane: Annotated[
        bool, typer.Option("--override-water-plane", help="--water-plane holds, not IN.")
    ] = False,
    formats: Annotated[
        bool, typer.Option("--formats", callback=_list, is_eager=True, help="List all formats and leave.")
    ] = False,
) -> None:
    """Read a calibration of another tool and write it as cameras.toml, or for another tool."""
    if source.resolve() == target.resolve():
        raise InputError(f"{target}: IN and OUT are the same")
    override = {"units": override_units, "size": override_size, "water": override_water_plane}
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", CalibrationWarning)
        found = from_ or detect_format(source)
        rig = read_calibration(
            source,
            from_,
            size=parse_size(size),
            units=units,
            scale=scale,
            water=water_plane,
            water_index=water_index,
            names=None if names is None else [n.strip() for n in names.split(",")],
            origin=origin,
            override=[k for k, v in override.items() if v],
        )
        print(f"read {source}: {found}, {len(rig)} cameras, world in {rig.units}")
        _describe(rig)
        form = to or _format_of(target)
        write_calibration(rig, target, form)
    for message in dict.fromkeys(str(n.message) for n in notes if issubclass(n.category, CalibrationWarning)):
        print(f"note: {message}")
    print(f"wrote {target}: {form}")


def _describe(rig: CameraRig) -> None:
    for camera in rig:
        place = ", ".join(f"{x:.4g}" for x in camera.centre)
        lens = f"{'fisheye' if camera.fisheye else 'lens'} with {len(camera.distortion)} coefficients"
        indices = [f"{face.n_camera:g}/{face.n_animal:g}" for face in camera.interfaces]
        water = f"refraction {', '.join(indices)}" if indices else "no refraction"
        print(f"  {camera.name}: {camera.size[0]}x{camera.size[1]}, {lens}, at ({place}), {water}")


def _format_of(target: Path) -> str:
    if target.suffix.lower() in (".yml", ".yaml", ".json") or not target.suffix:
        return "opencv"
    if target.suffix.lower() != ".toml":
        raise InputError(f"{target}: say which format to write (--to {_WRITE.replace(', ', '|')})")
    return "anipose" if target.name == "calibration.toml" else "trackfish3d"
