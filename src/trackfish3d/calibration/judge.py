"""Whether a calibration is good, doubtful or bad, why, and what to do about it."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig, triangulate_ml
from .adjust import adjust
from .plan import FIXED, FLOATING, FREE, LENS, POINTS, Calibration

Array = NDArray[np.float64]
CELLS = (8, 6)  # across and down the image: coverage is the share of these that hold a corner
_WIDTH = 2000.0  # px: errors are judged as they would be in an image of this width, or wider ones would look worse


@dataclass(frozen=True)
class CameraQuality:
    """One camera: pictures with the board, corners, RMS error in px, share of corners weighed down, coverage.

    ``focal`` (2,) px and ``focal_deviation``, relative; ``centre_deviation`` px: None for a lens that was given.
    ``lean`` is the spread of the board's tilt against the image over all pictures, degrees.
    """

    name: str
    pictures: int
    corners: int
    rms_px: float
    outliers: float
    coverage: float
    focal: tuple[float, float]
    focal_deviation: float | None
    centre_deviation: float | None
    lean: float


@dataclass(frozen=True)
class Quality:
    """Everything the report says.

    ``square_mean``, ``square_deviation``: sides of the board's squares as the cameras measure them together, relative
    to the true side; None where no two cameras saw a board at once. ``board_aspect``: how high squares are by their
    width, if that is left open, and the RMS error then. ``verdict`` good, doubtful or bad; ``reasons``
    say why and what to do, worst first.
    """

    cameras: tuple[CameraQuality, ...]
    rms_px: float
    moments: int
    shared_moments: int
    square_mean: float | None
    square_deviation: float | None
    water_index: float | None
    water_index_deviation: float | None
    board_aspect: float | None
    board_aspect_rms_px: float | None
    verdict: str
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


def examine(calibration: Calibration) -> Quality:
    """Judge a calibration by what it leaves over."""
    cameras = tuple(_camera(calibration, c) for c in range(len(calibration.rig)))
    corners, kinds = calibration.corners, np.array(calibration.kinds)
    boards = np.isin(kinds[corners.board], [FREE, FLOATING, FIXED])
    seen_by = [len(np.unique(corners.camera[boards & (corners.board == b)])) for b in np.unique(corners.board[boards])]
    shared = int(np.sum(np.array(seen_by) > 1)) if seen_by else 0
    mean, deviation = _squares(calibration)
    index = calibration.adjusted.state.n_water if calibration.rig.refractive else None
    index_deviation = calibration.adjusted.index_deviation if calibration.free.index else None
    aspect = _aspect(calibration)
    reasons = _reasons(calibration, cameras, shared, mean, deviation, index, index_deviation)
    if aspect is not None and not calibration.plan.fit_board and _stretched(*aspect, calibration.rms()):
        reasons.append((1, _STRETCHED.format(100 * aspect[0], aspect[2], calibration.rms())))
    worst = max((level for level, _ in reasons), default=0)
    return Quality(
        cameras,
        calibration.rms(),
        len(seen_by),
        shared,
        mean,
        deviation,
        index,
        index_deviation,
        None if aspect is None else aspect[0],
        None if aspect is None else aspect[2],
        ("good", "doubtful", "bad")[worst],
        tuple(text for _, text in sorted(reasons, key=lambda r: -r[0])),
    )


_STRETCHED = (
    "squares of the board seem to be {:.1f} % as high as wide (RMS {:.2f} px then, {:.2f} px now): printers stretch; "
    "measure the board, or add --fit-board, and --square-pixels --refine-lens if the lenses were made with it"
)


def _aspect(calibration: Calibration) -> tuple[float, float, float] | None:
    """Height of the board's squares by their width if it is fitted, its standard deviation, and the RMS error then."""
    adjusted = calibration.adjusted
    if calibration.plan.board is None:
        return None
    if not calibration.plan.fit_board:
        adjusted = adjust(adjusted.state, replace(calibration.free, aspect=True), calibration.corners, 40)
    rms = float(np.sqrt((adjusted.error**2).sum(1).mean()))
    return float(adjusted.state.aspect), adjusted.aspect_deviation, rms


