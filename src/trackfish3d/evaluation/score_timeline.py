"""A picture of who was tracked, lost, swapped or broken when."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ..core.drawing import plain_text
from ..core.files import atomic_path
from .clear import MISSED, SWITCHED
from .matching import Floats, Ints
from .scores import Scores

# Paul Tol's "muted": nine colours that stay apart in the common colour blindnesses.
_MUTED = ("#332288", "#DDCC77", "#117733", "#88CCEE", "#CC6677", "#44AA99", "#882255", "#999933", "#AA4499")
_LOST = "#BBBBBB"
_MOST_LABELLED_ANIMALS = 40
_WIDTH_IN, _TOP_IN, _GAP_IN, _COUNTS_IN, _BOTTOM_IN = 12.0, 0.85, 0.15, 0.9, 0.85


@plain_text
def draw_timeline(scores: Scores, path: str | Path, title: str = "") -> None:
    """Write `timeline_figure` as a PNG, complete or not at all.

    Parameters
    ----------
    scores : as `evaluate` gives them.
    path : the file.
    title : name of the scene or method.
    """
    figure = timeline_figure(scores, title)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", metadata={"Software": None})


@plain_text
def timeline_figure(scores: Scores, title: str = "") -> Figure:
    """Draw one scene as a PNG: a bar for every true animal, coloured by the track that follows it.

    The nine colours come round in tints and shades when there are more tracks; the track's number stands in each run
    that is wide enough. Lost stretches are a thin grey line. Short losses and switches would be too narrow to see on
    a long recording, so each is marked as well: a triangle above the bar at a switch, a tick below it where tracking
    resumes after a gap. Below, animals lost and false tracks in every frame.

    Parameters
    ----------
    scores : as `evaluate` gives them.
    title : name of the scene or method.
    """
    rows_in = min(max(0.26 * len(scores.pairs.truth.ids), 0.6), 30.0)
    height = _TOP_IN + rows_in + _GAP_IN + _COUNTS_IN + _BOTTOM_IN
    figure = Figure(figsize=(_WIDTH_IN, height), dpi=110)
    FigureCanvasAgg(figure)
    left, width = 0.075, 0.855
    counts = figure.add_axes((left, _BOTTOM_IN / height, width, _COUNTS_IN / height))
    above = _BOTTOM_IN + _COUNTS_IN + _GAP_IN
    bars = figure.add_axes((left, above / height, width, rows_in / height), sharex=counts)
    if len(scores.pairs.frames):
        first, last = scores.pairs.frames[[0, -1]]
        bars.set_xlim(first - 0.5, last + 0.5)
    _draw_bars(bars, scores)
    _draw_counts(counts, scores)
    _draw_words(figure, bars, scores, title)
    return figure


def _runs(scores: Scores) -> tuple[Ints, Ints, Floats, Floats]:
    """Stretches on one track or none: animal (R,), track (R,) or -1, begin (R,) and end (R,) in frames."""
    points = scores.pairs.truth
    if not len(points.frame):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
    order = np.argsort(points.identity, kind="stable")
    animal, frame = points.identity[order], points.frame[order]
    pred = scores.correspondence.pred[order]
    track = np.full(len(pred), -1, np.int64)
    track[pred >= 0] = scores.pairs.pred.identity[pred[pred >= 0]]
    step = np.searchsorted(scores.pairs.frames, frame)  # frames in which an animal is not there end its run
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(animal) != 0) | (np.diff(track) != 0) | (np.diff(step) != 1)
    start = np.flatnonzero(new)
    stop = np.append(start[1:], len(order)) - 1
    begin, end = (frame[start] - 0.5).astype(np.float64), (frame[stop] + 0.5).astype(np.float64)
    joined = np.append((np.diff(animal) == 0) & (np.diff(step) == 1), False)[stop]
    end[joined] = begin[1:][joined[:-1]]  # no white slits where frames are numbered with a stride
    return animal[start], track[start], begin, end


def _colours(scores: Scores, animal: Ints, track: Ints, length: Floats) -> Floats:
    """RGB (tracks, 3). The track an animal has most gets the animal's own colour, so neighbours differ."""
    count = len(scores.pairs.pred.ids)
    followed = track >= 0
    total = np.zeros((len(scores.pairs.truth.ids), count))
    np.add.at(total, (animal[followed], track[followed]), length[followed])
    palette = [to_rgb(colour) for colour in _MUTED]
    ring = [tuple(1 - f * (1 - c) for c in rgb) for f in (1.0, 0.5) for rgb in palette]
    ring += [tuple(0.6 * c for c in rgb) for rgb in palette]
    colours = np.full((count, 3), np.nan)
    taken = 0
    mains = total.argmax(axis=1) if count else np.zeros(0, np.int64)
    others = np.argsort(-total.sum(axis=0), kind="stable")
    for one in [*mains.tolist(), *others.tolist()]:
        if np.isnan(colours[one, 0]):
            colours[one] = ring[taken % len(ring)]
            taken += 1
    return colours


