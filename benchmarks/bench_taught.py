"""The taught detector beside the background detector, on films of schools that were drawn: masks and CPU time.

    OMP_NUM_THREADS=1 python benchmarks/bench_taught.py --out docs/results/film [--work FOLDER] [--schools NAMES]
        [--frames 100] [--steps 1200] [--seed 0] [--weights FILE --taught-by NAME]

Each school teaches a network of its own, from its films alone, and the end of the films is held back: only there are
masks compared. With --weights nothing is taught, and what another recording was taught is measured. Schools are named
as in bench_film.py; one that is not run again keeps what taught.json holds.
"""

import argparse
import copy
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from bench_film import SETS
from detect_masks import Tally
from film_schools import Filmed, Seen, compare, filmed, prepared
from trackfish3d.core.files import read_json, write_json
from trackfish3d.detection.background.detector import BackgroundDetector
from trackfish3d.detection.base import Detector
from trackfish3d.detection.taught.taught_detector import Network, TaughtDetector, TaughtSettings
from trackfish3d.pipeline.again.teaching import FOLDER, SAID, teach

HEAD = """# A detector taught by second looks, beside its teacher

Made by `python benchmarks/bench_taught.py --out docs/results/film`. Films as in [films](README.md), {frames} frames of
three views. `taught` learnt from the first four fifths of each school's own films, by masks of a second look; compared
are the masks of every second frame of the last fifth with those drawn (IoU 0.5, every fish of which a pixel is
visible), and the CPU time of a view, decoding included, one thread. *By itself*: recall and precision that the command
reports without truth, against a second look; empty where weights were given (`--weights`). Schools with `train` were
tuned on, those with `test` are only reported.

Whether a school's own weights beat `background` on test schools has not been measured. Weights of another school, which
another rig filmed, do not: its masks stay nearly the same.

| school | fish | detector | recall | precision | merged | ms | by itself: recall | precision |
|---|---:|---|---:|---:|---:|---:|---:|---:|
"""


def look(school: Filmed, ready: dict[str, Detector], first: int) -> tuple[dict[str, Any], float]:
    """Masks of frames from ``first`` on against those that were drawn, and CPU ms a view."""
    total, cost = Tally(), []
    for camera, finder in ready.items():
        video, seen = school.video(camera), list[tuple[int, Any]]()
        for picture in video.read(0, 3):
            finder.see(picture)  # compiles
        start = time.process_time()
        seen = [(p.number, finder.see(p)) for p in video.read()]
        cost.append(1000 * (time.process_time() - start) / len(seen))
        late: Seen = [(n, s) for n, s in seen if n >= first]
        total.add(compare(school, camera, late))
    return total.to_dict(), float(np.mean(cost))


def measure(school: Filmed, settings: TaughtSettings) -> dict[str, Any]:
    """Teach a school where there are no weights, and compare."""
    videos = {name: school.video(name) for name in school.rig.names}
    out: dict[str, Any] = {"fish": school.fish}
    weights, said = settings.weights, {}
    if weights is None:
        start = time.process_time()
        taught = teach(school.recording, settings, videos)
        out |= {"teaching_s": time.process_time() - start, "lines": taught.lines}
        weights, said = taught.weights, read_json(school.folder / FOLDER / SAID)["held_out"]
    network, plain = Network(weights), prepared(school)
    both: dict[str, dict[str, Detector]] = {"background": copy.deepcopy(plain), "taught": {}}
    for name, finder in plain.items():
        assert isinstance(finder, BackgroundDetector)
        both["taught"][name] = TaughtDetector.like(finder, network)
    first = round((1 - settings.held_out) * videos[school.rig.names[0]].count)
    for name, ready in both.items():
        masks, ms = look(school, ready, first)
        out[name] = {"masks": masks, "ms": ms}
        if name in said:
            agree = said[name]
            own = agree["alike"] / max(agree["animals"], 1), agree["alike"] / max(agree["seen"], 1)
            out[name]["by_itself"] = own
    return out


def write_report(out: Path, results: dict[str, Any]) -> None:
    """Write the table."""
    lines = [HEAD.format(frames=results["frames"]).rstrip("\n")]
    for name, entry in sorted(results["schools"].items()):
        for detector in ("background", "taught"):
            e = entry[detector]
            m, by = e["masks"], entry.get("taught_by") if detector == "taught" else None
            recall, precision = (f"{value:.3f}" for value in e["by_itself"]) if "by_itself" in e else ("", "")
            told = f"{detector}, weights of {by}" if by else detector
            lines.append(
                f"| {name} | {entry['fish']} | {told} | {m['recall']:.3f} | {m['precision']:.3f} "
                f"| {m['lost']['merged']} | {e['ms']:.1f} | {recall} | {precision} |"
            )
    seconds = [e["teaching_s"] for e in results["schools"].values() if "teaching_s" in e]
    if seconds:
        lines += ["", f"Teaching took {min(seconds):.0f} to {max(seconds):.0f} CPU s a school, first look included."]
    (out / "taught.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "bench_film")
    parser.add_argument("--schools", default="train", help="train, test, or names with commas between")
    parser.add_argument("--frames", type=int, default=100)
    parser.add_argument("--steps", type=int, default=TaughtSettings().steps)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weights", type=Path, help="what another recording was taught")
    parser.add_argument("--taught-by", default="another school", help="which, for the table")
    arguments = parser.parse_args()
    for folder in (arguments.out, arguments.work):
        folder.mkdir(parents=True, exist_ok=True)
    stored = arguments.out / "taught.json"
    results = json.loads(stored.read_text()) if stored.is_file() else {"schools": {}}
    results["frames"] = arguments.frames
    settings = TaughtSettings(steps=arguments.steps, seed=arguments.seed, weights=arguments.weights)
    for name in filter(None, SETS.get(arguments.schools, arguments.schools.split(","))):
        results["schools"][name] = measure(filmed(arguments.work, name, arguments.frames), settings)
        if arguments.weights is not None:
            results["schools"][name]["taught_by"] = arguments.taught_by
        write_json(stored, results)
        write_report(arguments.out, results)
        print(name, results["schools"][name], flush=True)


if __name__ == "__main__":
    main()