def _stretched(aspect: float, deviation: float, rms_fitted: float, rms: float) -> bool:
    return abs(aspect - 1) > max(0.003, 5 * deviation) and rms_fitted < 0.85 * rms


def _camera(calibration: Calibration, c: int) -> CameraQuality:
    camera, mine = calibration.rig[c], calibration.of_camera(c)
    corners, adjusted = calibration.corners, calibration.adjusted
    deviation = adjusted.deviation[c]
    fitted = bool(calibration.free.lens[c].any())
    focal = float(camera.K[0, 0]), float(camera.K[1, 1])
    boards = np.unique(corners.board[mine])
    boards = boards[[calibration.kinds[b] != POINTS for b in boards]]
    axes = np.array([adjusted.state.R[c] @ adjusted.state.board_R[b][:, 2] for b in boards]).reshape(-1, 3)
    return CameraQuality(
        camera.name,
        len(boards),
        int(mine.sum()),
        calibration.rms(mine),
        float((adjusted.weight[mine] < 0.5).mean()),
        coverage(corners.pixel[mine], camera.size),
        focal,
        float(max(deviation[0] / focal[0], deviation[1] / focal[1])) if fitted else None,
        float(max(deviation[2], deviation[3])) if fitted else None,
        _lean(axes),
    )


def _lean(axes: Array) -> float:
    """Largest angle, degrees, between the board's normal in any picture and the mean one."""
    if len(axes) < 2:
        return 0.0
    mean = axes.mean(0) / np.linalg.norm(axes.mean(0))
    return float(np.degrees(np.arccos(np.clip(axes @ mean, -1, 1))).max())


def coverage(pixel: Array, size: tuple[int, int]) -> float:
    """Share of the image's cells that hold a corner."""
    cell = np.clip((pixel / np.array(size) * np.array(CELLS)).astype(int), 0, np.array(CELLS) - 1)
    return len(np.unique(cell @ np.array([1, CELLS[0]]))) / (CELLS[0] * CELLS[1]) if len(pixel) else 0.0


def _squares(calibration: Calibration) -> tuple[float | None, float | None]:
    """Mean and spread of the squares' sides, of corners triangulated without knowing of the board, by the true side.

    This is what a user gets of the cameras: lengths. Errors that a board's pose hides in the pixels show here.
    """
    board = calibration.plan.board
    if board is None:
        return None, None
    corners, kinds = calibration.corners, np.array(calibration.kinds)
    rows = np.flatnonzero(np.isin(kinds[corners.board], [FREE, FLOATING, FIXED]) & (calibration.adjusted.weight > 0))
    wet = _in_water(calibration, rows)
    lengths = []
    for rig, chosen in ((calibration.rig.without_water(), rows[~wet]), (calibration.rig, rows[wet])):
        lengths.append(_sides(calibration, rig, chosen))
    found = np.concatenate(lengths) / board.square
    if len(found) < 10:
        return None, None
    return float(found.mean()), float(found.std())


