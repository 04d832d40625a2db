"""The walk at the edges: as nobody without a home, on a full disk, with a received folder full of links and odd names.

python benchmarks/walk_edges.py --work /tmp/edges --out docs/walk-edges.md     (Linux, as root)
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import trackfish3d as tf
from walk_parts import Walk, page

HEAD = """
# The walk at the edges

What each command says to user `nobody` without a home, on a disk that is full, in a folder that may not be written to,
and on a received recording full of links, odd names and numbers that nothing has. Made by `python
benchmarks/walk_edges.py --work FOLDER --out docs/walk-edges.md` (Linux, as root). Exit code 0: done; 1: something is
wrong with the recording, and said; 2: one line that says what to do. Nothing of the user's was lost: the page ends with
what was compared.
"""
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
PYTHONS = (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}", "/usr/bin/python3")
ODD = ("..", "../../mine", "a/b", "CON", "\\u001b[31mred", "x" * 101, "[/x]", "[red]x[bold]", "$bad{$ ^_")
STEPS = (
    "info {rec}", "check {rec}", "track {rec}", "report {rec}", "analyse {rec}", "evaluate {rec}",
    "export {rec} --format mat --out {out}/t.mat", "export {rec} --format geff --out {out}/t.geff",
    "convert {rec}/cameras.toml {out}/c.toml", "noise detections {rec} --sigma 0.1 --out {out}/noisy",
    "import --cameras {rec}/cameras.toml --detections {rec}/detections.parquet --fps 30 --out {out}/again",
    "simulate --fish 2 --frames 8 --out {out}/two", "detect film.mp4 --out {out}/flat",
    "run top=film.mp4 front=film.mp4 --cameras {rec}/cameras.toml --out {out}/run",
)  # fmt: skip


def school(work: Path) -> Path:
    """A small recording with truth and tracks, and a film; made once."""
    made = work / "made"
    if not (made / "school" / "tracks.csv").exists():
        shutil.rmtree(made, ignore_errors=True)
        recording = tf.simulate(made / "school", fish=3, rig="tank", frames=60, seed=2)
        tf.track(recording).save(recording)
        film = tf.simulate(made / "filmed", fish=2, rig="tank", frames=12, seed=2, video=True)
        shutil.copyfile(next(iter(film.videos.values())), made / "film.mp4")
    return made


def anybodys_python() -> str:
    """An interpreter that nobody may start, and start again: workers are processes of it."""
    again = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', 'import sys']))"
    for python in PYTHONS:
        with contextlib.suppress(OSError):
            if not subprocess.run([*NOBODY, python, "-c", again], capture_output=True).returncode:
                return python
    raise SystemExit("nobody may start this Python, nor the system's")


def bare(folder: Path) -> dict[str, str]:
    """An environment without a home, with the packages of this Python."""
    kept = {n: os.environ[n] for n in ("PATH", "OMP_NUM_THREADS") if n in os.environ}
    packages = [p for p in sys.path if p.endswith(("site-packages", "dist-packages"))]
    kept["PYTHONPATH"] = os.pathsep.join([str(Path(tf.__file__).parents[1]), *packages])
    return {**kept, "TMPDIR": str(folder), "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "COLUMNS": "100"}


def nobody(work: Path) -> Walk:
    folder = work / "nobody"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(school(work), folder)
    (folder / "tmp").mkdir()
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, 65534, 65534)
    walk = Walk(folder, bare(folder / "tmp"), NOBODY, python=anybodys_python())
    walk.say("The installation is not writable and there is no home; the folder is nobody's own.")
    walk.do("warmup")
    for line in STEPS:
        walk.do(line.format(rec="school", out="made"))
    return walk


def read_only(work: Path) -> Walk:
    folder = work / "readonly"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(school(work), folder)
    tmp = work / "nobody" / "tmp"
    walk = Walk(folder, bare(tmp if tmp.exists() else Path("/tmp")), NOBODY, python=anybodys_python())
    walk.say(
        "The same user in a folder that belongs to somebody else: what is only read works, the rest is said first."
    )
    for line in STEPS:
        walk.do(line.format(rec="school", out="made"))
    walk.do("check school --picture /dev/full")
    return walk


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[None]:
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def full_disk(work: Path) -> Walk:
    folder = work / "full"
    with small_disk(folder, "24m"):
        for name in ("school", "film.mp4"):
            source = school(work) / name
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, folder / name)
        before = contents(folder / "school")
        filler = os.open(folder / "filler", os.O_CREAT | os.O_WRONLY)
        with contextlib.suppress(OSError):
            while os.write(filler, bytes(4096)):
                continue
        os.close(filler)
        walk = Walk(folder)
        walk.say("Not one byte is left on the disk.")
        for line in STEPS:
            walk.do(line.format(rec="school", out="made"))
        walk.do("export school --format csv --out /dev/full")
        lost = [name for name, content in before.items() if contents(folder / "school").get(name) != content]
        walk.say(f"Files of the recording that are not what they were: {', '.join(sorted(lost)) or 'none'}.")
        left = [p.name for p in (folder / "school").rglob("*tf3d-*")]
        walk.say(f"Temporary files left behind: {', '.join(left) or 'none'}.")
        (folder / "filler").unlink()
        walk.say("After some room was made, the same command goes on:")
        walk.do("track school")
    return walk


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def received(work: Path) -> Walk:
    folder = work / "received"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = school(work)
    victim = folder / "mine"
    (victim / "thesis").mkdir(parents=True)
    (victim / "thesis" / "chapter1.txt").write_text("years of work\n")
    (victim / "notes.txt").write_text("mine\n")
    before = contents(victim)
    walk = Walk(folder)
    walk.say("A recording from somebody else, whose folders and files are links into ours (`mine`):")
    rec = shutil.copytree(made / "school", folder / "rec")
    shutil.copyfile(made / "film.mp4", folder / "film.mp4")
    for name in (".detect", "behaviour", "preview"):
        (rec / name).symlink_to(victim / "thesis")
    for name in ("report.html", "tracks.csv", "run.json", "rig.png", "suspects.csv"):
        (rec / name).unlink(missing_ok=True)
        (rec / name).symlink_to(victim / "notes.txt")
    (rec / "videos").mkdir(exist_ok=True)
    for name in ("top", "front"):
        (rec / "videos" / f"{name}.mp4").symlink_to(folder / "film.mp4")
    for line in ("info rec", "check rec", "track rec", "report rec", "analyse rec", "detect rec --overwrite"):
        walk.do(line)
    walk.say(f"`mine` is as it was: {'yes' if contents(victim) == before else 'NO'}.")
    walk.say("Cameras with names that are paths, markup, mathematics or orders to a terminal:")
    text = (made / "school" / "cameras.toml").read_text()
    for number, name in enumerate(
        ("..", "../../mine", "a/b", "CON", "\\u001b[31mred", "x" * 101, "[/x]", "$\\\\bad{$")
    ):
        odd = shutil.copytree(made / "school", folder / f"odd{number}")
        (odd / "cameras.toml").write_text(text.replace('"top"', f'"{name}"'))
        walk.do(f"check odd{number}", shown=f"check odd{number}     # a camera is called {name[:20]}")
    odd = shutil.copytree(made / "school", folder / "unit")
    (odd / "cameras.toml").write_text(text.replace('units = "cm"', 'units = "[/x] $bad{$"'))
    for line in ("check unit", "track unit", "report unit", "analyse unit"):
        walk.do(line)
    wild(walk, made, folder)
    walk.say(f"`mine` is as it was: {'yes' if contents(victim) == before else 'NO'}.")
    return walk


def wild(walk: Walk, made: Path, folder: Path) -> None:
    """Numbers that nothing has, and names that no disk takes."""
    walk.say("Numbers that no clock, film or tank has:")
    info = (made / "school" / "recording.toml").read_text()
    for name, old, new in (
        ("offset", "[time_offset_frames]", f"[time_offset_frames]\ntop = {2**70}"),
        ("rate", "fps = 60.0", "fps = inf"),
        ("rate2", "fps = 60.0", "fps = 1e300"),
    ):
        odd = shutil.copytree(made / "school", folder / name)
        (odd / "recording.toml").write_text(info.replace(old, new))
        walk.do(f"track {name}")
    odd = shutil.copytree(made / "school", folder / "apart")
    table = pq.read_table(odd / "tracks.parquet")
    frame = np.asarray(table["frame"]).copy()
    frame[-1] = 2**40
    at = table.column_names.index("frame")
    pq.write_table(table.set_column(at, "frame", pa.array(frame)), odd / "tracks.parquet")
    walk.do("analyse apart")
    np.savez_compressed(folder / "bomb.npz", np.zeros((10**8, 3), np.float32))
    walk.do("train rec --features bomb.npz --out model.safetensors")
    walk.say("Names that no disk takes, and that are no text:")
    walk.do(
        f"export rec --format csv --out {'n' * 300}.csv",
        shown="export rec --format csv --out nnn….csv  # 300 letters",
    )
    walk.do("track nowhere")
    walk.do("report rec --out film.mp4/report.html")
    strange = Path(os.fsdecode(os.fsencode(str(folder)) + b"/caf\xe9"))
    shutil.copytree(made / "school", strange)
    line = [sys.executable, "-m", "trackfish3d", "check", strange.name]
    found = subprocess.run(line, cwd=folder, capture_output=True)
    said = (found.stdout + found.stderr).decode("utf-8", errors="backslashreplace").strip().splitlines()
    walk.text += ["```text", "$ trackfish3d check caf\\xe9", *said[-6:], f"[exit {found.returncode}]", "```", ""]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/walk-edges.md"))
    parser.add_argument("--only", action="append", default=[])
    args = parser.parse_args()
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    work.chmod(0o755)
    chapters: dict[str, Callable[[], Walk]] = {
        "A received folder": lambda: received(work),
        "A full disk": lambda: full_disk(work),
        "Nobody, without a home": lambda: nobody(work),
        "A folder of somebody else": lambda: read_only(work),
    }
    return page(args.out, HEAD, chapters, work / "edges.json", args.only)


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
