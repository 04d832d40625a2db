"""From pictures of a board to cameras: lenses, poses and water, adjusted together and judged."""

from .boards import Board
from .judge import Quality, examine
from .lenses import read_lenses
from .page import write_all, write_page
from .pictures import Source, parse_sources
from .plan import Calibration, Plan, Request, prepare
from .solve import calibrate, fit_lens
from .tank import Surface, Tank, read_tank
from .views import Views, find_boards

__all__ = [
    "Board",
    "Calibration",
    "Plan",
    "Quality",
    "Request",
    "Source",
    "Surface",
    "Tank",
    "Views",
    "calibrate",
    "examine",
    "find_boards",
    "fit_lens",
    "parse_sources",
    "prepare",
    "read_lenses",
    "read_tank",
    "write_all",
    "write_page",
]
