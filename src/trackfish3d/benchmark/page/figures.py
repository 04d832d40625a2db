"""Figures of the paper: trajectories of all scenes and methods, embeddings, features of the sick fish."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...behaviour.abnormal.paper import FEATURES, window_features
from ...behaviour.abnormal.single_camera import followed, spread_out
from ...core.files import atomic_path
from ...recordings import Recording, Tracks, read_tracks

Results = Sequence[Mapping[str, Any]]
Array = NDArray[np.float64]


def save(figure: Figure, path: Path) -> Path:
    """Write a figure and return its path."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=110, bbox_inches="tight")
    return path


def trajectories(
    folders: Mapping[str, Path], results: Results, out: Path, methods: Mapping[str, str], path: Path
) -> Path:
    """Draw every scene (rows) by truth and methods (columns) from above, a colour a track.

    Parameters
    ----------
    folders : recording of each scene.
    results : of the suite; one school of each scene is drawn.
    out : folder of the suite, which holds the tracks.
    methods : label and heading of each column.
    path : picture.
    """
    figure = Figure(figsize=(2.3 * (1 + len(methods)), 2.1 * len(folders)))
    panels = figure.subplots(len(folders), 1 + len(methods), squeeze=False)
    for row, (scene, folder) in zip(panels, folders.items(), strict=True):
        truth = Recording.open(folder).truth
        assert truth is not None
        _lines(row[0], truth.frame, truth.identity, truth.position)
        row[0].set_ylabel(scene, fontsize=9)
        for axes, label in zip(row[1:], methods, strict=True):
            found = [r for r in results if r["scene"] == scene and r["label"] == label and "error" not in r]
            if found:
                tracks = read_tracks(out / "tracks" / f"{found[0]['stem']}.parquet")
                _lines(axes, tracks.frame, tracks.track, tracks.position)
                axes.set_xlabel(f"{len(tracks.identities)} tracks", fontsize=7)
        low, high = np.nanmin(truth.position, 0), np.nanmax(truth.position, 0)
        for axes in row:
            axes.set(xlim=(low[0] - 1, high[0] + 1), ylim=(low[1] - 1, high[1] + 1), xticks=[], yticks=[])
    for axes, name in zip(panels[0], ("truth", *methods.values()), strict=True):
        axes.set_title(name, fontsize=9)
    return save(figure, path)


def _lines(axes: Any, frame: Any, identity: Any, position: Array) -> None:
    for k, one in enumerate(np.unique(identity)):
        mine = np.flatnonzero(identity == one)
        mine = mine[np.argsort(frame[mine])]
        axes.plot(*position[mine, :2].T, "-", lw=0.6, color=matplotlib.colormaps["tab20"](k % 20))


def embeddings(recording: Recording, models: Mapping[str, Path], path: Path) -> Path:
    """Principal plane of the embeddings of one frame and of five, for each network; a colour a fish.

    Parameters
    ----------
    recording : with truth, which colours the points.
    models : name and file of each network; those that take more than the geometric features are left out.
    path : picture.
    """
    import torch

    from ...methods.paper.batches import embed
    from ...methods.paper.checkpoint import load_model
    from ...methods.paper.features import GEOMETRIC, raw_features

    loaded = {name: load_model(file)[0] for name, file in models.items()}
    nets = {name: net for name, net in loaded.items() if net.settings.raw_features == GEOMETRIC}
    det, truth = recording.detections, recording.truth
    assert truth is not None
    whom = truth.identities_of_detections(len(det)).max(1)
    figure = Figure(figsize=(3.1 * max(len(nets), 1), 6))
    panels = figure.subplots(2, max(len(nets), 1), squeeze=False)
    middle = len(det.frames) // 2
    for column, (name, net) in enumerate(nets.items()):
        for row, count in enumerate((1, 5)):
            rows = np.arange(int(det.offsets[middle]), int(det.offsets[middle + count]))
            with torch.inference_mode():
                padded, _, there = embed(
                    net, raw_features(recording.rig, det), det.offsets, np.arange(middle, middle + count)
                )
            h = padded[there].float().numpy()
            known = whom[rows] >= 0
            h, who, camera = h[known], whom[rows][known], det.camera[rows][known]
            centred = h - h.mean(0)
            plane = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
            axes = panels[row, column]
            for c, mark in zip(range(len(recording.rig)), "o^sDv<>p*h", strict=False):
                axes.scatter(*plane[camera == c].T, c=who[camera == c], cmap="tab20", marker=mark, s=18, lw=0)
            axes.set(xticks=[], yticks=[])
            axes.set_title(f"{name}, {'one frame' if count == 1 else 'five frames'}", fontsize=9)
    return save(figure, path)


def sick_features(recording: Recording, tracks: Tracks, abnormal: int, path: Path) -> Path:
    """Draw mean speed against distance to the centroid of every track and window; the sick fish red."""
    truth = recording.truth
    assert truth is not None
    count = recording.info.frame_count
    position = spread_out(tracks.frame, tracks.track, tracks.position, count)
    whom = followed(position, spread_out(truth.frame, truth.identity, truth.position, count), 1.0)
    found = window_features(position)
    figure = Figure(figsize=(4.6, 3.4))
    axes = figure.add_subplot()
    for k in range(position.shape[1]):
        sick = (whom[:, k] == abnormal).mean() > 0.5
        axes.scatter(
            found[:, k, FEATURES.index("speed_mean")],
            found[:, k, FEATURES.index("centroid_distance_mean")],
            s=5,
            lw=0,
            alpha=0.5,
            color="#c0392b" if sick else "#2e8b57",
        )
    axes.set(xlabel="mean speed, units a frame", ylabel="mean distance to the centroid, units")
    return save(figure, path)
