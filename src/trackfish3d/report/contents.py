"""Everything a page shows, as one JSON-able dictionary."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..bodies import find_reflections
from ..cameras import CameraRig
from ..evaluation.gate import default_gate
from ..health.kept import kept_notes, kept_problems
from ..recordings import Detections, Recording, Tracks, Truth
from .behaviour import read_figures
from .frames import FrameAxis, runs
from .origin import settings_of, versions
from .packing import packed, quantised, rounded, smallest
from .palette import PALETTES
from .residuals import link_detections, project_tracks, residual_panels
from .scoring import all_scores, animal_timeline, score, score_tiles
from .skeletons import named_like, skeletons
from .space import Space, space_of
from .suspects import suspect_rows
from .thumbnails import second_looks, thumbnails

BUDGET = 11_000_000  # bytes of arrays on a page, before base64 makes them a third longer
COLUMNS = 1600  # of plots over time: more than a screen has
OBSERVED, SINGLE, INTERPOLATED = 1, 2, 3

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def collect(
    recording: Recording,
    tracks: Tracks,
    gate: float | None = None,
    tracks_file: str | Path = "tracks.parquet",
    raw: bool = False,
    every: int = 1,
) -> dict[str, Any]:
    """Contents of the page about `tracks` of a recording, scored at `gate` (world units) where the truth is known.

    `tracks_file` is where the tracks were read from, a name in the recording's folder or a path of its own; `raw` says
    that they are as the tracker left them, whatever was edited; `every` that all of it is of every n-th frame only.
    """
    rig, truth = recording.rig, recording.truth
    verdicts = [f"Something is wrong: {line}" for line in kept_problems(recording.folder)]
    notes = [line[:1].upper() + line[1:] for line in kept_notes(recording.folder)]
    if (recording.folder / "detections.parquet").exists():
        detections = recording.detections
    else:
        detections = Detections.empty(rig.names)
        notes.append("This recording has no detections: views show reprojected tracks only.")
    if not len(tracks):
        verdicts.append("Something is wrong: there is no track in this recording.")
    info = recording.info
    span = [info.first_frame, info.first_frame + info.frame_count - 1] if info.frame_count else []
    axis, thin = _axis(tracks, detections, truth, span, every, len(rig))
    notes += thin
    pictures, problems = thumbnails(recording)
    known = [tracks.position] if truth is None else [tracks.position, truth.position]
    space = space_of(rig, np.concatenate(known))
    pixels = project_tracks(rig, tracks.position)
    links = link_detections(rig, tracks, detections, pixels)
    scores = score(truth, tracks, default_gate(recording).distance if gate is None else gate)
    names = tracks.identities
    outside = int((~_within(tracks.position, space.reach)).sum())
    if outside:
        notes.append(f"{outside} track points lie far outside the box (or nowhere) and are not drawn in 3D.")
    notes += [str(image).capitalize() + "." for image in find_reflections(tracks, np.array([c.centre for c in rig]))]
    figures, remarks = read_figures(recording.folder, recording.folder / tracks_file, axis, raw)
    own = str(tracks_file) == "tracks.parquet"
    residual = residual_panels(rig, tracks, detections, pixels, links) if len(detections) else []
    return {
        "title": recording.folder.resolve().name,
        "description": info.description,
        "tracksFile": Path(tracks_file).name,
        "fps": rounded(float(recording.fps)),
        "fpsKnown": info.fps_known,
        "units": recording.units,
        "palettes": PALETTES,
        "axis": axis.to_json(),
        "space": space.to_json(rig),
        "cameras": [{"name": c.name, "size": list(c.size), "pictures": pictures.get(c.name, [])} for c in rig],
        "tracks": _tracks(tracks, pixels, names, axis, space, rig),
        "poses": _poses(recording, tracks, axis, space) if own else None,
        "truth": None if truth is None else _truth(truth, axis, space, rig),
        "detections": _detections(detections, tracks, links.row, names, axis, rig),
        "counts": _counts(detections, tracks, axis, len(rig)),
        "residuals": residual,
        "residualNote": links.note,
        "scores": None
        if scores is None
        else {
            "gate": scores.gate,
            "tiles": score_tiles(scores, recording.units),
            "animals": animal_timeline(scores, names, axis),
            "all": all_scores(scores),
        },
        "suspects": suspect_rows(recording, tracks, axis, raw) if own else [],
        "looks": second_looks(recording) if own else None,
        "behaviour": figures,
        "settings": settings_of(recording.folder),
        "versions": versions(),
        "verdicts": verdicts,
        "notes": notes + remarks + problems,
    }


def _axis(
    tracks: Tracks, detections: Detections, truth: Truth | None, span: list[int], every: int, cameras: int
) -> tuple[FrameAxis, list[str]]:
    """Frames of the page, and what is to be said of those that are not shown."""
    axis = FrameAxis.over(tracks.frame, detections.frame, [] if truth is None else truth.frame, span)
    notes = []
    if every > 1:
        axis = FrameAxis(axis.numbers[axis.numbers % every == 0])
        notes.append(
            f"Long recording: all of this page is of every {_ordinal(every)} frame, scores too; "
            "'trackfish3d evaluate' and 'analyse' use all."
        )
    points = len(tracks) * (17 + 4 * cameras) + len(detections) * 17
    points += 0 if truth is None else len(truth) * (12 + 4 * cameras)
    axis = FrameAxis(axis.numbers, max(1, -(-points // BUDGET)), every)
    if axis.stride > 1:
        notes.append(
            f"Long recording: 3D view and camera views show every {_ordinal(axis.stride)} frame; "
            "plots, timelines and scores use all."
        )
    return axis, notes


def _poses(recording: Recording, tracks: Tracks, axis: FrameAxis, space: Space) -> dict[str, Any] | None:
    """Bodies of the recording's own tracks, under the names that edits gave them, where there are poses."""
    poses = recording.poses
    if poses is None or not len(poses):
        return None
    called = named_like(poses, recording.tracks, tracks)
    return skeletons(called, tracks.identities, axis, space, recording.rig)


