"""Pictures of a benchmark: MOTA over the number of fish, over noise, and trajectories side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..core.drawing import plain_text
from ..core.files import atomic_path
from ..evaluation import evaluate
from ..recordings import Recording, Tracks, Truth, read_tracks
from .paper import OURS, SYNFISH_TEST, paper_results
from .report import at_level, mean_score, noise_levels

Results = Sequence[Mapping[str, Any]]
_COLOURS = [matplotlib.colormaps["tab10"](i) for i in range(10)] + [matplotlib.colormaps["Dark2"](i) for i in range(8)]
_MARKS = "osD^v<>Pp*"
_FRAGMENT = "0.45"
_GHOST = "black"


def _save(figure: Figure, path: Path) -> None:
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=130, bbox_inches="tight")


def _labels(results: Results) -> list[str]:
    return list(dict.fromkeys(r["label"] for r in results))


@plain_text
def plot_mota_over_fish(results: Results, path: Path, with_paper: bool) -> None:
    """MOTA of each scene over its number of fish; lines join the means. The paper's as broken lines."""
    figure = Figure(figsize=(7, 4.2))
    axes = figure.add_subplot()
    for k, label in enumerate(_labels(results)):
        rows = [r for r in results if r["label"] == label]
        fish = np.array([r["scores"]["animals"] for r in rows])
        mota = 100 * np.array([r["scores"]["mota"] for r in rows])
        shift = 1 + 0.012 * (k - 0.5 * len(_labels(results)))  # equal values would hide each other
        axes.plot(fish * shift, mota, _MARKS[k % 10], color=_COLOURS[k % 18], alpha=0.55, ms=5)
        levels = np.unique(fish)
        means = [mota[fish == n].mean() for n in levels]
        axes.plot(levels * shift, means, "-", color=_COLOURS[k % 18], label=label, lw=1.6)
    if with_paper:
        fish = np.array([4, 5, 8, 16, 16, 16])
        for name, style in (("SAM3+Hungarian", ":"), (OURS, "--")):
            mota = np.array(paper_results()["synfish_test_MOTA_per_scene"][name])
            levels = np.unique(fish)
            axes.plot(
                levels, [mota[fish == n].mean() for n in levels], style, color="0.35", lw=1.2, label=f"paper: {name}"
            )
    axes.set_xscale("log", base=2)
    ticks = sorted({int(r["scores"]["animals"]) for r in results})
    axes.set_xticks(ticks, [str(t) for t in ticks])
    axes.minorticks_off()
    axes.set(xlabel="fish", ylabel="MOTA, %")
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    _save(figure, path)


