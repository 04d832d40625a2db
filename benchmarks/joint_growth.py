"""How the joint tracker's time grows with the number of fish: fit, frames, mending, and searches that stopped early."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import trackfish3d.methods.joint.method as joint_method
from trackfish3d.benchmark.jobs import score
from trackfish3d.benchmark.suites import GATE_SYNFISH
from trackfish3d.core.files import atomic_path
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Recording
from trackfish3d.synfish.scenes import Scene, benchmark_scenes, write_scene

FISH = (4, 8, 16, 32, 64, 100, 200)
FRAMES = 300
OFFSET = 31
CROWD = 64
PARTS = {"initial_model": "fit", "refine": "mending"}
GOALS_MS = {16: 5.0, 100: 60.0}


@contextmanager
def clocks(spent: dict[str, float]) -> Iterator[None]:
    """Count the CPU seconds of the parts in ``spent`` while the tracker runs."""
    own = {name: getattr(joint_method, name) for name in PARTS}

    def timed(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            begun = time.process_time()
            try:
                return own[name](*arguments, **more)
            finally:
                spent[PARTS[name]] += time.process_time() - begun

        return call

    for name in PARTS:
        setattr(joint_method, name, timed(name))
    try:
        yield
    finally:
        for name, function in own.items():
            setattr(joint_method, name, function)


def school_of(scene: Scene, fish: int, work: Path) -> Recording:
    """So many fish in the water of a scene; recordings are kept in ``work``."""
    folder = work / f"growth-{fish}"
    if not (folder / "recording.toml").exists():
        write_scene(scene.model_copy(update={"fish": fish, "frames": FRAMES}), folder, seed_offset=OFFSET)
    return Recording.open(folder)


def bench_growth(work: Path) -> list[dict[str, Any]]:
    """Time `FISH` schools in the same water before the same rig."""
    rows: list[dict[str, Any]] = []
    hundred = benchmark_scenes(["hundred"])[0]
    crowd = school_of(hundred, CROWD, work)
    few = crowd.detections.select(crowd.detections.frame < 80)
    make_method("joint").track(crowd.rig, few, crowd.fps)  # everything is compiled, also what a few fish do not need
    for fish in FISH:
        recording = school_of(hundred, fish, work)
        rig, detections, truth = recording.rig, recording.detections, recording.truth
        assert truth is not None
        spent = dict.fromkeys(PARTS.values(), 0.0)
        with clocks(spent):
            begun = time.process_time()
            result = make_method("joint").track(rig, detections, recording.fps)
            whole = time.process_time() - begun
        spent["frames"] = whole - sum(spent.values())
        ms = {part: 1000 * seconds / FRAMES for part, seconds in spent.items()}
        found = score(truth, result.tracks, GATE_SYNFISH)
        rows.append(
            {
                "fish": fish, "length": FRAMES, "whole": 1000 * whole / FRAMES, "mota": found["mota"],
                "stopped": len(result.notes), **ms,
            }
        )  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def growth_section(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Markdown."""
    fish, frames = np.array([r["fish"] for r in rows]), np.array([r["frames"] for r in rows])
    slope = np.polyfit(np.log(fish), np.log(frames), 1)[0]
    steep = np.polyfit(np.log(fish[-3:]), np.log(frames[-3:]), 1)[0]
    length = rows[0]["length"]  # of what was measured, which an older run may have had shorter
    text = (
        f"Schools of 4 to 200 fish in the water and before the rig of the scene `hundred` (3 cameras, {length} "
        "frames): more "
        "fish are more crowded as well. CPU milliseconds a frame after compilation, one thread. The fit is "
        "done once, on at "
        f"most 200 frames; here it is spread over {length}, in a longer recording it is a smaller share. Frames cost "
        f"fish^{slope:.2f} over all, fish^{steep:.2f} over the last three. `stopped`: searches that ended "
        "before the best "
        "choice was proved.\n"
    )
    lines = [
        "| fish | frames, ms | mending, ms | fit, ms | whole, ms | goal, ms | stopped | MOTA % |",
        "|---:|" + "---:|" * 7,
    ]
    for r in rows:
        goal = GOALS_MS.get(r["fish"])
        words = ""
        if goal is not None:
            told = ["reached" if spent <= goal else "missed" for spent in (r["frames"] + r["mending"], r["whole"])]
            words = f"{goal:g}: {told[0]} / {told[1]}"
        numbers = " | ".join(f"{r[k]:.2f}" for k in ("frames", "mending", "fit", "whole"))
        lines.append(f"| {r['fish']} | {numbers} | {words} | {r['stopped']} | {100 * r['mota']:.1f} |")
    return [
        "## Growth\n",
        text,
        "\n".join(lines) + "\n",
        "The goal is held against frames and mending / against the whole, fit included.\n",
        "![growth](growth.png)\n",
    ]


def draw_growth(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Plot time over fish, both logarithmic."""
    figure = Figure(figsize=(6.4, 4.2))
    axes = figure.add_subplot()
    fish = np.array([r["fish"] for r in rows], float)
    for part, mark in (("frames", "o-"), ("mending", "s-"), ("fit", "^-")):
        axes.plot(fish, [r[part] for r in rows], mark, label=part, ms=5)
    middle = len(rows) // 2
    for power in (1, 2):
        line = rows[middle]["frames"] * (fish / fish[middle]) ** power
        axes.plot(fish, line, ":", color="0.6", lw=1)
        axes.annotate(f"fish^{power}", (fish[0], line[0]), fontsize=8, color="0.4", va="bottom")
    axes.plot(list(GOALS_MS), list(GOALS_MS.values()), "k*", ms=10, ls="none", label="goal")
    axes.set(xscale="log", yscale="log", xlabel="fish", ylabel="CPU ms a frame")
    axes.set_xticks(fish, [f"{n:g}" for n in fish])
    axes.minorticks_off()
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=130, bbox_inches="tight")
