"""What a calibration is asked to do, and what comes out of it."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..cameras import WATER, Camera, CameraRig
from ..cameras.formats import CalibrationWarning
from ..core.errors import InputError
from .adjust import Adjusted, Corners, Free
from .boards import Board
from .lenses import MODELS, UNKNOWN_SIZE, read_lenses
from .pictures import Source, parse_sources
from .tank import Surface, Tank, read_tank
from .views import Views

FREE, FLOATING, FIXED, LENS, POINTS = "free", "floating", "fixed", "lens", "points"


@dataclass
class Plan:
    """What is known and what is asked for.

    ``floating`` names of moments at which the board lay on the water (or any plane), its corners ``board_height``
    above z = 0; ``world_board`` the moment whose board is the world; with neither, and no reference points in the
    ``tank``, the first camera is. ``lens_views`` are pictures for the lenses alone, taken without the water.
    ``known`` lenses are kept as they are unless ``refine``, and then within ``trust`` times the usual differences
    between lenses (0.005: the focal length to 0.25 %, the principal point to 0.05 % of it). ``square_pixels`` holds fx
    and fy together, ``fit_board`` fits the board's height by its width: printers stretch. ``in_water``: boards that do
    not float are under water.
    """

    board: Board | None
    model: str = "standard"
    known: dict[str, Camera] = field(default_factory=dict)
    refine: bool = False
    trust: float = 0.005
    square_pixels: bool = False
    fit_board: bool = False
    lens_views: Views | None = None
    floating: frozenset[str] = frozenset()
    board_height: float = 0.0
    world_board: str | None = None
    tank: Tank = field(default_factory=Tank)
    in_water: bool = False
    units: str = "mm"


@dataclass(frozen=True, eq=False)
class Calibration:
    """Calibrated cameras, and what they were made of.

    ``corners`` all observations; ``moments`` (F,) name and ``kinds`` (F,) kind of each "board": free, floating, fixed
    (it is the world's frame), lens (its picture serves one lens), points (the reference points); ``adjusted`` errors,
    weights, standard deviations; ``free`` what could move.
    """

    rig: CameraRig
    plan: Plan
    corners: Corners
    moments: tuple[str, ...]
    kinds: tuple[str, ...]
    adjusted: Adjusted
    free: Free

    def of_camera(self, c: int) -> NDArray[np.bool_]:
        """(N,) rows of camera `c`."""
        return np.asarray(self.corners.camera == c)

    def rms(self, rows: NDArray[np.bool_] | None = None) -> float:
        """Root mean square distance of corners from where they should be, px; all corners, none left out."""
        error = self.adjusted.error if rows is None else self.adjusted.error[rows]
        return float(np.sqrt((error**2).sum(1).mean())) if len(error) else np.nan


Find = Callable[[list[Source], Board, int | None, bool], Views]
"""Corners of a board in pictures of sources, every n-th frame of videos, of moments in all cameras together or not."""


@dataclass(frozen=True)
class Request:
    """What a user asks for, in words and files: the options of ``trackfish3d calibrate``, which say what each is."""

    pictures: list[str] | None = None
    board: str | None = None
    lens_pictures: list[str] | None = None
    intrinsics: Path | None = None
    refine_lens: bool = False
    square_pixels: bool = False
    fit_board: bool = False
    lens: str = "standard"
    floating: str | None = None
    board_height: float = 0.0
    world_board: str | None = None
    tank: Path | None = None
    water: str | None = None
    in_water: bool = False
    units: str | None = None
    every: int | None = None


def prepare(request: Request, find: Find) -> tuple[Views, Plan]:
    """Read what a request names and find its boards: the views to calibrate, and the plan to do it by.

    Parameters
    ----------
    request : what is asked for.
    find : finds boards in pictures.
    """
    r = request
    if r.lens not in MODELS:
        raise InputError(f"--lens {r.lens}: there are {', '.join(MODELS)}")
    plan = Plan(None if r.board is None else Board.parse(r.board), r.lens, refine=r.refine_lens)
    plan.tank = read_tank(r.tank) if r.tank is not None else Tank()
    plan.units = r.units or plan.tank.units or "mm"
    plan.world_board, plan.in_water, plan.board_height = r.world_board, r.in_water, r.board_height
    plan.square_pixels, plan.fit_board = r.square_pixels, r.fit_board
    if (r.floating is not None) + (r.world_board is not None) + bool(plan.tank.camera) > 1:
        raise InputError("--floating, --world-board and reference points each set the world: give one of them")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        views = _views(r, plan, find)
        if r.intrinsics is not None:
            plan.known = read_lenses(r.intrinsics, views)
    if r.lens_pictures:
        sources = parse_sources(r.lens_pictures)
        for source in sources:
            if source.camera not in views.cameras:
                raise InputError(f"--lens-pictures: no camera {source.camera}; there are {', '.join(views.cameras)}")
        plan.lens_views = find(sources, _board(plan), r.every, False)
    plan.floating = _floating(r.floating, views)
    _water(plan, r.water)
    return views, plan


def _board(plan: Plan) -> Board:
    if plan.board is None:
        raise InputError("say what the board is: --board chessboard:23x15:16 or charuco:8x6:30:22:4X4_50")
    return plan.board


def _views(request: Request, plan: Plan, find: Find) -> Views:
    """Corners of the boards; without pictures none, for cameras placed by reference points alone."""
    intrinsics = request.intrinsics
    if request.pictures:
        return find(parse_sources(request.pictures), _board(plan), request.every, True)
    names = tuple(dict.fromkeys(plan.tank.camera))
    if not names or intrinsics is None:
        raise InputError("give pictures of a board (CAMERA=FOLDER ...), or reference points and --intrinsics")
    blank = Views.build(names, (UNKNOWN_SIZE,) * len(names), [])
    lenses = read_lenses(intrinsics, blank)
    return replace(blank, sizes=tuple(lenses[n].size if n in lenses else UNKNOWN_SIZE for n in names))


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
