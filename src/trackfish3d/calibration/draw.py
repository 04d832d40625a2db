"""Pictures of a calibration: where the boards were in each image, how corners are missed, and where all stands."""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.drawing import plain_text
from .judge import CELLS, Quality
from .plan import LENS, POINTS, Calibration

Array = NDArray[np.float64]
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933")
_MOST_ARROWS = 600


@plain_text
def draw_views(calibration: Calibration, quality: Quality) -> bytes:
    """PNG: per camera, the corners in its image coloured by their error, and the errors as arrows."""
    from matplotlib.figure import Figure

    count = len(calibration.rig)
    columns = min(count, 4)
    rows = -(-count // columns)
    figure = Figure(figsize=(4.3 * columns, 6.6 * rows), layout="constrained")
    axes = figure.subplots(2 * rows, columns, squeeze=False)
    for axis in axes.ravel():
        axis.set_axis_off()
    error, pixel = calibration.adjusted.error, calibration.corners.pixel
    size = np.linalg.norm(error, axis=1)
    top = float(np.quantile(size, 0.98)) if len(size) else 1.0
    for c, camera in enumerate(calibration.rig):
        mine = np.flatnonzero(calibration.of_camera(c))
        over, under = axes[2 * (c // columns), c % columns], axes[2 * (c // columns) + 1, c % columns]
        q = quality.cameras[c]
        _frame(over, camera.size, f"{camera.name}: {100 * q.coverage:.0f} % covered")
        dots = over.scatter(*pixel[mine].T, c=size[mine], s=4, cmap="viridis", vmin=0, vmax=top, linewidths=0)
        some = mine[:: max(1, len(mine) // _MOST_ARROWS)]
        scale = 0.03 * camera.size[0] / max(top, 1e-9)
        _frame(under, camera.size, f"{camera.name}: RMS {q.rms_px:.2f} px, arrows x {scale:.0f}")
        under.quiver(
            *pixel[some].T,
            *(error[some] * scale).T,
            angles="xy",
            scale_units="xy",
            scale=1,
            width=0.002,
            color=_COLOURS[c % len(_COLOURS)],
        )
        for k in range(1, CELLS[0]):
            over.axvline(k * camera.size[0] / CELLS[0], color="#cccccc", lw=0.4, zorder=0)
        for k in range(1, CELLS[1]):
            over.axhline(k * camera.size[1] / CELLS[1], color="#cccccc", lw=0.4, zorder=0)
    if len(size):
        figure.colorbar(dots, ax=axes, label="error of a corner (px)", shrink=0.4)
    return _png(figure)


def _frame(axis: Any, size: tuple[int, int], title: str) -> None:
    axis.set_axis_on()
    axis.set(xlim=(0, size[0]), ylim=(size[1], 0), aspect="equal", xticks=[0, size[0]], yticks=[0, size[1]])
    axis.set_title(title, fontsize=10)


@plain_text
def draw_world(calibration: Calibration) -> bytes:
    """PNG: cameras, boards and water from above and from the side."""
    from matplotlib.figure import Figure

    rig, state, board = calibration.rig, calibration.adjusted.state, calibration.plan.board
    centres = np.stack([c.centre for c in rig])
    outlines = []
    if board is not None:
        rim = board.points[[0, board.columns - 1, -1, -board.columns, 0]]
        for k, kind in enumerate(calibration.kinds):
            if kind not in (LENS, POINTS):
                outlines.append(rim @ state.board_R[k].T + state.board_t[k])
    figure = Figure(figsize=(12, 5.2), layout="constrained")
    for axis, (h, v) in zip(figure.subplots(1, 2), ((0, 1), (0, 2)), strict=True):
        for outline in outlines:
            axis.plot(outline[:, h], outline[:, v], color="#777777", lw=0.7)
        if len(calibration.plan.tank.world):
            axis.plot(*calibration.plan.tank.world[:, [h, v]].T, "k+", ms=7)
        reach = 0.3 * float(np.ptp(centres, axis=0).max() or 1.0)
        for c, camera in enumerate(rig):
            colour = _COLOURS[c % len(_COLOURS)]
            place, look = centres[c][[h, v]], camera.R[2][[h, v]] * reach
            axis.plot(*place, "s", color=colour, ms=6)
            axis.annotate("", place + look, place, arrowprops={"arrowstyle": "->", "color": colour})
            axis.annotate(camera.name, (place[0], place[1]), xytext=(5, 5), textcoords="offset points", color=colour)
        if v == 2:
            for point, normal in zip(state.point, state.normal, strict=True):
                if abs(normal[2]) > 0.5:
                    axis.axhline(point[2], color="#3399cc", ls="--", lw=1)
        axis.set(xlabel=f"{'xyz'[h]} ({rig.units})", ylabel=f"{'xyz'[v]} ({rig.units})", aspect="equal")
        axis.margins(0.12)
        axis.grid(alpha=0.3)
        axis.set_title("along z" if v == 1 else "along y: water dashed", fontsize=10)
    return _png(figure)


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=80, format="png", metadata={"Software": None})
    return buffer.getvalue()
