"""A block's measures as tidy tables: a row a point, a row a frame, a row a burst. Units are in the columns' names."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..measures import collective, kinematics
from ..measures.events import burst_and_coast
from ..measures.faststarts import Starts
from ..measures.smoothing import Smoothed
from ..measures.uncertainty import rms
from .blocks import Block
from .context import Context

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


def point_table(
    block: Block, plan: Context, smoothed: Smoothed, values: dict[str, Array], there: Bools, ahead: tuple[Array, Array]
) -> pa.Table:
    """One row for each point of each track, by frame and track; ``ahead`` are headings of the core and their sigmas."""
    row, column = np.nonzero(there)
    frame = block.frame[block.core][row]
    unit = plan.units

    def pick(array: Array, kind: type = np.float32) -> Array:
        return np.asarray(array[row, column], dtype=kind)

    position, sigma = smoothed.position[block.core], smoothed.sigma
    velocity = smoothed.velocity[block.core] * plan.fps
    columns: dict[str, Any] = {"frame": frame, "time_s": frame / plan.fps, "track": block.track[column]}
    columns["observed"] = block.observed[block.core][row, column]
    columns |= {f"{axis}_{unit}": pick(position[..., k], np.float64) for k, axis in enumerate("xyz")}
    columns |= {f"sigma_{axis}_{unit}": pick(sigma.position[block.core][..., k]) for k, axis in enumerate("xyz")}
    columns[f"sigma_position_{unit}"] = pick(rms(sigma.position[block.core]))
    columns |= {f"v{axis}_{unit}_per_s": pick(velocity[..., k]) for k, axis in enumerate("xyz")}
    columns[f"speed_{unit}_per_s"] = pick(values["speed"])
    columns[f"sigma_speed_{unit}_per_s"] = pick(sigma.speed[block.core] * plan.fps)
    columns[f"acceleration_{unit}_per_s2"] = pick(values["acceleration"])
    columns[f"sigma_acceleration_{unit}_per_s2"] = pick(sigma.acceleration[block.core] * plan.fps**2)
    columns["turning_rad_per_s"] = pick(values["turning"])
    columns["sigma_turning_rad_per_s"] = pick(sigma.turning_rad[block.core] * plan.fps)
    columns |= {f"heading_{axis}": pick(ahead[0][..., k]) for k, axis in enumerate("xyz")}
    columns["sigma_heading_rad"] = pick(ahead[1])
    columns["pitch_rad"] = pick(values["pitch"])
    columns[f"depth_{unit}"] = pick(values["depth"])
    columns["straightness"] = pick(values["straightness"])
    for name in ("nearest_neighbour", "distance_to_others", "centroid_distance"):
        columns[f"{name}_{unit}"] = pick(values[name])
    columns["alignment"] = pick(values["alignment"])
    return pa.table(columns)


def group_table(block: Block, plan: Context, position: Array, ahead: Array, values: dict[str, Array]) -> pa.Table:
    """One row for each frame in which there is anybody."""
    unit = plan.units
    count = kinematics.present(position).sum(1)
    rows = np.flatnonzero(count)
    x, ahead = position[rows], ahead[rows]
    frame = block.frame[block.core][rows]
    volume = collective.hull_volume_world3(x)
    length = collective.principal_lengths_world(x)
    centre = collective.centroid_world(x)
    columns: dict[str, Any] = {"frame": frame, "time_s": frame / plan.fps, "animals": count[rows].astype(np.int32)}
    columns |= {f"centroid_{axis}_{unit}": centre[:, k] for k, axis in enumerate("xyz")}
    columns["polarisation"] = collective.polarisation(ahead)
    columns["milling"] = collective.milling(x, ahead)
    columns[f"speed_mean_{unit}_per_s"] = _mean(values["speed"][rows])
    columns[f"depth_mean_{unit}"] = _mean(values["depth"][rows])
    columns[f"nearest_neighbour_mean_{unit}"] = _mean(values["nearest_neighbour"][rows])
    columns[f"spread_{unit}"] = collective.spread_world(x)
    columns |= {f"length_{k + 1}_{unit}": length[:, k] for k in range(3)}
    columns[f"hull_volume_{unit}3"] = volume
    columns[f"density_per_{unit}3"] = np.divide(
        count[rows], volume, out=np.full(len(rows), np.nan), where=np.nan_to_num(volume) > 0
    )
    return pa.table(columns)


def burst_table(block: Block, plan: Context, speed: Array, sigma: Array) -> pa.Table:
    """Bursts whose peak lies in the block's own frames."""
    parts: dict[str, list[NDArray[Any]]] = {k: [] for k in ("track", "start", "peak", "end", "a", "b", "c")}
    for n, track in enumerate(block.track.tolist()):
        known = np.isfinite(speed[:, n])
        if not known.any():
            continue
        usual = float(np.median(speed[known, n]))
        rise = np.maximum(plan.settings.burst_rise * usual, 3 * np.nan_to_num(sigma[:, n]))
        found = burst_and_coast(speed[:, n], rise)
        mine = (found.peak >= block.core.start) & (found.peak < block.core.stop)
        parts["track"].append(np.full(int(mine.sum()), track))
        for key, values in zip("abc", (found.speed_start, found.speed_peak, found.speed_end), strict=True):
            parts[key].append(values[mine])
        for key in ("start", "peak", "end"):
            parts[key].append(block.frame[getattr(found, key)[mine]])
    whole = {k: np.concatenate(v) if v else np.zeros(0) for k, v in parts.items()}
    columns: dict[str, Any] = {"track": whole["track"].astype(np.int64)}
    columns |= {f"{k}_frame": whole[k].astype(np.int64) for k in ("start", "peak", "end")}
    columns["burst_s"] = (whole["peak"] - whole["start"]) / plan.fps
    columns["coast_s"] = (whole["end"] - whole["peak"]) / plan.fps
    names = ("speed_start", "speed_peak", "speed_end")
    columns |= {f"{n}_{plan.units}_per_s": whole[k] for n, k in zip(names, "abc", strict=True)}
    table = pa.table(columns)
    return table.sort_by([("peak_frame", "ascending"), ("track", "ascending")])


