"""Figures of behaviour: packed by ``trackfish3d analyse`` into a file beside the tables, and put on the page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from ..behaviour.abnormal.anomaly import MEASURES, evidence
from ..behaviour.analysis import Behaviour
from ..behaviour.measures.faststarts import BEFORE
from ..behaviour.measures.pairs import sides
from ..behaviour.streaming.block_measures import BIN_COLUMNS, GROUP_COLUMNS
from ..core import files
from ..core.errors import InputError
from ..core.files import read_text
from ..recordings.edits.edit_log import FILE as EDITS
from ..recordings.edits.edit_log import read_log
from ..recordings.edits.mending import TrackFile
from .figures import VERSION, Figures
from .frames import FrameAxis
from .packing import packed, quantised, rounded

Array = NDArray[np.float64]

FIGURES = "figures.json"
COLUMNS = 900  # of plots over time
WINDOWS = 600
BARS = 60  # of distributions
STARTS = 200


def figures_of(found: Behaviour, tracks: Path, raw: bool = False) -> dict[str, Any]:
    """Everything the page draws, small; ``tracks`` is the file that was analysed, known again by its digest.

    ``raw``: as the tracker left them, whatever was edited.
    """
    plan = found.plan
    step = max(1, -(-len(found.bins) // COLUMNS))
    bins, group = _thinned(found.bins, step), _thinned(found.group_bins, step)
    first = plan.first_frame + (found.first_bin + np.arange(len(bins)) * step) * plan.bin_frames
    column = {name: k for k, name in enumerate(BIN_COLUMNS)}
    return {
        "version": VERSION,
        "digest": digest(tracks, raw),
        "units": plan.units,
        "tracks": [int(t) for t in plan.main],
        "frame": [int(f) for f in first],
        "frames": int(step * plan.bin_frames),
        "speed": _series(bins[..., column["speed"]]),
        "depth": _series(bins[..., column["depth_world"]]),
        "observed": _series(bins[..., column["observed"]]),
        "group": {name: _series(group[:, k]) for k, name in enumerate(GROUP_COLUMNS)},
        "anomaly": _anomaly(found),
        "maps": {"reach": rounded(plan.reach_world), "cells": [_picture(m) for m in found.maps]},
        "tank": _tank(found),
        "distributions": {q: _bars(found, q) for q in ("speed", "nearest_neighbour")},
        "pairs": {"low": 0.0, "high": rounded(float(plan.pair_edges[-1])), "g": rounded(found.pair_correlation, 4)},
        "leaders": {
            "delay": rounded(found.delays.delay_frames / plan.fps, 4),
            "strength": rounded(found.delays.strength, 4),
        },
        "starts": _starts(found),
    }


def _starts(found: Behaviour) -> dict[str, Any]:
    """Fast starts, the first `STARTS` of them, with their speeds about the onset."""
    unit, rows = found.plan.units, found.starts.slice(0, STARTS).to_pylist()
    names = {
        "latency": "latency_s",
        "sigma_onset": "sigma_onset_s",
        "peak": f"peak_speed_{unit}_per_s",
        "sigma_peak": f"sigma_peak_speed_{unit}_per_s",
        "turn": "turning_rad",
        "sigma_turn": "sigma_turning_rad",
    }
    return {
        "total": found.starts.num_rows,
        "fps": rounded(found.plan.fps),
        "stimulus": found.plan.settings.stimulus,
        "before": BEFORE,
        "each": [
            {"track": row["track"], "onset": row["onset_frame"]} | {k: rounded(row[n], 4) for k, n in names.items()}
            for row in rows
        ],
        "profile": _series(found.profiles[:STARTS]),
    }


def read_figures(
    folder: Path, tracks: Path, axis: FrameAxis, raw: bool = False
) -> tuple[dict[str, Any] | None, list[str]]:
    """Figures beside a recording for its page, or None, and what the reader should know.

    A file that is damaged, or of other tracks, is not shown; the page says so. Places on the page's axis are added.
    """
    path = folder / "behaviour" / FIGURES
    if not path.is_file():
        return None, []
    again = f"run 'trackfish3d analyse {folder.name}' again"
    try:
        figures = Figures.model_validate(json.loads(read_text(path)))
    except (InputError, ValidationError, ValueError, RecursionError):
        return None, [f"The figures of behaviour cannot be read: {again}."]
    if figures.digest != digest(tracks, raw):
        return None, [f"The figures of behaviour are of other tracks and not shown: {again}."]
    found = figures.model_dump()
    found["place"] = _places(np.asarray(figures.frame) + 0.5 * (figures.frames - 1), axis)
    first, last = np.asarray(figures.anomaly.first, float), np.asarray(figures.anomaly.last, float)
    found["anomaly"]["middle"] = _places(0.5 * (first + last), axis)
    found["anomaly"]["span"] = _places(np.array([first.min(initial=np.inf), last.max(initial=-np.inf)]), axis)
    return found, []


def digest(tracks: Path, raw: bool = False) -> str:
    """Digest of a file's contents and, unless ``raw``, of the edits made on it; empty where there is no file."""
    if not tracks.is_file():
        return ""
    held: tuple[Any, ...] = ()
    if tracks.name == "tracks.parquet" and not raw:
        log = read_log(tracks.with_name(EDITS))
        held = log.on(TrackFile(tracks).digest) if log.active else ()
    return files.digest(tracks)[:16] + "".join(f".{e.id}" for e in held)


