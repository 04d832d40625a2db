"""What an older checkout did with the points of docs/trust.md that can be put to its command line, beside this one.

Run: git worktree add /tmp/old e2cd5f3; python benchmarks/trust_before.py /tmp/old [--out docs/results/trust_before.md]
A fact is a line of commands and a question that is yes or no; each checkout answers it in a folder of its own, with the
same Python. Points that need functions which were not there (motion, verdicts, covariances) have their tests instead.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from motion_speeds import circling
from trackfish3d.cameras.native import write_cameras

HERE = Path(__file__).resolve().parents[1]


@dataclass
class Place:
    """A folder in which one checkout runs; ``said`` and ``code`` are of its last command."""

    checkout: Path
    folder: Path
    said: str = ""
    code: int = 0
    seen: list[str] = field(default_factory=list)

    def do(self, line: str) -> "Place":
        """Type ``trackfish3d`` and a line."""
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {"PYTHONPATH": str(self.checkout / "src"), "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
        environment["NUMBA_CACHE_DIR"] = str(self.folder.parent / "kernels")
        command = [sys.executable, "-m", "trackfish3d", *shlex.split(line)]
        made = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, errors="replace"
        )
        self.said, self.code = made.stdout + made.stderr, made.returncode
        last = [s for s in self.said.strip().splitlines() if s.strip()]
        self.seen.append(f"exit {self.code}: {last[-1].strip()[:90] if last else ''}")
        return self

    def write(self, name: str, text: str, encoding: str = "utf-8") -> "Place":
        """Write a file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding=encoding)
        return self


ROWS = [(frame, camera, 300 + frame, 200) for frame in range(5) for camera in ("cam0", "cam1")]
POINTS = "frame,camera,u,v\n" + "".join(f"{f},{c},{u}.5,{v}\n" for f, c, u, v in ROWS)
IMPORT = "import --cameras school/cameras.toml --detections points.csv --out rec"


def _imports(place: Place, text: str, options: str = "--fps 30", encoding: str = "utf-8") -> Place:
    return place.write("points.csv", text, encoding).do(f"{IMPORT} {options}")


def _wild(place: Place) -> bool:
    return _imports(place, POINTS.replace("300.5", "1e308")).code == 2


def _renamed(place: Place) -> bool:
    """A camera called ``..`` is refused."""
    text = (place.folder / "school" / "cameras.toml").read_text(encoding="utf-8")
    place.write("odd.toml", text.replace("cam0", ".."))
    place.write("points.csv", POINTS.replace("cam0", ".."))
    return place.do("import --cameras odd.toml --detections points.csv --fps 30 --out odd").code == 2


def _shifted(place: Place, by: int) -> int:
    """Rows of tracks of the school with so much added to all its frame numbers."""
    detections = place.folder / "school" / "detections.parquet"
    table = pq.read_table(detections)
    frame = pa.array(np.asarray(table["frame"]) + by, table.schema.field("frame").type)
    at = table.column_names.index("frame")
    pq.write_table(table.set_column(at, table.schema.field("frame"), frame), detections)
    place.do("track school")
    return len((place.folder / "school" / "tracks.csv").read_text(encoding="utf-8").splitlines())


def _below_zero(place: Place) -> bool:
    """As many points are tracked when frames are counted from a later moment, with a view of gaps among them."""
    return _shifted(place, -20) >= _shifted(place, 20)


def _circling(place: Place, speed: float, times: int = 1) -> int:
    """Tracks of one clean animal of so many body lengths a frame, each of its detections given so many times."""
    rig, d, _ = circling(speed, 1, 100)
    write_cameras(rig, place.folder / "rig.toml")
    rows = [
        f"{d.frame[k]},{rig.names[d.camera[k]]},{d.u[k]},{d.v[k]},{d.x1[k]},{d.y1[k]},{d.x2[k]},{d.y2[k]}"
        for k in range(len(d))
    ]
    place.write("points.csv", "\n".join(["frame,camera,u,v,x1,y1,x2,y2", *(r for r in rows for _ in range(times))]))
    place.do("import --cameras rig.toml --detections points.csv --fps 30 --out fast").do("track fast")
    if not (place.folder / "fast" / "tracks.parquet").exists():
        return 0
    return len(np.unique(np.asarray(pq.read_table(place.folder / "fast" / "tracks.parquet")["track"])))