@plain_text
def plot_mota_over_noise(results: Results, path: Path) -> None:
    """Mean MOTA over scenes against calibration and detection noise; the paper's method as a broken line."""
    figure = Figure(figsize=(9, 4))
    panels = np.atleast_1d(figure.subplots(1, 2, sharey=True))
    tables = {"calibration": "calibration_noise_inference", "detection": "detection_noise"}
    words = {"calibration": "calibration noise, degrees and world units", "detection": "detection noise, share"}
    for axes, (kind, table) in zip(panels, tables.items(), strict=True):
        levels = noise_levels(results, kind)
        for k, label in enumerate(_labels(results)):
            mota = [100 * mean_score(at_level(results, kind, s), label, "mota") for s in levels]
            axes.plot(levels, mota, f"-{_MARKS[k % 10]}", color=_COLOURS[k % 18], label=label, ms=5)
        published = {float(s): row["MOTA"] for s, row in paper_results()[table].items()}
        axes.plot(list(published), list(published.values()), "--", color="0.35", label="paper: TrackFish3D")
        axes.set(xlabel=words[kind])
        axes.grid(alpha=0.25)
    panels[0].set(ylabel="MOTA, %")
    panels[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    _save(figure, path)


@plain_text
def plot_trajectories(recording: Recording, tracks: Mapping[str, Tracks], gate: float, path: Path) -> None:
    """Truth and methods side by side in 3D, a colour for each animal.

    A track has the colour of the animal it follows most; of several tracks that follow one animal only the longest,
    the others are grey. Tracks that follow nobody are black.
    """
    truth = recording.truth
    assert truth is not None
    ids = np.unique(truth.identity)
    colours = {int(i): matplotlib.colormaps["hsv"](k / len(ids)) for k, i in enumerate(ids)}
    figure = Figure(figsize=(3.6 * (1 + len(tracks)), 3.4))
    low, high = np.nanmin(truth.position, axis=0), np.nanmax(truth.position, axis=0)
    panels = [figure.add_subplot(1, 1 + len(tracks), k + 1, projection="3d") for k in range(1 + len(tracks))]
    _draw(panels[0], truth.frame, truth.identity, truth.position, colours)
    panels[0].set_title(f"truth, {len(ids)} animals", fontsize=10)
    for axes, (name, found) in zip(panels[1:], tracks.items(), strict=True):
        chosen = _colour_tracks(truth, found, gate, colours)
        _draw(axes, found.frame, found.track, found.position, chosen)
        axes.set_title(f"{name}, {len(found.identities)} tracks", fontsize=10)
    for axes in panels:
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
        axes.tick_params(labelsize=6, pad=-2)
        axes.set_box_aspect(tuple(np.maximum(high - low, 0.2 * (high - low).max())), zoom=1.25)
    figure.text(0.5, 0.02, "grey: further tracks of an animal; black: tracks of nobody", ha="center", fontsize=8)
    _save(figure, path)


def _colour_tracks(truth: Truth, tracks: Tracks, gate: float, colours: Mapping[int, Any]) -> dict[int, Any]:
    scores = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, gate)
    pairs, matched = scores.pairs, scores.correspondence.pred >= 0
    animal = pairs.truth.ids[pairs.truth.identity[matched]]
    track = pairs.pred.ids[pairs.pred.identity[scores.correspondence.pred[matched]]]
    follows, count = np.unique(np.column_stack([animal, track]), axis=0, return_counts=True)
    out: dict[int, Any] = dict.fromkeys(tracks.identities.tolist(), _GHOST)
    taken: set[int] = set()
    named: set[int] = set()
    for row in np.argsort(-count, kind="stable"):
        who, which = int(follows[row, 0]), int(follows[row, 1])
        if which not in named:
            named.add(which)
            out[which] = _FRAGMENT if who in taken else colours[who]
            taken.add(who)
    return out


def _draw(
    axes: Axes,
    frame: NDArray[np.int64],
    identity: NDArray[np.int64],
    position: NDArray[np.float64],
    colours: Mapping[int, Any],
) -> None:
    for one in np.unique(identity):
        mine = np.flatnonzero(identity == one)
        broken = np.flatnonzero(np.diff(frame[mine]) > 1) + 1
        for piece in np.split(mine, broken):
            axes.plot(*position[piece].T, color=colours[int(one)], lw=0.9)


def trajectories_of(folder: Path, results: Results, scene: str, limit: int = 3) -> dict[str, Tracks]:
    """Tracks of up to ``limit`` methods on a scene, the best first, from the files the jobs left."""
    rows = sorted((r for r in results if r["scene"] == scene), key=lambda r: -r["scores"]["mota"])
    paths = {row["label"]: folder / "tracks" / f"{row['stem']}.parquet" for row in rows}
    there = [label for label, path in paths.items() if path.exists()]  # results that were kept have none
    return {label: read_tracks(paths[label]) for label in there[:limit]}


def hardest_scene(results: Results) -> str:
    """Scene of lowest mean MOTA, among the paper's test scenes where there are any."""
    scenes = list(dict.fromkeys(r["scene"] for r in results))
    known = [s for s in scenes if s in SYNFISH_TEST] or scenes
    hardest: str = min(known, key=lambda s: float(np.mean([r["scores"]["mota"] for r in results if r["scene"] == s])))
    return hardest
