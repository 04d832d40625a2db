"""What a refinement changed: errors of held-out sights, what tracks told, where each camera now sees the animals."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..cameras import Camera
from ..core.drawing import plain_text
from ..refinement.outcome import Refinement

_GRID = 7


@plain_text
def refinement(found: Refinement, middle: np.ndarray) -> Figure:
    """Draw errors of held-out sights before and after, what was told of each parameter, how far each picture moves.

    Parameters
    ----------
    found : what was refined.
    middle : (3,) of the animals, world units.
    """
    count = len(found.old)
    figure = Figure(figsize=(8 + 3.2 * count, 3.4), layout="constrained")
    axes = figure.subplots(1, count + 2)
    place = np.arange(count)
    axes[0].bar(place - 0.2, [c.before_px for c in found.cameras], 0.4, label="before", color="0.65")
    axes[0].bar(place + 0.2, [c.after_px for c in found.cameras], 0.4, label="after", color="#0072b2")
    axes[0].set_xticks(place, [c.name for c in found.cameras], parse_math=False)
    axes[0].set_ylabel("error of held-out sights, px (median)")
    axes[0].legend(frameon=False)
    for k, (a, b) in enumerate(zip(found.old, found.rig, strict=True)):
        _moves(axes[k + 2], a, b, middle)
    _told(axes[1], found)
    return figure


def _told(axis: Axes, found: Refinement) -> None:
    """Share of the variance beforehand that the tracks took away, a row a parameter and a column a camera or water."""
    whose = list(dict.fromkeys(p.whose for p in found.parameters))
    what = list(dict.fromkeys(p.what for p in found.parameters))
    share = np.full((len(what), len(whose)), np.nan)
    for p in found.parameters:
        share[what.index(p.what), whose.index(p.whose)] = 100 * p.told
    axis.imshow(share, vmin=0, vmax=100, cmap="RdYlGn", aspect="auto")
    for row, column in zip(*np.nonzero(np.isfinite(share)), strict=True):
        axis.text(column, row, f"{share[row, column]:.0f}", ha="center", va="center", fontsize=7)
    axis.set_xticks(range(len(whose)), whose, fontsize=7, parse_math=False)
    axis.set_yticks(range(len(what)), what, fontsize=7, parse_math=False)
    axis.set_title("told by the tracks, %; empty: held", fontsize=9)


def _moves(axis: Axes, old: Camera, new: Camera, middle: np.ndarray) -> None:
    """Arrows from where the old camera sees points at the animals' distance to where the new one does."""
    width, height = old.size
    u, v = np.meshgrid(np.linspace(0.08, 0.92, _GRID) * width, np.linspace(0.08, 0.92, _GRID) * height)
    pixels = np.column_stack([u.ravel(), v.ravel()])
    rays = old.rays(pixels)
    away = np.einsum("ij,ij->i", middle - rays.origin, rays.direction)
    points = rays.origin + np.maximum(away, 0.0)[:, None] * rays.direction
    moved = new.project(points) - pixels
    size = np.hypot(*moved.T)
    longest = float(np.nanmax(size)) if np.isfinite(size).any() else 0.0
    if longest > 0:
        axis.quiver(*pixels.T, *moved.T, angles="xy", scale_units="xy", scale=longest / (0.12 * width), color="#0072b2")
    axis.set(xlim=(0, width), ylim=(height, 0), aspect="equal", xticks=[], yticks=[])
    axis.set_title(f"{old.name}: longest arrow {longest:.1f} px", fontsize=9, parse_math=False)