def _scored_together(place: Place) -> bool:
    """Two recordings with truth inside are each scored against their own."""
    place.do("track school")
    shutil.copytree(place.folder / "school", place.folder / "again")
    return place.do("evaluate school again").code == 0 and "MOTA" in place.said


def _marked(place: Place) -> bool:
    """Somebody's labels survive `detect --train`."""
    labels = place.folder / "mine" / "labels" / "frame.txt"
    labels.parent.mkdir(parents=True, exist_ok=True)
    labels.write_text("0 0.5 0.5 0.1 0.1\n", encoding="utf-8")
    place.do("simulate --fish 2 --rig 5 --frames 12 --seed 2 --video --out filmed")
    place.do("detect filmed --train mine")
    return labels.exists()


def _linked(place: Place) -> bool:
    """A link in a received recording is not followed: what it leads to stays."""
    place.do("simulate --fish 2 --rig 5 --frames 12 --seed 2 --video --out filmed")
    (place.folder / "mine").mkdir(exist_ok=True)
    (place.folder / "mine" / "thesis.txt").write_text("years", encoding="utf-8")
    (place.folder / "filmed" / ".detect").symlink_to(place.folder / "mine")
    place.do("detect filmed --overwrite")
    return (place.folder / "mine" / "thesis.txt").exists()


def _rate(place: Place) -> bool:
    """A frame rate that no clock has is one line."""
    path = place.folder / "school" / "recording.toml"
    text = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join("fps = inf" if t.startswith("fps") else t for t in text) + "\n", encoding="utf-8")
    return place.do("track school").code == 2


def _named(place: Place) -> bool:
    """A track has the number of the other files in the paper's file too."""
    place.do("track school")
    rows = (place.folder / "school" / "tracks.csv").read_text(encoding="utf-8").splitlines()[1:]
    numbers = np.unique(np.asarray(pq.read_table(place.folder / "school" / "tracks.parquet")["track"]))
    return {row.split(",")[0] for row in rows} == {str(n) for n in numbers}


def _edited(place: Place, then: str) -> Place:
    """Edit ``tracks.csv`` and type a line."""
    path = place.do("track school").folder / "school" / "tracks.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines[:-1], "A,39,1,2,3,2"]) + "\n", encoding="utf-8")
    return place.do(then)


def _kept(place: Place) -> bool:
    """What somebody wrote into ``tracks.csv`` is in some file after tracking again."""
    folder = _edited(place, "track school").folder / "school"
    return any("A,39,1,2,3,2" in p.read_text(encoding="utf-8") for p in folder.glob("*.csv"))


def _suspects_stay(place: Place, line: str) -> bool:
    """Tracks written beside a recording's own leave its suspects alone."""
    path = place.folder / "school" / "suspects.csv"
    path.write_text("mine\n", encoding="utf-8")
    place.do(line)
    return path.exists() and path.read_text(encoding="utf-8") == "mine\n"


def _rows_split(place: Place) -> bool:
    """One file given for every camera is split by its column of cameras."""
    place.write("points.csv", POINTS)
    given = "--detections cam0=points.csv --detections cam1=points.csv"
    place.do(f"import --cameras school/cameras.toml {given} --fps 30 --out rec")
    path = place.folder / "rec" / "detections.parquet"
    return path.exists() and pq.read_metadata(path).num_rows == len(ROWS)


def _flat(place: Place) -> bool:
    """A film alone is enough for `detect`."""
    place.do("simulate --fish 2 --rig 5 --frames 12 --seed 2 --video --out filmed")
    return place.do("detect filmed/videos/cam0.mp4 --out flat").code == 0


