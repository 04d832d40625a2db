"""Who keeps which distance to whom, who follows whom, and where the tank is used: free functions on (T, N, 3)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .group_kernels import delayed_cosines, neighbour_counts, pair_counts
from .kinematics import heading

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

SHIFTS = 8


@dataclass(frozen=True, eq=False)
class Delays:
    """Delayed correlation of headings of all pairs of N animals.

    ``correlation`` (N, N, 2L + 1): mean cosine between i's heading and j's ``lag_frames`` (2L + 1,) later; NaN where
    the two never were there together. ``delay_frames`` (N, N): the lag at which j agrees with i best; positive where
    i leads and j follows. ``strength`` (N, N): the correlation there.
    """

    correlation: Array
    lag_frames: Ints
    delay_frames: Array
    strength: Array

    def leadership_frames(self, least: float = 0.5) -> Array:
        """(N,) mean delay of the others behind each animal, over pairs of a strength of at least ``least``."""
        counts = (self.strength >= least) & ~np.eye(len(self.strength), dtype=bool)
        total = np.where(counts, self.delay_frames, 0.0).sum(1)
        number = counts.sum(1)
        return np.asarray(np.divide(total, number, out=np.full(len(total), np.nan), where=number > 0))


def velocity_delays(velocity: ArrayLike, max_lag_frames: int) -> Delays:
    """Leadership by directional delay (Nagy et al. 2010), of velocities (T, N, 3) up to ``max_lag_frames``."""
    ahead = np.ascontiguousarray(heading(velocity))
    pair = all_pairs(ahead.shape[1])
    total, count = (np.zeros((len(pair), 2 * max_lag_frames + 1)) for _ in range(2))
    delayed_cosines(ahead, 0, len(ahead), 1, max_lag_frames, pair, total, count)
    return delays_of(total, count, ahead.shape[1])


def all_pairs(n: int) -> Ints:
    """(n (n - 1) / 2, 2) pairs i < j."""
    return np.column_stack(np.triu_indices(n, 1)).astype(np.int64)


def delays_of(total: Array, count: Array, n: int) -> Delays:
    """Delays from sums and counts (K, 2L + 1) of the pairs `all_pairs` of n animals."""
    lags = total.shape[1] // 2
    mean = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    correlation = np.full((n, n, 2 * lags + 1), np.nan)
    first, second = all_pairs(n).T
    correlation[first, second] = mean
    correlation[second, first] = mean[:, ::-1]
    known = np.isfinite(correlation).any(2)
    at = np.argmax(np.where(np.isfinite(correlation), correlation, -np.inf), axis=2)
    strength = np.where(known, np.take_along_axis(correlation, at[..., None], 2)[..., 0], np.nan)
    return Delays(correlation, np.arange(-lags, lags + 1), np.where(known, at - lags + 0.0, np.nan), strength)


def pair_correlation(position: ArrayLike, edges_world: ArrayLike) -> Array:
    """(B,) how many pairs lie at a distance, over how many would if the animals did not heed each other.

    The expectation is of the same animals at other times (one shifted against the other by eighths of the recording),
    so that walls, depth and favourite corners, which bring animals together without any company, cancel. Position is
    (T, N, 3); ``edges_world`` (B + 1,) evenly spaced. NaN where nothing is expected.
    """
    x = np.ascontiguousarray(position, dtype=np.float64)
    edges = np.ascontiguousarray(edges_world, dtype=np.float64)
    found, expected = pair_sums(x, edges)
    return pair_ratio(found, expected)


def pair_sums(position: Array, edges_world: Array) -> tuple[Array, Array]:
    """Count pairs (B,) as they are, and of pairs shifted in time; sums over blocks of frames may be added."""
    found = pair_counts(position, position, edges_world)
    expected = np.zeros_like(found)
    for k in range(1, SHIFTS):
        by = k * len(position) // SHIFTS
        expected += pair_counts(position, np.ascontiguousarray(np.roll(position, by, axis=0)), edges_world) if by else 0
    return np.asarray(found), expected


def pair_ratio(found: Array, expected: Array) -> Array:
    """Pairs found over pairs expected, both as shares of all pairs counted."""
    if not found.sum() or not expected.sum():
        return np.full(len(found), np.nan)
    share, chance = found / found.sum(), expected / expected.sum()
    return np.asarray(np.divide(share, chance, out=np.full(len(found), np.nan), where=chance > 0))


def neighbour_maps(
    position: ArrayLike, velocity: ArrayLike, up: ArrayLike, reach_world: float, bins: int = 41
) -> Array:
    """(3, bins, bins) where the neighbours are, as numbers of them, seen from above, from the side, from behind.

    In the frame of each swimmer: ahead along its velocity, right and up as it would feel them. Rows and columns run
    from -reach_world to reach_world: [0] ahead over right, [1] ahead over up, [2] up over right.
    """
    out = np.zeros((3, bins, bins))
    add_neighbours(np.asarray(position, dtype=np.float64), np.asarray(velocity, dtype=np.float64), up, reach_world, out)
    return out


def add_neighbours(position: Array, velocity: Array, up: ArrayLike, reach_world: float, out: Array) -> None:
    """Add a block of frames to maps (3, B, B)."""
    axis = np.ascontiguousarray(up, dtype=np.float64)
    neighbour_counts(
        np.ascontiguousarray(position), np.ascontiguousarray(heading(velocity)), axis, float(reach_world), out
    )


def occupancy(position: ArrayLike, low_world: ArrayLike, high_world: ArrayLike, bins: tuple[int, int, int]) -> Array:
    """(bx, by, bz) number of points of (..., 3) in each cell of the box from ``low_world`` to ``high_world`` (3,)."""
    points = np.asarray(position, dtype=np.float64).reshape(-1, 3)
    points = points[np.isfinite(points).all(1)]
    low, high = np.asarray(low_world, dtype=np.float64), np.asarray(high_world, dtype=np.float64)
    return np.histogramdd(points, bins=bins, range=list(zip(low.tolist(), high.tolist(), strict=True)))[0]


def sides(cells: Array) -> tuple[Array, Array, Array]:
    """Occupancy (bx, by, bz) seen along z, y and x: (bx, by), (bx, bz), (by, bz)."""
    return cells.sum(2), cells.sum(1), cells.sum(0)
