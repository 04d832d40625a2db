"""Difficult films of a train school: changing light, waves, dirt, rest, mirrors, a knock; how well fish are found.

    OMP_NUM_THREADS=1 python benchmarks/film_difficult.py --out docs/results/film [--work FOLDER] [--only lamp,rest]

Each film is 640 x 360, one view, and differs from the plain one in its conditions alone. Films are rendered once and
kept in the work folder, with a frame of each as a picture to look at. Results are added to difficult.json of the
folder; a film that is not run again keeps what it holds.
"""

import argparse
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from detect_masks import Tally, judge
from trackfish3d.bodies import find_reflections
from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.core.files import atomic_path
from trackfish3d.detection.camera_job import see_film
from trackfish3d.detection.preview import panel, write_picture
from trackfish3d.detection.registry import make_detector
from trackfish3d.media.video import Video
from trackfish3d.recordings import Tracks
from trackfish3d.synfish.film import write_videos
from trackfish3d.synfish.observe import mesh_for, pose_frame
from trackfish3d.synfish.rendering.conditions import Conditions, mirrored, rested
from trackfish3d.synfish.rendering.raster import View
from trackfish3d.synfish.scenes import benchmark_scenes
from trackfish3d.synfish.school import School

SCENE, OFFSET, CAMERA, FRAMES, EVERY = "train3", 7, "cam0", 240, 3
SIZE = (640, 360)
LONG = 1200  # frames of the film in which fish rest
FILMS: dict[str, tuple[float, dict[str, Any]]] = {
    "plain": (30, {}),
    "slow light": (30, {"light_drift": 0.5}),
    "flicker": (30, {"flicker": 0.05}),
    "lamp": (30, {"lamp_frames": "80,160", "lamp": 0.6}),
    "ripples": (30, {"ripple_px": 1.5}),
    "dirt": (30, {"dirt": 150, "dirt_size": 0.12}),
    "rest": (5, {"rest": 4, "rest_share": 0.8}),
    "knock": (30, {"nudge_frame": 130, "nudge_px": 10}),
    "mirror": (30, {"mirror": 0.5, "mirror_wall": "x+"}),
}
"""Frames a second and conditions of each film; in the one of four minutes, fish rest for three."""


def small(camera: Camera) -> Camera:
    """The camera with pictures of `SIZE`."""
    scale = SIZE[0] / camera.size[0]
    K = camera.K.copy()
    K[:2] *= scale
    return replace(camera, size=SIZE, K=K)


def length(conditions: Conditions) -> int:
    """Frames of a film."""
    return LONG if conditions.rest else FRAMES


def scene(conditions: Conditions) -> tuple[School, CameraRig]:
    """The school, and one camera before it."""
    chosen = benchmark_scenes([SCENE], 1)[0].model_copy(update={"frames": length(conditions)})
    school, rig = chosen.build(OFFSET)
    return rested(school, conditions), CameraRig((small(rig[CAMERA]),), rig.units)


def shifted(owner: np.ndarray, conditions: Conditions, frame: int) -> np.ndarray:
    """Whose each pixel (H, W) is, as a knocked camera shows it."""
    if conditions.nudge_frame is None or frame < conditions.nudge_frame:
        return owner
    dx, dy = round(conditions.nudge_px), round(0.5 * conditions.nudge_px)
    out = np.full_like(owner, -1)
    out[dy:, dx:] = owner[: owner.shape[0] - dy, : owner.shape[1] - dx]
    return out