def _tracks(
    tracks: Tracks, pixels: Array, names: Ints, axis: FrameAxis, space: Space, rig: CameraRig
) -> dict[str, Any]:
    """Track points by track, then frame: the 3D view draws one piece from each point to the next."""
    whose = np.searchsorted(names, tracks.track)
    state = np.where(tracks.observed, np.where(tracks.views == 1, SINGLE, OBSERVED), INTERPOLATED)
    position = axis.position(tracks.frame)
    order = np.lexsort((position, whose))
    table = runs(whose[order], position[order], state[order])
    keep = order[position[order] % axis.stride == 0]
    with np.errstate(invalid="ignore"):
        sigma = np.sqrt(np.trace(tracks.covariance, axis1=1, axis2=2) / 3)
    return {
        "names": [str(n) for n in names.tolist()],
        "runs": smallest(table),
        "start": packed(np.searchsorted(whose[keep], np.arange(len(names) + 1)), "u32"),
        "frame": smallest(position[keep] // axis.stride),
        "state": packed(state[keep], "u8"),
        "views": packed(np.clip(tracks.views[keep], 0, 255), "u8"),
        "xyz": quantised(tracks.position[keep], *space.reach),
        "sigma": quantised(sigma[keep, None], [0.0], [float((space.high - space.low).max())]),
        "error": quantised(tracks.error_px[keep, None], [0.0], [_top(tracks.error_px)]),
        "confidence": quantised(tracks.confidence[keep, None], [0.0], [1.0]),
        "pixels": _pixels(pixels[keep], rig),
        "meanError": rounded(_mean_by(whose, tracks.error_px, len(names)), 3),
    }


def _truth(truth: Truth, axis: FrameAxis, space: Space, rig: CameraRig) -> dict[str, Any]:
    names, whose = np.unique(truth.identity, return_inverse=True)
    position = axis.position(truth.frame)
    order = np.lexsort((position, whose))
    keep = order[position[order] % axis.stride == 0]
    return {
        "names": [str(n) for n in names.tolist()],
        "start": packed(np.searchsorted(whose[keep], np.arange(len(names) + 1)), "u32"),
        "frame": smallest(position[keep] // axis.stride),
        "xyz": quantised(truth.position[keep], *space.reach),
        "pixels": _pixels(project_tracks(rig, truth.position[keep]), rig),
    }


def _detections(
    detections: Detections, tracks: Tracks, links: Ints, names: Ints, axis: FrameAxis, rig: CameraRig
) -> dict[str, Any]:
    """Boxes by frame, each with the track that used it (index + 1, 0 for none)."""
    owner = np.zeros(len(detections), np.int64)
    for k in range(len(rig)):
        used = np.flatnonzero(links[:, k] >= 0)
        owner[links[used, k]] = 1 + np.searchsorted(names, tracks.track[used])
    position = axis.position(detections.frame)
    keep = np.flatnonzero(position % axis.stride == 0)
    at = position[keep] // axis.stride
    columns = np.concatenate([detections.centroids[keep], detections.boxes[keep]], axis=1).reshape(-1, 3, 2)
    return {
        "total": len(detections),
        "start": packed(np.searchsorted(at, np.arange(len(axis.shown) + 1)), "u32"),
        "camera": packed(detections.camera[keep], "u8"),
        "owner": smallest(owner[keep]),
        "pixels": _pixels(columns, rig),
    }


def _counts(detections: Detections, tracks: Tracks, axis: FrameAxis, cameras: int) -> dict[str, Any]:
    """Count detections of each camera and living tracks: means over at most `COLUMNS` stretches of frames."""
    total = len(axis.numbers)
    columns = min(COLUMNS, total)
    length = np.bincount(np.arange(total) * columns // total, minlength=columns)
    at = axis.position(detections.frame) * columns // total
    rows = [np.bincount(at[detections.camera == k], minlength=columns) / length for k in range(cameras)]
    alive = np.bincount(axis.position(tracks.frame) * columns // total, minlength=columns) / length
    return {"columns": columns, "cameras": packed(np.array(rows), "f32"), "tracks": packed(alive, "f32")}


def _pixels(pixels: Array, rig: CameraRig) -> dict[str, Any]:
    """Pixels (..., 2) in 16 bits: a sixteenth of a pixel at 2,700 px, a quarter of the image beyond each border."""
    size = np.array([c.size for c in rig], dtype=np.float64).max(0)
    return quantised(pixels, -0.25 * size, 1.25 * size)


def _within(points: Array, reach: Array) -> NDArray[np.bool_]:
    return np.asarray(((points >= reach[0]) & (points <= reach[1])).all(1))


def _top(values: Array) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.max()) if len(finite) and finite.max() > 0 else 1.0


def _mean_by(group: ArrayLike, values: Array, count: int) -> Array:
    """(count,) mean of the finite values of each group, NaN where there is none."""
    known = np.isfinite(values)
    group = np.asarray(group)[known]
    number = np.bincount(group, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.bincount(group, values[known], minlength=count) / number)


def _ordinal(n: int) -> str:
    return {2: "second", 3: "third"}.get(n, f"{n}th")
