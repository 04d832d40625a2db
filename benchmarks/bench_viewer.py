"""Mending: how much of what suspects name is mended by how many actions; and the viewer on a long recording.

    OMP_NUM_THREADS=1 python benchmarks/bench_viewer.py [--only swaps zef large frames play] [--out docs/results/viewer]

swaps: 16 simulated fish x 600 frames, tracked by joint; ten exchanges are put into the tracks, each where two tracks
are near each other; suspects of these tracks; all ten are mended through the server as the page does it.
zef: 3D-ZeF 01, 02, 04. A mender who knows the truth goes down the suspects as they are ranked and does one action for
each that is wrong (swap, join) or accepts it. Truth decides what the mender does and reaches nothing else.
large: 100 animals x 100,000 frames before 4 cameras, boxes in the first 10,000 frames only: time from opening the page
to its first picture in Chromium with software rendering, updates of the page a second while frames are stepped through,
with 16 and with 100 animals, and the memory of the server.
frames: films with burnt-in frame numbers, B-frames, lost frames and a variable rate; the number is read off the
browser's screen in both views at 200 random frames, and after each of 20 bursts of ten quick scrubs.
play: pictures a second that the page shows while it plays 16 and 100 animals before four films of 1280 x 960.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pyarrow.parquet as pq

import trackfish3d as tf
from trackfish3d.benchmark.zef import GATE_CM, write_sequence, zef_folder
from trackfish3d.core.errors import InputError
from trackfish3d.methods.joint.refinement.rejudge import suspects_of
from trackfish3d.methods.review import review
from trackfish3d.methods.suspects import read_suspects, write_suspects
from trackfish3d.recordings import Recording, Tracks, Truth

SEED = 4
LOOK = 15  # frames before and after a moment by which the mender tells who is who


def scores(recording: Recording, gate: float | None = None) -> dict[str, float]:
    found = tf.evaluate(Recording.open(recording.folder), gate=gate)
    return {
        "mota": round(100 * found.clear.mota, 2), "idf1": round(100 * found.identity.idf1, 2),
        "switches": int(found.clear.switches),
    }  # fmt: skip


def nearest_frames(tracks: Tracks) -> list[tuple[float, int, int, int]]:
    """Distance, frame and both tracks of the nearest approach of every pair, the nearest first."""
    grid, first, names = tracks.array(), int(tracks.frame.min()), tracks.identities
    out = []
    for i in range(len(names)):
        for j in range(i + 1, len(names)):
            far = np.linalg.norm(grid[:, i] - grid[:, j], axis=1)
            far[:30] = far[-30:] = np.nan
            if np.isfinite(far).any():
                k = int(np.nanargmin(far))
                out.append((float(far[k]), first + k, int(names[i]), int(names[j])))
    return sorted(out)


def bench_swaps(folder: Path) -> dict[str, Any]:
    rec = tf.simulate(folder / "swaps", fish=16, frames=600, seed=SEED)
    tf.track(rec).save(rec)
    right = rec.tracks
    before = scores(rec)
    columns = {f.name: getattr(right, f.name) for f in fields(right)}
    chosen: list[tuple[int, int, int]] = []
    for _, at, a, b in nearest_frames(right):
        if len(chosen) < 10 and not any(abs(at - m[0]) < 12 and {a, b} & {m[1], m[2]} for m in chosen):
            chosen.append((at, a, b))
    name, moments = right.track.copy(), []
    for at, a, b in sorted(chosen):  # from here on, whatever the two are called is exchanged
        called = [int(name[(right.frame == at) & (right.track == n)][0]) for n in (a, b)]
        late = right.frame >= at
        one, other = (late & (name == n) for n in called)
        name[one], name[other] = called[1], called[0]
        moments.append((at, {a, b}, set(called)))
    rec.write_tracks(Tracks.build(**(columns | {"track": name})))
    write_suspects(suspects_of(rec.rig, rec.detections, rec.tracks), rec.folder / "suspects.csv")
    hurt = scores(rec)
    ranks, view = [], tf.view(rec, browser=False)
    try:
        from tests.viewer.scenes import Client

        friend = Client(view.address)
        listed = [s for s in friend.get("/api/0/suspects")]
        for at, _, called in moments:
            ranks.append(next((k + 1 for k, s in enumerate(listed) if _is(s, at, called)), None))
        actions = 0
        for at, animals, _ in moments:  # what came before is mended by now, so that tracks go by their right names
            found = [s for s in friend.get("/api/0/suspects") if s["state"] == "open"]
            s = next((s for s in found if _is(s, at, animals)), None)
            if s is None:
                continue
            asked = {"kind": "swap", "track": s["track"], "other": s["other"], "first": at}
            status, said = friend.post("/api/0/edit", asked)
            assert status == 200, said
            actions += 1
    finally:
        view.close()
    return {
        "tracked": before, "with ten swaps": hurt, "mended": scores(rec), "actions": actions,
        "ranks of the swaps": ranks, "suspects listed": len(listed),
    }  # fmt: skip


def _is(suspect: dict[str, Any], at: int, tracks: set[int]) -> bool:
    """Whether a suspect is about an exchange of these tracks."""
    near = suspect["first"] - 12 <= at <= suspect["last"] + 12
    return suspect["kind"] == "swap" and near and {suspect["track"], suspect["other"]} == tracks


class Mender:
    """Knows the truth, and looks at one moment at a time."""

    def __init__(self, recording: Recording, gate: float) -> None:
        self.rec, self.gate = recording, gate
        self.editor = tf.edit(recording)
        truth = recording.truth
        assert isinstance(truth, Truth)
        self.truth = truth
        self.actions = self.accepted = 0

    def owner(self, tracks: Tracks, name: int, first: int, last: int) -> int | None:
        """The animal that a track follows from one frame to another, by most of its points."""
        rows = np.flatnonzero((tracks.track == name) & (tracks.frame >= first) & (tracks.frame <= last))
        votes: dict[int, int] = {}
        for r in rows:
            mine = np.flatnonzero(self.truth.frame == tracks.frame[r])
            if not len(mine):
                continue
            far = np.linalg.norm(self.truth.position[mine] - tracks.position[r], axis=1)
            k = int(np.nanargmin(far))
            if far[k] <= 4 * self.gate:
                who = int(self.truth.identity[mine[k]])
                votes[who] = votes.get(who, 0) + 1
        return max(votes, key=lambda w: votes[w]) if votes else None

    def look(self, moment: Any) -> None:
        """Mend one moment, or accept it."""
        s, a, b = moment.suspect, moment.track, moment.other
        low, high = s.first - LOOK, s.last + LOOK
        tracks = self.editor.tracks
        tracks = tracks.select((tracks.frame >= low) & (tracks.frame <= high))
        here = [int(n) for n in np.unique(tracks.track)]
        before = {n: self.owner(tracks, n, low, s.first) for n in here}
        after = {n: self.owner(tracks, n, s.last, high) for n in here}
        try:
            if s.kind == "end" and a != b and before.get(a) is not None and before.get(a) == after.get(b):
                self.editor.join(a, b)
                self.actions += 1
                return
            for name in (a, b):
                if None in (before.get(name), after.get(name)) or before[name] == after[name]:
                    continue
                goes_on = [n for n in here if after[n] == before[name] and n != name]
                if goes_on:
                    self.editor.swap(name, goes_on[0], self._where(tracks, name, goes_on[0], s.first, s.last))
                else:
                    self.editor.cut(name, s.last)
                self.actions += 1
                return
            self.editor.accept(a, s.first, s.last, b, s.kind)
            self.accepted += 1
        except InputError:
            self.accepted += 1

    @staticmethod
    def _where(tracks: Tracks, a: int, b: int, first: int, last: int) -> int:
        frames = range(first, last + 1)
        place = {
            n: {
                int(f): p
                for f, p in zip(tracks.frame[tracks.track == n], tracks.position[tracks.track == n], strict=True)
            }
            for n in (a, b)
        }
        both = [f for f in frames if f in place[a] and f in place[b]]
        return min(both, key=lambda f: float(np.linalg.norm(place[a][f] - place[b][f]))) if both else last


def bench_zef(folder: Path) -> dict[str, Any]:
    out = {}
    for sequence in ("01", "02", "04"):
        rec = write_sequence(sequence, zef_folder(None), folder / f"zef{sequence}")
        tf.track(rec).save(rec)
        before = scores(rec, GATE_CM)
        mender = Mender(rec, GATE_CM)
        suspects = read_suspects(rec.folder / "suspects.csv")
        seen: set[Any] = set()
        while True:  # always the most doubtful one that was not looked at
            left = [m for m in review(suspects, mender.editor.mending) if m.state == "open" and m.suspect not in seen]
            if not left:
                break
            seen.add(left[0].suspect)
            mender.look(left[0])
        out[sequence] = {
            "before": before, "after": scores(rec, GATE_CM), "suspects": len(suspects), "actions": mender.actions,
            "accepted": mender.accepted,
        }  # fmt: skip
        print(sequence, out[sequence], flush=True)
    return out


def write_large(folder: Path, animals: int, frames: int) -> Recording:
    """Animals on smooth paths; tracks and detections are written by pieces."""
    from tests.report.scenes import looking_at

    from trackfish3d.cameras import CameraRig
    from trackfish3d.recordings import Detections

    places = [(-60.0, -60.0, 30.0), (60.0, -60.0, 30.0), (60.0, 60.0, 30.0), (-60.0, 60.0, 30.0)]
    rig = CameraRig(tuple(looking_at(f"cam{k}", p, (0, 0, 0)) for k, p in enumerate(places)), "cm")
    rec = Recording.create(folder, rig, fps=60.0, frames=(0, frames))
    rng = np.random.default_rng(SEED)
    rate, phase = rng.uniform(0.0005, 0.004, (2, animals, 3)), rng.uniform(0, 7, (2, animals, 3))

    def pieces(size: int = 2000):
        for begin in range(0, frames, size):
            t = np.arange(begin, min(begin + size, frames))
            place = 10 * (
                np.sin(2 * np.pi * rate[0] * t[:, None, None] + phase[0])
                + np.sin(2 * np.pi * rate[1] * t[:, None, None] + phase[1])
            )
            yield np.repeat(t, animals), np.tile(np.arange(animals), len(t)), place.reshape(-1, 3)

    def seen():
        for frame, _, place in pieces():
            if frame[0] >= 10_000:
                return
            pixels = np.concatenate([c.project(place) for c in rig])
            n = len(frame)
            yield Detections.build(
                rig.names, np.tile(frame, 4), np.repeat(np.arange(4), n), *pixels.T, *(pixels - 9).T, *(pixels + 9).T
            )

    rec.write_detections(seen())
    writer = None
    for frame, track, place in pieces():
        n = len(frame)
        table = Tracks.build(
            frame, track, place, covariance=np.broadcast_to(0.01 * np.eye(3), (n, 3, 3)), views=np.full(n, 4),
            confidence=np.ones(n), detection=np.full((n, 4), -1), cameras=rig.names,
        ).to_table()  # fmt: skip
        table = table.replace_schema_metadata({b"tracks_csv_digest": b"made-by-bench-viewer"})
        writer = writer or pq.ParquetWriter(rec.folder / "tracks.parquet", table.schema, compression="zstd")
        writer.write_table(table, row_group_size=200_000)
    assert writer is not None
    writer.close()
    write_suspects([], rec.folder / "suspects.csv")
    return rec


SERVE = """
import sys, trackfish3d as tf
v = tf.view(*sys.argv[1:], browser=False)
print(v.address, flush=True)
v.wait()
"""
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
FLAGS += ["--ignore-gpu-blocklist"]
COUNT = """() => new Promise(done => {
  let n = 0;
  const began = performance.now();
  const next = () => {
    const gone = performance.now() - began;
    if (gone > 5000) return done((1000 * n) / gone);
    n++;
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})"""


def until(page: Any, fact: str, seconds: float = 120.0) -> None:
    """Wait until a fact holds on the page, whose policy forbids Playwright's own way to wait."""
    end = time.perf_counter() + seconds
    while not page.evaluate(f"() => Boolean({fact})"):
        if time.perf_counter() > end:
            raise TimeoutError(fact)
        time.sleep(0.01)


def bench_large(folder: Path) -> dict[str, Any]:
    import psutil
    from playwright.sync_api import sync_playwright

    out: dict[str, Any] = {}
    for animals, frames in ((16, 10_000), (100, 100_000)):
        rec = write_large(folder / f"large{animals}", animals, frames)
        server = subprocess.Popen([sys.executable, "-c", SERVE, str(rec.folder)], stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        with sync_playwright() as p:
            browser = p.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
            page = browser.new_page(viewport={"width": 1366, "height": 768})
            page.goto(address.partition("?")[0])  # refused, but the browser is warm
            began = time.perf_counter()
            page.goto(address)
            until(page, "Number.isInteger(globalThis.trackfish?.drawn)")
            first = time.perf_counter() - began
            page.wait_for_selector("html[data-ready=yes]", timeout=120_000)
            ready = time.perf_counter() - began
            rng, jumps = np.random.default_rng(1), []
            for frame in rng.integers(0, frames, 15).tolist():
                began = time.perf_counter()
                page.locator("#time").fill(str(frame))
                until(page, f"trackfish.drawn === {frame}")
                jumps.append(time.perf_counter() - began)
            rate = page.evaluate(COUNT)
            browser.close()
        memory = psutil.Process(server.pid).memory_info().rss / 2**20
        server.terminate()
        server.wait()
        out[f"{animals} x {frames}"] = {
            "first picture, s": round(first, 2), "all there, s": round(ready, 2),
            "jump to a frame, median and worst s": [round(float(np.median(jumps)), 2), round(max(jumps), 2)],
            "updates a second": round(rate, 1), "server, MB": round(memory),
        }  # fmt: skip
        print(out, flush=True)
    return out


def report(found: dict[str, Any]) -> str:
    lines = [
        "# Mending, and the viewer",
        "",
        "Made by `python benchmarks/bench_viewer.py`; what each part is stands at its head.",
        "",
    ]
    for part, rows in found.items():
        lines += [f"## {part}", "", "```json", json.dumps(rows, indent=1), "```", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=["swaps", "zef", "large", "frames", "play"])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from viewer_films import bench_frames, bench_play

    parts = {
        "swaps": bench_swaps,
        "zef": bench_zef,
        "large": bench_large,
        "frames": bench_frames,
        "play": partial(bench_play, write_large),
    }
    path = None if options.out is None else options.out / "results.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path is not None and path.is_file() else {}
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = parts[name](Path(folder))
        print(name, json.dumps(found[name], indent=1), flush=True)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found, indent=1) + "\n")
            (options.out / "report.md").write_text(report(found))


if __name__ == "__main__":
    main()
