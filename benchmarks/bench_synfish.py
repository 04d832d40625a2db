"""SynFish beside the paper: difficulty of every scene, safety of every school, and speed on one core.

    python benchmarks/bench_synfish.py [--out FOLDER]

Writes the benchmark (or reads it where FOLDER has it), prints the table of `trackfish3d difficulty` with pass marks
and the MOTA of Hungarian + nearest beside the published one, and times masks, recordings and pictures.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from calibrate_scenes import GATE, MOTA
from trackfish3d.evaluation import evaluate
from trackfish3d.media.writer import write_video
from trackfish3d.methods.baselines.geometric import GeometricSettings, Hungarian
from trackfish3d.recordings import Recording
from trackfish3d.synfish.observe import mesh_for, pose_frame
from trackfish3d.synfish.recording_difficulty import difficulty
from trackfish3d.synfish.rendering.raster import View
from trackfish3d.synfish.rendering.render import Renderer
from trackfish3d.synfish.scenes import benchmark_scenes, paper_audit, write_scene
from trackfish3d.synfish.school import school_statistics


def hungarian_mota(recording: Recording) -> float:
    """MOTA (percent) of the geometric baseline with the box test, and the post-processing that all methods share."""
    truth, tracks = (
        recording.truth,
        Hungarian(GeometricSettings(contain=True)).track(recording.rig, recording.detections).tracks,
    )
    scores = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, GATE)
    return 100 * scores.clear.mota


def table(folder: Path) -> float:
    """Print every scene beside the published numbers; returns the seconds that writing took."""
    spent = 0.0
    audits: dict[int, list[tuple[float, float]]] = {}
    print(
        "scene     fish  OccScore  %Overlap (paper)      audit P / R     step  clearance  turn  detected  MOTA (paper)"
    )
    for scene in benchmark_scenes():
        path = folder / scene.name
        if not (path / "recording.toml").exists():
            start = time.process_time()
            write_scene(scene, path)
            spent += time.process_time() - start
        recording = Recording.open(path)
        d = difficulty(recording)
        baseline = ""
        if scene.name in MOTA:
            mota = hungarian_mota(recording)
            baseline = f"{mota:5.1f} ({MOTA[scene.name]:5.1f}) {'ok' if abs(mota - MOTA[scene.name]) <= 8 else 'FAR'}"
        facts = school_statistics(scene.build()[0])
        mark = ""
        if scene.paper_overlap is not None:
            allowed = 3 if scene.paper_overlap < 1 else 10
            mark = "ok" if abs(d.overlap - scene.paper_overlap) <= allowed else "FAR"
        if scene.split != "train":
            audits.setdefault(scene.fish, []).append((d.audit_precision, d.audit_recall))
        paper = "" if scene.paper_overlap is None else f"({scene.paper_overlap:5.1f})"
        print(
            f"{scene.name:9s} {d.fish:4d}  {d.occ_score:8.3f}  {d.overlap:8.1f} {paper:8s} {mark:4s} "
            f"{d.audit_precision:6.1f} / {d.audit_recall:5.1f}  {facts['largest_step']:5.2f} "
            f" {facts['clearance']:9.3f} {facts['mean_turn_deg']:5.2f}  {d.detected:7.1f}  {baseline}",
            flush=True,
        )
    for fish, (precision, _) in paper_audit().items():
        mean = np.mean(audits[fish], axis=0)
        mark = "ok" if abs(mean[0] - precision) <= 6 and mean[1] > 99 else "FAR"
        print(
            f"audit, scenes of {fish:2d} fish: precision {mean[0]:.1f} (paper {precision}), recall {mean[1]:.2f} {mark}"
        )
    return spent


def speed() -> None:
    """Masks of 16 fish in three 1080p views, and pictures of one view, by CPU time of this process."""
    school, rig = benchmark_scenes(["test6"])[0].build()
    mesh, views = mesh_for(school, rig), [View(*camera.size) for camera in rig]

    def masks(frames: range) -> None:
        for t in frames:
            vertices = pose_frame(school, mesh, t)
            for c, view in enumerate(views):
                view.draw(rig.packed[c], vertices, mesh.triangles)

    masks(range(2))
    start = time.process_time()
    masks(range(200))
    rate = 200 / (time.process_time() - start)
    print(f"masks: 16 fish, three 1920x1080 views: {rate:.0f} frames/s (at least 30)")
    renderer = Renderer(rig[0], school, mesh, seed=1)
    renderer.draw(0)
    with tempfile.TemporaryDirectory() as temporary:
        start = time.process_time()
        write_video(Path(temporary) / "v.mp4", (renderer.draw(t) for t in range(30)), rig[0].size, 30.0)
        print(f"video: 1920x1080 with encoding: {30 / (time.process_time() - start):.1f} frames/s a view (at least 2)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    speed()
    with tempfile.TemporaryDirectory() as temporary:
        spent = table(arguments.out or Path(temporary))
    print(f"writing the benchmark without video took {spent:.0f} s of one core (at most 600)")


if __name__ == "__main__":
    main()
