"""Everything that is measured in one block of frames."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..abnormal.anomaly import MEASURES
from ..measures import collective, kinematics
from ..measures.faststarts import PointErrors, Starts, fast_starts
from ..measures.group_kernels import delayed_cosines, neighbours
from ..measures.pairs import add_neighbours, all_pairs, occupancy, pair_sums
from ..measures.smoothing import Smoothed, point_sigma, smooth
from .blocks import Block
from .context import QUANTITIES, Context
from .tables import burst_table, group_table, point_table, start_table

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Measured:
    """A block's tables and sums.

    Averages over bins: ``bin_number``, ``bin_track`` (R,) and ``bin_values`` (R, C) with columns `BIN_COLUMNS`, and
    ``group_bins`` numbers (S,) and values (S, G) with columns `GROUP_COLUMNS`; ``histograms`` per quantity (K + 1, B),
    for each main track and, last, for all; ``delays`` sums and counts of pairs of main tracks; ``pairs`` found
    and expected; ``maps`` (3, B, B); ``tank`` cells; ``starts`` fast starts, and ``profiles`` (E, P) of their speed.
    """

    points: pa.Table
    group: pa.Table
    bursts: pa.Table
    bin_number: Ints
    bin_track: Ints
    bin_values: Array
    group_bins: tuple[Ints, Array]
    histograms: dict[str, Array]
    delays: tuple[Array, Array]
    pairs: tuple[Array, Array]
    maps: Array
    tank: Array
    starts: pa.Table
    profiles: Array


GROUP_COLUMNS = ("polarisation", "milling", "nearest_neighbour", "spread", "hull_volume", "animals")
BIN_COLUMNS = (*(m.name for m in MEASURES), "speed", "depth_world", "straightness", "observed", "frames")


def measure(block: Block, plan: Context) -> Measured:
    """Smooth and measure a block."""
    s, fps = plan.settings, plan.fps
    gap = round(s.max_gap_s * fps)
    smoothed = smooth(block.position, block.covariance, block.observed, plan.noise, gap, 1, block.sigma_velocity)
    seen = block.observed[..., None]
    position, velocity = smoothed.position, smoothed.velocity * fps
    if s.observed_only:
        position, velocity = np.where(seen, position, np.nan), np.where(seen, velocity, np.nan)
    acceleration = smoothed.acceleration * fps**2
    ahead, sigma_heading = _headings(block, plan, velocity, smoothed)
    near = neighbours(np.ascontiguousarray(position), np.ascontiguousarray(ahead))
    straight = kinematics.straightness(position, round(s.tortuosity_s * fps))
    values = {
        "speed": kinematics.speed(velocity),
        "acceleration": kinematics.acceleration_along(velocity, acceleration),
        "turning": kinematics.turning_rad(velocity, acceleration),
        "pitch": kinematics.pitch_rad(ahead, plan.up),
        "depth": kinematics.depth_world(position, plan.up, plan.surface_world),
        "straightness": straight,
        "nearest_neighbour": near[..., 0],
        "distance_to_others": near[..., 1],
        "alignment": near[..., 2],
        "centroid_distance": collective.centroid_distance_world(position),
    }
    core = block.core
    values = {k: v[core] for k, v in values.items()}
    there = kinematics.present(position[core])
    numbers = _bins(block, plan, values, there)
    group = group_table(block, plan, position[core], ahead[core], values)
    starts = _starts(block, plan, smoothed)
    return Measured(
        point_table(block, plan, smoothed, values, there, (ahead[core], sigma_heading[core])),
        group,
        burst_table(block, plan, kinematics.speed(velocity), smoothed.sigma.speed * fps),
        *numbers,
        _group_bins(plan, group),
        _histograms(block, plan, values),
        _delays(block, plan, ahead),
        pair_sums(np.ascontiguousarray(position[core][:: plan.every]), plan.pair_edges),
        _maps(plan, position[core], ahead[core]),
        occupancy(position[core], plan.low, plan.high, plan.cells),
        *start_table(block, plan, starts),
    )


def _headings(block: Block, plan: Context, velocity: Array, smoothed: Smoothed) -> tuple[Array, Array]:
    """(T, N, 3) unit vectors, as the bodies point or, where no body told, as the animals swim; (T, N) sigmas, rad."""
    ahead, sigma = kinematics.heading(velocity), smoothed.sigma.heading_rad
    if plan.settings.headings == "velocity":
        return ahead, sigma
    told = kinematics.present(block.heading) & kinematics.present(velocity)
    return np.where(told[..., None], block.heading, ahead), np.where(told, block.sigma_heading, sigma)


def _starts(block: Block, plan: Context, smoothed: Smoothed) -> Starts:
    """Fast starts of the points as they came; interpolated ones are no evidence."""
    seen = np.where(block.observed[..., None], block.position, np.nan)
    white = point_sigma(block.covariance, plan.noise)
    errors = PointErrors(white, smoothed.sigma.speed, smoothed.sigma.acceleration)
    return fast_starts(seen, errors, plan.fast, plan.fps)


def _bins(block: Block, plan: Context, values: dict[str, Array], there: Bools) -> tuple[Ints, Ints, Array]:
    """Averages over bins of `bin_frames`: number of the bin, track, and (R, len(BIN_COLUMNS)) values."""
    frame = block.frame[block.core]
    number = plan.bin_of(frame)
    starts = np.flatnonzero(np.diff(number, prepend=number[0] - 1))
    floor = plan.slow_per_s
    with np.errstate(invalid="ignore", divide="ignore"):
        each = [
            np.log(np.maximum(values["speed"], floor)),
            np.log(np.maximum(values["turning"], 1e-3)),
            np.log(values["distance_to_others"]),
            np.log(values["nearest_neighbour"]),
            np.log(np.maximum(np.abs(values["acceleration"]), floor * 1e-2)),
            values["alignment"],
            values["depth"],
            values["speed"],
            values["depth"],
            values["straightness"],
            np.where(there, block.observed[block.core].astype(float), np.nan),
        ]
    columns = [_bin_mean(np.where(np.isfinite(v), v, np.nan), starts) for v in each]
    count = np.add.reduceat(there.astype(float), starts, axis=0)
    stacked = np.stack([*columns, count], axis=2)
    at, column = np.nonzero(count > 0)
    return number[starts][at], block.track[column], stacked[at, column]


def _group_bins(plan: Context, group: pa.Table) -> tuple[Ints, Array]:
    """Averages of the group's measures over bins."""
    unit = plan.units
    names = (
        "polarisation",
        "milling",
        f"nearest_neighbour_mean_{unit}",
        f"spread_{unit}",
        f"hull_volume_{unit}3",
        "animals",
    )
    number = plan.bin_of(group["frame"].to_numpy())
    if not len(number):
        return number, np.zeros((0, len(names)))
    starts = np.flatnonzero(np.diff(number, prepend=number[0] - 1))
    values = np.column_stack([group[n].to_numpy() for n in names]).astype(np.float64)
    return number[starts], _bin_mean(values, starts)