def measure(work: Path, name: str) -> dict[str, Any]:
    """Film once, detect, and compare masks of every so many pictures."""
    fps, values = FILMS[name]
    conditions = Conditions(**values)
    school, rig = scene(conditions)
    folder = work / name.replace(" ", "-")
    film = folder / "videos" / f"{CAMERA}.mp4"
    if not film.is_file():
        write_videos(school, rig, folder, fps, 7, None, conditions)
    video = Video.open(film)
    mesh, view, row = mesh_for(school, rig), View(*SIZE), rig[CAMERA].packed
    tally, resting, shots, frames = Tally(), Tally(), [], length(conditions)
    notes, seen = see_film(video, make_detector("background"))
    for picture, found in seen:
        if picture.number % EVERY == 0:
            sums, _ = view.draw(row, pose_frame(school, mesh, picture.number), mesh.triangles)
            owner = shifted(view.owner, conditions, picture.number)
            masks = list(found.masks or ())
            judge(owner, sums, masks, tally)
            if conditions.rest and school.resting[picture.number, 0]:
                judge(np.where(owner < conditions.rest, owner, -1), sums[: conditions.rest], masks, resting)
        if picture.number in (frames // 8, frames // 2, frames - 10):
            shots.append(panel(picture.rgb, found))
    write_picture(work / f"{name.replace(' ', '-')}.png", shots)
    out = tally.to_dict() | {"notes": notes}
    return out | ({"resting_recall": resting.to_dict()["recall"]} if conditions.rest else {})


def mirrors() -> dict[str, int]:
    """Images that are named in schools with a mirror and without, of all train scenes of both editions.

    The wall is at the side of the water; images of every second fish are off by 0.1 body lengths.
    """
    counts = {"schools": 0, "images": 0, "named": 0, "wrong": 0, "false": 0}
    for edition in (1, 2):
        for chosen in benchmark_scenes(None, edition):
            if chosen.split != "train":
                continue
            school, rig = chosen.model_copy(update={"frames": 300}).build()
            fish = school.position.shape[1]
            shown = np.arange(0, fish, 2)
            centres = np.array([c.centre for c in rig])
            centres[:, 0] = np.minimum(centres[:, 0], school.water.high[0] - 1)  # before the wall
            images = mirrored(school.position[:, shown], school.water, (0, 1))
            rng = np.random.default_rng([edition, chosen.seed])
            images += 0.1 * school.length.mean() * rng.standard_normal(images.shape)
            both = np.concatenate([school.position, images], axis=1)
            found = {(f.image, f.animal) for f in find_reflections(_tracks(both), centres)}
            true = {(fish + k, int(a)) for k, a in enumerate(shown)}
            counts["schools"] += 1
            counts["images"] += len(true)
            counts["named"] += len(found & true)
            counts["wrong"] += len(found - true)
            counts["false"] += len(find_reflections(_tracks(school.position), centres))
    return counts


def _tracks(position: np.ndarray) -> Tracks:
    frames, animals = position.shape[:2]
    frame, track = np.repeat(np.arange(frames), animals), np.tile(np.arange(animals), frames)
    return Tracks.build(frame, track, position.reshape(-1, 3))


HEAD = """# Difficult films

Made by `python benchmarks/film_difficult.py --out docs/results/film`. One view of a train school of {fish} fish,
{width} x {height}, {frames} frames, filmed once plainly and once in every difficult way (`simulate --film`); masks of
every third frame against those that were drawn, IoU 0.5. *before*: the same films with the code before these were made
(*knock* and *rest*: the present code without its defences, `absorb_seconds=300`).
That the plain film has no more is for its small picture and the crossings of its school. The film *rest* has {long}
frames in four minutes, and four of eight fish lie still for 3.2 of them. In *mirror* a wall shows every fish once
more: the images are found, as they should be, and named by the tracks ([detect](../../detect.md)); here they count as
false. *Lost*: merged / in pieces / outline too different / unseen. *Extra*: a piece / several fish / water.

| film | before: recall | precision | now: recall | precision | lost | extra |
|---|---:|---:|---:|---:|---|---|
"""


def write_report(out: Path, results: dict[str, Any]) -> None:
    """Write the table, before and after."""
    lines = []
    for name, entry in results.items():
        if name not in FILMS:
            continue
        before, now = entry.get("before"), entry["now"]
        cells = [f"{before[k]:.3f}" if before else "" for k in ("recall", "precision")]
        cells += [f"{now[k]:.3f}" for k in ("recall", "precision")]
        cells += [" / ".join(str(v) for v in now[k].values()) for k in ("lost", "extra")]
        lines.append(f"| {name} | {' | '.join(cells)} |\n")
    rest = results.get("rest", {})
    if "before" in rest and "now" in rest:
        was, now = (rest[k]["resting_recall"] for k in ("before", "now"))
        lines.append(f"\nOf the fish that rest, while they rest: recall {was:.3f} before, {now:.3f} now.\n")
    said = results.get("knock", {}).get("now", {}).get("notes", [])
    if said:
        knock = Conditions(**FILMS["knock"][1]).nudge_frame
        lines.append(f"\nOf the knock at frame {knock} `detect` says: *{said[0]}*.\n")
    m = results["mirrors"]
    lines.append(
        f"\nReflections: true paths of {m['schools']} train schools, with images of every second fish that are off by "
        f"0.1 body lengths: {m['named']} of {m['images']} named with the right animal, {m['wrong']} others; without a "
        f"mirror {m['false']} named.\n"
    )
    lines.append(
        "\nBeginning, middle and end of each film, in this order, with the outlines that were found:\n\n"
        "![nine films](difficult.jpg)\n"
    )
    with atomic_path(out / "difficult.md") as temporary:
        text = HEAD.format(fish=8, width=SIZE[0], height=SIZE[1], frames=FRAMES, long=LONG)
        temporary.write_text(text + "".join(lines), encoding="utf-8")


def draw(work: Path, out: Path) -> None:
    """One picture of all films, three moments each."""
    from PIL import Image

    rows = []
    for name in FILMS:
        if (path := work / f"{name.replace(' ', '-')}.png").is_file():
            shots = np.asarray(Image.open(path).convert("RGB"))
            high = shots.shape[0] // 3
            rows.append(np.concatenate([shots[k * high : (k + 1) * high, : SIZE[0]] for k in range(3)], axis=1))
    Image.fromarray(np.concatenate(rows)[::2, ::2]).save(out / "difficult.jpg", quality=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "bench_film")
    parser.add_argument("--only", default=",".join(FILMS))
    parser.add_argument("--label", default="now", choices=("before", "now"), help="column of the results")
    arguments = parser.parse_args()
    for folder in (arguments.out, arguments.work):
        folder.mkdir(parents=True, exist_ok=True)
    stored = arguments.out / "difficult.json"
    results = json.loads(stored.read_text()) if stored.is_file() else {}
    for name in filter(None, arguments.only.split(",")):
        found = measure(arguments.work, name)
        results.setdefault(name, {})[arguments.label] = found
        with atomic_path(stored) as temporary:
            temporary.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        told = {k: v for k, v in found.items() if k in ("recall", "precision", "resting_recall", "notes")}
        print(name, told, flush=True)
    if arguments.label == "now":
        results["mirrors"] = mirrors()
        print("mirrors", results["mirrors"], flush=True)
        with atomic_path(stored) as temporary:
            temporary.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        write_report(arguments.out, results)
        draw(arguments.work, arguments.out)


if __name__ == "__main__":
    main()
