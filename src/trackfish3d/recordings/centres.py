"""The middle of a body whose parts were not all seen, so that every view means the same point.

The mean of the parts that happen to be seen is another point in every view. Here the mean of *all* parts is predicted
from those that are seen, by kriging: offsets between parts have a usual value and a usual spread in each camera, and
what is far from the usual in one part is so in its neighbours. Left and right exchanged does not matter to a mean.
"""

import warnings

import numpy as np
from numpy.typing import NDArray

from .detections import Array, Detections

_NUGGET = 0.05  # of the usual variance between parts: a part's own noise, and a bound on what one part may decide
_FOREIGN = 5.0  # usual spreads beyond which a part is taken for another animal's
_ENOUGH = 5  # instances that show both parts, before their offset is known


def centres(detections: Detections, trusted: float = 0.0) -> Array:
    """Return the middle (N, 2) px of each detection's body; NaN where no part was seen.

    Parameters
    ----------
    detections : with parts.
    trusted : parts of a lower score are not looked at.
    """
    assert detections.parts is not None
    parts = np.where((detections.parts[..., 2] >= trusted)[..., None], detections.parts[..., :2], np.nan)
    out = np.full((len(detections), 2), np.nan)
    for c in range(len(detections.cameras)):
        rows = np.flatnonzero(detections.camera == c)
        if len(rows):
            out[rows] = _of_camera(parts[rows])
    return out


def _of_camera(points: Array) -> Array:
    """Middles (N, 2) of instances (N, K, 2) of one camera."""
    n, k = points.shape[:2]
    mean, spread = _offsets(points)
    known = np.isfinite(spread).all(1)
    if k == 1 or not known.any():
        return _plain(points)
    place = _places(mean)
    seen = _own(points, place, spread)
    usual = float(np.median(spread[spread > 0])) if (spread > 0).any() else 1.0
    filled = np.where(np.isfinite(spread), spread, usual)
    gamma = 0.5 * filled + _NUGGET * usual * (1 - np.eye(k))
    target = gamma.mean(1) - 0.5 * _NUGGET * usual / k
    out = _plain(points)
    for begin in range(0, n, 4096):
        part = slice(begin, begin + 4096)
        some = seen[part]
        count = len(some)
        system = np.zeros((count, k + 1, k + 1))
        both = some[:, :, None] & some[:, None, :]
        system[:, :k, :k] = np.where(both, -gamma, 0.0) - 1e-6 * usual * np.eye(k)
        system[:, :k, :k][:, np.arange(k), np.arange(k)] -= np.where(some, 0.0, usual)
        system[:, :k, k] = system[:, k, :k] = some
        system[~some.any(1), k, k] = 1.0
        right = np.concatenate([np.where(some, -target, 0.0), some.any(1, keepdims=True)], axis=1)
        weight = np.linalg.solve(system, right[..., None])[:, :k, 0]
        aside = np.where(some[..., None], points[part] - place, 0.0)
        middle = np.einsum("nk,nkj->nj", weight, aside) + place.mean(0)
        out[part] = np.where(some.any(1, keepdims=True), middle, np.nan)
    return out


def _own(points: Array, place: Array, spread: Array) -> NDArray[np.bool_]:
    """Parts (N, K) that are seen and not far from where the median of the others puts them: not the neighbour's."""
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(points).all(-1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # instances without any part, parts without company
        aside = points - place
        off = np.linalg.norm(aside - np.nanmedian(aside, axis=1, keepdims=True), axis=-1)
        wide = np.sqrt(np.nanmedian(np.where(np.eye(len(spread)) > 0, np.nan, spread), axis=1))
    far = seen & (off > _FOREIGN * wide)
    return seen & ~np.where(2 * far.sum(1, keepdims=True) < seen.sum(1, keepdims=True), far, False)


def _offsets(points: Array) -> tuple[Array, Array]:
    """Median offset (K, K, 2) from part i to part j, and its variance (K, K) a coordinate; NaN where not known."""
    k = points.shape[1]
    mean, spread = np.full((k, k, 2), np.nan), np.full((k, k), np.nan)
    mean[np.arange(k), np.arange(k)], spread[np.arange(k), np.arange(k)] = 0.0, 0.0
    for i in range(k):
        for j in range(i + 1, k):
            off = points[:, j] - points[:, i]
            off = off[np.isfinite(off).all(1)]
            if len(off) < _ENOUGH:
                continue
            mean[i, j] = np.median(off, axis=0)
            mean[j, i] = -mean[i, j]
            far = 1.4826 * np.median(np.abs(off - mean[i, j]), axis=0)
            spread[i, j] = spread[j, i] = float((far**2).mean())
    return mean, spread


def _places(mean: Array) -> Array:
    """Usual place (K, 2) of each part, up to a common shift: least squares of the offsets between them."""
    k = len(mean)
    known = np.isfinite(mean[..., 0])
    laplace = np.diag(known.sum(1).astype(float)) - known + np.eye(k) * 1e-9
    right = -np.where(known[..., None], mean, 0.0).sum(1)
    out: Array = np.linalg.solve(laplace + 1.0 / k, right)
    return out


def _plain(points: Array) -> Array:
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(points).all(-1))
    with np.errstate(invalid="ignore"):
        out: Array = np.where(seen[..., None], points, 0.0).sum(1) / seen.sum(1, keepdims=True)
    return out
