"""How large animals are and how far they move in a frame, from the detections alone.

Gates are given in these lengths, so that one set of defaults serves recordings in mm and in arbitrary units.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..cameras.rig import CameraRig
from ..core.compiled import KERNEL
from ..recordings.detections import Detections
from .groups import Groups

Array = NDArray[np.float64]
_FRAMES = 100  # from which lengths are estimated


def middle_frames(detections: Detections) -> NDArray[np.int64]:
    """Return places (K,) in `Detections.frames` of a stretch in the middle, from which lengths are estimated.

    Parameters
    ----------
    detections : of the whole recording.
    """
    count = len(detections.frames)
    first = max(count // 2 - _FRAMES // 2, 0)
    return np.arange(first, min(first + _FRAMES, count))


@dataclass(frozen=True)
class Scale:
    """Typical lengths of a recording.

    ``size_px`` : median diagonal of a detection's box, px; 0 for point detections.
    ``body_length`` : median over groups of the longest view's box diagonal at the group's distance, world units.
    ``step`` : median distance of a group to the nearest one of the next frame, world units. It holds the noise of
    triangulation too, as a gate must.
    """

    size_px: float
    body_length: float
    step: float

    def to_dict(self) -> dict[str, float]:
        """All lengths by name."""
        return asdict(self)


def box_size(detections: Detections) -> float:
    """Median box diagonal of detections, px."""
    if not len(detections):
        return 0.0
    return float(np.median(np.hypot(detections.x2 - detections.x1, detections.y2 - detections.y1)))


def estimate_scale(rig: CameraRig, detections: Detections, groups: Groups) -> Scale:
    """Typical lengths of a recording from first groups of its detections; NaN where there are no groups."""
    count = np.diff(groups.offsets)
    owner = np.repeat(np.arange(len(groups)), count)
    rows = groups.members
    diagonal = np.hypot(detections.x2 - detections.x1, detections.y2 - detections.y1)[rows]
    length = diagonal / pixels_per_length(rig, detections.camera[rows], groups.position[owner])
    longest = np.zeros(len(groups))
    np.maximum.at(longest, owner, np.nan_to_num(length))
    longest = longest[longest > 0]
    sure = count >= min(len(rig), 3) if np.any(count >= min(len(rig), 3)) else count >= 2
    step = _nearest_step(groups.frame[sure], np.ascontiguousarray(groups.position[sure]))
    return Scale(
        box_size(detections),
        float(np.median(longest)) if len(longest) else float("nan"),
        float(np.median(step)) if len(step) else float("nan"),
    )


def pixels_per_length(rig: CameraRig, camera: NDArray[np.integer], points: Array) -> Array:
    """(M,) px that a world unit across the view covers at ``points`` (M, 3), as seen by ``camera`` (M,)."""
    out = np.full(len(points), np.nan)
    for c, cam in enumerate(rig):
        mine = camera == c
        X = points[mine]
        h = 1e-4 * np.linalg.norm(X - cam.centre, axis=1)[:, None]
        columns = [(cam.project(X + h * axis) - cam.project(X - h * axis)) / (2 * h) for axis in np.eye(3)]
        J = np.nan_to_num(np.stack(columns, axis=-1))
        largest = np.linalg.svd(J, compute_uv=False)[:, 0] if len(X) else np.zeros(0)
        out[mine] = np.where(largest > 0, largest, np.nan)
    return out


@njit(**KERNEL)
def _nearest_step(frame, position):  # type: ignore[no-untyped-def]
    """Distance of each point to the nearest one of the frame that follows without a break."""
    n = frame.shape[0]
    out = np.empty(n)
    found = 0
    begin = 0
    while begin < n:
        end = begin
        while end < n and frame[end] == frame[begin]:
            end += 1
        after = end
        while after < n and frame[after] == frame[begin] + 1:
            after += 1
        if after > end:
            for a in range(begin, end):
                best = np.inf
                for b in range(end, after):
                    square = 0.0
                    for k in range(3):
                        square += (position[a, k] - position[b, k]) ** 2
                    best = min(best, math.sqrt(square))
                out[found] = best
                found += 1
        begin = end
    return out[:found]
