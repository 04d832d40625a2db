"""Masks as sums over their pixels, and the moments that follow from them."""

import numpy as np

# Columns of the table of sums, one row a fish.
COUNT, SUM_X, SUM_Y, SUM_XX, SUM_XY, SUM_YY, LEFT, TOP, RIGHT, BOTTOM, ALONE = range(11)
COLUMNS = 11


def join_sums(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return sums of the union of two disjoint masks, (..., 11) each."""
    out: np.ndarray = a + b
    out[..., LEFT] = np.minimum(a[..., LEFT], b[..., LEFT])
    out[..., TOP] = np.minimum(a[..., TOP], b[..., TOP])
    out[..., RIGHT] = np.maximum(a[..., RIGHT], b[..., RIGHT])
    out[..., BOTTOM] = np.maximum(a[..., BOTTOM], b[..., BOTTOM])
    return out


def moments(sums: np.ndarray) -> dict[str, np.ndarray]:
    """Centroid, area, angle, major and minor standard deviation of masks, from their sums (N, 11), N >= 0.

    Each pixel is a unit square, which adds 1/12 to the variances: a mask of one pixel still has a width.
    """
    n = np.maximum(sums[:, COUNT], 1)
    u, v = sums[:, SUM_X] / n, sums[:, SUM_Y] / n
    xx = np.maximum(sums[:, SUM_XX] / n - u * u, 0) + 1 / 12
    yy = np.maximum(sums[:, SUM_YY] / n - v * v, 0) + 1 / 12
    xy = sums[:, SUM_XY] / n - u * v
    mean, spread = 0.5 * (xx + yy), np.hypot(0.5 * (xx - yy), xy)
    angle = 0.5 * np.arctan2(2 * xy, xx - yy)
    angle = np.where(angle <= -np.pi / 2, np.pi / 2, angle)
    return {
        "u": u,
        "v": v,
        "area": sums[:, COUNT].copy(),
        "angle": angle,
        "major": np.sqrt(mean + spread),
        "minor": np.sqrt(np.maximum(mean - spread, 1 / 12)),
    }
