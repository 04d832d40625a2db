"""``trackfish3d calibrate``: cameras from pictures of a board."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ...calibration import (
    Board,
    Calibration,
    Quality,
    Request,
    Source,
    Views,
    calibrate,
    examine,
    find_boards,
    prepare,
    write_all,
)
from ...calibration.lenses import MODELS
from ...calibration.page import HEADS, summary, table
from .._progress import Bars
from .placing import place

_PICTURES = (
    "Per camera: CAMERA=FOLDER, CAMERA='PATTERN*.png' or CAMERA=VIDEO; or one FOLDER of all cameras, with a sub-folder "
    "or video for each, or images called top_01.png, front_01.png. Pictures of one moment in all cameras have the same "
    "name or number, videos the same frame numbers."
)
_BOARD = (
    "chessboard:23x15:16 (inner corners, side of a square) or charuco:8x6:30:22:4X4_50 (squares, side of square and "
    "marker, dictionary)."
)
_MOVING = "No board: CAMERA=FILE of frame, x, y of one thing that moved, or a folder of MultiCamSelfCal."


def command(
    pictures: Annotated[list[str] | None, typer.Argument(help=_PICTURES, show_default=False)] = None,
    board: Annotated[str | None, typer.Option(help=_BOARD)] = None,
    out: Annotated[Path, typer.Option(help="The calibration to write; its report lies beside it.")] = Path(
        "cameras.toml"
    ),
    lens_pictures: Annotated[
        list[str] | None,
        typer.Option(help="CAMERA=...: pictures in air for that camera's lens only, at any time. Repeatable."),
    ] = None,
    intrinsics: Annotated[
        Path | None, typer.Option(help="Lenses that are known: any calibration file, or JSON with K and dist.")
    ] = None,
    refine_lens: Annotated[bool, typer.Option("--refine-lens", help="Let known lenses change a little.")] = False,
    square_pixels: Annotated[
        bool, typer.Option("--square-pixels", help="Hold fx and fy equal, as on nearly every sensor.")
    ] = False,
    fit_board: Annotated[
        bool, typer.Option("--fit-board", help="Fit how high the board's squares are by their width; printers stretch.")
    ] = False,
    lens: Annotated[str, typer.Option(help=f"Lens model: {', '.join(MODELS)}.")] = "standard",
    floating: Annotated[
        str | None,
        typer.Option(
            help="Pictures in which the board floats on (or lies at) the water: all, or 1,2,5-9. It is z = 0."
        ),
    ] = None,
    board_height: Annotated[float, typer.Option(help="How far above the water a floating board's face is.")] = 0.0,
    world_board: Annotated[
        str | None, typer.Option(help="Picture whose board is the world: z = 0, z out of it.")
    ] = None,
    tank: Annotated[
        Path | None, typer.Option(help="TOML with reference points and surfaces, or CSV: camera,u,v,x,y,z.")
    ] = None,
    water: Annotated[
        str | None, typer.Option(help="Refractive index of the water, free to fit it, or none; 1.333 if floating.")
    ] = None,
    in_water: Annotated[bool, typer.Option("--in-water", help="Boards that do not float are under water.")] = False,
    units: Annotated[str | None, typer.Option(help="Unit of the board's lengths [default: mm].")] = None,
    every: Annotated[int | None, typer.Option(min=1, help="Look at every n-th frame of videos.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    from_tracks: Annotated[bool, typer.Option("--from-tracks", help=_MOVING)] = False,
    fps: Annotated[list[str] | None, typer.Option(help="From tracks: CAMERA=RATE, where rates differ.")] = None,
    synchronous: Annotated[
        bool, typer.Option("--synchronous", help="From tracks: frame numbers agree already.")
    ] = False,
    size: Annotated[str | None, typer.Option(metavar="WxH", help="From tracks: of pictures of unknown lens.")] = None,
    distance: Annotated[str | None, typer.Option(help="From tracks: A,B=3.2, how far apart two cameras are.")] = None,
    centres: Annotated[Path | None, typer.Option(help="From tracks: CSV of camera, x, y, z.")] = None,
) -> None:
    """Calibrate cameras: lenses, poses and water from a board that two or more see at once.

    With --from-tracks: poses and clocks from one thing that moved before all cameras, as a waved light or a drone.

    Without --floating, --world-board or reference points (--tank) the first camera is the world. Exit code 1 when the
    outcome is bad.
    """
    given = dict(locals())
    if from_tracks:
        place(pictures or [], intrinsics, size, fps or [], synchronous, distance, centres, units, out)
        return
    request = Request(**{name: given[name] for name in Request.__dataclass_fields__})
    views, plan = prepare(request, _find)
    result = calibrate(views, plan)
    quality = examine(result)
    page = write_all(result, quality, out)
    if as_json:
        print(json.dumps(quality.to_dict(), indent=1))
    else:
        _show(result, quality, out, page)
    raise typer.Exit(1 if quality.verdict == "bad" else 0)


def _find(sources: list[Source], board: Board, every: int | None, together: bool) -> Views:
    with Bars(*(f"board in {s.camera}" for s in sources)) as bars:
        return find_boards(
            sources, board, every, together, lambda camera, done, total: bars(f"board in {camera}", done, total)
        )


def _show(result: Calibration, quality: Quality, out: Path, page: Path) -> None:
    console = Console(width=120, highlight=False, markup=False, emoji=False)
    shown = Table(box=None, pad_edge=False)
    for head in HEADS:
        shown.add_column(head, justify="left" if head == "camera" else "right")
    for row in table(quality):
        shown.add_row(*row)
    console.print(shown)
    for line in summary(quality, result.rig.units):
        console.print(line, soft_wrap=True)
    style = {"good": "bold green", "doubtful": "bold yellow", "bad": "bold red"}[quality.verdict]
    for reason in quality.reasons:
        console.print(reason, soft_wrap=True)
    console.print(f"verdict: {quality.verdict}", style=style)
    console.print(f"{out}, report {page}", soft_wrap=True)
