"""``trackfish3d calibrate``: cameras from pictures of a board."""

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ...calibration import (
    Board,
    Calibration,
    Plan,
    Quality,
    Source,
    Surface,
    Tank,
    Views,
    calibrate,
    examine,
    find_boards,
    parse_sources,
    read_lenses,
    read_tank,
    write_page,
)
from ...calibration.lenses import MODELS, UNKNOWN_SIZE
from ...calibration.page import HEADS, summary, table
from ...cameras import WATER
from ...cameras.formats import CalibrationWarning
from ...cameras.native import write_cameras
from ...core.errors import InputError
from ...core.files import write_json
from .._progress import Bars


def command(
    pictures: Annotated[
        list[str] | None,
        typer.Argument(
            help="Per camera: CAMERA=FOLDER, CAMERA='PATTERN*.png' or CAMERA=VIDEO; pictures of one moment in all "
            "cameras have the same name or number, videos the same frame numbers.",
            show_default=False,
        ),
    ] = None,
    board: Annotated[
        str | None,
        typer.Option(
            help="chessboard:23x15:16 (inner corners, side of a square) or charuco:8x6:30:22:4X4_50 (squares, side of "
            "square and marker, dictionary)."
        ),
    ] = None,
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
) -> None:
    """Calibrate cameras: lenses, poses and water from a board that two or more see at once.

    Without --floating, --world-board or reference points (--tank) the first camera is the world. Exit code 1 when the
    outcome is bad.
    """
    if lens not in MODELS:
        raise InputError(f"--lens {lens}: there are {', '.join(MODELS)}")
    plan = Plan(None if board is None else Board.parse(board), lens, refine=refine_lens, board_height=board_height)
    plan.tank = read_tank(tank) if tank is not None else Tank()
    plan.units = units or plan.tank.units or "mm"
    plan.world_board, plan.in_water = world_board, in_water
    plan.square_pixels, plan.fit_board = square_pixels, fit_board
    if (floating is not None) + (world_board is not None) + bool(plan.tank.camera) > 1:
        raise InputError("--floating, --world-board and reference points each set the world: give one of them")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        views = _views(pictures or [], plan, every, intrinsics)
        if intrinsics is not None:
            plan.known = read_lenses(intrinsics, views)
    if lens_pictures:
        plan.lens_views = _lens_views(lens_pictures, views, plan, every)
    plan.floating = _floating(floating, views)
    _water(plan, water)
    verdict = _write(calibrate(views, plan), out, as_json)
    raise typer.Exit(1 if verdict == "bad" else 0)


def _write(result: Calibration, out: Path, as_json: bool) -> str:
    """Write cameras, page and numbers, and print the outcome; returns the verdict."""
    quality = examine(result)
    write_cameras(result.rig, out)
    page = out.with_suffix(".html")
    write_page(result, quality, page)
    write_json(out.with_suffix(".json"), quality.to_dict())
    if as_json:
        print(json.dumps(quality.to_dict(), indent=1))
    else:
        _show(result, quality, out, page)
    return quality.verdict


def _lens_views(pictures: list[str], views: Views, plan: Plan, every: int | None) -> Views:
    """Corners of the boards in pictures for the lenses alone."""
    sources = parse_sources(pictures)
    for source in sources:
        if source.camera not in views.cameras:
            raise InputError(f"--lens-pictures: no camera {source.camera}; there are {', '.join(views.cameras)}")
    return _find(sources, _board(plan), every, together=False)


def _board(plan: Plan) -> Board:
    if plan.board is None:
        raise InputError("say what the board is: --board chessboard:23x15:16 or charuco:8x6:30:22:4X4_50")
    return plan.board


def _views(pictures: list[str], plan: Plan, every: int | None, intrinsics: Path | None) -> Views:
    """Corners of the boards; without pictures none, for cameras placed by reference points alone."""
    if pictures:
        return _find(parse_sources(pictures), _board(plan), every, together=True)
    names = tuple(dict.fromkeys(plan.tank.camera))
    if not names or intrinsics is None:
        raise InputError("give pictures of a board (CAMERA=FOLDER ...), or reference points and --intrinsics")
    blank = Views.build(names, (UNKNOWN_SIZE,) * len(names), [])
    lenses = read_lenses(intrinsics, blank)
    return replace(blank, sizes=tuple(lenses[n].size if n in lenses else UNKNOWN_SIZE for n in names))


def _find(sources: list[Source], board: Board, every: int | None, together: bool) -> Views:
    with Bars(*(f"board in {s.camera}" for s in sources)) as bars:
        return find_boards(
            sources, board, every, together, lambda camera, done, total: bars(f"board in {camera}", done, total)
        )


def _floating(text: str | None, views: Views) -> frozenset[str]:
    """Names of the moments that ``all`` or ``1,2,5-9`` means."""
    if text is None:
        return frozenset()
    if text.strip() == "all":
        return frozenset(views.moments)
    chosen: set[str] = set()
    for part in (p.strip() for p in text.split(",")):
        first, dash, last = part.partition("-")
        if part in views.moments:
            chosen.add(part)
        elif dash and first.isdigit() and last.isdigit():
            chosen |= {m for m in views.moments if m.isdigit() and int(first) <= int(m) <= int(last)}
        else:
            shown = ", ".join(views.moments[:12]) + (" ..." if len(views.moments) > 12 else "")
            raise InputError(f"--floating: no board was found in picture '{part}'; there are {shown}")
    if not chosen:
        raise InputError(f"--floating {text}: no board was found in any of these pictures")
    return frozenset(chosen)


def _water(plan: Plan, text: str | None) -> None:
    """Set the water's index and, where boards float, its surface z = 0."""
    if text == "none" and plan.tank.surfaces:
        raise InputError("--water none, but the tank has a surface; leave one of them out")
    if text == "none" or (text is None and not plan.floating):
        return
    if text == "free":
        plan.tank.free_index = True
    elif text is not None:
        try:
            plan.tank.n_water = float(text)
        except ValueError:
            plan.tank.n_water = 0.0
        if not 1.0 < plan.tank.n_water < 2.0:
            raise InputError(f"--water {text}: give a refractive index such as {WATER}, free, or none")
    if not plan.tank.surfaces:
        if not plan.floating:
            raise InputError("--water: where is its surface? let a board float (--floating), or give it in --tank")
        plan.tank.surfaces = [Surface(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))]


def _show(result: Calibration, quality: Quality, out: Path, page: Path) -> None:
    console = Console(width=120, highlight=False)
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
