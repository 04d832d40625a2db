"""Digests of what the command line writes, to prove that a change of the code changes no result.

Run: python benchmarks/golden.py --write                        (before; writes benchmarks/golden.json)
     python benchmarks/golden.py --check [--only TEXT] [--without GROUP]   (after; exit code 1 if anything differs)

Groups are the first word of an item's name. Everything goes through ``python -m trackfish3d`` in this process, so that
modules may move. Contents are digested, not bytes that hold versions, times or paths. A file that a command does not
write is "absent", a command that says no is "refused". Digests hold for one machine and its packages.
"""

import argparse
import contextlib
import functools
import io
import json
import os
import re
import runpy
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Before the first import that reads them.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
os.environ |= {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "MPLBACKEND": "Agg"}

import numpy as np
import pyarrow.parquet as pq

from golden_digests import ABSENT, REFUSED, Items, digest, of_file, of_files, of_json, of_page
from golden_films import FILM_CAMERAS, FILMS, SkippedError, film

GOLDEN = Path(__file__).resolve().with_suffix(".json")

SCENES = {
    "tank": "--fish 6 --rig tank --frames 80 --seed 3",  # two cameras through water
    "air": "--fish 4 --rig 0 --frames 60 --seed 4",
    "dense": "--fish 16 --rig 5 --frames 100 --seed 7 --spread 3,2 --length 2",  # has moments of doubt
}
VARIANTS = {"openptv": ["--set linker=laptrack"], "joint": ["--set animals=4"], "hungarian": ["--set contain=true"]}
NETWORK = "model.width=32 model.hidden=16 model.layers=1 model.heads=2 model.feed_forward=32"
TRAINING = f"epochs=2 warmup_epochs=1 device=cpu seed=0 {NETWORK}"
EXPORTS = {"zef3d": "txt", "csv": "csv", "parquet": "parquet", "netcdf": "nc", "nwb": "nwb", "slp": "slp"}

CLEAR = 105.0  # learnt level below which animals are followed by body templates, not by ellipses


class FailedError(Exception):
    """A command did not do what it always does."""


def call(line: str, codes: tuple[int, ...] = (0,)) -> tuple[int, str]:
    """Run a command line; returns exit code and standard output."""
    out, err = io.StringIO(), io.StringIO()
    arguments, sys.argv = sys.argv, ["trackfish3d", *line.split()]
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            runpy.run_module("trackfish3d", run_name="__main__")
    except SystemExit as leaving:
        code = leaving.code or 0
    except Exception:
        code = traceback.format_exc()
    finally:
        sys.argv = arguments
    if code == 2 and "pip install" in err.getvalue():
        raise SkippedError(err.getvalue().strip())
    if code not in codes and not (code == 1 and line.startswith(("track ", "run "))):  # 1: something is wrong, said
        raise FailedError(f"{line}: exit code {code}\n{err.getvalue().strip()}")
    return code, out.getvalue()


# What is made


@functools.cache
def scene(name: str) -> Path:
    """Simulate a scene."""
    call(f"simulate {SCENES[name]} --out {name}")
    return Path(name)


@functools.cache
def tracked(name: str, method: str, options: str) -> Path | None:
    """Track a copy of a scene; None where the method says no."""
    folder = Path(f"{name}.{method}{re.sub('[^a-z0-9]+', '_', options)}")
    shutil.copytree(scene(name), folder)
    if method == "external":
        options = f"{options} --set folder={mot_files(name)}"
    code, _ = call(f"track {folder} --method {method} {options}", (0, 2))
    return None if code else folder


@functools.cache
def analysed(name: str) -> Path:
    """Tracks of the default method, analysed."""
    folder = made(tracked(name, "joint", ""))
    call(f"analyse {folder} --format csv")
    return folder


@functools.cache
def mot_files(name: str) -> Path:
    """Boxes of the truth as one MOT file a camera."""
    table = pq.read_table(scene(name) / "truth.parquet").to_pydict()
    out = Path(f"{name}_mot")
    out.mkdir()
    for camera in [c.removeprefix("x1_") for c in table if c.startswith("x1_")]:
        columns = (table[k] for k in ("frame", "identity", *(f"{c}_{camera}" for c in ("x1", "y1", "x2", "y2"))))
        rows = [r for r in zip(*columns, strict=True) if np.isfinite(r[2:]).all()]
        lines = [f"{f},{i},{a!r},{b!r},{c - a!r},{d - b!r},1,-1,-1,-1\n" for f, i, a, b, c, d in rows]
        (out / f"{camera}.txt").write_text("".join(lines))
    return out


def made(folder: Path | None) -> Path:
    """Insist on a result."""
    if folder is None:
        raise FailedError("the tracks are missing")
    return folder


# Steps: each returns digests by name


def simulate(name: str) -> Items:
    return of_files(scene(name), "detections.parquet", "truth.parquet", "cameras.toml", "recording.toml")


