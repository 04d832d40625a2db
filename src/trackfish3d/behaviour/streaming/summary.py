"""Tables about whole tracks and pairs of them."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..abnormal.anomaly import MEASURES, Verdict, evidence
from ..measures.pairs import Delays
from .context import Context
from .first_pass import Survey

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def fish_table(
    found: Survey,
    plan: Context,
    track: Ints,
    values: NDArray[np.float32],
    histograms: dict[str, Array],
    bursts: dict[int, int],
    delays: Delays,
    whole: Verdict,
    windows: Verdict,
) -> pa.Table:
    """One row for each track. Medians, leadership and verdicts only of main tracks; NaN for the others.

    ``track`` (R,) and ``values`` (R, C) are bins with the columns of `measures.BIN_COLUMNS`.
    """
    unit, n = plan.units, len(found.track)
    where = np.searchsorted(found.track, track)
    frames = values[:, -1].astype(np.float64)
    minutes = np.bincount(where, frames, minlength=n) / plan.fps / 60

    def mean(column: int) -> Array:
        v = values[:, column].astype(np.float64)
        known = np.isfinite(v)
        weight = np.bincount(where[known], frames[known], minlength=n)
        total = np.bincount(where[known], (v * frames)[known], minlength=n)
        return np.asarray(np.divide(total, weight, out=np.full(n, np.nan), where=weight > 0))

    k = len(MEASURES)
    main = np.searchsorted(found.track, plan.main)

    def spread(of_main: Array) -> Array:
        out = np.full(n, np.nan)
        out[main] = of_main
        return out

    count = np.array([bursts.get(int(t), 0) for t in found.track])
    columns: dict[str, Any] = {"track": found.track, "first_frame": found.first, "last_frame": found.last}
    columns |= {"points": found.points, "observed_share": mean(k + 3)}
    columns[f"speed_mean_{unit}_per_s"] = mean(k)
    for name, label in (("speed", f"speed_median_{unit}_per_s"), ("turning", "turning_median_rad_per_s")):
        columns[label] = spread(_medians(histograms[name][:-1], plan.edges[name]))
    columns[f"depth_mean_{unit}"] = mean(k + 1)
    label = f"nearest_neighbour_median_{unit}"
    columns[label] = spread(_medians(histograms["nearest_neighbour"][:-1], plan.edges["nearest_neighbour"]))
    columns["straightness_mean"] = mean(k + 2)
    columns["bursts_per_min"] = np.divide(count, minutes, out=np.full(n, np.nan), where=minutes > 0)
    columns["leads_by_s"] = spread(delays.leadership_frames() / plan.fps)
    columns["abnormal_p"] = spread(whole.p[0])
    columns["abnormal_probability"] = spread(whole.probability[0])
    columns["abnormal"] = np.nan_to_num(spread(whole.abnormal[0].astype(float))) > 0
    judged = np.isfinite(windows.p).sum(0)
    share = np.divide(windows.abnormal.sum(0), judged, out=np.full(len(main), np.nan), where=judged > 0)
    columns["abnormal_windows_share"] = spread(share)
    words = [""] * n
    for j, row in enumerate(main.tolist()):
        words[row] = evidence(whole.t[0, j])
    columns["evidence"] = words
    return pa.table(columns)


def pair_table(plan: Context, delays: Delays) -> pa.Table:
    """One row for each ordered pair of main tracks: by how long the second follows the first."""
    n = len(plan.main)
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    return pa.table(
        {
            "track": plan.main[first],
            "other": plan.main[second],
            "other_follows_after_s": delays.delay_frames[first, second] / plan.fps,
            "correlation": delays.strength[first, second],
        }
    )


def anomaly_table(plan: Context, track: Ints, verdict: Verdict) -> pa.Table:
    """One row for each window and track that was judged."""
    w, n = np.nonzero(np.isfinite(verdict.p))
    first, last = plan.frames_of(verdict.first_bin, verdict.last_bin)
    columns: dict[str, Any] = {
        "first_frame": first[w],
        "last_frame": last[w],
        "track": track[n],
        "p": verdict.p[w, n],
        "probability": verdict.probability[w, n],
        "abnormal": verdict.abnormal[w, n],
    }
    columns |= {f"t_{m.name}": verdict.t[w, n, k].astype(np.float32) for k, m in enumerate(MEASURES)}
    return pa.table(columns)


def _medians(counts: Array, edges: Array) -> Array:
    """(K,) medians of histograms (K, H), interpolated within their bin; NaN where there is nothing."""
    total = counts.sum(1)
    sums = np.cumsum(counts, axis=1)
    half = 0.5 * total[:, None]
    at = np.argmax(sums >= half, axis=1)
    rows = np.arange(len(counts))
    inside = counts[rows, at]
    before = sums[rows, at] - inside
    share = np.divide(half[:, 0] - before, inside, out=np.zeros(len(counts)), where=inside > 0)
    found = edges[at] + share * (edges[1] - edges[0])
    return np.asarray(np.where(total > 0, found, np.nan))
