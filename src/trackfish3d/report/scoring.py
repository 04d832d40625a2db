"""Scores beside the truth, and who followed which animal when."""

from typing import Any

import numpy as np

from ..core.errors import InputError
from ..evaluation import Scores, evaluate
from ..recordings import Tracks, Truth
from .frames import FrameAxis, runs
from .packing import rounded, smallest


def score(truth: Truth | None, tracks: Tracks, gate: float) -> Scores | None:
    """Scores of tracks, or None where no truth is known."""
    if not (np.isfinite(gate) and gate > 0):
        raise InputError(f"gate {gate:g}: must be a distance above 0, in world units")
    if truth is None or not len(truth):
        return None
    return evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, gate)


def score_tiles(scores: Scores, units: str) -> list[dict[str, str]]:
    """Name, value and meaning of the scores that are shown, the ones to look at first."""
    unit = "" if units == "unit" else f" {units}"
    c, i, h, e = scores.clear, scores.identity, scores.hota, scores.error
    rows = [
        ("MOTA", _share(c.mota), "1 minus misses, false points and switches over true points"),
        ("IDF1", _share(i.idf1), "share of points under the right identity over the whole recording"),
        ("HOTA", _share(h.hota), "geometric mean of detection and association accuracy"),
        ("RMSE", _number(e.rmse) + unit, "root mean square distance of matched points to the truth"),
        ("switches", str(c.switches), "times an animal went on under another track"),
        ("breaks", str(c.fragmentations), "times an animal was lost and found again"),
        ("recall", _share(c.recall), "share of true points that a track covers"),
        ("precision", _share(c.precision), "share of track points that cover an animal"),
        (
            "MT · PT · ML",
            f"{c.mostly_tracked} · {c.partly_tracked} · {c.mostly_lost}",
            "animals tracked for at least 80 %, in between, for less than 20 % of their frames",
        ),
        ("MTBF", _number(scores.mtbf.mtbf_m), "mean number of frames between failures (MTBFm)"),
    ]
    return [{"name": n, "value": v, "meaning": m} for n, v, m in rows]


def animal_timeline(scores: Scores, tracks_shown: Any, axis: FrameAxis) -> dict[str, Any]:
    """Per true animal, stretches by the track that follows it: (R, 4) animal, first, last, track index + 1 (0 missed).

    Colour changes along a row are identity switches, gaps are misses: both are seen without reading.
    """
    truth, pred = scores.pairs.truth, scores.pairs.pred
    matched = scores.correspondence.pred
    whom = np.zeros(len(matched), np.int64)
    hit = matched >= 0
    whom[hit] = 1 + np.searchsorted(tracks_shown, pred.ids[pred.identity[matched[hit]]])
    order = np.lexsort((truth.frame, truth.identity))
    found = runs(truth.identity[order], axis.position(truth.frame[order]), whom[order])
    return {"names": [str(i) for i in truth.ids.tolist()], "runs": smallest(found)}


def all_scores(scores: Scores) -> list[list[Any]]:
    """Every score by name, for the table at the end of the page."""
    return [[name, rounded(float(value), 5)] for name, value in scores.to_dict().items()]


def _share(value: float) -> str:
    return f"{100 * value:.1f} %" if np.isfinite(value) else "–"


def _number(value: float) -> str:
    if not np.isfinite(value):
        return "–"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
