"""From tracks to everything that is measured on them, block by block."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..core.errors import InputError
from ..core.progress import Progress
from ..recordings.tracks import Tracks
from .abnormal.anomaly import Verdict, judge_whole, judge_windows
from .measures.pairs import Delays, delays_of, pair_ratio
from .settings import AnalysisSettings
from .streaming.block_measures import BIN_COLUMNS, GROUP_COLUMNS, Measured, measure
from .streaming.blocks import Block, TrackSource, blocks
from .streaming.context import QUANTITIES, Context
from .streaming.first_pass import Survey, survey
from .streaming.summary import anomaly_table, fish_table, pair_table

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Sink = Callable[[str, pa.Table], None]

MARGIN_S = 10.0
BLOCK_FRAMES = 4096
MOST_MAIN = 64
PAIR_FRAMES = 20_000  # frames that pairs are looked at in
CHUNK_BINS = 4000
HISTOGRAM_BINS = 600
MOST_NUMBERS = 500_000_000  # of one array: 4 GB
POINT_NUMBERS = 40  # that are kept of each track at each frame of a block


@dataclass(frozen=True, eq=False)
class World:
    """Where the animals swim: ``fps``; ``units`` of length; ``up`` (3,) unit vector; ``surface_world`` the surface's
    height along it, None if not known: then the highest points of the tracks stand for it.
    """

    fps: float
    units: str = "unit"
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    surface_world: float | None = None


@dataclass(frozen=True, eq=False)
class Behaviour:
    """What an analysis found, apart from the tables that were handed out block by block.

    ``bins`` (B, K, C) averages of the main tracks over bins, columns `BIN_COLUMNS`, from ``first_bin`` on;
    ``group_bins`` (B, G) of the group, columns `GROUP_COLUMNS`;
    ``histograms`` (K + 1, H) of each quantity, the last row of all tracks; ``delays`` between the main tracks;
    ``pair_correlation`` (P,); ``maps`` (3, M, M) of neighbours; ``tank`` cells; ``windows`` and ``whole`` the verdicts
    on the main tracks; ``fish``, ``pairs``, ``starts`` tables; ``profiles`` (E, P) speed about each of the starts.
    """

    survey: Survey
    plan: Context
    bins: Array
    first_bin: int
    group_bins: Array
    histograms: dict[str, Array]
    delays: Delays
    pair_correlation: Array
    maps: Array
    tank: Array
    windows: Verdict
    whole: Verdict
    fish: pa.Table
    pairs: pa.Table
    starts: pa.Table
    profiles: Array


def world_of(rig: CameraRig, fps: float, up: Array) -> World:
    """World of a recording: its surface is the highest refracting plane that lies level."""
    heights = [float(f.point @ up) for c in rig for f in c.interfaces if float(f.normal @ up) > 0.98]
    x, y, z = (float(v) for v in up)
    return World(fps, rig.units, (x, y, z), max(heights) if heights else None)


def analyse(
    tracks: Tracks | TrackSource,
    world: World,
    settings: AnalysisSettings | None = None,
    sink: Sink | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
) -> Behaviour:
    """Measure tracks.

    Parameters
    ----------
    tracks : in memory, or a source that is read piece by piece.
    sink : called with name and table for each finished piece of ``points``, ``group``, ``bursts`` and ``windows``.
    progress : called with frames done and frames in all.
    threads : blocks measured at once; Numba's number of threads if not said.
    """
    settings = settings or AnalysisSettings()
    source = TrackSource(tracks) if isinstance(tracks, Tracks) else tracks
    found = survey(source, world.fps)
    if found is None:
        raise InputError("there is no track point with a finite position, so there is no behaviour to measure")
    plan = make_plan(found, world, settings)
    length = _block_frames(found, plan)
    margin = min(round(MARGIN_S * world.fps), 4 * BLOCK_FRAMES)
    _refuse_wild(found, plan, length + 2 * margin)
    sums = _Sums(plan)
    for block, part in _measured(blocks(source, length, margin, origin=found.first_frame), plan, threads):
        for name, table in (("points", part.points), ("group", part.group), ("bursts", part.bursts)):
            if sink is not None and table.num_rows:
                sink(name, table)
        sums.add(part)
        if progress is not None:
            progress(int(block.frame[block.core][-1]) - found.first_frame + 1, found.frames)
    return sums.finish(found, sink)


def make_plan(found: Survey, world: World, settings: AnalysisSettings) -> Context:
    """Scales of histograms and maps, from a first look."""
    up = np.asarray(world.up, dtype=np.float64)
    height = found.position @ up
    surface = float(np.percentile(height, 99.9)) if world.surface_world is None else world.surface_world
    low, high = np.percentile(found.position, [0.1, 99.9], axis=0)
    size = max(float((high - low).max()), 1e-9)
    low, high = low - 0.02 * size, high + 0.02 * size
    cells = np.maximum(1, np.round(settings.tank_bins * (high - low) / (high - low).max())).astype(int)
    usual = found.speed * world.fps if found.speed > 0 else size
    near = found.nearest_neighbour if found.nearest_neighbour > 0 else size
    deepest = surface - float(height.min())
    tops = {"speed": 8 * usual, "turning": 20.0, "nearest_neighbour": 8 * near}
    edges = {name: np.linspace(0.0, top, HISTOGRAM_BINS + 1) for name, top in tops.items()}
    edges["depth"] = np.linspace(min(0.0, surface - float(height.max())), max(deepest, 1e-9), HISTOGRAM_BINS + 1)
    return Context(
        fps=world.fps,
        units=world.units,
        up=up,
        surface_world=surface,
        noise=found.noise,
        settings=settings,
        main=found.main_tracks(settings.shortest, MOST_MAIN),
        slow_per_s=0.02 * usual,
        edges=edges,
        pair_edges=np.linspace(0.0, min(6 * near, size), 41),
        reach_world=min(3 * near, size),
        low=low,
        high=high,
        cells=(int(cells[0]), int(cells[1]), int(cells[2])),
        bin_frames=max(1, round(settings.anomaly.bin_s * world.fps)),
        every=max(1, -(-found.frames // PAIR_FRAMES)),
        first_frame=found.first_frame,
        last_frame=found.last_frame,
        fast=float(np.nan_to_num(max(settings.start_speed * found.speed, 1.5 * found.high_speed), nan=np.inf)),
    )


def _refuse_wild(found: Survey, plan: Context, block: int) -> None:
    """Refuse frame numbers and frame rates that would need more memory than there is.

    Parameters
    ----------
    found : the first look.
    plan : of the analysis.
    block : frames of a block with its margins.
    """
    tracks = len(plan.main)
    bins = found.frames // plan.bin_frames * (tracks * len(BIN_COLUMNS) + len(GROUP_COLUMNS))
    if bins > MOST_NUMBERS:
        raise InputError(
            f"the tracks reach from frame {found.first_frame} to {found.last_frame} with {int(found.points.sum())} "
            "points between: too far to average; are the frame numbers counts of frames? If so, analyse it in parts"
        )
    lags = 2 * round(plan.settings.max_delay_s * plan.fps) + 1
    if max(lags * tracks * tracks, min(block, found.frames) * found.crowd * POINT_NUMBERS) > MOST_NUMBERS:
        raise InputError(f"{plan.fps:g} frames a second make a second too long to measure {found.crowd} tracks in")


def _block_frames(found: Survey, plan: Context) -> int:
    """Frames of a block: fewer where many tracks come and go, and a whole number of bins."""
    length = BLOCK_FRAMES if found.crowd <= 200 else BLOCK_FRAMES // 4 if found.crowd <= 1000 else BLOCK_FRAMES // 16
    return max(1, length // plan.bin_frames) * plan.bin_frames


def _measured(found: Iterator[Block], plan: Context, threads: int | None) -> Iterator[tuple[Block, Measured]]:
    """Measure blocks in several threads, in order; only a few are in memory at a time."""
    workers = threads or numba.config.NUMBA_NUM_THREADS
    waiting: deque[tuple[Block, Future[Measured]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for block in found:
            waiting.append((block, pool.submit(measure, block, plan)))
            if len(waiting) > workers:
                ready, future = waiting.popleft()
                yield ready, future.result()
        while waiting:
            ready, future = waiting.popleft()
            yield ready, future.result()


class _Sums:
    """What blocks add up to."""

    def __init__(self, plan: Context) -> None:
        self.plan = plan
        self.number: list[Ints] = []
        self.track: list[Ints] = []
        self.values: list[NDArray[np.float32]] = []
        self.group: list[tuple[Ints, Array]] = []
        self.histograms = {q: np.zeros((len(plan.main) + 1, HISTOGRAM_BINS)) for q in QUANTITIES}
        self.delays: tuple[Array, Array] | None = None
        self.found = np.zeros(len(plan.pair_edges) - 1)
        self.expected = np.zeros(len(plan.pair_edges) - 1)
        self.maps = np.zeros((3, plan.settings.map_bins, plan.settings.map_bins))
        self.tank = np.zeros(plan.cells)
        self.bursts: dict[int, int] = {}
        self.starts: list[pa.Table] = []
        self.profiles: list[Array] = []

    def add(self, part: Measured) -> None:
        self.number.append(part.bin_number)
        self.track.append(part.bin_track)
        self.values.append(part.bin_values.astype(np.float32))
        self.group.append(part.group_bins)
        for name, counts in part.histograms.items():
            self.histograms[name] += counts
        total, count = part.delays
        self.delays = (total, count) if self.delays is None else (self.delays[0] + total, self.delays[1] + count)
        self.found += part.pairs[0]
        self.expected += part.pairs[1]
        self.maps += part.maps
        self.tank += part.tank
        self.starts.append(part.starts)
        self.profiles.append(part.profiles)
        for track, count in zip(*np.unique(part.bursts["track"].to_numpy(), return_counts=True), strict=True):
            self.bursts[int(track)] = self.bursts.get(int(track), 0) + int(count)

    def finish(self, found: Survey, sink: Sink | None) -> Behaviour:
        plan, settings = self.plan, self.plan.settings.anomaly
        number, track, values = np.concatenate(self.number), np.concatenate(self.track), np.concatenate(self.values)
        first, last = int(number.min()), int(number.max())
        main = _dense(number, track, values, plan.main, first, last)
        measures = main[..., : len(BIN_COLUMNS) - 5]
        whole = judge_whole(measures, settings)
        windows = judge_windows(measures, settings, plan.window_bins, most=2000)
        if sink is not None:
            for table in _judged(number, track, values, plan, first, last):
                sink("windows", table)
        group = np.full((last - first + 1, len(GROUP_COLUMNS)), np.nan)
        for numbers, averages in self.group:
            group[numbers - first] = averages
        assert self.delays is not None
        delays = delays_of(*self.delays, len(plan.main))
        return Behaviour(
            found,
            plan,
            main,
            first,
            group,
            self.histograms,
            delays,
            pair_ratio(self.found, self.expected),
            self.maps,
            self.tank,
            windows,
            whole,
            fish_table(found, plan, track, values, self.histograms, self.bursts, delays, whole, windows),
            pair_table(plan, delays),
            pa.concat_tables(self.starts),
            np.concatenate(self.profiles),
        )


def _dense(number: Ints, track: Ints, values: NDArray[np.float32], wanted: Ints, first: int, last: int) -> Array:
    """(B, K, C) rows of bins spread out for the tracks ``wanted``, bins ``first`` to ``last``."""
    out = np.full((last - first + 1, len(wanted), values.shape[1]), np.nan)
    mine = np.isin(track, wanted) & (number >= first) & (number <= last)
    out[number[mine] - first, np.searchsorted(wanted, track[mine])] = values[mine]
    return out


def _judged(
    number: Ints, track: Ints, values: NDArray[np.float32], plan: Context, first: int, last: int
) -> Iterator[pa.Table]:
    """Verdicts on every window and every track that covers enough of it, in chunks of bins."""
    settings = plan.settings.anomaly
    length = plan.window_bins
    order = np.argsort(number, kind="stable")
    number, track, values = number[order], track[order], values[order]
    starts = number[0] + np.arange(0, max(last - first + 1 - length, 0) + 1, CHUNK_BINS)
    for start in starts.tolist():
        end = min(start + CHUNK_BINS + length - 2, last) if last - first + 1 > length else last
        rows = slice(*np.searchsorted(number, [start, end + 1]))
        who, count = np.unique(track[rows], return_counts=True)
        who = who[count >= settings.coverage * min(length, last - first + 1)]
        bins = _dense(number[rows], track[rows], values[rows], who, start, end)[..., : len(BIN_COLUMNS) - 5]
        verdict = judge_windows(bins, settings, length)
        moved = replace(verdict, first_bin=verdict.first_bin + start, last_bin=verdict.last_bin + start)
        yield anomaly_table(plan, who, moved)
