"""Time the tracking methods and their parts, one thread, compiled code loaded before.

    OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python benchmarks/bench_tracking.py [--scenes test1,test4,thirty]

Prints milliseconds a frame: association, linking, and whole methods; and the Kalman filter on its own.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

from trackfish3d.core.errors import MissingExtraError
from trackfish3d.maths.kalman import MotionNoise, initial_states, predict, update
from trackfish3d.maths.linking import link_kalman, link_nearest
from trackfish3d.methods.postprocess import postprocess
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Recording
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene

METHODS = ("hungarian", "greedy", "sort3d", "svt", "bytetrack", "ocsort", "openptv")


def seconds(call: Callable[[], object], repeat: int = 3) -> float:
    best = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def bench_scene(recording: Recording) -> None:
    rig, detections = recording.rig, recording.detections
    frames = len(detections.frames)
    few = detections.select(np.arange(int(detections.offsets[min(5, frames)])))

    def report(what: str, spent: float) -> None:
        print(f"  {what:<26}{1000 * spent / frames:9.3f} ms a frame", flush=True)

    method = make_method("sort3d").resolve(rig, detections)
    s = method.settings
    groups = method.associate(rig, few, lambda done, total: None)
    report("associate (Hungarian)", seconds(lambda: method.associate(rig, detections, lambda done, total: None)))
    groups = method.associate(rig, detections, lambda done, total: None)
    noise = MotionNoise(s.acceleration, s.measurement, s.step)
    link_nearest(groups.frame, groups.position, s.gate, 15)
    link_kalman(groups.frame, groups.position, noise, s.gate, 30)
    report("link, nearest", seconds(lambda: link_nearest(groups.frame, groups.position, s.gate, 15)))
    report("link, Kalman", seconds(lambda: link_kalman(groups.frame, groups.position, noise, s.gate, 30)))
    tracks = method.run(rig, detections, recording.fps, lambda done, total: None).tracks
    report("post-process", seconds(lambda: postprocess(tracks)))
    for name in METHODS:
        try:
            whole = make_method(name)
            whole.resolve(rig, detections).track(rig, few)
            repeat = 3 if name in ("hungarian", "greedy", "sort3d") else 1
            report(f"method {name}", seconds(lambda: whole.track(rig, detections, recording.fps), repeat))  # noqa: B023
        except MissingExtraError as error:
            print(f"  {name}: {error}")


def bench_filter(tracks: int = 1000) -> None:
    noise = MotionNoise(0.1, 0.1, 1.0)
    rng = np.random.default_rng(0)
    state, P = initial_states(rng.standard_normal((tracks, 3)), noise)
    z, R = rng.standard_normal((tracks, 3)), np.broadcast_to(0.01 * np.eye(3), (tracks, 3, 3)).copy()
    dt = np.ones(tracks)
    predict(state, P, dt, 0.01)
    update(state, P, z, R)
    print(f"Kalman predict {1e6 * seconds(lambda: predict(state, P, dt, 0.01)) / tracks:.2f} us a track")
    print(f"Kalman update  {1e6 * seconds(lambda: update(state, P, z, R)) / tracks:.2f} us a track")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", default="test1,test4,thirty")
    arguments = parser.parse_args()
    bench_filter()
    with tempfile.TemporaryDirectory() as folder:
        for scene in benchmark_scenes(arguments.scenes.split(",")):
            recording, _ = write_scene(scene, Path(folder) / scene.name)
            print(f"{scene.name}: {scene.fish} fish, {len(recording.detections)} detections")
            bench_scene(recording)


if __name__ == "__main__":
    main()