def _one_line(place: Place, line: str) -> bool:
    """A command is refused in one line."""
    place.do(line)
    return place.code == 2 and len(place.said.strip().splitlines()) == 1


def _cut_features(place: Place) -> bool:
    np.savez_compressed(place.folder / "whole.npz", np.zeros((400, 8), np.float32))
    (place.folder / "cut.npz").write_bytes((place.folder / "whole.npz").read_bytes()[:150])
    return _one_line(place, "train school --features cut.npz --out model.safetensors")


def _far_truth(place: Place) -> bool:
    place.write("truth.csv", "frame,id,x,y,z\n0,0,1,2,4.6e18\n")
    return _imports(place, POINTS, "--fps 30 --truth truth.csv").code == 2


def _far_camera(place: Place) -> bool:
    text = (place.folder / "school" / "cameras.toml").read_text(encoding="utf-8")
    begin = text.index("translation = [") + len("translation = [")
    rest = text[begin:].lstrip().split(",", 1)
    place.write("far.toml", f"{text[:begin]}1e18,{rest[1]}")
    return place.do("convert far.toml near.toml").code == 2


def _offset(place: Place) -> bool:
    path = place.folder / "school" / "recording.toml"
    path.write_text(path.read_text(encoding="utf-8") + f"\n[time_offset_frames]\ncam0 = {2**70}\n", encoding="utf-8")
    return _one_line(place, "track school")


def _apart(place: Place) -> bool:
    """A frame 2**40 away is one line, not seven terabytes."""
    path = place.do("track school").folder / "school" / "tracks.parquet"
    table = pq.read_table(path)
    at = table.column_names.index("frame")
    frame = np.asarray(table["frame"]).copy()
    frame[-1] = 2**40
    pq.write_table(table.set_column(at, "frame", pa.array(frame)), path)
    return _one_line(place, "analyse school")


