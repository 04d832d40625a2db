"""Detectors by name. A detector's module is imported when it is asked for, so that none pays for another's packages."""

import importlib
from collections.abc import Mapping
from typing import Any

from ..core.errors import InputError
from ..core.settings import make_settings
from .base import Detector

_HERE = "trackfish3d.detection"
_DETECTORS: dict[str, tuple[str, str]] = {
    "background": (f"{_HERE}.background.detector:BackgroundDetector", "what differs from a static camera's background"),
    "taught": (
        f"{_HERE}.taught.taught_detector:TaughtDetector",
        "a small network taught on the recording itself (extras learn, onnx)",
    ),
    "yolo": (f"{_HERE}.learned.yolo:YoloDetector", "a YOLO that segments or detects (extra yolo)"),
    "yolo-pose": (f"{_HERE}.learned.yolo_pose:YoloPoseDetector", "a YOLO of poses: every part of a body (extra yolo)"),
    "onnx": (f"{_HERE}.learned.onnx:OnnxDetector", "an exported detector (extra onnx)"),
    "sam2": (f"{_HERE}.learned.sam2:Sam2Detector", "SAM 2, pointed at animals by the background (extra sam)"),
    "sam3": (f"{_HERE}.learned.sam3:Sam3Detector", "SAM 3, told in words what to find (extra sam)"),
}


def detector_names() -> tuple[str, ...]:
    """Names of all detectors."""
    return tuple(_DETECTORS)


def summaries() -> dict[str, str]:
    """One line about each detector."""
    return {name: summary for name, (_, summary) in _DETECTORS.items()}


def make_detector(name: str, settings: Mapping[str, Any] | None = None) -> Detector:
    """Make a detector.

    Parameters
    ----------
    name : what users call it, as ``trackfish3d detect --help`` lists them.
    settings : by name; texts are converted to their types.
    """
    if name not in _DETECTORS:
        raise InputError(f"detector '{name}' is not known; choose one of {', '.join(_DETECTORS)}")
    module, _, attribute = _DETECTORS[name][0].partition(":")
    cls: type[Detector] = getattr(importlib.import_module(module), attribute)
    return cls(make_settings(cls.Settings, settings or {}, f"detector {name}"))
