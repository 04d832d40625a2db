"""Real films, looked at once and again: eight fish before one camera, some fifty before three."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from detect_bristol import bristol
from trackfish3d.detection.registry import make_detector
from trackfish3d.media.video import Video


def real(data: Path, work: Path) -> dict[str, Any]:
    """Frames of idtracker's film with exactly eight animals, CPU ms a picture there and in bristol, its tracks."""
    out: dict[str, Any] = {}
    for name, film in (("idtracker", "idtracker/test_A.avi"), ("bristol", "bristol/cam-1.mp4")):
        video, finder = Video.open(data / film), make_detector("background")
        finder.prepare(video)
        for picture in video.read(0, 3):
            finder.see(picture)  # compiles
        start = time.process_time()
        found = [len(finder.see(p)) for p in video.read()]
        ms = 1000 * (time.process_time() - start) / len(found)
        out[name] = {"frames": len(found), "ms": ms, "animals": float(np.mean(found)), "eight": found.count(8)}
    tracked = bristol(work, work, data)
    if tracked is not None:
        out["bristol"]["looks"] = {"first": tracked["fitted"].pop("first"), "again": tracked["fitted"]}
    return out


def real_lines(results: dict[str, Any]) -> list[str]:
    """Lines of the report."""
    i, b = results["idtracker"], results["bristol"]
    lines = [
        "Real films (`--real`), first look: idtracker, exactly 8 fish in "
        f"{100 * i['eight'] / i['frames']:.1f} % of {i['frames']} frames (goal 99.5), {i['ms']:.1f} CPU ms a "
        f"picture; bristol, one view of three, {b['animals']:.1f} fish a frame, {b['ms']:.1f} CPU ms a picture, "
        f"decoding included: {1000 / b['ms']:.0f} pictures a second on one core (goal 15 on two).",
    ]
    if "looks" not in b:
        return lines
    lines += [
        "",
        "bristol, three views, `run` as it is; *agree*: detections in triples that one point explains within 8 px; "
        "*left out*: where two views say that the third sees the fish (goals 97 %, 1.3 px, 47 of 50):",
        "",
        "| look | fish a frame | agree % | left out px | tracks | through all frames | points in three views % |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for look, r in b["looks"].items():
        t = r["tracks"]
        cells = (
            " / ".join(f"{n:.1f}" for n in r["detections_a_frame"]),
            " / ".join(f"{100 * n:.0f}" for n in r["agree_in_three_views"]),
            f"{r['left_out_median_px']:.2f}", t["tracks"], t["full_length_tracks"],
            f"{100 * t['points_in_three_views']:.0f}",
        )  # fmt: skip
        lines.append(f"| {look} | {' | '.join(str(c) for c in cells)} |")
    return lines
