"""Detections, truth and clocks from other tools' files."""

from ._file import DetectionFile, DetectionsWarning, Dropped
from .read import FORMATS, DetectionFiles, concatenate, find_detections, read_detections
from .supervision import from_supervision
from .timestamps import Clock, align_by_time, read_timestamps
from .truth import import_truth, import_truth_with_parts, iter_imported_truth

__all__ = [
    "FORMATS",
    "Clock",
    "DetectionFile",
    "DetectionFiles",
    "DetectionsWarning",
    "Dropped",
    "align_by_time",
    "concatenate",
    "find_detections",
    "from_supervision",
    "import_truth",
    "import_truth_with_parts",
    "iter_imported_truth",
    "read_detections",
    "read_timestamps",
]
