"""The new user's walk: every command in the order of the guide, on real and simulated recordings, and what it says.

python benchmarks/walk.py --work /tmp/walk --out docs/walk.md            all that is not done yet
python benchmarks/walk.py --work /tmp/walk --out docs/walk.md --only bats  one chapter again
"""

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path

from trackfish3d.media.video import Video
from trackfish3d.media.writer import write_video
from walk_parts import Walk, data_folder, page

HEAD = """
# The new user's walk

Every command in the order of the [guide](guide.md), on recordings of others and on a simulated film with faults, with
what it says and its exit code (0: done; 1: something is wrong with the recording, and said; 2: a mistake of the user,
one line). Made by `python benchmarks/walk.py --work FOLDER --out docs/walk.md` with `TRACKFISH3D_DATA` set (`data`
below). A walk as nobody, on a full disk and with hostile files is [another page](walk-edges.md).
"""


def fresh(work: Path, name: str) -> Walk:
    """An empty folder with ``data`` in it."""
    folder = work / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "data").symlink_to(data_folder())
    return Walk(folder)


def steps(walk: Walk, recording: str, animals: int, scored: bool, export: str) -> None:
    """The guide from `check` on."""
    walk.do(f"check {recording}")
    walk.do(f"track {recording} --animals {animals}" if animals else f"track {recording}")
    walk.do(f"report {recording}")
    walk.do(f"analyse {recording}")
    if scored:
        walk.do(f"evaluate {recording}")
    walk.do(f"export {recording} --format {export} --out {recording}.{'mat' if export == 'mat' else export}")
    walk.do(f"info {recording}")


def zef(work: Path, number: str, animals: int) -> Walk:
    walk = fresh(work, f"zef{number}")
    source = f"data/zef/{number}"
    line = f"import --cameras {source}/cameras.json --detections {source}/detections_yolox.csv --out fish"
    walk.say("Detections of a network, heads as truth, through water. At first without a frame rate:")
    walk.do(line)
    walk.do(f"{line} --min-score 0.3 --truth {source}/ground_truth_head.csv --fps 60 --overwrite")
    steps(walk, "fish", animals, True, "netcdf")
    return walk


def bats(work: Path) -> Walk:
    walk = fresh(work, "bats")
    walk.say("DLT coefficients and digitised points of DLTdv; animals come and go.")
    pixels = next((data_folder() / "bats").glob("*xypts.csv")).name
    points = next((data_folder() / "bats").glob("*xyzpts.csv")).name
    walk.do(
        f"import --cameras data/bats/dlt_coefficients.csv --detections data/bats/{pixels} "
        f"--truth data/bats/{points} --units m --fps 30 --out bats"
    )
    steps(walk, "bats", 0, True, "mat")
    return walk


def bristol(work: Path) -> Walk:
    walk = fresh(work, "bristol")
    walk.say("Three films of a bowl and floating boards. First the cameras, from one folder of all their pictures:")
    walk.do(
        "calibrate data/bristol/calibration --board chessboard:23x15:16 --floating all --intrinsics "
        "data/bristol/intrinsics.json --out cameras.toml"
    )
    walk.say("The calibration that came with the films has no water in it:")
    films = "cam-1=data/bristol/cam-1.mp4 cam-2=data/bristol/cam-2.mp4 cam-3=data/bristol/cam-3.mp4"
    walk.do(f"run {films} --cameras data/bristol/cameras.json --out dry")
    walk.say("With the water said:")
    walk.do(f"run {films} --cameras data/bristol/cameras.json --water-plane z=0 --units mm --out bowl")
    walk.do("analyse bowl")
    walk.do("export bowl --format trackmate --out bowl.xml")
    return walk


def idtracker(work: Path) -> Walk:
    walk = fresh(work, "idtracker")
    walk.say("One camera and no calibration.")
    walk.do("detect data/idtracker/test_A.avi --out one")
    walk.do("track one")
    return walk


def faults(work: Path) -> Walk:
    walk = fresh(work, "faults")
    walk.say("A simulated school in three films, as they should be:")
    walk.do("simulate --fish 5 --rig 5 --frames 120 --seed 1 --video --out school")
    videos = walk.folder / "school" / "videos"
    films = {p.stem: p for p in sorted(videos.glob("*.mp4"))}
    names = list(films)
    plain = " ".join(f"{n}=school/videos/{n}.mp4" for n in names)
    walk.do(f"run {plain} --cameras school/cameras.toml --truth school --out good")
    walk.say("The camera of the first film has cut it into chapters, and the second of them is lost:")
    first = Video.open(films[names[0]])
    for k, (a, b) in enumerate(((0, 40), (40, 80), (80, 120))):
        cut(first, a, b, walk.folder / "card" / f"GX0{k + 1}0001.MP4")
    rest = " ".join(f"{n}=school/videos/{n}.mp4" for n in names[1:])
    walk.do(f"run {names[0]}=card {rest} --cameras school/cameras.toml --truth school --out whole")
    (walk.folder / "card" / "GX020001.MP4").unlink()
    walk.do(f"run {names[0]}=card {rest} --cameras school/cameras.toml --truth school --out lost")
    told = "card/GX010001.MP4+40+card/GX030001.MP4"
    walk.do(f"run {names[0]}={told} {rest} --cameras school/cameras.toml --truth school --out lost")
    walk.say("The second camera was switched on seven frames late:")
    cut(Video.open(films[names[1]]), 7, 120, walk.folder / "late.mp4")
    others = " ".join(f"{n}=school/videos/{n}.mp4" for n in names if n != names[1])
    walk.do(f"run {names[1]}=late.mp4 {others} --cameras school/cameras.toml --out late")
    walk.do(f"run {names[1]}=late.mp4 {others} --cameras school/cameras.toml --time-offset {names[1]}=7 --out late")
    walk.say("Two films were given to the wrong cameras:")
    swapped = {names[0]: names[1], names[1]: names[0]}
    wrong = " ".join(f"{n}=school/videos/{swapped.get(n, n)}.mp4" for n in names)
    walk.do(f"run {wrong} --cameras school/cameras.toml --out swapped")
    return walk


def cut(film: Video, first: int, last: int, path: Path) -> None:
    """Write a piece of a film as a film of its own."""
    write_video(path, (p.rgb for p in film.read(first, last)), film.size, film.fps)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/walk.md"))
    parser.add_argument("--only", action="append", default=[])
    args = parser.parse_args()
    work = args.work.resolve()
    chapters: dict[str, Callable[[], Walk]] = {
        "3D-ZeF 02: five zebrafish, two cameras": lambda: zef(work, "02", 5),
        "3D-ZeF 04: five zebrafish": lambda: zef(work, "04", 5),
        "3D-ZeF 01: two zebrafish, two minutes": lambda: zef(work, "01", 2),
        "bats in a cave": lambda: bats(work),
        "bristol: fifty zebrafish in a bowl, from films": lambda: bristol(work),
        "idtracker: one camera": lambda: idtracker(work),
        "A simulated film with faults": lambda: faults(work),
    }
    return page(args.out, HEAD, chapters, work / "walk.json", args.only)


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
