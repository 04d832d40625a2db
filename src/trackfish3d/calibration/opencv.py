"""OpenCV, brought in only where a calibration is made."""

from typing import Any

from ..core.errors import MissingExtraError


def opencv() -> Any:
    """Return the module ``cv2``, on one thread: several processes may be at work beside this one."""
    try:
        import cv2
    except ImportError:
        raise MissingExtraError("OpenCV", "opencv", "calibrating") from None
    cv2.setNumThreads(1)
    return cv2
