"""Pixel <-> ray: lenses, refraction, triangulation and calibration files."""

from .camera import Camera, Rays
from .interface import AIR, WATER, Interface
from .residuals import PairResiduals, pair_residuals
from .rig import CameraRig
from .triangulation import Triangulation, triangulate_dlt, triangulate_ml, triangulate_rays

__all__ = [
    "AIR",
    "WATER",
    "Camera",
    "CameraRig",
    "Interface",
    "PairResiduals",
    "Rays",
    "Triangulation",
    "pair_residuals",
    "triangulate_dlt",
    "triangulate_ml",
    "triangulate_rays",
]
