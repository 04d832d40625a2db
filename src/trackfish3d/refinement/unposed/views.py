"""Two views of one moving thing whose clocks differ: the shift under which one geometry explains both."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...calibration.opencv import opencv
from ...cameras import Camera
from .reading import Sighting2D

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
_GAP = 3.0  # frames over which a path in a picture is interpolated
_COMPARED = 250  # moments at which two views are compared while clocks are searched
_LEAST = 40
_INLIER = 4.0  # px


@dataclass(frozen=True)
class View:
    """One camera's sights as rays: frame (N,), normalised coordinates (N, 2) without distortion, focal length px."""

    frame: Array
    ray: Array
    focal: float

    @classmethod
    def of(cls, camera: Camera, seen: Sighting2D) -> "View":
        """Take the lens out.

        Parameters
        ----------
        camera : its lens.
        seen : what it saw.
        """
        flat = camera.undistort(seen.pixel)
        ray = np.linalg.solve(camera.K, np.column_stack([flat, np.ones(len(flat))]).T).T[:, :2]
        good = np.isfinite(ray).all(1)
        return cls(seen.frame[good], ray[good], float(camera.K[0, 0]))

    def at(self, frame: Array) -> tuple[Array, Bools]:
        """Rays (M, 2) at fractional frames, and where they are known: between sights that are near each other.

        Parameters
        ----------
        frame : (M,) own frame numbers.
        """
        after = np.clip(np.searchsorted(self.frame, frame), 1, len(self.frame) - 1)
        a, b = self.frame[after - 1], self.frame[after]
        share = (frame - a) / (b - a)
        known = (share >= 0) & (share <= 1) & (b - a <= _GAP)
        return self.ray[after - 1] + share[:, None] * (self.ray[after] - self.ray[after - 1]), known


@dataclass(frozen=True)
class Pairing:
    """Two views under one clock: frame of the second = ``scale`` x frame of the first + ``shift``.

    ``error_px`` of the epipolar geometry, robust; ``matches`` moments both saw; ``R``, ``t`` from the first to the
    second camera, ``t`` of length 1; ``parallax`` degrees, median; ``stands_out``: the next best other shift is so many
    times worse.
    """

    scale: float
    shift: float
    error_px: float
    matches: int
    R: Array
    t: Array
    parallax: float
    stands_out: float


def _common(a: View, b: View, scale: float, shift: float, most: int = _COMPARED) -> tuple[Array, Array]:
    """Rays of both views at the same moments (M, 2) each, at most so many, evenly."""
    ray, known = b.at(scale * a.frame + shift)
    rows = np.flatnonzero(known)
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).astype(int)]
    return a.ray[rows], ray[rows]


def _epipolar_error(p: Array, q: Array) -> tuple[float, Array]:
    """Root mean square Sampson distance (in rays) of the eight-point solution, and the matrix (3, 3)."""
    mp, mq, sp, sq = p.mean(0), q.mean(0), p.std() + 1e-12, q.std() + 1e-12
    P, Q = np.column_stack([(p - mp) / sp, np.ones(len(p))]), np.column_stack([(q - mq) / sq, np.ones(len(q))])
    rows = (Q[:, :, None] * P[:, None, :]).reshape(len(p), 9)
    E = np.linalg.eigh(rows.T @ rows)[1][:, 0].reshape(3, 3)
    Tp = np.array([[1 / sp, 0, -mp[0] / sp], [0, 1 / sp, -mp[1] / sp], [0, 0, 1]])
    Tq = np.array([[1 / sq, 0, -mq[0] / sq], [0, 1 / sq, -mq[1] / sq], [0, 0, 1]])
    F = Tq.T @ E @ Tp
    return float(np.sqrt(np.median(sampson(F, p, q) ** 2)) * 1.5), F


def sampson(F: Array, p: Array, q: Array) -> Array:
    """(M,) first-order distances of pairs from the epipolar geometry ``q' F p = 0``, in the unit of the rays.

    Parameters
    ----------
    F : (3, 3) fundamental or essential matrix.
    p : (M, 2) rays of the first view.
    q : (M, 2) rays of the second.
    """
    P, Q = np.column_stack([p, np.ones(len(p))]), np.column_stack([q, np.ones(len(q))])
    Fp, Fq = P @ F.T, Q @ F
    top = np.einsum("ij,ij->i", Q, Fp)
    return np.asarray(np.abs(top) / np.sqrt((Fp[:, :2] ** 2).sum(1) + (Fq[:, :2] ** 2).sum(1) + 1e-300))


