"""Track recordings with whatever version of trackfish3d is on the path, and time it: part of `bench_motion.py`.

    PYTHONPATH=CHECKOUT/src python benchmarks/motion_track.py OUT RECORDING...

Writes OUT/NAME.npz (frame, track, position, covariance, CPU seconds) for each recording. It imports nothing that
versions of 2026 do not have in common but the place of the joint tracker.
"""

import sys
import time
from pathlib import Path

import numpy as np

from trackfish3d.recordings import Recording

try:
    from trackfish3d.methods.joint.method import Joint
except ImportError:  # before the tracker had its present place
    from trackfish3d.tracking.joint.method import Joint


def main() -> None:
    """Track all."""
    out, *folders = (Path(a) for a in sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    cold = True
    for folder in folders:
        if (out / f"{folder.name}.npz").exists():
            continue
        recording = Recording.open(folder)
        rig, detections = recording.rig, recording.detections
        if cold:  # compile, or load what an earlier run compiled, before time is taken
            Joint().track(rig, detections.select(np.arange(detections.offsets[min(400, len(detections.frames))])))
            cold = False
        begin = time.process_time()
        found = Joint().track(rig, detections)
        seconds = time.process_time() - begin
        tracks = getattr(found, "tracks", found)
        columns = {k: getattr(tracks, k) for k in ("frame", "track", "position", "covariance")}
        np.savez(out / f"{folder.name}.npz", seconds=seconds, **columns)


if __name__ == "__main__":
    main()
