"""Choose the baselines' gates on the SynFish train scenes: mean MOTA over a grid, nothing of the test scenes.

    python benchmarks/choose_gates.py [--scenes FOLDER]

The chosen values stand in trackfish3d.methods.baselines.geometric: GATE_LENGTHS, MEASUREMENT_STEPS, ACCELERATION_STEPS;
pairs are bounded by their boxes, as in the paper, and a pixel gate is printed beside for comparison.
"""

import argparse
import itertools
import tempfile
from pathlib import Path

import numpy as np

from trackfish3d.evaluation import evaluate
from trackfish3d.maths.linking import link_nearest
from trackfish3d.methods.baselines.geometric import KalmanSettings, Sort3D, link_by_kalman
from trackfish3d.methods.groups import Groups, groups_to_tracks
from trackfish3d.methods.matching import group_frames, hungarian_match
from trackfish3d.methods.postprocess import postprocess
from trackfish3d.methods.scale import box_size, estimate_scale
from trackfish3d.recordings import Recording
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene

GATE = 1.0
ERRORS = (0.1, 0.25, np.inf)  # of the median box diagonal; inf: only boxes bound the error
LENGTHS = (0.167, 0.25, 0.333, 0.5, 0.75, 1.0)  # of a body length
MEASUREMENT = (0.25, 0.5, 1.0, 2.0)  # of a step
ACCELERATION = (0.05, 0.1, 0.2, 0.4)


def open_scenes(folder: Path) -> list[Recording]:
    out = []
    for scene in benchmark_scenes():
        if scene.split == "train":
            path = folder / scene.name
            out.append(Recording.open(path) if (path / "recording.toml").exists() else write_scene(scene, path)[0])
    return out


def mota(recording: Recording, groups: Groups, track: np.ndarray) -> float:
    tracks = postprocess(groups_to_tracks(recording.rig, recording.detections, groups, track))
    truth = recording.truth
    assert truth is not None
    scores = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, GATE)
    return scores.clear.mota


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        recordings = open_scenes(arguments.scenes or Path(temporary))
        by_error = {}
        for share in ERRORS:
            groups = []
            for r in recordings:
                limit = share * box_size(r.detections)
                groups.append(group_frames(r.rig, r.detections, hungarian_match, limit, True, lambda done, total: None))
            by_error[share] = groups
            lengths = [
                estimate_scale(r.rig, r.detections, g).body_length for r, g in zip(recordings, groups, strict=True)
            ]
            for gate in LENGTHS:
                scores = [
                    mota(r, g, link_nearest(g.frame, g.position, gate * length, 15))
                    for r, g, length in zip(recordings, groups, lengths, strict=True)
                ]
                print(
                    f"error {share:5} gate {gate:5} MOTA {100 * np.mean(scores):6.2f} ",
                    *np.round(scores, 3),
                    flush=True,
                )
        for share, gate in itertools.product((np.inf,), (0.25, 0.5, 0.75)):
            for measurement, acceleration in itertools.product(MEASUREMENT, ACCELERATION):
                scores = []
                for r, g in zip(recordings, by_error[share], strict=True):
                    scale = estimate_scale(r.rig, r.detections, g)
                    settings = KalmanSettings(
                        gate=gate * scale.body_length, step=scale.step, measurement=measurement * scale.step,
                        acceleration=acceleration * scale.step, body_length=scale.body_length,
                    )  # fmt: skip
                    scores.append(mota(r, g, link_by_kalman(Sort3D(settings).settings, g)))
                print(
                    f"error {share} gate {gate} measurement {measurement} acceleration {acceleration} "
                    f"MOTA {100 * np.mean(scores):6.2f}", flush=True,
                )  # fmt: skip


if __name__ == "__main__":
    main()
