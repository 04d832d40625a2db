"""The tracking model of a recording, estimated from its detections."""
