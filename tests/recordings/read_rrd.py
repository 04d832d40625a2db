"""Points of a Rerun file, read by Rerun's own reader."""

from pathlib import Path

import numpy as np
import pytest


def read_points(path: Path) -> dict[tuple[int, int], np.ndarray]:
    """Position of each (frame, track) under ``/tracks``."""
    chunks = pytest.importorskip("rerun.chunk")
    found = {}
    for chunk in chunks.RrdReader(str(path)).store().stream().to_chunks():
        if chunk.is_static or not chunk.entity_path.startswith("/tracks/"):
            continue
        track = int(chunk.entity_path.removeprefix("/tracks/track_"))
        table = chunk.to_record_batch()
        frames = table.column("frame").to_pylist()
        for frame, points in zip(frames, table.column("Points3D:positions").to_pylist(), strict=True):
            assert len(points) == 1
            found[int(frame), track] = np.array(points[0])
    return found