def _draw_bars(axes: Axes, scores: Scores) -> None:
    ids = scores.pairs.truth.ids
    animal, track, begin, end = _runs(scores)
    colours = _colours(scores, animal, track, end - begin)
    followed = track >= 0
    for shown, half, colour in ((~followed, 0.07, _LOST), (followed, 0.34, None)):
        left, right, middle = begin[shown], end[shown], animal[shown].astype(float)
        low, high = middle - half, middle + half
        corners = np.stack([[left, low], [right, low], [right, high], [left, high]]).transpose(2, 0, 1)
        faces = np.atleast_2d(to_rgb(colour)) if colour else colours[track[shown]]
        axes.add_collection(PolyCollection(list(corners), facecolors=faces, edgecolors="none"))
    if len(ids) <= _MOST_LABELLED_ANIMALS and len(scores.pairs.frames):
        span = float(np.ptp(axes.get_xlim()))
        for a, t, x0, x1 in zip(animal[followed], track[followed], begin[followed], end[followed], strict=True):
            label = str(scores.pairs.pred.ids[t])
            if (x1 - x0) / span > 0.008 * (len(label) + 1):
                dark = float(colours[t] @ [0.299, 0.587, 0.114]) < 0.55
                axes.text(
                    (x0 + x1) / 2,
                    a,
                    label,
                    ha="center",
                    va="center_baseline",
                    fontsize=7,
                    color="white" if dark else "black",
                    clip_on=True,
                )

    frame, identity = scores.pairs.truth.frame, scores.pairs.truth.identity
    for event, shift, marker in ((_switched(scores), -0.40, "v"), (_resumed(scores), 0.43, "|")):
        size = 5 if len(event) < 40 * max(len(ids), 1) else 2.5
        axes.plot(
            frame[event] - 0.5, identity[event] + shift, marker, color="black", markersize=size, clip_on=False, zorder=4
        )
    axes.set_ylim(len(ids) - 0.4, -0.7)
    named = np.arange(0, len(ids), max(1, len(ids) // 50))
    axes.set_yticks(named, [str(ids[k]) for k in named], fontsize=8)
    axes.set_ylabel("true animal")
    axes.yaxis.set_label_coords(-0.042, 0.5)
    axes.tick_params(axis="both", length=0, labelbottom=False)
    axes.grid(axis="x", color="#E6E6E6", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


def _switched(scores: Scores) -> Ints:
    """Truth rows at which an animal is on another track than at its last match."""
    return np.flatnonzero(scores.correspondence.state == SWITCHED)


def _resumed(scores: Scores) -> Ints:
    """Truth rows at which an animal is matched again after a gap: the fragmentations."""
    identity, matched = scores.pairs.truth.identity, scores.correspondence.state != MISSED
    order: Ints = np.argsort(identity, kind="stable")
    hit = matched[order]
    row = np.arange(len(order))
    last = np.maximum.accumulate(np.where(hit, row, -1))
    before = np.append(-1, last[:-1])
    again = hit & (before >= 0) & (before < row - 1)
    again[again] = identity[order][before[again]] == identity[order][row[again]]
    rows: Ints = order[again]
    return rows


def _draw_counts(axes: Axes, scores: Scores) -> None:
    """Animals lost (upwards) and false tracks (downwards) in every frame."""
    pairs, found = scores.pairs, scores.correspondence
    frames = len(pairs.frames)
    true_at = np.searchsorted(pairs.frames, pairs.truth.frame)
    pred_at = np.searchsorted(pairs.frames, pairs.pred.frame)
    lost = np.bincount(true_at[found.state == MISSED], minlength=frames)
    false = np.bincount(pred_at, minlength=frames) - np.bincount(true_at[found.state != MISSED], minlength=frames)
    axes.fill_between(pairs.frames, lost, step="mid", color="#555555", linewidth=0)
    axes.fill_between(pairs.frames, -false, step="mid", color="#EE7733", linewidth=0)
    axes.axhline(0, color="black", linewidth=0.6)
    top = max(1, int(lost.max(initial=0)))
    bottom = max(1, int(false.max(initial=0)))
    axes.set_ylim(-1.1 * bottom, 1.1 * top)
    axes.set_yticks([-bottom, 0, top], [str(bottom), "0", str(top)], fontsize=8)
    axes.set_xlabel("frame")
    axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    axes.set_ylabel("false | lost", fontsize=8)
    axes.yaxis.set_label_coords(-0.042, 0.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _draw_words(figure: Figure, axes: Axes, scores: Scores, title: str) -> None:
    """Title, scores, the share of frames in which each animal was tracked, and the legend."""
    clear, height = scores.clear, figure.get_figheight()
    figure.text(0.075, 1 - 0.28 / height, title, fontsize=12, weight="bold", va="center")
    line = (
        f"MOTA {100 * clear.mota:.1f} %   IDF1 {100 * scores.identity.idf1:.1f} %   "
        f"HOTA {100 * scores.hota.hota:.1f} %   "
        f"{clear.switches} switches   {clear.fragmentations} fragmentations   "
        f"{clear.misses} lost points   {clear.false_positives} false points   (gate {scores.gate:g})"
    )
    figure.text(0.075, 1 - 0.55 / height, line, fontsize=9, va="center", color="#333333")
    identity, animals = scores.pairs.truth.identity, len(scores.pairs.truth.ids)
    matched = scores.correspondence.state != MISSED
    share = np.bincount(identity[matched], minlength=animals) / np.bincount(identity, minlength=animals)
    right = axes.get_yaxis_transform()
    for a in axes.get_yticks().astype(int):
        axes.text(
            1.008, a, f"{100 * share[a]:.0f} %", transform=right, fontsize=8, va="center_baseline", color="#333333"
        )
    axes.text(1.008, -0.72, "tracked", transform=right, fontsize=8, va="bottom", color="#333333")
    handles = [
        Patch(color=_MUTED[0], label="on a track (its number)"),
        Line2D([], [], color=_LOST, linewidth=2.5, label="lost"),
        Line2D([], [], color="black", marker="v", linestyle="", markersize=5, label="switched to another track"),
        Line2D([], [], color="black", marker="|", linestyle="", markersize=6, label="tracked again after a gap"),
        Patch(color="#555555", label="animals lost"),
        Patch(color="#EE7733", label="false tracks"),
    ]
    figure.legend(handles=handles, loc="lower center", ncols=6, fontsize=8, frameon=False)
