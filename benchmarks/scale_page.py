"""The page of what a recording costs: tables of all that was measured, and what larger studies need by it.

python benchmarks/scale_page.py docs/results/scale   # of what bench_scale.py and scale_kills.py kept there
"""

import json
import sys
from pathlib import Path

import numpy as np

STEPS = ("import", "check", "track", "analyse", "evaluate", "report", "export")
RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
DETECT_MS = 16.0  # CPU ms a view to find animals in a film, of docs/results/film (13 to 20)
STUDIES = (
    ("an hour at 60 a second", 216_000, 10, 3),
    ("a day at 60 a second", 5_184_000, 10, 3),
    ("a day at 60 a second", 5_184_000, 40, 3),
    ("100 recordings of an hour", 21_600_000, 10, 3),
)


def law_of_growth(found: dict, growth: list[dict], grid: list[dict]) -> tuple[tuple[float, float, float], str]:
    """CPU ms a frame as a fish^b cameras^c, and what it is made of.

    It passes through a long recording of 10 fish and 3 cameras; b is how schools grow (docs/results/joint), c what more
    cameras cost with 10 fish.
    """
    some = [r for r in growth if 8 <= r["fish"] <= 100]
    b = float(np.polyfit(np.log([r["fish"] for r in some]), np.log([r["frames"] + r["mending"] for r in some]), 1)[0])
    ten = [r for r in grid if r["fish"] == 10]
    c = float(np.polyfit(np.log([r["cameras"] for r in ten]), np.log([r["ms"] for r in ten]), 1)[0])
    ms = 1000 * sum(found["tenths"]) / found["done"]
    said = (
        f"`track` {ms:.2f} ms a frame of 10 fish and 3 cameras as measured above, x (fish / 10)^{b:.2f} as of 8 to 100 "
        f"fish in docs/results/joint, x (cameras / 3)^{c:.2f} as of 10 fish above"
    )
    return (ms / 10**b / 3**c, b, c), said


