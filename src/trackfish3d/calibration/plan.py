"""What a calibration is asked to do, and what comes out of it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..cameras import Camera, CameraRig
from .adjust import Adjusted, Corners, Free
from .boards import Board
from .tank import Tank
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