def _places(frame: Array, axis: FrameAxis) -> dict[str, Any]:
    """Positions on the page's axis of (possibly broken) frame numbers."""
    return packed(np.interp(frame, axis.numbers, np.arange(len(axis.numbers))), "f32")


def _thinned(values: Array, step: int) -> Array:
    """Means of every ``step`` rows, of what is known."""
    rows = -(-len(values) // step)
    padded = np.full((rows * step, *values.shape[1:]), np.nan)
    padded[: len(values)] = values
    parts = padded.reshape(rows, step, *values.shape[1:])
    known = np.isfinite(parts)
    count = known.sum(1)
    total = np.where(known, parts, 0.0).sum(1)
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def _series(values: Array) -> dict[str, Any]:
    """Numbers of any shape, quantised between their extremes."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return quantised(values[..., None], [low], [high])


def _picture(cells: Array) -> dict[str, Any]:
    """Turn counts (R, C) into bytes on a square-root scale, which shows the rare beside the common; ``top`` is 255."""
    top = float(cells.max(initial=0.0))
    return {"top": rounded(top), "cells": packed(np.sqrt(cells / max(top, 1e-300)) * 255, "u8")}


def _anomaly(found: Behaviour) -> dict[str, Any]:
    plan, windows, whole = found.plan, found.windows, found.whole
    settings = plan.settings.anomaly
    step = max(1, -(-len(windows.p) // WINDOWS))
    first, last = plan.frames_of(windows.first_bin[::step], windows.last_bin[::step])
    return {
        "window": settings.window_s,
        "rate": settings.false_alarm_rate,
        "measures": [{"name": m.name, "low": m.low, "high": m.high, "decides": m.sick != 0} for m in MEASURES],
        "first": first.tolist(),
        "last": last.tolist(),
        "probability": _series(windows.probability[::step]),
        "p": _series(np.log10(windows.p[::step])),
        "t": quantised(np.clip(windows.t[::step], -30, 30)[..., None], [-30.0], [30.0]),
        "whole": [
            {
                "p": rounded(float(whole.p[0, k]), 3),
                "probability": rounded(float(whole.probability[0, k]), 4),
                "abnormal": bool(whole.abnormal[0, k]),
                "evidence": evidence(whole.t[0, k]),
            }
            for k in range(len(plan.main))
        ],
    }


def _tank(found: Behaviour) -> dict[str, Any]:
    """Three sides, each with the axes of its rows and columns."""
    plan = found.plan
    names = ((0, 1), (0, 2), (1, 2))
    pictures = []
    for (a, b), cells in zip(names, sides(found.tank), strict=True):
        pictures.append({"rows": "xyz"[a], "columns": "xyz"[b], **_picture(cells)})
    up = int(np.abs(plan.up).argmax())
    return {
        "low": rounded(plan.low),
        "high": rounded(plan.high),
        "up": ("" if plan.up[up] > 0 else "-") + "xyz"[up],
        "sides": pictures,
    }


def _bars(found: Behaviour, name: str) -> dict[str, Any]:
    """Share of all points in `BARS` bars up to where 99.5 % of them are."""
    counts, edges = found.histograms[name][-1], found.plan.edges[name]
    total = max(float(counts.sum()), 1.0)
    last = max(BARS, -(-int(np.searchsorted(np.cumsum(counts), 0.995 * total) + 1) // BARS) * BARS)
    last = min(last, len(counts) // BARS * BARS)
    shares = counts[:last].reshape(BARS, -1).sum(1) / total
    return {"high": rounded(float(edges[last])), "shares": rounded(shares, 4)}