def _bin_mean(values: Array, starts: Ints) -> Array:
    known = np.isfinite(values)
    count = np.add.reduceat(known.astype(float), starts, axis=0)
    total = np.add.reduceat(np.where(known, values, 0.0), starts, axis=0)
    return np.asarray(np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0))


def _histograms(block: Block, plan: Context, values: dict[str, Array]) -> dict[str, Array]:
    """Count each quantity of each main track and, in the last row, of all; what lies beyond counts in the last bin."""
    out = {}
    columns = np.searchsorted(block.track, plan.main)
    columns = np.where(np.isin(plan.main, block.track), columns, -1)
    for name in QUANTITIES:
        edges = plan.edges[name]
        bins = len(edges) - 1
        counts = np.zeros((len(plan.main) + 1, bins))
        place = np.clip((values[name] - edges[0]) / (edges[-1] - edges[0]) * bins, 0, bins - 1)
        known = np.isfinite(place)
        place = np.where(known, place, 0).astype(np.int64)
        counts[-1] = np.bincount(place[known], minlength=bins)
        for k, n in enumerate(columns.tolist()):
            if n >= 0:
                counts[k] = np.bincount(place[known[:, n], n], minlength=bins)
        out[name] = counts
    return out


def _delays(block: Block, plan: Context, ahead: Array) -> tuple[Array, Array]:
    lags = round(plan.settings.max_delay_s * plan.fps)
    pair = all_pairs(len(plan.main))
    total, count = (np.zeros((len(pair), 2 * lags + 1)) for _ in range(2))
    whole = np.full((len(ahead), len(plan.main), 3), np.nan)
    here = np.isin(plan.main, block.track)
    whole[:, here] = ahead[:, np.searchsorted(block.track, plan.main[here])]
    delayed_cosines(whole, block.core.start, block.core.stop, plan.every, lags, pair, total, count)
    return total, count


def _maps(plan: Context, position: Array, ahead: Array) -> Array:
    bins = plan.settings.map_bins
    out = np.zeros((3, bins, bins))
    add_neighbours(position[:: plan.every], ahead[:: plan.every], plan.up, plan.reach_world, out)
    return out