def beyond(law: tuple[float, float, float], said: str, steps: float) -> list[str]:
    """What larger studies cost by a law of CPU ms a frame.

    ``steps`` : CPU ms a frame of all commands after `track`, with 10 fish and 3 cameras.
    """
    a, b, c = law
    lines = [
        "## Beyond: what to rent",
        "",
        "Extrapolated, not measured. The model: frames add up, since a section costs what the one before it cost; "
        f"{said}; check, analyse, evaluate and report together {steps:.2f} ms a frame with 10 fish, in proportion to "
        f"the fish; finding animals in films {DETECT_MS:g} ms a view (docs/results/film); on disk 55 bytes a detection "
        "and 230 a point of a track, films not counted; cores like those that measured this, 2 GiB each; recordings "
        "side by side, and of one recording only its films: its tracks are one core's work. *Overnight* is 12 hours.",
        "",
        "| study | frames | `track`, core hours | other steps | films, where nothing is detected yet | cores overnight "
        "| memory, GiB | disk, GB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, frames, fish, cameras in STUDIES:
        track = frames * a * fish**b * cameras**c / 3.6e6
        rest = frames * steps * fish / 10 / 3.6e6
        film = frames * cameras * DETECT_MS / 3.6e6
        cores = int(np.ceil((track + rest) / 12)), int(np.ceil((track + rest + film) / 12))
        disk = frames * fish * (cameras * 55 + 230) / 1e9
        lines.append(
            f"| {name}, {fish} fish, {cameras} cameras | {frames:,} | {track:.1f} | {rest:.1f} | {film:.0f} | "
            f"{cores[0]}, with films {cores[1]} | {2 * cores[0]}, with films {2 * cores[1]} | {disk:.0f} |"
        )
    return [*lines, ""]


def _long_page(found: dict) -> list[str]:
    frames = found["frames"]
    given = ", given tracks" if found.get("given_tracks") else ""
    lines = [f"## {frames:,} frames, 10 fish, 3 cameras{given}{found.get('note', '')}", ""]
    lines += ["| command | CPU s | peak MiB | frames a CPU s |", "|---|---|---|---|"]
    for step in STEPS:
        if step in found:
            row = found[step]
            done = row.get("done", frames)
            of = "" if done == frames else f" (to frame {done:,})"
            lines.append(f"| {step}{of} | {row['cpu']:.0f} | {row['mib']:.0f} | {done / row['cpu']:,.0f} |")
    lines.append("")
    if given:
        lines.append("Tracks were made of the truth, not by `track`. ")
    if "track" in found:
        row = found["track"]
        whole = [t for k, t in enumerate(row["tenths"]) if (k + 1) * frames / 10 <= row["done"]]
        spent = sum(row["tenths"])
        lines.append(f"`track` takes {1000 * spent / row['done']:.2f} CPU ms a frame between its start and its end. ")
        if len(whole) > 1:
            lines[-1] += (
                f"CPU seconds of each tenth: {', '.join(f'{t:.0f}' for t in whole)}; the last of them took "
                f"{whole[-1] / whole[0]:.2f} times the first. "
            )
        if "scored" in row:
            lines[-1] += f"It was stopped there, and goes on from there; up to frame {row['scored']:,}: "
        if "returns" in found:
            lines[-1] += f"{found['returns']} returns, {found['doubtful']} of them while several were absent. "
        if row["summary"] and "scores" in found:
            scored = " MOTA {mota:.4f}, IDF1 {idf1:.4f}, {switches:.0f} switches. ".format(**found["scores"])
            lines[-1] += f"{row['summary']}.{scored}"
    if "report_mb" in found:
        lines[-1] += f"The report has {found['report_mb']:.1f} MB"
        opens = found.get("report_opens_s")
        lines[-1] += "." if opens is None else f" and is loaded by Chromium in {opens:.1f} s."
    lines[-1] += found.get("remark", "")
    return [*lines, ""]


def _kill_page(kept: dict) -> list[str]:
    lines = ["## Killed and read otherwise", "", "Made by `benchmarks/scale_kills.py`.", ""]
    for what in ("track", "run"):
        if what in kept:
            k = kept[what]
            where = ", ".join(f"{count} with {name}" for name, count in k["where"].items())
            lines.append(
                f"- `{what}`: {k['kills']} times kill -9 ({where}); {k['same']} of {k['ends']} ends with the same "
                f"bytes in {k['files']} files; {k['cpu_again_a_kill']:.1f} CPU s a kill were spent again (undisturbed: "
                f"{k['cpu_undisturbed']:.1f})."
            )
    if "chunks" in kept:
        frames = ", ".join(f"{f:,}" for f in kept["chunks"]["frames"])
        same = "the same bytes" if kept["chunks"]["same"] else "OTHER bytes"
        lines.append(f"- 12,000 frames read in pieces of {frames} frames: {same}.")
    return [*lines, ""]


def page(kept: dict, kills: dict) -> str:
    """The page of all that was measured."""
    lines = ["# What a recording costs", "", "Made by `benchmarks/bench_scale.py`; CPU seconds of one core.", ""]
    longs = sorted((v for k, v in kept.items() if k.startswith("long")), key=lambda f: f["frames"])
    for found in longs:
        lines += _long_page(found)
    if "grid" in kept:
        lines += ["## Fish and cameras", "", "| fish | cameras | CPU ms a frame of `track` |", "|---|---|---|"]
        lines += [f"| {r['fish']} | {r['cameras']} | {r['ms']:.2f} |" for r in kept["grid"]]
        lines += [
            "",
            "Each row is one draw of school and cameras: 5 fish may cost more than 10 for where cameras stand.",
            "",
        ]
    tracked = [f["track"] for f in longs if "track" in f]
    whole = [f for f in longs if "report" in f]
    if whole and "grid" in kept and tracked:
        after = sum(whole[-1][n]["cpu"] for n in ("check", "analyse", "evaluate", "report"))
        growth = json.loads((RESULTS / "joint" / "results.json").read_text())["growth"]["rows"]
        law = law_of_growth(tracked[-1], growth, kept["grid"])
        lines += beyond(*law, 1000 * after / whole[-1]["frames"])
    if "batch" in kept:
        rows = kept["batch"]
        lines += [f"## Eight recordings of {rows['frames']:,} frames, `batch --steps track`", ""]
        lines += ["| starter and workers | wall s | CPU s |", "|---|---|---|"]
        lines += [f"| {n} | {r['wall']:.0f} | {r['cpu']:.0f} |" for n, r in rows.items() if isinstance(r, dict)]
        lines += ["", f"Files the same byte for byte: {'yes' if rows['same_files'] else 'NO'}.", ""]
        lines += [
            f"Load of the machine (two cores) when it was measured: {rows['load']:.0f}. {rows.get('note', '')}",
            "",
        ]
    if kills:
        lines += _kill_page(kills)
    return "\n".join(lines)


def write(folder: Path) -> None:
    """Write ``scale.md`` of what a folder has in ``scale.json`` and ``kills.json``."""
    kept, kills = (
        json.loads(p.read_text()) if p.exists() else {} for p in (folder / "scale.json", folder / "kills.json")
    )
    (folder / "scale.md").write_text(page(kept, kills))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
