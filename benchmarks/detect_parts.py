"""The measurements of bench_detect.py, one function a section."""

import os
import pickle
import platform
import shutil
import time
from pathlib import Path
from typing import Any

import av
import numpy as np

from bench_run import call
from detect_masks import Tally, score_view
from trackfish3d.benchmark.stamp import code_digest
from trackfish3d.detection.base import COLUMNS, FrameDetections
from trackfish3d.detection.camera_job import CameraJob, read_ahead, run_camera
from trackfish3d.detection.preview import draw_seen, write_picture
from trackfish3d.detection.registry import make_detector
from trackfish3d.evaluation import evaluate
from trackfish3d.media.video import Video
from trackfish3d.media.writer import write_video
from trackfish3d.methods.registry import DEFAULT_METHOD, make_method
from trackfish3d.recordings import Detections, Recording, Tracks, Truth
from trackfish3d.synfish.film import write_videos
from trackfish3d.synfish.observe import mesh_for
from trackfish3d.synfish.scenes import FPS, benchmark_scenes, write_school

GATE = 1.0
FRAMES = 150
SCHOOLS = tuple((name, offset) for name in ("test3", "test4") for offset in range(3))
EVERY = 2  # frames between pictures whose masks are compared
DRAWN_BY = ("cameras", "synfish")
FOUND_BY = ("detection/masks", "detection/background")


def film(work: Path, name: str, offset: int) -> tuple[Path, Any, Any]:
    """Recording with videos of the first frames of a scene, made once by the present simulator."""
    scene = benchmark_scenes([name])[0].model_copy(update={"frames": FRAMES})
    school, rig = scene.build(offset)
    folder = work / f"{name}-s{offset}"
    stamp = folder / "made_by.txt"
    if not stamp.is_file() or stamp.read_text() != code_digest(DRAWN_BY):
        seed = scene.seed + 1000 * offset
        write_school(school, rig, folder, "detector", seed, FPS, f"SynFish {name}")
        write_videos(school, rig, folder, FPS, seed)
        stamp.write_text(code_digest(DRAWN_BY))
    return folder, school, rig


def synfish(work: Path, out: Path, _: Path | None) -> dict[str, Any]:
    """Masks and tracks from films, beside the tracks from the simulated detector."""
    results: dict[str, Any] = {}
    for name, offset in SCHOOLS:
        results[f"{name}-s{offset}"] = school_of(work, out, name, offset)
        print(name, offset, results[f"{name}-s{offset}"], flush=True)
    return results


def school_of(work: Path, out: Path, name: str, offset: int) -> dict[str, Any]:
    """Masks and tracks of one school."""
    folder, school, rig = film(work, name, offset)
    total, views, parts = Tally(), {}, []
    for c, camera in enumerate(rig):
        tally, seen, contrast = view_of(work, name, offset, c)
        views[camera.name] = tally.to_dict() | {"contrast": contrast}
        total.add(tally)
        parts.append((c, seen))
        if offset == 0 and c < 2:
            show(folder / "videos" / f"{camera.name}.mp4", seen, out / f"{name}-{camera.name}.png")
    recording = Recording.open(folder)
    entry = {"fish": school.position.shape[1], "all": total.to_dict(), "views": views}
    entry["mota_film"] = tracked(recording, gather(rig.names, parts))
    entry["mota_simulated"] = tracked(recording, recording.detections)
    return entry


def view_of(work: Path, name: str, offset: int, c: int) -> tuple[Tally, list[tuple[int, FrameDetections]], float]:
    """What is found in one view and how right it is; kept in the work folder until the detector changes."""
    kept = work / f"{name}-s{offset}-{c}.{code_digest((*FOUND_BY, *DRAWN_BY))}.pickle"
    if not kept.is_file():
        folder, school, rig = film(work, name, offset)
        detector = make_detector("background")
        path = folder / "videos" / f"{rig[c].name}.mp4"
        tally, seen = score_view(detector, path, rig[c], school, mesh_for(school, rig), EVERY)
        kept.write_bytes(pickle.dumps((tally, seen, detector.describe()["level"] / 4)))
    found: tuple[Tally, list[tuple[int, FrameDetections]], float] = pickle.loads(kept.read_bytes())
    return found


def gather(names: tuple[str, ...], parts: list[tuple[int, list[tuple[int, FrameDetections]]]]) -> Detections:
    rows = [(n, c, s) for c, seen in parts for n, s in seen]
    frame = np.concatenate([np.full(len(s), n, np.int64) for n, _, s in rows])
    camera = np.concatenate([np.full(len(s), c, np.int16) for _, c, s in rows])
    known = [k for k in COLUMNS if all(k in s.columns for *_, s in rows)]
    columns = {k: np.concatenate([s.columns[k] for *_, s in rows]) for k in known}
    return Detections.build(names, frame, camera, **columns)


def tracked(recording: Recording, detections: Detections) -> dict[str, float]:
    method = make_method(DEFAULT_METHOD, {}).resolve(recording.rig, detections)
    tracks = method.track(recording.rig, detections, recording.fps).tracks
    truth = recording.truth
    assert truth is not None
    return scored(truth, tracks)


def scored(truth: Truth, tracks: Tracks) -> dict[str, float]:
    s = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, GATE)
    return {"mota": s.clear.mota, "idf1": s.identity.idf1, "switches": s.clear.switches}


