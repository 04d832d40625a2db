"""A part of the picture to look in."""

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError


def inside_polygon(text: str, size: tuple[int, int]) -> NDArray[np.bool_]:
    """(H, W) whether each pixel is inside the polygon written as ``x,y x,y x,y`` (px); ``size`` width, height."""
    try:
        corners = np.array([[float(n) for n in pair.split(",")] for pair in text.split()], dtype=np.float64)
        if corners.shape[0] < 3 or corners.shape[1] != 2:
            raise ValueError
    except ValueError:
        raise InputError(f"region '{text}': write at least three corners as 'x,y x,y x,y'") from None
    width, height = size
    x, y = np.arange(width)[None, :], np.arange(height)[:, None]
    inside = np.zeros((height, width), np.bool_)
    for (x1, y1), (x2, y2) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if y1 != y2:
            crossing = ((y1 > y) != (y2 > y)) & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
            inside ^= crossing
    if not inside.any():
        raise InputError(f"region '{text}': holds no pixel of the {width}x{height} picture")
    return inside