def render() -> Items:
    """Pictures of a rendered film, decoded."""
    call("simulate --fish 3 --rig random:2 --frames 4 --seed 1 --video --out rendered")
    try:
        import av
    except ImportError:
        raise SkippedError("films need av") from None
    found = {}
    for path in sorted(Path("rendered/videos").iterdir()):
        with av.open(str(path)) as container:
            found[path.stem] = digest(*(f.to_ndarray(format="gray").tobytes() for f in container.decode(video=0)))
    return found


def track(name: str, method: str, options: str = "") -> Items:
    """Tracks of a method, their settings and scores."""
    folder = tracked(name, method, options)
    if folder is None:
        return {"tracks.parquet": REFUSED}
    _, scores = call(f"evaluate {folder} --gate 1 --json")
    found = of_files(folder, "tracks.parquet", "tracks.csv", "suspects.csv", "tracks.settings.json")
    return found | {"evaluate": digest(scores)}


def check(name: str) -> Items:
    code, text = call(f"check {scene(name)}", (0, 1))
    again, data = call(f"check {scene(name)} --json", (0, 1))
    return {"stdout": digest(str(code), text), "json": of_json([again, json.loads(data)])}


def difficulty(name: str) -> Items:
    return {"stdout": digest(call(f"difficulty {scene(name)}")[1])}


def evaluate_blind(name: str) -> Items:
    """Scores without truth."""
    folder = Path(f"{name}.blind")
    shutil.copytree(made(tracked(name, "joint", "")), folder)
    (folder / "truth.parquet").unlink()
    return {"json": digest(call(f"evaluate {folder} --json")[1])}


def analyse(name: str) -> Items:
    folder = analysed(name) / "behaviour"
    return of_files(folder, *sorted(p.name for p in folder.iterdir()))


def report(name: str) -> Items:
    folder = analysed(name)
    call(f"report {folder} --gate 1")
    return of_page(folder / "report.html")


def export(name: str, form: str) -> Items:
    out = Path(f"{name}_export.{EXPORTS[form]}")
    call(f"export {made(tracked(name, 'joint', ''))} --format {form} --out {out}")
    return {out.name: of_file(out)}


def convert(name: str) -> Items:
    """Cameras for other tools and back."""
    call(f"convert {scene(name) / 'cameras.toml'} {name}_anipose.toml --to anipose")
    call(f"convert {name}_anipose.toml {name}_back.toml --to trackfish3d")
    return of_files(Path(), f"{name}_anipose.toml", f"{name}_back.toml")


def noise(name: str, kind: str) -> Items:
    out = Path(f"{name}_noise_{kind}")
    call(f"noise {kind} {scene(name)} --sigma 0.1 --seed 2 --out {out}")
    return of_files(out, "cameras.toml", "detections.parquet", "truth.parquet")


def import_(name: str) -> Items:
    out = Path(f"{name}_import")
    files = " ".join(f"--detections {p.stem}={p}" for p in sorted(mot_files(name).iterdir()))
    call(f"import --cameras {scene(name) / 'cameras.toml'} {files} --format mot --out {out}")
    return of_files(out, "cameras.toml", "detections.parquet", "recording.toml")


def detect(name: str) -> Items:
    """Detections of a film, and that they came by the path they stand for."""
    folder = film(name)
    call(f"detect {folder} --workers 1 --no-preview")
    learnt = json.loads((folder / "detections.settings.json").read_text(encoding="utf-8"))["learnt"]
    if not all((look["level"] < CLEAR) == (name == "weak") for look in learnt.values()):
        raise FailedError(f"film {name}: animals have levels {[look['level'] for look in learnt.values()]}")
    return of_files(folder, "detections.parquet", "detections.settings.json", "recording.toml")


def run(name: str) -> Items:
    """From films to the page."""
    folder, out = film(name), Path(f"run_{name}")
    videos = " ".join(f"{camera}={folder / 'videos' / camera}.mkv" for camera in FILM_CAMERAS)
    call(f"run {videos} --cameras {folder / 'cameras.toml'} --out {out} --workers 1", (0, 1))
    found = of_files(out, "detections.parquet", "tracks.parquet", "tracks.csv", "suspects.csv")
    page = of_page(out / "report.html")
    return found | {"report": digest(json.dumps({k: v for k, v in page.items() if k != "title"}))}


def train(recipe: str) -> Items:
    model = Path(f"{recipe}.safetensors")
    call(f"train {scene('air')} --recipe {recipe} --out {model} {sets(TRAINING)}")
    return {model.name: of_file(model)} | track("air", "paper", f"--model {model}")


def learn() -> Items:
    call(f"learn {scene('air')} --out pairs.safetensors --rounds 2 {sets('steps=20 tokens=100 seed=0')}")
    return of_files(Path(), "pairs.safetensors") | track("air", "joint", "--model pairs.safetensors")


