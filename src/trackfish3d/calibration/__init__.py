"""From pictures of a board to cameras: lenses, poses and water, adjusted together and judged."""