FACTS: dict[str, tuple[str, Callable[[Place], bool]]] = {
    "T4": ("`track --animals N` is there", lambda p: p.do("track school --animals 4").code == 0),
    "T7": ("`import` without `--fps` says that the rate is unknown",
           lambda p: "rate" in _imports(p, POINTS, "").said.lower() and p.code == 0),
    "T9": ("`--units bananas` is refused", lambda p: _imports(p, POINTS, "--fps 30 --units bananas").code == 2),
    "T2": ("`track --open` is there", lambda p: p.do("track school --open").code == 0),
    "T10, names": ("a track has one name in `tracks.csv` and everywhere else", _named),
    "T10, edited": ("an edited `tracks.csv` is not passed over in silence",
                    lambda p: "edited" in _edited(p, "report school").said),
    "T10, kept": ("an edited `tracks.csv` survives tracking again", _kept),
    "T11": ("`--out` beside a recording's tracks leaves its suspects alone",
            lambda p: _suspects_stay(p, "track school --out school/b.csv")),
    "T11, cameras": ("one file given for every camera is split by its cameras", _rows_split),
    "T12, rename": ("cameras are renamed at `import`",
                    lambda p: _imports(p, POINTS.replace("cam0", "a"), "--fps 30 --rename cam0=a").code == 0),
    "T13, help": ("a default in brackets is not swallowed", lambda p: "default: 10]" in p.do("analyse --help").said),
    "T13, film": ("`detect FILM` works without a calibration", _flat),
    "T20": ("a cut `.npz` of features is one line", _cut_features),
    "T21, truth": ("truth at 4.6e18 is refused", _far_truth),
    "T21, camera": ("a camera at 1e18 is refused", _far_camera),
    "T10": ("`track` writes a table for people beside the paper's columns",
            lambda p: (p.do("track school").folder / "school" / "tracks_table.csv").exists()),
    "T12": ("semicolons and decimal commas are read",
            lambda p: _imports(p, POINTS.replace(",", ";").replace(".5", ",5")).code == 0),
    "T12, UTF-16": ("UTF-16 is read, or named in one line",
                    lambda p: _imports(p, POINTS, encoding="utf-16").code == 0 or "UTF-16" in p.said),
    "T13": ("`evaluate A B` scores recordings with truth inside", _scored_together),
    "T16": ("`import` writes down what it was made from",
            lambda p: (_imports(p, POINTS).folder / "rec" / "run.json").exists()),
    "T17": ("tracks are exported for MATLAB",
            lambda p: p.do("track school").do("export school --format mat --out tracks.mat").code == 0),
    "T21": ("a pixel at 1e308 is refused", _wild),
    "T6": ("`track` that finds nothing ends with code 1",
           lambda p: _imports(p, POINTS).do("track rec").code == 1),
    "T8": ("`evaluate` has a gate of its own and prints it",
           lambda p: p.do("track school").do("evaluate school").code == 0 and "gate" in p.said.lower()),
    "H1": ("a camera called `..` is refused", _renamed),
    "H1, labels": ("labels made by hand survive `detect --train`", _marked),
    "H1, links": ("`detect` does not empty the folder that a link leads to", _linked),
    "H2, frames": ("frames below zero are tracked as others are", _below_zero),
    "H2, speed": ("one animal at 3 body lengths a frame is one track", lambda p: _circling(p, 3.0) == 1),
    "H2, twice": ("every detection given twice is one animal", lambda p: _circling(p, 0.3, 2) == 1),
    "H1, suspects": ("`track --method hungarian --out` leaves the suspects of other tracks",
                     lambda p: _suspects_stay(p, "track school --method hungarian --out school/h.csv")),
    "H4, offset": ("an offset of 2**70 frames is one line", _offset),
    "H4, frames": ("frames 2**40 apart are one line", _apart),
    "H4, rate": ("`fps = inf` is one line", _rate),
    "H4, names": ("an output name of 300 letters is one line",
                  lambda p: p.do("track school").do(f"export school --format csv --out {'n' * 300}.csv").code == 2),
    "H4, disk": ("`/dev/full` is one line",
                 lambda p: p.do("track school").do("export school --format csv --out /dev/full").code == 2),
}  # fmt: skip


def school(checkout: Path, folder: Path) -> Path:
    """A small recording that a checkout has simulated, made once."""
    if not (folder / "school").exists():
        Place(checkout, folder).do("simulate --fish 4 --rig 5 --frames 40 --seed 2 --out school")
    return folder / "school"


def main() -> int:
    """Put every fact to both; exit code 1 where this checkout fails one."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("--out", type=Path, help="write the table here (Markdown)")
    parser.add_argument("--only", action="append", default=[], help="a point; repeatable")
    args = parser.parse_args()
    lines = ["| point | fact | before | what it said | now |", "|---|---|---|---|---|"]
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        for number, (point, (fact, holds)) in enumerate(FACTS.items()):
            if args.only and point not in args.only:
                continue
            answers = []
            for which, checkout in (("old", args.old.resolve()), ("new", HERE)):
                place = Place(checkout, Path(name) / which / str(number))
                shutil.copytree(school(checkout, Path(name) / which / "made"), place.folder / "school")
                answers.append((holds(place), place.seen[-1].replace("|", "/").replace(str(place.folder), ".")))
            (before, said), (now, _) = answers
            failed += not now
            words = "holds there too" if before else "fails there"
            lines.append(f"| {point} | {fact} | {words} | `{said}` | {'holds' if now else 'FAILS'} |")
            print(lines[-1], flush=True)
    if args.out is not None:
        head = (
            "# Before and now\n\nMade by `python benchmarks/trust_before.py OLD`, OLD a checkout of e2cd5f3: facts of"
        )
        head += " [what holds](../trust.md)\nthat can be put to its command line.\n\n"
        args.out.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
