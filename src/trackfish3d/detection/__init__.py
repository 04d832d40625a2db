"""Video to detections."""
