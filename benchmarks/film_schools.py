"""Films of simulated schools, made once, and how well their fish are found and tracked in them."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from detect_masks import Tally, judge
from trackfish3d.benchmark.stamp import code_digest
from trackfish3d.cameras import CameraRig
from trackfish3d.detection.base import COLUMNS, Detector, FrameDetections
from trackfish3d.detection.registry import make_detector
from trackfish3d.evaluation import evaluate
from trackfish3d.media.video import Video
from trackfish3d.methods.registry import DEFAULT_METHOD, make_method
from trackfish3d.recordings import Detections, Recording, Tracks
from trackfish3d.synfish.film import write_videos
from trackfish3d.synfish.observe import mesh_for, pose_frame
from trackfish3d.synfish.rendering.raster import View
from trackfish3d.synfish.scenes import FPS, benchmark_scenes, write_school
from trackfish3d.synfish.school import School

GATE = 1.0
EVERY = 2  # frames between pictures whose masks are compared
DRAWN_BY = ("cameras", "synfish")
Seen = list[tuple[int, FrameDetections]]


@dataclass
class Filmed:
    """A school and its films; ``recording`` holds the truth and what the simulated detector saw."""

    name: str
    folder: Path
    school: School
    rig: CameraRig
    recording: Recording = field(init=False)

    def __post_init__(self) -> None:
        self.recording = Recording.open(self.folder)

    @property
    def fish(self) -> int:
        return self.school.position.shape[1]

    def video(self, camera: str) -> Video:
        return Video.open(self.folder / "videos" / f"{camera}.mp4")


def filmed(work: Path, name: str, frames: int) -> Filmed:
    """Film the first frames of a scene, called as EDITION:SCENE:OFFSET; made once by the present simulator."""
    edition, scene_name, offset = name.split(":")
    scene = benchmark_scenes([scene_name], int(edition))[0].model_copy(update={"frames": frames})
    school, rig = scene.build(int(offset))
    folder = work / f"e{edition}-{scene_name}-s{offset}-{frames}"
    stamp = folder / "made_by.txt"
    if not stamp.is_file() or stamp.read_text() != code_digest(DRAWN_BY):
        seed = scene.seed + 1000 * int(offset)
        write_school(school, rig, folder, "detector", seed, FPS, f"SynFish {scene_name}")
        write_videos(school, rig, folder, FPS, seed)
        stamp.write_text(code_digest(DRAWN_BY))
    return Filmed(name, folder, school, rig)


def compare(school: Filmed, camera: str, seen: Seen) -> Tally:
    """Compare the masks of every so many pictures with those that were drawn."""
    mesh, tally = mesh_for(school.school, school.rig), Tally()
    view, row = View(*school.rig[camera].size), school.rig[camera].packed
    for number, found in seen:
        if number % EVERY == 0:
            sums, _ = view.draw(row, pose_frame(school.school, mesh, number), mesh.triangles)
            judge(view.owner, sums, list(found.masks or ()), tally)
    return tally


def prepared(school: Filmed, detector: str = "background") -> dict[str, Detector]:
    """A detector for each view, ready to see its film."""
    out = {}
    for camera in school.rig.names:
        out[camera] = make_detector(detector)
        out[camera].prepare(school.video(camera))
    return out


def first_look(school: Filmed, ready: dict[str, Detector]) -> tuple[dict[str, Seen], dict[str, float]]:
    """What detectors see in every view, and CPU ms a view, decoding included, one thread."""
    found, cost = {}, {}
    for camera, finder in ready.items():
        video = school.video(camera)
        for picture in video.read(0, 3):
            finder.see(picture)  # compiles
        start = time.process_time()
        found[camera] = [(p.number, finder.see(p)) for p in video.read()]
        cost[camera] = 1000 * (time.process_time() - start) / len(found[camera])
    return found, cost


def gather(names: tuple[str, ...], found: dict[str, Seen]) -> Detections:
    """Detections of all views as one table."""
    rows = [(n, names.index(c), s) for c, seen in found.items() for n, s in seen]
    frame = np.concatenate([np.full(len(s), n, np.int64) for n, _, s in rows])
    camera = np.concatenate([np.full(len(s), c, np.int16) for _, c, s in rows])
    known = [k for k in COLUMNS if all(k in s.columns for *_, s in rows)]
    columns = {k: np.concatenate([s.columns[k] for *_, s in rows]) for k in known}
    return Detections.build(names, frame, camera, **columns)


def tracked(recording: Recording, detections: Detections) -> Tracks:
    """Tracks by the default method."""
    return make_method(DEFAULT_METHOD, {}).track(recording.rig, detections, recording.fps).tracks


def scored(recording: Recording, tracks: Tracks) -> dict[str, float]:
    """MOTA and IDF1, percent, and switches."""
    truth = recording.truth
    assert truth is not None
    s = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, GATE)
    return {"mota": 100 * s.clear.mota, "idf1": 100 * s.identity.idf1, "switches": s.clear.switches}


def tallied(school: Filmed, found: dict[str, Seen]) -> dict[str, Any]:
    """Recall and precision of masks over all views."""
    total = Tally()
    for camera, seen in found.items():
        total.add(compare(school, camera, seen))
    return total.to_dict()
