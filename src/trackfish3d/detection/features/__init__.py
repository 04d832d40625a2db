"""Visual features of detections."""
