"""A long recording: does it open and iterate in bounded memory, and how fast?

Writes a recording of a million frames (10 fish, 3 cameras, one of them 4 frames late) in pieces, then opens it in a
fresh process, goes through all detections and measures that process's peak memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.recordings import Detections, Recording

FISH, CAMERAS = 10, ("left", "middle", "right")
PIECE = 5_000
LIMIT_MIB = 1024


def pieces(frames: int, seed: int) -> Iterator[Detections]:
    """Detections of all fish in all views, some thousand frames at a time."""
    rng = np.random.default_rng(seed)
    for start in range(0, frames, PIECE):
        frame, camera, _ = np.meshgrid(
            np.arange(start, min(start + PIECE, frames)), np.arange(len(CAMERAS)), np.arange(FISH), indexing="ij"
        )
        n = frame.size
        u, v = rng.uniform(0, 1900, n), rng.uniform(0, 1000, n)
        score = rng.uniform(0.3, 1, n)
        yield Detections.build(CAMERAS, frame.ravel(), camera.ravel(), u, v, u - 20, v - 10, u + 20, v + 10, score)


def write(folder: Path, frames: int) -> None:
    K = np.array([[1500.0, 0, 960], [0, 1500, 540], [0, 0, 1]])
    cameras = (
        Camera(n, (1920, 1080), K, np.zeros(5), np.eye(3), np.array([i, 0.0, 30])) for i, n in enumerate(CAMERAS)
    )
    made = Recording.create(folder, CameraRig(tuple(cameras)), frames=(0, frames), time_offset_frames={"right": -4})
    made.write_detections(pieces(frames, seed=1))


def peak_kib() -> int:
    """Largest memory of this program. Linux's getrusage would also count the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def read(folder: Path) -> dict[str, float]:
    """Go through a recording and say what it took; meant for a process of its own."""
    started = time.perf_counter()
    recording = Recording.open(folder)
    rows, last, total = 0, -(10**9), 0.0
    for piece in recording.iter_detections():
        assert piece.frame[0] > last
        rows, last, total = rows + len(piece), int(piece.frame[-1]), total + float(piece.u.sum())
    peak = peak_kib()
    peak_mib = peak / 2**20 if sys.platform == "darwin" else peak / 2**10
    return {
        "rows": rows,
        "seconds": time.perf_counter() - started,
        "peak_mib": peak_mib,
        "mean_u": total / max(rows, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where to write; default: a temporary folder")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--read", type=Path, nargs="+", help="only go through these, one after the other")
    arguments = parser.parse_args()
    if arguments.read:
        for folder in arguments.read:
            print(json.dumps(read(folder)))
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as place:
        started = time.perf_counter()
        write(Path(place) / "recording", arguments.frames)
        written = time.perf_counter() - started
        command = [sys.executable, __file__, "--read", str(Path(place) / "recording")]
        result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        size = (Path(place) / "recording" / "detections.parquet").stat().st_size / 2**20
    result |= {"frames": arguments.frames, "file_mib": size, "write_seconds": written}
    if arguments.json:
        print(json.dumps(result))
    else:
        print(f"{arguments.frames} frames, {result['rows']} detections, {size:.0f} MiB, written in {written:.1f} s")
        print(f"opened and gone through in {result['seconds']:.1f} s, peak memory {result['peak_mib']:.0f} MiB")
    if result["peak_mib"] > LIMIT_MIB:
        sys.exit(f"peak memory is above {LIMIT_MIB} MiB")


if __name__ == "__main__":
    main()
