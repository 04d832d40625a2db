"""What the parts of bodies say about which detections show one animal."""
