"""The ``yolo-pose`` detector: models of ultralytics that find every part of a body, from weights on this computer."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...core.errors import InputError
from ...media.video import Video
from ...recordings.skeleton import COCO_PARTS, Skeleton
from ..base import FrameDetections
from .yolo import YoloDetector, YoloSettings


class YoloPoseSettings(YoloSettings):
    """Settings of the YOLO detector of poses."""

    parts: str | None = Field(None, description="names of the parts, with commas; as the weights name them")
    min_part_score: float = Field(0.1, ge=0, le=1, description="score below which a part counts as unseen")


class YoloPoseDetector(YoloDetector):
    """Any ultralytics model of poses: a box and named parts of each animal, for 3D poses."""

    name = "yolo-pose"
    Settings = YoloPoseSettings
    example = "best-pose.pt"
    tasks = ("pose",)

    def load(self, video: Video, threads: int) -> list[str]:
        """Load the weights, and name their parts."""
        notes = super().load(video, threads)
        net = self._model.model
        self._parts = _names(self.settings, int(net.kpt_shape[0]), getattr(net, "kpt_names", None), net.names)
        return notes

    def describe(self) -> dict[str, Any]:
        """Return what the weights are, and the parts that they find."""
        return {**super().describe(), "parts": list(self._parts)}

    def detections(self, result: Any, boxes: NDArray[np.float64], score: NDArray[np.float64]) -> FrameDetections:
        """Return boxes (K, 4) with a score (K,) and their parts; what lies outside the picture was not seen there."""
        parts = np.full((len(boxes), len(self._parts), 3), np.nan)
        if result.keypoints is not None and len(boxes):
            found = result.keypoints.data.cpu().numpy().astype(np.float64)
            parts[..., :2] = found[..., :2] - 0.5
            parts[..., 2] = np.clip(found[..., 2], 0, 1) if found.shape[-1] == 3 else score[:, None]
            height, width = result.orig_shape
            inside = ((found[..., :2] > 0) & (found[..., :2] < [width, height])).all(-1)
            parts[~(inside & (parts[..., 2] >= self.settings.min_part_score))] = np.nan
        return FrameDetections(FrameDetections.from_boxes(boxes, score).columns, parts=parts)


def _names(settings: YoloPoseSettings, count: int, known: Any, classes: dict[int, str]) -> tuple[str, ...]:
    """Names of ``count`` parts: those that were given, those of the weights, those of a person, or numbers."""
    if settings.parts is not None:
        given = tuple(p.strip() for p in settings.parts.split(","))
        if len(given) != count:
            raise InputError(f"--set parts: names {len(given)} parts, {settings.weights} has {count}")
        return Skeleton(given).parts
    named = known.get(0) if isinstance(known, dict) else None
    if isinstance(named, (list, tuple)) and len(named) == count and len(set(map(str, named))) == count:
        return Skeleton(tuple(map(str, named))).parts
    if count == len(COCO_PARTS) and list(classes.values()) == ["person"]:
        return COCO_PARTS
    return tuple(f"part_{k}" for k in range(count))
