"""One frame: detections to groups. Pseudo-labels, the published network, its losses, and grouping."""
