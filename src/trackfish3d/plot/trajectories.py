"""Trajectories in space, a colour each."""

from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from ..core.drawing import plain_text
from ..recordings import Tracks


@plain_text
def trajectories(tracks: Tracks, frames: tuple[int, int] | None = None, units: str = "") -> Figure:
    """Draw all tracks in 3D.

    Parameters
    ----------
    tracks : the tracks.
    frames : first and last frame to draw; all by default.
    units : unit of the world, for the axes.
    """
    if frames is not None:
        tracks = tracks.select((tracks.frame >= frames[0]) & (tracks.frame <= frames[1]))
    figure = Figure(figsize=(8, 7), layout="constrained")
    axes: Any = figure.add_subplot(projection="3d")
    colours = matplotlib.colormaps["tab20"]
    for k, name in enumerate(tracks.identities):
        rows = np.flatnonzero(tracks.track == name)
        # a line ends where frames are missing
        parts = np.split(rows, np.flatnonzero(np.diff(tracks.frame[rows]) > 1) + 1)
        for part in parts:
            axes.plot(
                *tracks.position[part].T, color=colours(k % 20), lw=1, label=str(name) if part is parts[0] else None
            )
    end = f", {units}" if units else ""
    axes.set(xlabel=f"x{end}", ylabel=f"y{end}", zlabel=f"z{end}")
    if len(tracks):
        axes.set_box_aspect(np.maximum(np.ptp(tracks.position, axis=0), 1e-9))
    if 0 < len(tracks.identities) <= 20:
        axes.legend(title="track", fontsize=7, loc="center left", bbox_to_anchor=(1.05, 0.5), frameon=False)
    return figure
