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

from detect_masks import Tally, judge
from trackfish3d.cameras import Camera
from trackfish3d.detection.base import Detector
from trackfish3d.detection.registry import make_detector
from trackfish3d.media.video import Video
from trackfish3d.media.writer import write_video
from trackfish3d.synfish.body import BodyMesh
from trackfish3d.synfish.observe import mesh_for, pose_frame
from trackfish3d.synfish.rendering.raster import View
from trackfish3d.synfish.rendering.render import Renderer
from trackfish3d.synfish.scenes import FPS, benchmark_scenes
from trackfish3d.synfish.school import School


def _score(
    detector: Detector,
    film: Path,
    camera: Camera,
    school: School,
    mesh: BodyMesh,
    every: int,
    tallies: dict[float, Tally],
) -> None:
    """Compare masks with the true ones. A network needs to see only what is compared, the background everything."""
    video = Video.open(film)
    detector.prepare(video)
    view, stateful = View(*camera.size), bool(detector.state())
    for picture in video.read():
        if stateful or picture.number % every == 0:
            seen = detector.see(picture)
        if picture.number % every == 0:
            sums, _ = view.draw(camera.packed, pose_frame(school, mesh, picture.number), mesh.triangles)
            for least, tally in tallies.items():
                kept = zip(seen.masks or (), seen.columns["score"] >= least, strict=True)
                judge(view.owner, sums, [mask for mask, believed in kept if believed], tally)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True, help="model.pt of detect --train")
    parser.add_argument("--scene", default="train3")
    parser.add_argument("--seed-offset", type=int, default=1, help="0 is the school that was learnt from")
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--views", type=int, default=3)
    parser.add_argument("--every", type=int, default=3, help="frames of which one is compared")
    parser.add_argument("--min-scores", default="0.25,0.4,0.5,0.6,0.7", help="of the network, each reported")
    parser.add_argument("--without-background", action="store_true")
    parser.add_argument("--work", type=Path, default=Path("out/yolo"))
    arguments = parser.parse_args()
    scene = benchmark_scenes([arguments.scene])[0]
    school, rig = scene.model_copy(update={"frames": arguments.frames}).build(arguments.seed_offset)
    mesh = mesh_for(school, rig)
    scores = [float(v) for v in arguments.min_scores.split(",")]
    detectors = {"yolo": {"weights": str(arguments.weights), "device": "cpu", "min_score": str(min(scores))}}
    tallies = {"yolo": {least: Tally() for least in scores}}
    if not arguments.without_background:
        detectors["background"], tallies["background"] = {}, {0.0: Tally()}
    spent = dict.fromkeys(detectors, 0.0)
    for camera in list(rig)[: arguments.views]:
        film = arguments.work / f"{scene.name}_{arguments.seed_offset}_{arguments.frames}" / f"{camera.name}.mp4"
        if not film.exists():
            renderer = Renderer(camera, school, mesh, scene.seed + 1000 * arguments.seed_offset)
            write_video(film, (renderer.draw(k) for k in range(arguments.frames)), camera.size, FPS)
        for name, settings in detectors.items():
            begin = time.process_time()
            _score(make_detector(name, settings), film, camera, school, mesh, arguments.every, tallies[name])
            spent[name] += time.process_time() - begin
    for name, by_score in tallies.items():
        for least, tally in by_score.items():
            rows = {k: round(v, 3) if isinstance(v, float) else v for k, v in tally.to_dict().items()}
            print(json.dumps({"detector": name, "min_score": least, **rows, "cpu_s": round(spent[name])}))


if __name__ == "__main__":
    main()
