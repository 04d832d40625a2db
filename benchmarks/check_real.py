"""What `check` says of real recordings, as filmed and spoilt on purpose; the folder of data is TRACKFISH3D_DATA.

    python benchmarks/check_real.py [--bristol RECORDING]   # RECORDING: detections of bristol's films, no water

3D-ZeF 01 and 03 were looked at while `check` was tuned, 02 and 04 were not.
"""

import argparse
import csv
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from typer.testing import CliRunner

from trackfish3d.cameras import CameraRig, Interface
from trackfish3d.cameras.formats import read_calibration
from trackfish3d.cli.app import app
from trackfish3d.health import examine
from trackfish3d.recordings import Detections, Recording, read_table


def say(name: str, rig: CameraRig, detections: Detections) -> None:
    """Print one row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        health = examine(Recording.create(Path(folder) / "rec", rig, detections=detections))
    words = "; ".join([*health.problems, *(f"*{n}*" for n in health.notes)]) or "good"
    print(f"| {name} | {health.typical_error_px:.1f} | {health.chance_error_px:.1f} | {words} |", flush=True)


def zef(folder: Path, number: str) -> None:
    """A sequence as filmed, and with five faults."""
    rig = read_calibration(folder / "cameras.json")
    found = Detections.from_table(read_table(folder / "detections_yolox.csv"), rig.names)
    found = found.select(found.score >= 0.3)
    say(f"3D-ZeF {number}", rig, found)
    say("its points only", rig, Detections.build(rig.names, found.frame, found.camera, found.u, found.v))
    say("without water", rig.without_water(), found)
    for late in (-2, 4, 30, -120):
        say(f"front {late:+d} frames", rig, found.shifted([late if n == "front" else 0 for n in rig.names]))
    boxes = (found.x1, found.y1, found.x2, found.y2)
    say("swapped", rig, Detections.build(rig.names, found.frame, 1 - found.camera, found.u, found.v, *boxes))


def imported(name: str, *options: object) -> None:
    """A recording as `import` makes it."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["import", *(str(o) for o in options), "--fps", "25", "--out", str(Path(folder) / "rec")]
        result = CliRunner().invoke(app, words)
        if result.exit_code:
            raise SystemExit(f"{name}: {result.output}")
        recording = Recording.open(Path(folder) / "rec")
        say(name, recording.rig, recording.detections)


def necks(source: Path, target: Path) -> Path:
    """One point of each pose as a table of detections."""
    with source.open(encoding="utf-8") as file, target.open("w", encoding="utf-8", newline="") as out:
        rows = [r for r in csv.DictReader(file) if r["part"] == "neck"]
        writer = csv.DictWriter(out, ["frame", "camera", "u", "v", "score"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bristol", type=Path, help="recording with detections of bristol's films and no water")
    arguments = parser.parse_args()
    data = Path(os.environ["TRACKFISH3D_DATA"])
    print("| recording | residual px | by chance px | said |\n|---|---|---|---|")
    for number in ("01", "03", "02", "04"):
        zef(data / "zef" / number, number)
    bats = data / "bats"
    imported("bats", "--cameras", bats / "dlt_coefficients.csv", "--detections", next(bats.glob("*xypts.csv")))
    for kind in ("visible", "whole"):
        table = data / "cmc" / kind / "CMC1.csv"
        imported(f"CMC1, {kind}", "--cameras", data / "cmc/cameras.toml", "--detections", table, "--min-score", 0.3)
    with tempfile.TemporaryDirectory() as folder:
        table = necks(data / "shelf/poses.csv", Path(folder) / "necks.csv")
        imported("shelf, necks", "--cameras", data / "shelf/cameras.json", "--detections", table)
    views = [x for c in ("back", "mid", "side", "top") for x in ("--detections", f"{c}={data}/rat/{c}.slp")]
    imported("rat, neck", "--cameras", data / "rat/calibration.toml", *views, "--keypoint", "Neck")
    if arguments.bristol:
        recording = Recording.open(arguments.bristol)
        say("bristol without water", recording.rig, recording.detections)
        surface = (Interface([0, 0, 0], [0, 0, 1], 1.0, 1.333),)
        wet = CameraRig(tuple(replace(c, interfaces=surface) for c in recording.rig), recording.rig.units)
        say("bristol with water", wet, recording.detections)


if __name__ == "__main__":
    main()
