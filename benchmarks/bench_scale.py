"""What a long recording costs: memory, time and rate of each command, and how they grow with fish, cameras and frames.

    python benchmarks/bench_scale.py --frames 100000 --out docs/results/scale   # one long recording, each command
    python benchmarks/bench_scale.py --frames 1000000 --given-tracks --out docs/results/scale   # all but track
    python benchmarks/bench_scale.py --grid --out docs/results/scale            # track over fish and cameras
    python benchmarks/bench_scale.py --batch --out docs/results/scale           # 8 recordings, one and two workers

Each command is a process of its own; CPU and peak of resident memory are its own and those of its children. Results are
kept in ``scale.json`` of the folder, and the page ``scale.md`` is written from all that is there (`scale_page`).
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import numpy as np

import scale_page
from scale_recording import make

GRID = [(10, 2), (10, 3), (10, 6), (5, 3), (20, 3)]  # fish, cameras
GRID_FRAMES = (800, 2400)  # the difference of both, so that what every run costs at its start does not count
BATCH_FRAMES = 5000


def measured(arguments: list[str], said: Path | None = None) -> dict[str, float]:
    """CPU seconds, wall seconds and peak MiB of a command, each command in a process of its own."""
    code = (
        "import json, resource, subprocess, sys, time\n"
        "start = time.monotonic()\n"
        "made = subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], 'w'))\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps(dict(cpu=used.ru_utime + used.ru_stime, wall=time.monotonic() - start,"
        " mib=used.ru_maxrss / 1024, code=made.returncode)))\n"
    )
    words = [sys.executable, "-c", code, str(said or os.devnull), *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "trackfish3d", *map(str, words)]


def track_with_log(folder: str) -> None:
    """Track a recording here; CPU seconds at every hundredth of its frames go to a log beside it, a line each.

    A run that was stopped goes on, and its log with it: a process begins at what it has done already.
    """
    from trackfish3d.methods.registry import make_method
    from trackfish3d.pipeline.track_files import track_into
    from trackfish3d.recordings import Recording

    recording = Recording.open(folder)
    with Path(f"{folder}.log").open("a") as log:
        last = -1

        def note(done: int, total: int) -> None:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            row = {"process": os.getpid(), "done": done, "total": total, "cpu": time.process_time(), "mib": peak}
            log.write(json.dumps(row) + "\n")
            log.flush()

        def progress(done: int, total: int) -> None:
            nonlocal last
            if done * 100 // total > last:
                last = done * 100 // total
                note(done, total)

        made = track_into(recording, make_method("joint", {}), progress)
        note(recording.info.frame_count, recording.info.frame_count)
        log.write(json.dumps({"summary": made.summary}) + "\n")


def logged(folder: Path) -> dict:
    """What the log of a run says: CPU seconds of each tenth of the frames, before and after, in all, peak, outcome.

    Where a process was stopped, the next did some frames again: they count once, as the later one did them.
    """
    rows = [json.loads(line) for line in Path(f"{folder}.log").read_text().splitlines()]
    marks = [r for r in rows if "done" in r]
    total = marks[0]["total"]
    cost = np.zeros(100)
    before = after = again = 0.0
    for process in dict.fromkeys(r["process"] for r in marks):
        mine = [r for r in marks if r["process"] == process]
        before += mine[0]["cpu"]
        for a, b in pairwise(mine):
            spent = b["cpu"] - a["cpu"]
            if a["done"] == total:
                after += spent
                continue
            k = min(a["done"] * 100 // total, 99)
            again += cost[k]
            cost[k] = spent
    return {
        "tenths": cost.reshape(10, 10).sum(1).tolist(), "before": before, "after": after, "again": again,
        "cpu": before + after + float(cost.sum()), "mib": max(r["mib"] for r in marks), "done": marks[-1]["done"],
        "total": total, "processes": len({r["process"] for r in marks}), "summary": rows[-1].get("summary", ""),
    }  # fmt: skip


def long_recording(frames: int, work: Path, given_tracks: bool, found: dict, keep: Callable[[dict], None]) -> None:
    """Each command on a recording of so many frames; what ``found`` has of them already is not done again.

    With given tracks, which follow the truth as a tracker's would, all but `track` is measured. ``keep`` is given what
    was found after each command, so that a stopped run goes on.
    """
    folder = work / f"{'given' if given_tracks else 'long'}{frames}"
    if not (folder / "recording.toml").exists():
        make(folder, frames=frames, tracks=given_tracks)
    sources = ["--cameras", folder / "cameras.toml", "--detections", folder / "detections.parquet"]
    words = {
        "import": ["import", *sources, "--truth", folder / "truth.parquet", "--fps", 60, "--out", work / "imported"],
        "check": ["check", folder],
        "analyse": ["analyse", folder],
        "evaluate": ["evaluate", folder, "--gate", 1, "--json"],
        "report": ["report", folder],
        "export": ["export", folder, "--format", "csv", "--out", work / "exported.csv"],
    }
    found = {"frames": frames, "given_tracks": given_tracks, **found}
    if not given_tracks and not found.get("track", {}).get("summary"):
        subprocess.run([sys.executable, __file__, "--inner", str(folder)], check=True)
        found["track"] = logged(folder)
        keep(found)
    for step, command_words in words.items():
        if step in found:
            continue
        shutil.rmtree(work / "imported", ignore_errors=True)
        said = work / f"{step}.out"
        found[step] = measured(command(*command_words), said)
        print(step, found[step], flush=True)
        if step == "evaluate":
            found["scores"] = next(iter(json.loads(said.read_text()).values()))
        keep(found)
    found["report_mb"] = (folder / "report.html").stat().st_size / 1e6
    found["report_opens_s"] = opens_s(folder / "report.html")
    keep(found)


def opens_s(page: Path) -> float | None:
    """Seconds until Chromium has loaded a page; None where there is no Chromium or Playwright."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        begin = time.monotonic()
        tab.goto(page.resolve().as_uri(), wait_until="load")
        took = time.monotonic() - begin
        browser.close()
    return took


