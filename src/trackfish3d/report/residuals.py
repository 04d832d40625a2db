"""How far the reprojected tracks lie from the detections they were made of, camera by camera."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ..cameras import CameraRig
from ..recordings import Detections, Tracks
from .packing import packed, rounded

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
BINS = 48
CELLS = 33
NEAR = 0.02  # of the image's diagonal: how far a detection may lie from a track that does not name it


@dataclass(frozen=True, eq=False)
class Links:
    """``row`` (N, C) detection of each track point in each camera, -1 none; ``named`` whether the tracks said so."""

    row: Ints
    named: bool
    note: str = ""


def project_tracks(rig: CameraRig, positions: Array) -> Array:
    """World points (N, 3) to pixels (N, C, 2), NaN where a camera does not see them."""
    out = np.full((len(positions), len(rig), 2), np.nan)
    known = np.isfinite(positions).all(1)
    for k, camera in enumerate(rig):
        out[known, k] = camera.project(positions[known])
    return out


def link_detections(rig: CameraRig, tracks: Tracks, detections: Detections, pixels: Array) -> Links:
    """Find the detections of each track point: those the tracks name, else the nearest where both choose each other."""
    named = np.full((len(tracks), len(rig)), -1, np.int64)
    for k, name in enumerate(rig.names):
        if name in tracks.cameras:
            named[:, k] = tracks.detection[:, tracks.cameras.index(name)]
    point, camera = np.nonzero(named >= 0)
    if len(point):
        row = named[point, camera]
        fits = row < len(detections)
        safe = np.where(fits, row, 0)
        if len(detections):
            fits &= (detections.frame[safe] == tracks.frame[point]) & (detections.camera[safe] == camera)
        if fits.all():
            return Links(named, True)
        note = "The tracks name detections that are not this recording's; the nearest detections stand in for them."
    else:
        note = "The tracks do not name the detections they were made of; the nearest detections stand in for them."
    return Links(_nearest(rig, tracks, detections, pixels), False, note if len(detections) else "")


def _nearest(rig: CameraRig, tracks: Tracks, detections: Detections, pixels: Array) -> Ints:
    """Rows (N, C) of mutually nearest detections. Frames are laid far apart in one tree: no loop over frames."""
    out = np.full((len(tracks), len(rig)), -1, np.int64)
    frames = np.unique(np.concatenate([tracks.frame, detections.frame]))
    for k, camera in enumerate(rig):
        near = NEAR * float(np.hypot(*camera.size))
        points = np.flatnonzero(np.isfinite(pixels[:, k]).all(1) & camera.in_image(pixels[:, k]))
        rows = np.flatnonzero(detections.camera == k)
        if not len(points) or not len(rows):
            continue
        apart = 10.0 * near + 2.0 * float(np.hypot(*camera.size))
        a = np.column_stack([pixels[points, k], apart * np.searchsorted(frames, tracks.frame[points])])
        b = np.column_stack([detections.centroids[rows], apart * np.searchsorted(frames, detections.frame[rows])])
        forth = np.asarray(cKDTree(b).query(a, distance_upper_bound=near)[1])
        back = np.asarray(cKDTree(a).query(b, distance_upper_bound=near)[1])
        mine = np.flatnonzero(forth < len(rows))
        mutual = mine[back[forth[mine]] == mine]
        out[points[mutual], k] = rows[forth[mutual]]
    return out


def residual_panels(
    rig: CameraRig, tracks: Tracks, detections: Detections, pixels: Array, links: Links
) -> list[dict[str, Any]]:
    """For each camera: number, median, 90 % and 95 % quantiles, bias, histogram and cloud of the residuals, px.

    All cameras share one scale, so that a bad one is seen at a glance. Interpolated points say nothing about the
    calibration and are left out.
    """
    found = []
    for k in range(len(rig)):
        used = np.flatnonzero((links.row[:, k] >= 0) & tracks.observed & np.isfinite(pixels[:, k]).all(1))
        found.append(detections.centroids[links.row[used, k]] - pixels[used, k])
    lengths = [np.hypot(r[:, 0], r[:, 1]) for r in found]
    top = max((float(np.percentile(d, 95)) for d in lengths if len(d)), default=1.0)
    scale = nice_above(max(1.25 * top, 0.1))
    edges = np.linspace(0, scale, BINS + 1)
    grid = np.linspace(-scale, scale, CELLS + 1)
    panels = []
    for residual, length in zip(found, lengths, strict=True):
        panel: dict[str, Any] = {"count": len(length), "scale": scale}
        if len(length):
            quantiles = np.percentile(length, [50, 90, 95])
            counts = np.histogram(np.minimum(length, scale), edges)[0]
            cloud = np.histogram2d(residual[:, 1], residual[:, 0], [grid, grid])[0]
            panel |= {
                "median": rounded(quantiles[0], 4),
                "p90": rounded(quantiles[1], 4),
                "p95": rounded(quantiles[2], 4),
                "bias": rounded(np.median(residual, axis=0), 4),
                "histogram": counts.tolist(),
                "cloud": packed(np.sqrt(cloud / max(cloud.max(), 1.0)) * 255, "u8"),
            }
        panels.append(panel)
    return panels


def nice_above(value: float) -> float:
    """Smallest of 1, 2, 3, 4, 5, 6, 8 times a power of ten that is not below `value`."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(s * power for s in (1, 2, 3, 4, 5, 6, 8, 10) if s * power >= value * (1 - 1e-9)))
