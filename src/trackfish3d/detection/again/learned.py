"""Masks and boxes of a learned detector, judged and divided by the animals that tracks expect.

Nothing is added that the detector has not seen: a mask or a box that holds several animals is divided among them, and
what no track explains keeps its place with a lower score.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ..background.appearance import Appearance
from ..base import FrameDetections
from ..masks.blobs import Blob
from .expected import Expected
from .explain import CANDIDATE, groups, share_region, touching

Array = NDArray[np.float64]
_SURE = 255  # level of every pixel of a mask
_ALIKE = 0.25  # intersection over union from which a box may be that of an animal
_LARGER = 1.3  # times as large as expected, from which a box may hold another animal
_WITHIN = 0.7  # of the other animal's box that must lie in it
_SMALLEST = 0.1  # of the usual area


def judge_masks(seen: FrameDetections, here: Expected, shape: tuple[int, ...]) -> FrameDetections:
    """Return masks of one picture divided where several animals share one, with new scores.

    Parameters
    ----------
    seen : what the detector saw, with masks.
    here : animals that are expected.
    shape : (H, W) of the picture.
    """
    blobs, score = list(seen.masks or ()), seen.columns["score"]
    look = _appearance(here)
    level = np.zeros(shape, np.uint8)
    for b in blobs:
        h, w = b.mask.shape
        level[b.top : b.top + h, b.left : b.left + w][b.mask > 0] = _SURE
    masks: list[Blob] = []
    scores: list[float] = []
    visible: list[float] = []
    touch = touching(blobs, here)
    for region, bodies in groups(touch):
        shared: list[tuple[int, Blob, float]] = []
        if len(region) < len(bodies):
            shared, _ = share_region([blobs[b] for b in region], here.of(np.array(bodies)), level, look)
        if shared:
            masks += [blob for _, blob, _ in shared]
            scores += [float(score[region].max())] * len(shared)
            visible += [share for *_, share in shared]
            continue
        # as many masks as animals: the detector has told them apart
        masks += [blobs[b] for b in region]
        scores += [float(score[b]) * (1.0 if bodies else CANDIDATE) for b in region]
        visible += [_shown(blobs[b], np.flatnonzero(touch[b]), here) for b in region]
    return FrameDetections.from_masks(masks, np.array(scores)).with_visible(np.array(visible))


def _shown(blob: Blob, bodies: NDArray[np.intp], here: Expected) -> float:
    """Share of an animal that its mask shows; NaN where it may be that of several, or of none."""
    return float(min(blob.area / here.area[bodies[0]], 1.0)) if len(bodies) == 1 else float("nan")


def _appearance(here: Expected) -> Appearance:
    typical = float(np.median(here.area)) if len(here) else 400.0
    return Appearance(
        smallest=_SMALLEST * typical, typical=typical, largest=1e9, longest=1e9, major=1.0, minor=1.0, fill=0.8,
        level=_SURE, side=0, gap=1, close=1,
    )  # fmt: skip


def judge_boxes(seen: FrameDetections, here: Expected) -> FrameDetections:
    """Return boxes of one picture divided where one holds two animals, with new scores.

    Parameters
    ----------
    seen : what the detector saw, boxes alone.
    here : animals that are expected.
    """
    boxes = np.column_stack([seen.columns[c] for c in ("x1", "y1", "x2", "y2")]).reshape(-1, 4)
    score = seen.columns["score"].copy()
    iou, inside = _overlaps(boxes, here.boxes)
    i, j = linear_sum_assignment(-iou)
    fits = iou[i, j] >= _ALIKE
    owner = np.full(len(boxes), -1, np.int64)
    owner[i[fits]] = j[fits]
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    usual = (here.boxes[:, 2:] - here.boxes[:, :2]).prod(1)
    out, scores, visible = [], [], []
    free = set(range(len(here))) - set(owner[owner >= 0].tolist())
    for b in range(len(boxes)):
        k = int(owner[b])
        more = [m for m in sorted(free) if inside[b, m] >= _WITHIN]
        if k < 0 or not more or area[b] < _LARGER * usual[k]:
            out.append(boxes[b])
            scores.append(score[b] if k >= 0 else CANDIDATE * score[b])
            visible.append(min(area[b] / usual[k], 1.0) if k >= 0 else np.nan)
            continue
        for m in (k, *more):
            low, high = np.maximum(here.boxes[m, :2], boxes[b, :2]), np.minimum(here.boxes[m, 2:], boxes[b, 2:])
            if (high > low).all():
                out.append(np.concatenate([low, high]))
                scores.append(score[b])
                visible.append((high - low).prod() / usual[m])
        free -= set(more)
    return FrameDetections.from_boxes(np.array(out).reshape(-1, 4), np.array(scores)).with_visible(np.array(visible))


def _overlaps(boxes: Array, other: Array) -> tuple[Array, Array]:
    """Intersection over union (N, M), and share (N, M) of the other box that lies in the first."""
    low = np.maximum(boxes[:, None, :2], other[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], other[None, :, 2:])
    both = np.clip(high - low, 0, None).prod(2)
    mine, theirs = (boxes[:, 2:] - boxes[:, :2]).prod(1), (other[:, 2:] - other[:, :2]).prod(1)
    return both / np.maximum(mine[:, None] + theirs[None] - both, 1e-9), both / np.maximum(theirs[None], 1e-9)
