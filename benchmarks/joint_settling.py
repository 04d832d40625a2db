"""What settling positions by all views does to tracks of 3D-ZeF, and by how many views the points far off were seen.

    TRACKFISH3D_DATA=DATA python benchmarks/joint_settling.py [01 03]

Scores of the same tracks before `refinement/settling.py` and after it. Sequences 01 and 03 may be tuned on; 02 and 04
are looked at only to report.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist

import trackfish3d.methods.joint.refinement.tracks_of as tracks_of
from trackfish3d.benchmark.zef import GATE_CM, write_sequence, zef_folder
from trackfish3d.evaluation import evaluate
from trackfish3d.methods.joint.fit.canonical import Canonical
from trackfish3d.methods.joint.method import Joint
from trackfish3d.methods.joint.refinement.trajectories import Trajectories
from trackfish3d.recordings import Recording


def both_ways(recording: Recording) -> dict[str, Trajectories]:
    """Track a recording; its tracks before positions are settled, and after."""
    own, kept = tracks_of.settled, {}

    def keep(rig, obs, paths, model, settings):  # type: ignore[no-untyped-def]
        found = own(rig, obs, paths, model, settings)
        kept.update(before=paths, after=found[1])
        return found

    tracks_of.settled = keep
    try:
        Joint().track(recording.rig, recording.detections, recording.fps)
    finally:
        tracks_of.settled = own
    return kept


def say(name: str, recording: Recording, paths: Trajectories) -> None:
    """Print scores, and of points beyond the gate by how many views each was seen."""
    truth, world = recording.truth, Canonical.of(recording.rig, recording.detections)
    assert truth is not None
    frame, position = paths.frame + world.first, paths.state[:, :3] + world.origin
    found = evaluate(truth.frame, truth.identity, truth.position, frame, paths.name, position, GATE_CM).to_dict()
    away = np.array(
        [cdist([p], truth.position[truth.frame == f]).min(initial=np.inf) for p, f in zip(position, frame, strict=True)]
    )
    seen = (paths.members >= 0).sum(1)
    far = ", ".join(f"{(away[seen == k] > GATE_CM).sum()} of {(seen == k).sum()} by {k}" for k in range(3))
    print(f"{name}: MOTA {100 * found['mota']:.2f}, RMSE {found['rmse']:.4f} cm, ", end="")
    print(f"{found['false_positives']} points without a match; beyond {GATE_CM} cm of every animal: {far} views")


def main() -> None:
    """Write, track, score."""
    with tempfile.TemporaryDirectory() as folder:
        for sequence in sys.argv[1:] or ("01", "03"):
            recording = write_sequence(sequence, zef_folder(None), Path(folder) / sequence)
            for name, paths in both_ways(recording).items():
                say(f"3D-ZeF {sequence} {name}", recording, paths)


if __name__ == "__main__":
    main()
