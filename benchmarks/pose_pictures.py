"""Pictures of the poses of Shelf and of a simulated school, beside the truth: ``python FILE OUT``."""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pose_shelf import LIMBS, solve, with_head
from trackfish3d.cameras.formats import read_calibration
from trackfish3d.pipeline.inputs import simulate
from trackfish3d.recordings import Poses, read_poses
from trackfish3d.recordings.importers import read_detections


def draw(
    figure: Figure, place: int, title: str, frame: int, sets: list[tuple[Poses, list[tuple[str, str]], str, float]]
) -> None:
    """Draw poses of one frame: of each set its poses, its limbs, colour ("" for one an animal) and width."""
    axes = figure.add_subplot(1, 3, place, projection="3d")
    for poses, limbs, colour, width in sets:
        for n in np.flatnonzero(poses.frame == frame):
            ink = colour or f"C{int(poses.track[n]) % 10}"
            for one, other in limbs:
                ends = poses.position[n, [poses.skeleton.index(one), poses.skeleton.index(other)]]
                axes.plot(*ends.T, color=ink, linewidth=width, marker="o", markersize=1.5 * width)
    axes.set_aspect("equal")
    axes.set_title(title, fontsize="medium")


def main(out: Path) -> None:
    data = os.environ.get("TRACKFISH3D_DATA")
    if data:
        folder = Path(data) / "shelf"
        rig, truth = read_calibration(folder / "cameras.json"), read_poses(folder / "truth_pose.csv")
        poses = with_head(solve(rig, read_detections(folder / "poses.csv", rig))[0])
        limbs = [limb for kind in LIMBS.values() for limb in kind]
        figure = Figure(figsize=(15, 5.4), layout="constrained")
        for k, frame in enumerate((5, 31, 120)):
            draw(figure, k + 1, f"Shelf, frame {frame}", frame, [(truth, limbs, "0.6", 4.0), (poses, limbs, "", 1.6)])
        figure.suptitle("colours: our people; grey: annotated")
        figure.savefig(out / "shelf.png", dpi=80)
    with tempfile.TemporaryDirectory() as home:
        made = simulate(Path(home) / "posed", 8, "random:3", 100, 100, detector="pose")
        true, (found, _) = made.truth_poses, solve(made.rig, made.detections)
        edges = [(true.skeleton.parts[a], true.skeleton.parts[b]) for a, b in true.skeleton.edges]
        figure = Figure(figsize=(15, 5.4), layout="constrained")
        for k, frame in enumerate((10, 50, 90)):
            draw(figure, k + 1, f"school, frame {frame}", frame, [(true, edges, "0.6", 4.0), (found, edges, "", 1.4)])
        figure.suptitle("colours: our fish; grey: true")
        figure.savefig(out / "school.png", dpi=80)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/results/pose"))
