"""Trained detectors beside the background detector, on a film of a school that they have not seen.

    trackfish3d detect --train OUT --synfish train3 --set size=960 --set tile=160 --set images=320 --set epochs=30 \
      --set batch=8
    python benchmarks/bench_yolo.py --weights OUT/model.pt

Recall, precision by mask IoU 0.5, error of the centroid and CPU time a frame, against the true masks.
"""

import argparse
import json
import time
from pathlib import Path

from detect_masks import Tally, score_view
from trackfish3d.detection.registry import make_detector
from trackfish3d.synfish.observe import mesh_for
from trackfish3d.synfish.render import Renderer
from trackfish3d.synfish.scenes import FPS, benchmark_scenes
from trackfish3d.synfish.video import write_video


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True, help="model.pt of detect --train")
    parser.add_argument("--scene", default="train3")
    parser.add_argument("--seed-offset", type=int, default=1, help="0 is the school that was learnt from")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--views", type=int, default=3)
    parser.add_argument("--every", type=int, default=3, help="frames of which one is compared")
    parser.add_argument("--min-score", default="0.25")
    parser.add_argument("--work", type=Path, default=Path("out/yolo"))
    arguments = parser.parse_args()
    scene = benchmark_scenes([arguments.scene])[0]
    school, rig = scene.build(arguments.seed_offset)
    mesh = mesh_for(school, rig)
    detectors = {
        "background": {},
        "yolo": {"weights": str(arguments.weights), "device": "cpu", "min_score": arguments.min_score},
    }
    tallies = {name: Tally() for name in detectors}
    spent = dict.fromkeys(detectors, 0.0)
    for camera in list(rig)[: arguments.views]:
        film = arguments.work / f"{scene.name}_{arguments.seed_offset}_{arguments.frames}" / f"{camera.name}.mp4"
        if not film.exists():
            renderer = Renderer(camera, school, mesh, scene.seed + 1000 * arguments.seed_offset)
            write_video(film, (renderer.draw(k) for k in range(arguments.frames)), camera.size, FPS)
        for name, settings in detectors.items():
            begin = time.process_time()
            every = arguments.every if name == "yolo" else 1
            tallies[name].add(score_view(make_detector(name, settings), film, camera, school, mesh, every))
            spent[name] += time.process_time() - begin
    for name, tally in tallies.items():
        rows = {k: round(v, 3) if isinstance(v, float) else v for k, v in tally.to_dict().items()}
        frames = arguments.frames * min(arguments.views, len(rig))
        print(json.dumps({"detector": name, **rows, "cpu_ms_a_frame": round(1000 * spent[name] / frames)}))


if __name__ == "__main__":
    main()