def _in_water(calibration: Calibration, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(n,) whether a corner is behind the plane that its camera looks through."""
    state, corners = calibration.adjusted.state, calibration.corners
    board, camera = corners.board[rows], corners.camera[rows]
    world = np.einsum("nij,nj->ni", state.board_R[board], corners.points[corners.corner[rows]]) + state.board_t[board]
    if not len(state.point):
        return np.zeros(len(rows), bool)
    plane = state.plane[camera]
    below = -((world - state.point[plane]) * state.normal[plane]).sum(1)
    return np.asarray((plane >= 0) & (below > 1e-6 * np.abs(world).max(initial=1.0)))


def _sides(calibration: Calibration, rig: CameraRig, rows: NDArray[np.int64]) -> Array:
    corners, board = calibration.corners, calibration.plan.board
    assert board is not None
    key = corners.board[rows] * len(corners.points) + corners.corner[rows]
    order = np.argsort(key, kind="stable")
    rows, key = rows[order], key[order]
    keys, first, count = np.unique(key, return_index=True, return_counts=True)
    several = count > 1
    if not several.any():
        return np.zeros(0)
    members = np.concatenate([np.arange(f, f + n) for f, n in zip(first[several], count[several], strict=True)])
    offsets = np.concatenate([[0], np.cumsum(count[several])])
    result = triangulate_ml(rig, corners.pixel[rows[members]], corners.camera[rows[members]], offsets)
    keys = keys[several]
    place = {int(k): i for i, k in enumerate(keys)}
    out = []
    high = calibration.adjusted.state.aspect
    for step, wraps, side in ((1, True, 1.0), (board.columns, False, high)):
        for i, k in enumerate(keys):
            corner = int(k) % len(corners.points)
            if wraps and corner % board.columns == board.columns - 1:
                continue
            j = place.get(int(k) + step)
            if j is not None and corner + step < board.columns * board.rows and result.valid[i] and result.valid[j]:
                out.append(float(np.linalg.norm(result.points[i] - result.points[j])) / side)
    return np.array(out)


def _reasons(
    calibration: Calibration,
    cameras: tuple[CameraQuality, ...],
    shared: int,
    mean: float | None,
    deviation: float | None,
    index: float | None,
    index_deviation: float | None,
) -> list[tuple[int, str]]:
    """Level (1 doubtful, 2 bad) and text of everything that is not as it should be."""
    found: list[tuple[int, str]] = []
    for c, camera in zip(cameras, calibration.rig, strict=True):
        relative = c.rms_px * _WIDTH / max(camera.size)
        if relative > 1.0:
            advice = "blurred or bent board, a lens model that does not fit, or a lens that was refocused since"
            found.append(
                (2 if relative > 3.0 else 1, f"camera {c.name}: corners are missed by {c.rms_px:.2f} px; {advice}")
            )
        if c.outliers > 0.05:
            found.append(
                (1, f"camera {c.name}: {100 * c.outliers:.0f} % of its corners do not fit; look at its pictures")
            )
        if c.focal_deviation is None:
            continue
        if c.focal_deviation > 0.01:
            parallel = " (all boards are nearly parallel)" if c.lean < 15 else ""
            found.append(
                (
                    2 if c.focal_deviation > 0.05 else 1,
                    f"camera {c.name}: focal length known to {100 * c.focal_deviation:.1f} % only{parallel}; "
                    "tilt the board 30 to 45 degrees in some pictures, or give the lens with --intrinsics",
                )
            )
        if c.coverage < 0.5:
            found.append(
                (1, f"camera {c.name}: boards cover {100 * c.coverage:.0f} % of its image; show it in the corners too")
            )
        if c.pictures < 8:
            found.append((1, f"camera {c.name}: its lens rests on {c.pictures} pictures; take 15 or more"))
    several = len(cameras) > 1 and calibration.plan.board is not None and LENS not in set(calibration.kinds)
    if several and 0 < shared < 3 and not calibration.plan.tank.camera:
        found.append((1, f"only {shared} boards were seen by two cameras at once; take ten or more"))
    if mean is not None and deviation is not None:
        off = abs(mean - 1)
        if off > 0.01 or deviation > 0.05:
            found.append(
                (
                    2 if off > 0.03 or deviation > 0.15 else 1,
                    f"squares of the board measure {100 * mean:.1f} % of their side, +- {100 * deviation:.1f} %; "
                    "lengths in 3D will be as wrong",
                )
            )
    if index is not None and not 1.30 <= index <= 1.36:
        found.append((1, f"refractive index {index:.3f} is not that of water (1.333 fresh, 1.34 sea)"))
    if index_deviation is not None and index_deviation > 0.02:
        found.append((1, f"refractive index known to {index_deviation:.3f} only; hold it fixed, or take boards deeper"))
    return found
