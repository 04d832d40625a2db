"""``supervision.Detections``, the common tongue of many detectors, straight from memory."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...cameras.rig import CameraRig
from ...core.errors import InputError
from ..detections import Detections
from .moments import MaskMoments


def from_supervision(
    frames: Mapping[str, Iterable[Any]], rig: CameraRig, *, first_frame: int = 0, source: str = "supervision"
) -> Detections:
    """Take up each camera's frames, one ``supervision.Detections`` a frame, counted from `first_frame`.

    Masks, where every detection has one, give centroid and moments; otherwise the point is the middle of the box.
    Without confidence the score is 1. A ``tracker_id`` is the tool's own 2D track.
    """
    boxes: list[Any] = []
    scores: list[Any] = []
    raw: list[Any] = []
    places: list[tuple[int, int]] = []
    tracks: list[Any] = []
    for name, sequence in frames.items():
        camera = rig.index(name)
        for frame, seen in enumerate(sequence, first_frame):
            try:
                xyxy = np.asarray(seen.xyxy, dtype=np.float64).reshape(-1, 4)
                n = len(xyxy)
                confidence = np.ones(n) if seen.confidence is None else np.asarray(seen.confidence, dtype=np.float64)
            except (AttributeError, ValueError, TypeError) as error:
                raise InputError(
                    f"{source}: camera {name}, frame {frame}: not a supervision.Detections ({error})"
                ) from None
            own = getattr(seen, "tracker_id", None)
            tracks.append(np.full(n, -1) if own is None else np.asarray(own, dtype=np.int64).reshape(n))
            boxes.append(xyxy)
            scores.append(confidence)
            raw.append(np.zeros((n, 6)) if getattr(seen, "mask", None) is None else _raw(np.asarray(seen.mask)))
            places += [(frame, camera)] * n
    box = np.concatenate([np.zeros((0, 4)), *boxes])
    mask = MaskMoments.from_raw(np.concatenate([np.zeros((0, 6)), *raw]))
    has = np.isfinite(mask.u)
    u, v = (np.where(has, m, b) for m, b in ((mask.u, box[:, 0::2].mean(1)), (mask.v, box[:, 1::2].mean(1))))
    shape = {k: getattr(mask, k) for k in ("area", "angle", "major", "minor")} if len(has) and has.all() else {}
    where = np.array(places, dtype=np.int64).reshape(-1, 2)
    score = np.concatenate([np.zeros(0), *scores])
    corners: dict[str, Any] = dict(zip(("x1", "y1", "x2", "y2"), box.T, strict=True))
    own = np.concatenate([np.zeros(0, np.int64), *tracks])
    more = shape | ({"tracklet": own} if (own >= 0).any() else {})
    return Detections.build(rig.names, where[:, 0], where[:, 1], u, v, score=score, source=source, **corners, **more)


def _raw(masks: Any) -> Any:
    """Raw moments (n, 6) of boolean masks (n, H, W), px centres at whole numbers."""
    n, height, width = masks.shape
    x, y = np.arange(width, dtype=np.float64), np.arange(height, dtype=np.float64)
    rows, columns = masks.sum(2, dtype=np.float64), masks.sum(1, dtype=np.float64)
    xy = np.array([y @ (m @ x) for m in masks.astype(np.float64)]).reshape(n)
    return np.column_stack([rows.sum(1), columns @ x, rows @ y, columns @ x**2, xy, rows @ y**2])
