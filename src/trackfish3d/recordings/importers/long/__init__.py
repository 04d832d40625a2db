"""Tables of detections of any length in constant memory."""
