"""Which new detection shows which true animal. For scores only."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ..recordings import Detections, Recording, Truth, write_table

Array = NDArray[np.float64]
_LEAST = 0.3  # intersection over union of boxes


def box_iou(a: Array, b: Array) -> Array:
    """(N, M) intersection over union of boxes (N, 4) and (M, 4); NaN boxes overlap nothing."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inner = np.clip(high - low, 0, None).prod(2)
    area_a, area_b = (a[:, 2:] - a[:, :2]).prod(1), (b[:, 2:] - b[:, :2]).prod(1)
    iou = inner / np.maximum(area_a[:, None] + area_b[None] - inner, 1e-9)
    out: Array = np.nan_to_num(iou)
    return out


def relink_recording(recording: Recording) -> None:
    """Let a recording's truth name the detections that it has now; nothing happens where it never named any.

    Parameters
    ----------
    recording : one whose detections were made anew.
    """
    truth = recording.truth
    if truth is not None and truth.detection is not None:
        write_table(relink(truth, recording.detections).to_table(), recording.folder / "truth.parquet")
        recording.forget()


def relink(truth: Truth, detections: Detections) -> Truth:
    """Return the truth with the rows of these detections (common clock), matched by the boxes of visible masks.

    An animal without a box of its own whose centre is inside another one's detection shares it: a merged blob.
    """
    if truth.x1 is None or truth.y1 is None or truth.x2 is None or truth.y2 is None:
        return replace(truth, detection=None)
    boxes = np.stack([truth.x1, truth.y1, truth.x2, truth.y2], axis=2)
    out = np.full(truth.x1.shape, -1, np.int64)
    where = np.searchsorted(detections.frame, np.unique(truth.frame), side="left")
    ends = np.searchsorted(detections.frame, np.unique(truth.frame), side="right")
    rows = np.searchsorted(truth.frame, np.append(np.unique(truth.frame), truth.frame.max(initial=0) + 1))
    for k in range(len(where)):
        fish = np.arange(rows[k], rows[k + 1])
        seen = np.arange(where[k], ends[k])
        for c in range(len(truth.cameras)):
            mine = seen[detections.camera[seen] == c]
            if len(mine):
                out[fish, c] = _match(boxes[fish, c], detections.boxes[mine], mine)
    return replace(truth, detection=out)


def _match(true: Array, found: Array, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    iou = box_iou(true, found)
    i, j = linear_sum_assignment(-iou)
    out = np.full(len(true), -1, np.int64)
    good = iou[i, j] >= _LEAST
    out[i[good]] = rows[j[good]]
    middle = 0.5 * (true[:, :2] + true[:, 2:])
    for k in np.flatnonzero((out < 0) & np.isfinite(true).all(1)).tolist():
        inside = (middle[k] >= found[:, :2]).all(1) & (middle[k] <= found[:, 2:]).all(1)
        if inside.any():
            out[k] = rows[int(np.argmax(np.where(inside, iou[k], -1)))]
    return out
