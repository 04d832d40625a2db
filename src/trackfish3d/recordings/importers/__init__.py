"""Detections, truth and clocks from other tools' files."""

from ._file import DetectionFile, DetectionsWarning, Dropped
from .read import FORMATS, concatenate, read_detections
from .supervision import from_supervision
from .timestamps import Clock, align_by_time, read_timestamps
from .truth import import_truth, import_truth_with_parts

__all__ = [
    "FORMATS",
    "Clock",
    "DetectionFile",
    "DetectionsWarning",
    "Dropped",
    "align_by_time",
    "concatenate",
    "from_supervision",
    "import_truth",
    "import_truth_with_parts",
    "read_detections",
    "read_timestamps",
]