def so_far(folder: Path) -> dict:
    """What the log of a run says, finished or not, with scores of the sections that it has finished."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from trackfish3d.evaluation.long.score_files import evaluate_files
    from trackfish3d.methods.joint.long.outcome import total
    from trackfish3d.pipeline.track_files import _piece
    from trackfish3d.recordings.storage import write_pieces

    row = logged(folder)
    work = folder / ".track"
    done = len(list(work.glob("part-*.json")))
    totals, names = total(lambda: (_piece(work, k) for k in range(done)), "auto")
    with tempfile.TemporaryDirectory() as home:
        tracks, truth = Path(home) / "tracks.parquet", Path(home) / "truth.parquet"
        write_pieces((names.apply(_piece(work, k)).tracks.to_table() for k in range(done)), tracks)
        last = int(_piece(work, done - 1).tracks.frame.max())
        known = pq.ParquetFile(folder / "truth.parquet")
        whole = (known.read_row_group(g) for g in range(known.num_row_groups))
        write_pieces((t.filter(pc.less_equal(t["frame"], last)) for t in whole), truth)
        scores = evaluate_files(tracks, truth, 1.0)[0]
    print(scores, totals.summary, totals.notes(0, "auto", None))
    ends = [(life.first, life.last) for life in names.lives.values()]
    return {
        "frames": row["total"],
        "track": row | {"summary": totals.summary, "scored": last + 1},
        "scores": scores.to_dict(),
        "returns": len(names.returns),
        "doubtful": sum(r.absent > 1 for r in names.returns),
        "lives": sorted(ends),
    }


def grid(work: Path) -> list[dict]:
    """CPU of `track` over fish and cameras, each in a process that is forked from one that has imported all."""
    rows = []
    for fish, cameras in GRID:
        cpu = []
        for frames in GRID_FRAMES:
            folder = work / f"grid-{fish}-{cameras}-{frames}"
            child = os.fork()
            if child == 0:
                from trackfish3d.methods.registry import make_method
                from trackfish3d.pipeline.track_files import track_into
                from trackfish3d.recordings import Recording

                make(folder, fish=fish, cameras=cameras, frames=frames, seed=fish)
                begin = time.process_time()
                track_into(Recording.open(folder), make_method("joint", {}))
                Path(f"{folder}.cpu").write_text(str(time.process_time() - begin))
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            cpu.append(float(Path(f"{folder}.cpu").read_text()))
        ms = 1000 * (cpu[1] - cpu[0]) / (GRID_FRAMES[1] - GRID_FRAMES[0])
        rows.append({"fish": fish, "cameras": cameras, "ms": ms, "cpu": cpu})
        print(rows[-1], flush=True)
    return rows


def batches(work: Path) -> dict:
    """Eight recordings with one worker and two, in processes and on Dask; wall seconds, and whether files are equal."""
    home = work / "new"
    for k in range(8):
        make(home / f"r{k}", frames=BATCH_FRAMES, seed=k)
    found: dict = {}
    sums = set()
    for name, options in {
        "dask 1": ["--cluster", "local", "--workers", 1],
        "dask 2": ["--cluster", "local", "--workers", 2],
        "processes 2": ["--workers", 2],
    }.items():
        shutil.rmtree(work / "recs", ignore_errors=True)
        shutil.copytree(home, work / "recs")
        found[name] = measured(command("batch", work / "recs" / "*", "--steps", "track", "--out", "none", *options))
        files = sorted((work / "recs").glob("*/tracks.parquet"))
        sums.add(hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest())
        print(name, found[name], flush=True)
    return found | {"same_files": len(sums) == 1, "frames": BATCH_FRAMES, "load": os.getloadavg()[0]}


def keep(path: Path, found: dict) -> None:
    """Add what was found to a file of results, and write the page anew."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(kept | found, indent=1) + "\n")
    scale_page.write(path.parent)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int)
    parser.add_argument("--given-tracks", action="store_true", help="all but track, on tracks made of the truth")
    parser.add_argument("--work", type=Path, help="folder that stays, so that a stopped run goes on")
    parser.add_argument("--so-far", type=Path, help="recording whose track is under way: what its log and parts say")
    parser.add_argument("--grid", action="store_true")
    parser.add_argument("--batch", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--inner", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.so_far:
        given.out.mkdir(parents=True, exist_ok=True)
        found = so_far(given.so_far)
        keep(given.out / "scale.json", {f"long {found['frames']} so far": found})
        sys.exit()
    if given.inner:
        track_with_log(given.inner)
        sys.exit()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "scale.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    with ExitStack() as stack:
        work = given.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        work.mkdir(parents=True, exist_ok=True)
        if given.frames:
            name = f"long {given.frames}{' given' if given.given_tracks else ''}"
            known = kept.get(name, {}) if given.work else {}
            long_recording(given.frames, work, given.given_tracks, known, lambda found: keep(path, {name: found}))
        if given.grid:
            keep(path, {"grid": grid(work)})
        if given.batch:
            keep(path, {"batch": batches(work)})
