"""Masks that a detector finds in a rendered video, against the true ones."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from trackfish3d.cameras import Camera
from trackfish3d.detection.base import Detector, FrameDetections
from trackfish3d.detection.masks.blobs import Blob
from trackfish3d.detection.masks.moments import ALONE, COUNT, SUM_X, SUM_Y
from trackfish3d.media.video import Video
from trackfish3d.synfish.body import BodyMesh
from trackfish3d.synfish.observe import pose_frame
from trackfish3d.synfish.rendering.raster import View
from trackfish3d.synfish.school import School

LEAST_IOU = 0.5
LEAST_SHARE = 0.25  # visible share of a fish below which it counts as hidden in the second recall
FATES = ("merged", "split", "outline", "unseen")
EXTRAS = ("piece", "several", "water")


@dataclass
class Tally:
    """Counts over frames and views; ``fates`` say how the fish that were missed were lost.

    merged: most of it lies in a detection that is mostly other fish; split: in pieces, each below half of it;
    outline: one detection of its own, but not alike enough; unseen: hardly any of it is in any detection.
    ``extras`` say what the detections are that match no fish: a piece of one, several in one, or mostly water.
    """

    fish: int = 0
    shown: int = 0
    shown_found: int = 0
    found: int = 0
    detections: int = 0
    error_px: list[float] = field(default_factory=list)
    fates: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FATES, 0))
    extras: dict[str, int] = field(default_factory=lambda: dict.fromkeys(EXTRAS, 0))

    def add(self, other: "Tally") -> None:
        for name in ("fish", "shown", "shown_found", "found", "detections"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.error_px += other.error_px
        for name in FATES:
            self.fates[name] += other.fates[name]
        for name in EXTRAS:
            self.extras[name] += other.extras[name]

    def to_dict(self) -> dict[str, object]:
        error = np.array(self.error_px or [np.nan])
        return {
            "fish": self.fish,
            "recall": self.found / max(self.fish, 1),
            "recall_shown": self.shown_found / max(self.shown, 1),
            "precision": self.found / max(self.detections, 1),
            "centroid_median_px": float(np.median(error)),
            "centroid_p95_px": float(np.quantile(error, 0.95)),
            "lost": dict(self.fates),
            "extra": dict(self.extras),
        }


def judge(owner: np.ndarray, sums: np.ndarray, masks: list[Blob], tally: Tally) -> np.ndarray:
    """Count one picture: ``owner`` (H, W) fish of each pixel or -1, ``sums`` (N, 11); returns matched fish (B,) or -1.

    Every fish of which a pixel is visible counts.
    """
    fish = len(sums)
    inside = np.zeros((len(masks), fish))
    for b, blob in enumerate(masks):
        h, w = blob.mask.shape
        under = owner[blob.top : blob.top + h, blob.left : blob.left + w][blob.mask > 0]
        inside[b] = np.bincount(under[under >= 0], minlength=fish)
    area, size = np.array([b.area for b in masks]), sums[:, COUNT]
    iou = inside / np.maximum(area[:, None] + size[None] - inside, 1)
    i, j = linear_sum_assignment(-np.where(iou >= LEAST_IOU, 1 + iou, 0))
    good = iou[i, j] >= LEAST_IOU
    match = np.full(len(masks), -1)
    match[i[good]] = j[good]
    visible = size > 0
    shown = visible & (size >= LEAST_SHARE * sums[:, ALONE])
    found = np.zeros(fish, bool)
    found[j[good]] = True
    tally.fish += int(visible.sum())
    tally.found += int(found.sum())
    tally.shown += int(shown.sum())
    tally.shown_found += int((shown & found).sum())
    tally.detections += len(masks)
    for b, k in zip(i[good], j[good], strict=True):
        centre = masks[b].sums[[SUM_X, SUM_Y]] / masks[b].area
        tally.error_px.append(float(np.linalg.norm(centre - sums[k, [SUM_X, SUM_Y]] / size[k])))
    for k in np.flatnonzero(visible & ~found):
        tally.fates[_fate(inside, area, size, k)] += 1
    for b in np.flatnonzero(match < 0):
        water = inside[b].sum() < 0.5 * area[b]
        several = (inside[b] > 0.25 * np.maximum(size, 1)).sum() > 1
        tally.extras["water" if water else "several" if several else "piece"] += 1
    return match


def _fate(inside: np.ndarray, area: np.ndarray, size: np.ndarray, k: int) -> str:
    if inside[:, k].sum() < 0.3 * size[k]:
        return "unseen"
    most = int(np.argmax(inside[:, k]))
    if inside[most, k] < 0.5 * inside[most].sum():
        return "merged"
    return "split" if inside[most, k] < 0.5 * size[k] and (inside[:, k] > 0.1 * size[k]).sum() > 1 else "outline"


def score_view(
    detector: Detector, path: Path, camera: Camera, school: School, mesh: BodyMesh, every: int = 1
) -> tuple[Tally, list[tuple[int, FrameDetections]]]:
    """Detect in one camera's video of a school, and compare every so many pictures with the masks as drawn."""
    video = Video.open(path)
    detector.prepare(video)
    view, row, tally = View(*camera.size), camera.packed, Tally()
    found = []
    for picture in video.read():
        seen = detector.see(picture)
        found.append((picture.number, seen))
        if picture.number % every == 0:
            sums, _ = view.draw(row, pose_frame(school, mesh, picture.number), mesh.triangles)
            judge(view.owner, sums, list(seen.masks or ()), tally)
    return tally, found
