"""The `background` detector and the way from videos to tracks: masks, tracks, real films, speed, memory.

    OMP_NUM_THREADS=1 python benchmarks/bench_detect.py --out docs/results/video [--work FOLDER] [--data FOLDER]
        [--only synfish,learn,idtracker,bristol,speed,memory]

Films are rendered once and kept in the work folder. The detector was tuned on the first 150 frames of train3
(offsets 0 to 2 and 4), train7 and train8 (offset 0); reported are the first 150 frames of test scenes.
Sections that are not run again keep what results.json holds. Pictures of real animals stay in the work folder.
"""

import argparse
import json
import os
import shlex
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from detect_bristol import bristol
from detect_parts import idtracker, learn, memory, speed, synfish
from detect_report import write_report
from trackfish3d.core.files import atomic_path

SECTIONS = {
    "synfish": synfish,
    "learn": learn,
    "idtracker": idtracker,
    "bristol": bristol,
    "speed": speed,
    "memory": memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "bench_detect")
    parser.add_argument("--data", type=Path, default=os.environ.get("TRACKFISH3D_DATA"))
    parser.add_argument("--only", default=",".join(SECTIONS))
    arguments = parser.parse_args()
    chosen = arguments.only.split(",")
    unknown = [name for name in chosen if name not in SECTIONS]
    if unknown:
        sys.exit(f"--only {unknown[0]}: choose of {', '.join(SECTIONS)}")
    for folder in (arguments.out, arguments.work):
        folder.mkdir(parents=True, exist_ok=True)
    stored = arguments.out / "results.json"
    results = json.loads(stored.read_text()) if stored.is_file() else {}
    data = None if arguments.data is None else Path(arguments.data)
    for name in chosen:
        found = SECTIONS[name](arguments.work, arguments.out, data)
        if found is None:
            print(f"{name}: left out, TRACKFISH3D_DATA is not set")
            continue
        results[name] = found
        with atomic_path(stored) as temporary:
            temporary.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    command = f"python benchmarks/bench_detect.py --out {shlex.quote(str(arguments.out))}"
    write_report(arguments.out / "report.md", results, command)


if __name__ == "__main__":
    main()
