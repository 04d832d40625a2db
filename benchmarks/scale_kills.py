"""Kill `track` of a long recording at random moments: every resume ends in the same bytes as an undisturbed run.

    python benchmarks/scale_kills.py --kills 20

Sections are short here, so that a small recording has several. Each attempt is a process that is killed (SIGKILL) when
it has used a random time of CPU, while it reads, tracks or writes; after it, the next goes on. At the end the files are
compared. Prints how often it was killed within each phase.
"""

import argparse
import hashlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

from scale_recording import make
from trackfish3d.methods.joint import method as joint_method
from trackfish3d.methods.joint.long import sections
from trackfish3d.methods.registry import make_method
from trackfish3d.pipeline import track_files
from trackfish3d.recordings import Recording

SECTION = 15_000
FILES = ("tracks.parquet", "tracks.csv", "tracks_table.csv", "suspects.csv", "tracks.settings.json")


def track(folder: Path) -> None:
    sections.SECTION = joint_method.WHOLE = track_files.WHOLE = SECTION
    track_files.track_into(Recording.open(folder), make_method("joint", {}))


def attempt(folder: Path, cpu_s: float | None) -> bool:
    """Track in a process of its own, killed after so much CPU; returns whether it came to its end."""
    child = os.fork()
    if child == 0:
        if cpu_s is not None:
            begin = time.process_time()

            def end() -> None:
                while time.process_time() - begin < cpu_s:
                    time.sleep(0.001)
                os.kill(os.getpid(), signal.SIGKILL)

            threading.Thread(target=end, daemon=True).start()
        track(folder)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def sums(folder: Path) -> dict[str, str]:
    return {n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in FILES}


def phase(folder: Path) -> str:
    parts = len(list((folder / ".track").glob("part-*.json"))) if (folder / ".track").exists() else 0
    return f"{parts} sections done"


def main(kills: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as work:
        folder, copy = Path(work) / "rec", Path(work) / "copy"
        child = os.fork()  # so that no thread of Arrow is here when attempts are forked
        if child == 0:
            make(folder, frames=3000)
            shutil.copytree(folder, copy)
            os._exit(0)
        os.waitpid(child, 0)
        assert attempt(folder, None)
        expected = sums(folder)
        seen: Counter[str] = Counter()
        same = 0
        done = 0
        while done < kills:
            if attempt(copy, float(rng.uniform(0.3, 4.0))):
                same += sums(copy) == expected
                for name in FILES:
                    (copy / name).unlink()
                seen["came to its end"] += 1
            else:
                done += 1
                seen[phase(copy)] += 1
        assert attempt(copy, None)
        ends = seen.pop("came to its end", 0) + 1
        same += sums(copy) == expected
    told = ", ".join(f"{count} with {what}" for what, count in sorted(seen.items()))
    print(f"{kills} kills ({told}); {ends} runs came to their end, {same} of them with the same bytes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
