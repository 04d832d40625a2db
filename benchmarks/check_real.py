"""What `check` says of real recordings, as filmed and spoilt on purpose; the folder of data is TRACKFISH3D_DATA.

    python benchmarks/check_real.py --docs docs/check.md      # writes the table between its marks
    python benchmarks/check_real.py --without-films           # leaves out what must be detected first

3D-ZeF 01 and 03 and CMC1 were looked at while `check` was tuned; nothing was tuned on the others.
"""

import argparse
import csv
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import trackfish3d as tf
from trackfish3d.cameras import Camera, CameraRig, Interface
from trackfish3d.cameras.formats import read_calibration
from trackfish3d.cli.app import app
from trackfish3d.health import Health, examine
from trackfish3d.media.video import Video
from trackfish3d.pipeline.films import link_films
from trackfish3d.recordings import Detections, Recording, read_table

START, END = "<!-- check_real begin -->", "<!-- check_real end -->"
HEAD = "| recording | residual px | by chance px | said | as it should be |\n|---|---|---|---|---|"


class Table:
    """Rows of what was said, with whether that was right."""

    def __init__(self) -> None:
        self.rows = [HEAD]
        self.wrong = 0
        print(HEAD)

    def say(self, name: str, rig: CameraRig, detections: Detections, kind: str = "", late: int = 0) -> None:
        """Let `check` judge; `kind` of what is wrong, nothing where it is good; `late` of the last camera, frames."""
        with tempfile.TemporaryDirectory() as folder:
            health = examine(Recording.create(Path(folder) / "rec", rig, detections=detections))
        right = _right(health, kind, late)
        self.wrong += not right
        words = "; ".join([*health.problems, *(f"*{n}*" for n in health.notes)]) or "good"
        errors = f"{_number(health.typical_error_px)} | {_number(health.chance_error_px)}"
        self.rows.append(f"| {name} | {errors} | {words} | {'yes' if right else '**no**'} |")
        print(self.rows[-1], flush=True)


def _number(value: float) -> str:
    return f"{value:.1f}" if np.isfinite(value) else "-"


def _right(health: Health, kind: str, late: int) -> bool:
    """Whether the fault was named, a clock within a frame of what was added; nothing wrong where there is no fault."""
    found = [f for f in health.findings if f.wrong]
    if not kind:
        return not found
    return [f.kind for f in found] == [kind] and abs(found[0].late_frames - late) <= 1


def zef(table: Table, folder: Path, number: str) -> None:
    """A sequence as filmed, and with faults."""
    rig = read_calibration(folder / "cameras.json")
    found = Detections.from_table(read_table(folder / "detections_yolox.csv"), rig.names)
    found = found.select(found.score >= 0.3)
    table.say(f"3D-ZeF {number}", rig, found)
    points = Detections.build(rig.names, found.frame, found.camera, found.u, found.v)
    table.say(f"{number}, its points only", rig, points)
    table.say(f"{number} without water", rig.without_water(), found, "water missing")
    for late in (4, 8, 30, -120):
        moved = found.shifted([late if n == "front" else 0 for n in rig.names])
        table.say(f"{number}, front {late:+d} frames", rig, moved, "clock", late)
    boxes = (found.x1, found.y1, found.x2, found.y2)
    exchanged = Detections.build(rig.names, found.frame, 1 - found.camera, found.u, found.v, *boxes)
    table.say(f"{number}, swapped", rig, exchanged, "swapped")


def imported(table: Table, name: str, *options: object) -> None:
    """A recording as `import` makes it."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["import", *(str(o) for o in options), "--fps", "25", "--out", str(Path(folder) / "rec")]
        result = CliRunner().invoke(app, words)
        if result.exit_code:
            raise SystemExit(f"{name}: {result.output}")
        recording = Recording.open(Path(folder) / "rec")
        table.say(name, recording.rig, recording.detections)


def necks(source: Path, target: Path) -> Path:
    """One point of each pose as a table of detections."""
    with source.open(encoding="utf-8") as file, target.open("w", encoding="utf-8", newline="") as out:
        rows = [r for r in csv.DictReader(file) if r["part"] == "neck"]
        writer = csv.DictWriter(out, ["frame", "camera", "u", "v", "score"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return target


def detected(rig: CameraRig, films: dict[str, Path]) -> Detections:
    """What the detector `background` finds in films."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "rec"
        videos = {name: Video.open(path) for name, path in films.items()}
        recording = Recording.create(folder, rig, frames=(0, max(v.count for v in videos.values())))
        link_films(videos, folder / "videos")
        tf.detect(recording, workers=1, previews=False)
        return Recording.open(folder).detections


def films(table: Table, data: Path) -> None:
    """Recordings of which there are only films."""
    rig = read_calibration(data / "bristol/cameras.json", units="mm").without_water()
    found = detected(rig, {name: data / f"bristol/cam-{k + 1}.mp4" for k, name in enumerate(rig.names)})
    surface = (Interface([0, 0, 0], [0, 0, 1], 1.0, 1.333),)
    wet = CameraRig(tuple(replace(c, interfaces=surface) for c in rig), rig.units)
    table.say("bristol, with its water", wet, found)
    table.say("bristol without water", rig, found, "water missing")
    path = data / "idtracker/test_A.avi"
    width, height = Video.open(path).size
    K = np.array([[width, 0, width / 2], [0, width, height / 2], [0, 0, 1.0]])
    alone = CameraRig((Camera("top", (width, height), K, np.zeros(5), np.eye(3), np.zeros(3)),), "cm")
    table.say("idtracker, one camera", alone, detected(alone, {"top": path}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without-films", action="store_true", help="leave out what must be detected first")
    parser.add_argument("--docs", type=Path, help="write the table between the marks of this file")
    arguments = parser.parse_args()
    data = Path(os.environ["TRACKFISH3D_DATA"])
    table = Table()
    for number in ("01", "03", "02", "04"):
        zef(table, data / "zef" / number, number)
    bats = data / "bats"
    imported(table, "bats", "--cameras", bats / "dlt_coefficients.csv", "--detections", next(bats.glob("*xypts.csv")))
    for number in (1, 2):
        for kind in ("visible", "whole"):
            given = ("--cameras", data / "cmc/cameras.toml", "--detections", data / f"cmc/{kind}/CMC{number}.csv")
            imported(table, f"CMC{number}, {kind}", *given, "--min-score", 0.3)
    with tempfile.TemporaryDirectory() as folder:
        rows = necks(data / "shelf/poses.csv", Path(folder) / "necks.csv")
        imported(table, "shelf, necks", "--cameras", data / "shelf/cameras.json", "--detections", rows)
    views = [x for c in ("back", "mid", "side", "top") for x in ("--detections", f"{c}={data}/rat/{c}.slp")]
    imported(table, "rat, neck", "--cameras", data / "rat/calibration.toml", *views, "--keypoint", "Neck")
    if not arguments.without_films:
        films(table, data)
    last = f"{len(table.rows) - 1 - table.wrong} of {len(table.rows) - 1} as they should be."
    print(last)
    if arguments.docs:
        before, rest = arguments.docs.read_text(encoding="utf-8").split(START)
        text = "\n".join([*table.rows, "", last])
        arguments.docs.write_text(f"{before}{START}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
