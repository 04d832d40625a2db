"""How far the detections of two cameras miss each other when they are matched as well as they can be."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..cameras import Camera, triangulate_rays
from ..cameras.residuals import fans, meet
from ..core.compiled import KERNEL
from ..maths.assignment import assign
from ..recordings import Detections

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Detections, and the frames (F,) of them at which the cameras are compared.

    ``diagonal_px`` is the mean diagonal of the images.
    """

    detections: Detections
    frames: NDArray[np.int64]
    diagonal_px: float = 2000.0

    @classmethod
    def draw(
        cls, detections: Detections, frames: int = 200, most_pairs: int = 300_000, diagonal_px: float = 2000.0
    ) -> "Sample":
        """Take frames that two cameras share, spread over the recording; fewer where many detections make them dear."""
        common = _shared_frames(detections)
        per_frame = len(detections) / max(len(detections.frames), 1)
        affordable = int(most_pairs / max(per_frame**2, 1.0))
        count = min(len(common), frames, max(affordable, 20))
        if count < len(common):
            common = common[np.linspace(0, len(common) - 1, count).round().astype(int)]
        return cls(detections, common, diagonal_px)

    def still(self, frames: int) -> "Sample":
        """Keep at most so many of the compared frames, and the detections of these alone: cheap to look at anew."""
        step = max(-(-len(self.frames) // frames), 1)
        kept = self.frames[::step]
        rows = np.isin(self.detections.frame, kept)
        return Sample(self.detections.select(rows), kept, self.diagonal_px)

    @cached_property
    def has_size(self) -> bool:
        """Whether boxes were seen: points have none, or all the same where a file's reader drew them."""
        d = self.detections
        if not len(d):
            return False
        low, high = np.quantile(np.hypot(d.x2 - d.x1, d.y2 - d.y1), [0.1, 0.9])
        return bool(high > 0 and high - low > 1e-3 * high)

    @cached_property
    def size_px(self) -> float:
        """Typical diagonal of a detection; for points, which have none, what an animal may well have."""
        if not self.has_size:
            return max(25.0, 0.03 * self.diagonal_px)
        return float(np.median(self.sizes))

    @cached_property
    def sizes(self) -> Array:
        """(N,) diagonal of each detection, px."""
        d = self.detections
        return np.hypot(d.x2 - d.x1, d.y2 - d.y1) if self.has_size else np.full(len(d), self.size_px)

    @property
    def cap_px(self) -> float:
        """Error beyond which two detections are simply not the same animal."""
        return max(25.0, self.size_px)

    @cached_property
    def step(self) -> int:
        """Frames from one moment to the next; 10 where only every tenth was kept."""
        gaps = np.diff(self.detections.frames)
        return int(np.median(gaps)) if len(gaps) else 1


def _shared_frames(detections: Detections) -> NDArray[np.int64]:
    """Frames in which two cameras or more saw something."""
    new = np.ones(len(detections), bool)
    new[1:] = (np.diff(detections.frame) > 0) | (np.diff(detections.camera) != 0)
    frames, views = np.unique(detections.frame[new], return_counts=True)
    return np.asarray(frames[views > 1])


@dataclass(frozen=True)
class Matches:
    """Best one-to-one matches of two cameras over the sample.

    ``error`` (M,) mean pixel error of the two views, capped; ``first``, ``second`` (M,) detection rows;
    ``block`` (M,) which sampled frame.
    """

    error: Array
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    block: NDArray[np.int64]

    def select(self, mask: NDArray[np.bool_]) -> "Matches":
        """Return these matches only."""
        return Matches(self.error[mask], self.first[mask], self.second[mask], self.block[mask])


@dataclass(frozen=True)
class ViewErrors:
    """All detections of one camera as that camera sees them: rays (6, N), fans (N, 21), rows (N,), frames (N,)."""

    ray: Array
    fan: Array
    row: NDArray[np.int64]
    frame: NDArray[np.int64]

    @classmethod
    def of(cls, sample: Sample, camera: Camera, index: int) -> "ViewErrors":
        """Look at the detections of the `index`-th camera with `camera`, which may differ from the recording's."""
        return cls.displaced(sample, camera, index, (0.0, 0.0))

    @classmethod
    def displaced(cls, sample: Sample, camera: Camera, index: int, by_px: tuple[float, float]) -> "ViewErrors":
        """Look at them as if all had been elsewhere in the image."""
        det = sample.detections
        row = np.flatnonzero(det.camera == index)
        ray, fan = np.empty((6, len(row))), np.empty((len(row), 21))
        fans(camera.packed, np.ascontiguousarray(det.centroids[row] + by_px), ray, fan)
        return cls(ray, fan, row, det.frame[row])


def pair_errors(sample: Sample, a: ViewErrors, b: ViewErrors, shift: int = 0, roll: int = 0) -> Matches:
    """Match view `a` at each sampled frame with view `b` `shift` frames later, frame by frame, optimally.

    With `roll`, with view `b` at the sampled frame that comes so many later in the sample: another time.
    """
    then = np.roll(sample.frames, -roll) + shift
    error, first, second, block = _match(
        a.ray,
        a.fan,
        np.searchsorted(a.frame, sample.frames),
        np.searchsorted(a.frame, sample.frames, "right"),
        b.ray,
        b.fan,
        np.searchsorted(b.frame, then),
        np.searchsorted(b.frame, then, "right"),
        sample.cap_px,
    )
    return Matches(error, a.row[first], b.row[second], block)


@njit(**KERNEL)
def _match(ray_a, fan_a, begin_a, end_a, ray_b, fan_b, begin_b, end_b, cap):  # type: ignore[no-untyped-def]
    most = 0
    for k in range(len(begin_a)):
        most += min(end_a[k] - begin_a[k], end_b[k] - begin_b[k])
    error = np.empty(most)
    first, second, block = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    n = 0
    for k in range(len(begin_a)):
        na, nb = end_a[k] - begin_a[k], end_b[k] - begin_b[k]
        if na == 0 or nb == 0:
            continue
        in_a = _errors(ray_a, fan_a, begin_a[k], end_a[k], ray_b, begin_b[k], end_b[k])
        in_b = _errors(ray_b, fan_b, begin_b[k], end_b[k], ray_a, begin_a[k], end_a[k])
        cost = np.empty((na, nb))
        for i in range(na):
            for j in range(nb):
                mean = 0.5 * (in_a[i, j] + in_b[j, i])
                cost[i, j] = mean if mean < cap else cap  # NaN, where the rays never meet, is the cap as well
        partner = assign(cost)
        for i in range(na):
            if partner[i] >= 0:
                error[n] = cost[i, partner[i]]
                first[n], second[n], block[n] = begin_a[k] + i, begin_b[k] + partner[i], k
                n += 1
    return error[:n], first[:n], second[:n], block[:n]


@njit(**KERNEL)
def _errors(ray, fan, begin, end, others, first, last):  # type: ignore[no-untyped-def]
    """(N, M) pixel error of each pair in the view of the first."""
    n, m = end - begin, last - first
    du, dv, gap = np.empty(m), np.empty(m), np.empty(m, np.float32)
    error = np.empty((n, m), np.float32)
    for i in range(n):
        meet(ray, begin + i, others, first, last, fan[begin + i], du, dv, gap, error[i], first)
    return error


def meeting_points(a: ViewErrors, b: ViewErrors, matches: Matches) -> Array:
    """(M, 3) where the rays of matched detections come nearest; pairs whose rays never meet are left out."""
    ray_a, ray_b = a.ray[:, np.searchsorted(a.row, matches.first)], b.ray[:, np.searchsorted(b.row, matches.second)]
    origins = np.stack([ray_a[:3], ray_b[:3]]).transpose(2, 0, 1).reshape(-1, 3)
    directions = np.stack([ray_a[3:], ray_b[3:]]).transpose(2, 0, 1).reshape(-1, 3)
    points = triangulate_rays(origins, directions, np.arange(len(matches.error) + 1) * 2)[0]
    return np.asarray(points[np.isfinite(points).all(1)])


def offsets_px(a: ViewErrors, i: NDArray[np.int64], b: ViewErrors, j: NDArray[np.int64]) -> Array:
    """(M, 2) by how much the meeting point of rays i of `a` and j of `b` lies beside i, in the view of `a`, px."""
    return np.asarray(_offsets(a.ray, a.fan, i, b.ray, j))


@njit(**KERNEL)
def _offsets(ray_a, fan_a, i, ray_b, j):  # type: ignore[no-untyped-def]
    out = np.empty((len(i), 2))
    du, dv, gap, error = np.empty(1), np.empty(1), np.empty(1, np.float32), np.empty(1, np.float32)
    for k in range(len(i)):
        meet(ray_a, i[k], ray_b, j[k], j[k] + 1, fan_a[i[k]], du, dv, gap, error, j[k])
        out[k, 0], out[k, 1] = du[0], dv[0]
    return out


def typical(error: Array) -> float:
    """Mean of the best four fifths of matched errors; the rest are mostly animals that one view missed."""
    best = np.sort(error)[: max(int(0.8 * len(error)), 1)]
    return float(best.mean()) if len(best) else np.nan


def typical_of_pairs(sample: Sample, views: list[ViewErrors], roll: int = 0) -> float:
    """Mean over all pairs of views of their typical error, px: one bad camera among many shows; `roll`: by chance."""
    errors = [typical(pair_errors(sample, a, b, roll=roll).error) for a, b in combinations(views, 2)]
    known = [e for e in errors if np.isfinite(e)]
    return float(np.mean(known)) if known else np.nan


def mean_per_block(matches: Matches, n_blocks: int) -> Array:
    """(F,) mean error in each sampled frame, NaN where nothing was matched."""
    count = np.bincount(matches.block, minlength=n_blocks)
    total = np.bincount(matches.block, weights=matches.error, minlength=n_blocks)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(count > 0, total / count, np.nan))