def start_table(block: Block, plan: Context, starts: Starts) -> tuple[pa.Table, Array]:
    """Fast starts whose onset lies in the block's own frames, and the profiles (E, P) of their speed, world a s."""
    mine = np.flatnonzero((starts.onset >= block.core.start) & (starts.onset < block.core.stop))
    mine = mine[np.lexsort((block.track[starts.column[mine]], starts.onset[mine]))]
    unit, fps, stimulus = plan.units, plan.fps, plan.settings.stimulus
    onset, sigma = block.frame[starts.onset[mine]], starts.sigma_onset[mine] / fps
    columns: dict[str, Any] = {"track": block.track[starts.column[mine]], "onset_frame": onset}
    columns |= {"onset_s": onset / fps, "sigma_onset_s": sigma}
    after = np.zeros(len(mine), np.bool_) if stimulus is None else onset >= stimulus
    columns["latency_s"] = np.where(after, (onset - (stimulus or 0)) / fps, np.nan)
    columns["sigma_latency_s"] = np.where(after, sigma, np.nan)
    columns["peak_frame"] = block.frame[starts.peak[mine]]
    rates = {"peak_speed": (f"{unit}_per_s", fps), "peak_acceleration": (f"{unit}_per_s2", fps**2)}
    turns = {"turn_first": "turning_first_5_frames_rad", "turn": "turning_rad"}
    for name, (label, factor) in rates.items():
        columns[f"{name}_{label}"] = getattr(starts, name)[mine] * factor
        columns[f"sigma_{name}_{label}"] = getattr(starts, f"sigma_{name}")[mine] * factor
    for name, label in turns.items():
        columns[label] = getattr(starts, f"{name}_rad")[mine]
        columns[f"sigma_{label}"] = getattr(starts, f"sigma_{name}_rad")[mine]
    return pa.table(columns), starts.profile[mine] * fps


def _mean(values: Array) -> Array:
    known = np.isfinite(values)
    count = known.sum(1)
    total = np.where(known, values, 0.0).sum(1)
    return np.asarray(np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0))
