"""The ``yolo`` detector: segmentation and detection models of ultralytics, from weights on this computer."""

import logging
import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...core.device import pick_device
from ...core.errors import InputError, MissingExtraError
from ...media.video import Picture, Video
from ..base import FrameDetections
from ..masks.blobs import Blob
from ..masks.outlines import blob_from_mask
from .common import LearnedDetector, WeightsSettings
from .torch_glue import repair_torchvision, require_torch, use_threads

_TASKS = ("detect", "segment")


class YoloSettings(WeightsSettings):
    """Settings of the YOLO detector."""

    size: int | None = Field(None, ge=32, le=8192, description="longer side the network sees, px; as it was trained")
    max_overlap: float = Field(0.7, gt=0, le=1, description="overlap of two boxes above which the weaker goes")
    max_animals: int = Field(300, ge=1, description="detections in a picture at most")
    classes: str | None = Field(None, description="numbers or names of the classes to keep, with commas; all")


def import_ultralytics(purpose: str = "detector yolo") -> Any:
    """Return ultralytics' YOLO class: offline, installing nothing, and reading weights without running their code."""
    os.environ.setdefault("YOLO_OFFLINE", "1")
    os.environ.setdefault("YOLO_AUTOINSTALL", "0")
    require_torch("yolo", purpose)
    repair_torchvision()
    try:
        from ultralytics import YOLO
        from ultralytics.nn import tasks
        from ultralytics.utils import LOGGER
    except ImportError as error:
        package = "ultralytics" if error.name in (None, "ultralytics") else f"{error.name} (for ultralytics)"
        raise MissingExtraError(package, "yolo", purpose) from None
    LOGGER.setLevel(logging.WARNING)
    tasks.SAFE_LOAD = True  # a variable of the environment is read only once, and perhaps before this
    return YOLO


def load_yolo(path: Path, tasks: tuple[str, ...] = _TASKS) -> Any:
    """Model of a ``.pt`` file, or a fresh one of a ``.yaml``; an `InputError` where it is none of these tasks."""
    make = import_ultralytics()
    if path.suffix not in (".pt", ".yaml", ".yml"):
        raise InputError(f"{path}: YOLO weights are .pt; other formats: export to ONNX and take --detector onnx")
    try:
        model = make(str(path))
    except Exception as error:  # whatever a damaged file makes torch, pickle and yaml raise
        text = " ".join(str(error).split())[:160] or type(error).__name__
        raise InputError(f"{path}: cannot be loaded as a YOLO model ({text})") from None
    if model.task not in tasks:
        other = "; --detector yolo-pose takes it" if model.task == "pose" else ""
        raise InputError(f"{path}: is a YOLO model to {model.task}, not to {' or '.join(tasks)}{other}")
    return model


class YoloDetector(LearnedDetector):
    """Any ultralytics model that segments or detects. Boxes alone give no mask moments."""

    name = "yolo"
    Settings = YoloSettings
    example = "best.pt"
    described = (".yaml", ".yml")
    tasks: ClassVar[tuple[str, ...]] = _TASKS
    """What its models are made for."""

    def check_packages(self) -> None:
        """Raise where ultralytics is missing."""
        import_ultralytics()

    def load(self, video: Video, threads: int) -> list[str]:
        """Load the weights, and see that they go through a picture."""
        s: YoloSettings = self.settings
        self._model = load_yolo(s.weights, self.tasks)  # type: ignore[arg-type]
        use_threads(threads)
        self._segments = self._model.task == "segment"
        names = self._model.names
        self._wanted = None if s.classes is None else _classes(s.classes, names, s.weights)
        trained = self._model.model.args if isinstance(self._model.model.args, dict) else vars(self._model.model.args)
        self._size = s.size or int(np.max(trained.get("imgsz", 640)))
        self._device = pick_device(s.device)
        fresh = s.weights is not None and s.weights.suffix != ".pt"
        return [f"{s.weights}: is a fresh network that has learnt nothing"] if fresh else []

    def describe(self) -> dict[str, Any]:
        """Return what the weights are."""
        return {"task": self._model.task, "size": self._size, "device": self._device}

    def look(self, picture: Picture) -> FrameDetections:
        """Run the network on a picture."""
        result = self.predict(picture)
        # ultralytics counts from the edge of the first pixel, detections from its centre.
        boxes = result.boxes.xyxy.cpu().numpy().astype(np.float64).reshape(-1, 4) - 0.5
        score = np.clip(result.boxes.conf.cpu().numpy().astype(np.float64), 0, 1)
        return self.detections(result, boxes, score)

    def predict(self, picture: Picture) -> Any:
        """Return what ultralytics finds in a picture."""
        s: YoloSettings = self.settings
        return self._model.predict(
            np.ascontiguousarray(picture.rgb[..., ::-1]),
            imgsz=self._size,
            conf=s.min_score,
            iou=s.max_overlap,
            max_det=s.max_animals,
            classes=self._wanted,
            agnostic_nms=True,
            device=self._device,
            retina_masks=True,
            verbose=False,
            save=False,
        )[0]

    def detections(self, result: Any, boxes: NDArray[np.float64], score: NDArray[np.float64]) -> FrameDetections:
        """Return detections of boxes (K, 4) with a score (K,) and of the result that they are from."""
        if not self._segments:
            return FrameDetections.from_boxes(boxes, score)
        masks = np.zeros((0, 1, 1), bool) if result.masks is None else result.masks.data.cpu().numpy() > 0.5
        return _from_masks(masks, boxes, score)


def _from_masks(masks: np.ndarray, boxes: np.ndarray, score: np.ndarray) -> FrameDetections:
    """Return detections of masks (K, H, W), each looked for inside its box only."""
    blobs: list[Blob] = []
    kept = []
    for k, (mask, box) in enumerate(zip(masks, boxes, strict=True)):
        left, top = np.maximum(np.floor(box[:2]), 0).astype(int).tolist()
        right, bottom = (np.ceil(box[2:]) + 1).astype(int).tolist()
        blob = blob_from_mask(mask[top : max(bottom, 0), left : max(right, 0)], left, top)
        if blob is not None:
            blobs.append(blob)
            kept.append(k)
    return FrameDetections.from_masks(blobs, score[kept])


def _classes(text: str, names: dict[int, str], weights: Path | None) -> list[int]:
    """Numbers of the classes that are named, or numbered, in ``text``."""
    by_name = {name: number for number, name in names.items()}
    out = []
    for part in (p.strip() for p in text.split(",")):
        number = by_name.get(part, int(part) if part.isdigit() else -1)
        if number not in names:
            known = ", ".join(f"{k} {n}" for k, n in list(names.items())[:12])
            raise InputError(f"{weights}: has no class '{part}'; it has {known}")
        out.append(number)
    return out
