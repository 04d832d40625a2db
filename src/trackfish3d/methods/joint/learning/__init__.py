"""Are two detections of different cameras one animal? What shape and surroundings say beyond geometry, learned."""