def show(path: Path, seen: list[tuple[int, FrameDetections]], target: Path) -> None:
    """Draw what was found half-way, cropped to where the animals are."""
    number, found = seen[len(seen) // 2]
    (picture,) = Video.open(path).at([number])
    drawn = draw_seen(picture.rgb, found)
    u, v = found.columns["u"], found.columns["v"]
    box = slice(max(int(v.min()) - 70, 0), int(v.max()) + 70), slice(max(int(u.min()) - 90, 0), int(u.max()) + 90)
    write_picture(target, [drawn[box]])


def learn(work: Path, out: Path, _: Path | None) -> dict[str, Any]:
    """`run` on the films of 16 fish, as it is and with learning on them."""
    folder, _, rig = film(work, "test4", 0)
    films = [folder / "videos" / f"{name}.mp4" for name in rig.names]
    truth = Recording.open(folder).truth
    assert truth is not None
    results: dict[str, Any] = {}
    for name, flags in (("as it is", ()), ("with --learn", ("--learn",))):
        target = work / f"run-{len(flags)}"
        shutil.rmtree(target, ignore_errors=True)  # a run that is done would be taken as it is
        start = time.perf_counter()
        call("run", *films, "--cameras", folder / "cameras.toml", "--out", target, *flags)
        seconds = time.perf_counter() - start
        results[name] = scored(truth, Recording.open(target).tracks) | {"seconds": seconds}
        print(name, results[name], flush=True)
    return results


def idtracker(work: Path, out: Path, data: Path | None) -> dict[str, Any] | None:
    """How often eight fish are found in the film of eight."""
    if data is None:
        return None
    video = Video.open(data / "idtracker" / "test_A.avi")
    detector = make_detector("background")
    detector.prepare(video)
    count = np.array([len(detector.see(p)) for p in video.read()])
    shares = {str(n): float((count == n).mean()) for n in np.unique(count)}
    return {"frames": len(count), "eight": float((count == 8).mean()), "shares": shares}


def speed(work: Path, out: Path, _: Path | None) -> dict[str, Any]:
    """CPU time a frame of 1920 x 1080, decoding and detecting apart, and frames a second of both on two cores."""
    folder, _, rig = film(work, "test4", 0)
    entry: dict[str, Any] = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    for c in range(len(rig)):
        video = Video.open(folder / "videos" / f"{rig[c].name}.mp4")
        detector = make_detector("background")
        start = time.process_time()
        detector.prepare(video)
        learnt = time.process_time() - start
        for picture in video.read(0, 10):
            detector.see(picture)
        start = time.process_time()
        decoded = sum(1 for _ in video.read())
        decode = (time.process_time() - start) / decoded
        start, busy = time.perf_counter(), time.process_time()
        for picture in read_ahead(video.read()):
            detector.see(picture)
        seconds, cpu = (time.perf_counter() - start) / decoded, (time.process_time() - busy) / decoded
        entry[rig[c].name] = {
            "learn_s": learnt, "see_ms": 1000 * (cpu - decode), "decode_ms": 1000 * decode,
            "one_core_fps": 1 / cpu, "two_cores_fps": 1 / seconds,
        }  # fmt: skip
    return entry


def memory(work: Path, out: Path, _: Path | None, frames: int = 100_000) -> dict[str, Any]:
    """Resident memory along a video of 100,000 frames, by the code that a camera's process runs."""
    path = long_film(work / "long.mp4", frames)
    rows: list[tuple[int, float]] = []
    start = time.process_time()

    def tell(done: int, _: int) -> None:
        if done % (frames // 20) == 0 or done == 1:
            rows.append((done, resident_mb()))

    parts = work / "long-parts"
    shutil.rmtree(parts, ignore_errors=True)  # a job that is done would be taken as it is
    result = run_camera(CameraJob("cam", Video.open(path), make_detector("background"), parts), tell)
    seconds = time.process_time() - start
    later = [mb for done, mb in rows if done >= frames // 10]
    return {
        "frames": result.frames, "size": [96, 72], "detections": result.detections, "cpu_s": seconds,
        "resident_mb": rows, "growth_mb": later[-1] - later[0],
    }  # fmt: skip


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def long_film(path: Path, frames: int, loop: int = 1000) -> Path:
    """One second in a thousand is drawn, then its packets are repeated with later times."""
    if path.is_file():
        return path
    y, x = np.mgrid[:72, :96]
    rng = np.random.default_rng(0)

    def pictures():
        for k in range(loop):
            ground = 120 + 2 * rng.standard_normal((72, 96))
            for n in range(3):
                turn = 2 * np.pi * (k * (n + 2) / loop + n / 3)
                u, v = 48 + 36 * np.cos(turn), 36 + (8 + 9 * n) * np.sin(turn)
                ground[((x - u) / 9) ** 2 + ((y - v) / 4) ** 2 < 1] = 40
            yield np.repeat(np.clip(ground, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)

    short = path.with_name("loop.mp4")
    write_video(short, pictures(), (96, 72), 30.0)
    temporary = path.with_name("unfinished.mp4")
    with av.open(str(temporary), "w") as target:
        with av.open(str(short)) as source:
            template = source.streams.video[0]
            stream = target.add_stream_from_template(template)
            base = template.time_base
            step = int(1 / (30 * base))
        for turn in range(-(-frames // loop)):
            with av.open(str(short)) as source:
                for packet in source.demux(source.streams.video[0]):
                    if packet.dts is None:
                        continue
                    packet.pts += turn * loop * step
                    packet.dts += turn * loop * step
                    packet.time_base = base
                    packet.stream = stream
                    target.mux(packet)
    temporary.rename(path)
    return path
