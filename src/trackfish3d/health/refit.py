"""Whether another focal length, pose or water of a camera would make it agree with the others.

This finds who is to blame, and for what; it does not calibrate.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ..cameras import Camera
from ..core.errors import InputError
from .agreement import Sample, ViewErrors, offsets_px, pair_errors, typical

ROUNDS = 6

Array = NDArray[np.float64]
Change = Callable[[Camera, Array], Camera]


@dataclass(frozen=True)
class Refit:
    """Camera number ``camera`` changed by ``change``, and the typical error in px of its pairs before and after."""

    camera: int
    change: Array
    before_px: float
    after_px: float


def focal(camera: Camera, by: Array) -> Camera:
    """Lengthen the lens by a factor e^by."""
    K = camera.K.copy()
    K[[0, 1], [0, 1]] *= np.exp(by[0])
    return replace(camera, K=K)


def pose(camera: Camera, by: Array) -> Camera:
    """Turn the camera about its centre by a rotation vector (3,)."""
    turn = Rotation.from_rotvec(by[:3]).as_matrix()
    return replace(camera, R=turn @ camera.R, t=turn @ camera.t)


def pose_and_focal(camera: Camera, by: Array) -> Camera:
    """Both, (4,)."""
    return focal(pose(camera, by), by[3:])


def planes(scale: float) -> Change:
    """Move a camera's interfaces along their normals, in units of `scale`, but not behind the camera."""

    def change(camera: Camera, by: Array) -> Camera:
        faces = []
        for face in camera.interfaces:
            near = float((camera.centre - face.point) @ face.normal)
            faces.append(replace(face, point=face.point + face.normal * min(by[0] * scale, 0.95 * near)))
        return replace(camera, interfaces=tuple(faces))

    return change


def refit(
    sample: Sample, cameras: list[Camera], who: tuple[int, ...], change: Change, size: int, starts: Array | None = None
) -> Refit:
    """Fit one change (`size` numbers) to the cameras `who` together, by Gauss-Newton on matches that are made anew.

    Only pairs with one of `who` count. Errors are weighted so that wrong matches pull no more than others. Of
    `starts` (S, P) the best is refined.
    """
    views = [ViewErrors.of(sample, camera, c) for c, camera in enumerate(cameras)]
    pairs = [(a, b) for a in range(len(cameras)) for b in range(a + 1, len(cameras)) if a in who or b in who]
    before = _error(sample, views, pairs)
    best, best_change = before, np.zeros(size)
    for start in np.zeros((0, size)) if starts is None else starts:
        trial = _changed(sample, cameras, views, who, change, start)
        error = np.inf if trial is None else _error(sample, trial, pairs)
        if error < best:
            best, best_change = error, start
    by = best_change.copy()
    step = 1e-3
    for round_ in range(ROUNDS):
        now = _changed(sample, cameras, views, who, change, by)
        if now is None:
            break
        error = _error(sample, now, pairs)
        if error < best or not np.isfinite(best):
            best, best_change = error, by.copy()
        moved = [_changed(sample, cameras, views, who, change, by + step * unit) for unit in np.eye(size)]
        if any(m is None for m in moved):
            break
        normal, right = 1e-9 * np.eye(size), np.zeros(size)
        loose = max(1.0, 3.0 - round_)  # first matches are far off: trust larger errors at first
        for a, b in pairs:
            r, J = _linear(sample, now, moved, a, b, step)
            scale = 1.5 * loose * (np.median(np.abs(r)) + 0.3) if len(r) else 1.0
            weight = 1.0 / np.maximum(1.0, np.abs(r) / scale)
            normal += (J * weight[:, None]).T @ J
            right += (J * weight[:, None]).T @ r
        by = by - np.clip(np.linalg.solve(normal + 1e-6 * np.trace(normal) * np.eye(size), right), -0.2, 0.2)
    return Refit(who[0], best_change, before, best)


def _changed(
    sample: Sample, cameras: list[Camera], views: list[ViewErrors], who: tuple[int, ...], change: Change, by: Array
) -> list[ViewErrors] | None:
    try:
        return [ViewErrors.of(sample, change(c, by), k) if k in who else views[k] for k, c in enumerate(cameras)]
    except (InputError, ValueError):
        return None


def _error(sample: Sample, views: list[ViewErrors], pairs: list[tuple[int, int]]) -> float:
    return typical(np.concatenate([pair_errors(sample, views[a], views[b]).error for a, b in pairs]))


def _linear(
    sample: Sample, now: list[ViewErrors], moved: list[list[ViewErrors] | None], a: int, b: int, step: float
) -> tuple[Array, Array]:
    """Signed misses (M,) of matched pairs in view a, and how each number of the change moves them (M, P)."""
    matches = pair_errors(sample, now[a], now[b])
    matches = matches.select(matches.error < 0.99 * sample.cap_px)
    i, j = np.searchsorted(now[a].row, matches.first), np.searchsorted(now[b].row, matches.second)
    miss = offsets_px(now[a], i, now[b], j)
    length = np.linalg.norm(miss, axis=1)
    across = miss / np.maximum(length, 1e-9)[:, None]
    columns = [(offsets_px(m[a], i, m[b], j) - miss) / step for m in moved if m is not None]
    J = np.stack([(c * across).sum(1) for c in columns], 1)
    use = np.isfinite(length) & np.isfinite(J).all(1)
    return length[use], J[use]