def sets(values: str) -> str:
    """Write settings as options."""
    return " ".join(f"--set {value}" for value in values.split())


def methods() -> list[str]:
    """Methods that the help of ``track`` lists."""
    names: list[str] = []
    for line in call("track --help")[1].partition("Methods:")[2].splitlines()[1:]:
        word = re.match(r"\s*(\w+)\s{2,}\S|\s*(\w+)\s\w", line)
        if word is None:
            break
        names.append(word[1] or word[2])
    return names


def steps() -> Iterator[tuple[str, Callable[[], Items]]]:
    """Yield all steps with their names, in an order in which none changes what another reads."""
    for name in SCENES:
        yield f"simulate/{name}", functools.partial(simulate, name)
    yield "simulate/rendered", render
    for name in SCENES:
        yield f"check/{name}", functools.partial(check, name)
        yield f"difficulty/{name}", functools.partial(difficulty, name)
        yield f"convert/{name}", functools.partial(convert, name)
    for kind in ("calibration", "detections"):
        yield f"noise/{kind}", functools.partial(noise, "air", kind)
    yield "import/mot", functools.partial(import_, "tank")
    for method in methods():
        for name in SCENES:
            yield f"track/{name}/{method}", functools.partial(track, name, method)
        for options in VARIANTS.get(method, []):
            yield f"track/air/{method} {options}", functools.partial(track, "air", method, options)
    for name in SCENES:
        yield f"blind/{name}", functools.partial(evaluate_blind, name)
        yield f"analyse/{name}", functools.partial(analyse, name)
        yield f"report/{name}", functools.partial(report, name)
    for form in EXPORTS:
        yield f"export/{form}", functools.partial(export, "dense", form)
    for name in FILMS:
        yield f"detect/{name}", functools.partial(detect, name)
    yield "run/strong", functools.partial(run, "strong")
    for recipe in ("fast", "paper"):
        yield f"train/{recipe}", functools.partial(train, recipe)
    yield "train/tank", functools.partial(track, "tank", "paper", "--set learn=1 --set device=cpu")
    yield "learn/pairs", learn


def wanted(item: str, only: str, without: list[str]) -> bool:
    """Tell whether an item, or a step by its name, was asked for."""
    return only in item and item.partition("/")[0] not in without


def compare(name: str, now: Items, known: Items, seconds: float) -> int:
    """Print a line for each item of a step; returns how many differ."""
    bad = 0
    for k, item in enumerate(sorted(now | known)):
        word = "new" if item not in known else "missing" if item not in now else "ok"
        if word == "ok" and now[item] != known[item]:
            word = "CHANGED"
        bad += word in ("missing", "CHANGED")
        remark = f"  ({known[item]})" if known.get(item) in (ABSENT, REFUSED) else ""
        print(f"{word:<8}{item}{remark}" + (f"  {seconds:.1f} s" if k == 0 else ""), flush=True)
    return bad


def go(write: bool, only: str, without: list[str]) -> int:
    """Do all steps that were asked for; returns the exit code."""
    known: Items = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.is_file() else {}
    left = {item: value for item, value in known.items() if wanted(item, only, without)}
    found, bad, begin = {}, 0, time.perf_counter()
    for name, step in steps():
        mine = {item: left.pop(item) for item in list(left) if item.rpartition("/")[0] == name}
        if not wanted(name, "", without) or not (only in name or mine or write):
            continue
        start = time.perf_counter()
        try:
            items = {f"{name}/{item}": value for item, value in step().items()}
        except SkippedError as reason:
            print(f"skipped {name}: {reason}", flush=True)
            found |= mine
            continue
        except Exception as error:
            text = str(error) if isinstance(error, FailedError) else traceback.format_exc()
            print(f"FAILED  {name}: {text.strip()}", flush=True)
            items, bad = {}, bad + 1
        items = {item: value for item, value in items.items() if wanted(item, only, without)}
        found |= items
        bad += compare(name, items, items if write else mine, time.perf_counter() - start)
    for item in () if write else left:
        print(f"missing {item}")
        bad += 1
    print(f"{len(found)} items, {bad} differ or failed, {time.perf_counter() - begin:.0f} s")
    if write and not bad:
        kept = {item: value for item, value in known.items() if not wanted(item, only, without)}
        GOLDEN.write_text(json.dumps(dict(sorted((kept | found).items())), indent=1) + "\n", encoding="utf-8")
    return int(bad > 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="write the digests")
    what.add_argument("--check", action="store_true", help="compare with the digests written")
    parser.add_argument("--only", default="", metavar="TEXT", help="only items whose name contains this")
    parser.add_argument("--without", action="append", default=[], metavar="GROUP", help="leave a group out; repeatable")
    asked = parser.parse_args()
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="golden") as folder:
        os.chdir(folder)
        try:
            code = go(asked.write, asked.only, asked.without)
        finally:
            os.chdir(before)
    sys.exit(code)


if __name__ == "__main__":
    main()