def pair_views(a: View, b: View, scale: float, widest: float | None = None) -> Pairing | None:
    """Find the clock and the geometry of two views, or None where they share too little.

    Parameters
    ----------
    a : the first view.
    b : the second.
    scale : frames of b a frame of a, as their rates say.
    widest : frames of b that the clocks may be off; every shift under which a quarter overlaps by default, 0 none.
    """
    if widest == 0:
        best, stands_out = 0.0, np.inf
    else:
        searched = _search(a, b, scale, widest)
        if searched is None:
            return None
        best, stands_out = searched
    if widest != 0:
        scale, best = _polish(a, b, scale, best)
    p, q = _common(a, b, scale, best, 4 * _COMPARED)
    if len(p) < _LEAST:
        return None
    return _geometry(p, q, 0.5 * (a.focal + b.focal), scale, best, stands_out)


def _search(a: View, b: View, scale: float, widest: float | None) -> tuple[float, float] | None:
    """Coarse to fine over all shifts, by the residual of the eight-point solution against what chance has."""
    low, high = b.frame[0] - scale * a.frame[-1], b.frame[-1] - scale * a.frame[0]
    if widest is not None:
        low, high = max(low, -widest), min(high, widest)
    possible = min(len(a.frame), len(b.frame) / max(scale, 1e-9))
    most = 8 * _COMPARED
    if len(a.frame) > most:  # as many as tell
        possible *= most / len(a.frame)
        rows = np.linspace(0, len(a.frame) - 1, most).astype(int)
        a = View(a.frame[rows], a.ray[rows], a.focal)
    least = max(_LEAST, possible / 4)
    step = 5.0 * max(scale, 1.0)
    shifts = np.arange(low, high + step, step)
    cost = np.array([_cost(a, b, scale, s, least) for s in shifts])
    if not np.isfinite(cost).any():
        return None
    tried = shifts[np.argsort(cost)[:8]]
    fine = np.unique(np.concatenate([t + np.arange(-step, step + 0.1, max(scale, 1.0) / 2) for t in tried]))
    fine_cost = np.array([_cost(a, b, scale, s, least) for s in fine])
    best = float(fine[np.nanargmin(np.where(np.isfinite(fine_cost), fine_cost, np.nan))])
    far = np.abs(shifts - best) > 6 * step
    others = cost[far & np.isfinite(cost)]
    ratio = float(others.min() / max(np.nanmin(fine_cost), 1e-12)) if len(others) else 1.0
    return best, ratio


def _cost(a: View, b: View, scale: float, shift: float, least: float) -> float:
    p, q = _common(a, b, scale, shift, len(a.frame))
    if len(p) < least:
        return np.inf
    if len(p) > _COMPARED:
        rows = np.linspace(0, len(p) - 1, _COMPARED).astype(int)
        p, q = p[rows], q[rows]
    return float(_epipolar_error(p, q)[0] / np.sqrt(p.std() * q.std() + 1e-12))


def _polish(a: View, b: View, scale: float, shift: float) -> tuple[float, float]:
    """Scale and shift by pattern search: the cost is smooth only from afar."""
    middle = float(np.median(a.frame))
    best = (_cost(a, b, scale, shift, _LEAST), scale, shift)
    by_scale, by_shift = 2e-3 * scale, max(scale, 1.0)
    while by_shift > 0.02:
        found = False
        for ds, dt in ((by_scale, 0), (-by_scale, 0), (0, by_shift), (0, -by_shift)):
            s = best[1] + ds
            t = best[2] + dt - ds * middle
            cost = _cost(a, b, s, t, _LEAST)
            if cost < best[0]:
                best, found = (cost, s, t), True
        if not found:
            by_scale, by_shift = by_scale / 2, by_shift / 2
    return best[1], best[2]


def _geometry(p: Array, q: Array, focal: float, scale: float, shift: float, stands_out: float) -> Pairing | None:
    """Relative pose by RANSAC over five points, of OpenCV."""
    cv2 = opencv()
    cv2.setRNGSeed(1)
    E, mask = cv2.findEssentialMat(p, q, np.eye(3), cv2.RANSAC, 0.999, _INLIER / focal)
    if E is None or E.shape != (3, 3) or mask.sum() < _LEAST / 2:
        return None
    _, R, t, good = cv2.recoverPose(E, p, q, np.eye(3), mask=mask.copy())
    kept = mask.ravel() > 0
    error = float(np.median(sampson(E, p[kept], q[kept]))) * focal
    P = np.column_stack([p, np.ones(len(p))])
    Q = np.column_stack([q, np.ones(len(q))]) @ R
    cosine = np.einsum("ij,ij->i", P, Q) / np.linalg.norm(P, axis=1) / np.linalg.norm(Q, axis=1)
    parallax = float(np.degrees(np.median(np.arccos(np.clip(cosine[kept], -1, 1)))))
    return Pairing(scale, shift, error, int((good.ravel() > 0).sum()), R, t.ravel(), parallax, stands_out)
