"""The joint tracker against its goals: points, unseen rigs, growth, doubt, stages.

    OMP_NUM_THREADS=1 python benchmarks/bench_joint.py --out docs/results/joint [--only points,rigs,growth,doubt,stages]
        [--synfish FOLDER,FOLDER,FOLDER] [--dense FOLDER] [--data FOLDER] [--work FOLDER]

Parts that are not asked for keep their results of before. SynFish scenes are made in the work folder unless the folders
of ``--synfish`` have them, one folder for each seed. ``doubt`` looks at test scenes, to report and never to tune;
``stages`` at train scenes of another seed and at dense schools.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

from joint_doubt import CROWD, bench_doubt, doubt_section, draw_doubt
from joint_fit_doubt import CROWDS
from joint_goals import goals_section
from joint_growth import bench_growth, draw_growth, growth_section
from joint_points import bench_points, points_section
from joint_rigs import bench_rigs, rigs_section
from joint_stages import bench_stages, stages_section
from trackfish3d import __version__
from trackfish3d.benchmark.stamp import METHOD_CODE, code_digest
from trackfish3d.benchmark.zef import TEST, write_sequence, zef_folder
from trackfish3d.core.errors import InputError
from trackfish3d.core.files import atomic_path
from trackfish3d.recordings import Recording
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene

PARTS = ("points", "rigs", "growth", "doubt", "stages")
SEEDS = 3
DOUBT = ("test1", "test2", "test3", "test4", "test5", "test6", "thirty", "hundred")
CROWD_SEEDS = (50,)  # the curve was fitted on others
STAGES = (("train3", 1), ("train5", 1), ("train8", 1), ("train5", 2), ("train8", 2))
DENSE = ("thirty", "hundred")
DENSE_SEED = 12  # of dense schools, where --dense has none
STAGE_FRAMES = 200


def scene(name: str, seed: int, arguments: argparse.Namespace) -> Recording:
    """A SynFish scene of this seed, from the folders given or made in the work folder."""
    if seed < len(arguments.synfish) and (arguments.synfish[seed] / name / "recording.toml").is_file():
        return Recording.open(arguments.synfish[seed] / name)
    folder = arguments.work / f"{name}-seed{seed}"
    if not (folder / "recording.toml").is_file():
        write_scene(benchmark_scenes([name])[0], folder, seed_offset=seed)
    return Recording.open(folder)


def doubt_scenes(arguments: argparse.Namespace) -> dict[str, Recording]:
    """Test scenes and dense ones of three seeds, crowded schools, and 3D-ZeF where it is at hand."""
    found = {f"{name}-{seed}": scene(name, seed, arguments) for name in DOUBT for seed in range(SEEDS)}
    for base, fish in CROWDS:
        for seed in CROWD_SEEDS:
            folder = arguments.work / f"{base}x{fish}-{seed}"
            if not (folder / "recording.toml").is_file():
                write_scene(benchmark_scenes([base])[0].model_copy(update={"fish": fish}), folder, seed_offset=seed)
            found[f"{CROWD}-{base}x{fish}-{seed}"] = Recording.open(folder)
    try:
        source = zef_folder(arguments.data)
    except InputError as error:
        print(error)
        return found
    for sequence in TEST:
        folder = arguments.work / f"zef{sequence}"
        made = (folder / "recording.toml").is_file()
        found[f"zef-{sequence}"] = Recording.open(folder) if made else write_sequence(sequence, source, folder)
    return found


def stage_scenes(arguments: argparse.Namespace) -> dict[str, Recording]:
    """Train scenes of other seeds, and dense schools that no test has."""
    found = {f"{name}-{seed}": scene(name, seed, arguments) for name, seed in STAGES}
    for name in DENSE:
        given = None if arguments.dense is None else arguments.dense / name
        found[f"{name}-other"] = Recording.open(given) if given is not None else scene(name, DENSE_SEED, arguments)
    return found


def run(part: str, arguments: argparse.Namespace) -> Any:
    """Measure a part; its pictures are drawn from what it returns."""
    if part == "points":
        return bench_points(SEEDS)
    if part == "rigs":
        return bench_rigs(arguments.work)
    if part == "growth":
        return bench_growth(arguments.work)
    if part == "doubt":
        return bench_doubt(doubt_scenes(arguments))
    return bench_stages(stage_scenes(arguments), STAGE_FRAMES)


def write_report(results: dict[str, Any], out: Path) -> None:
    """Write report.md and pictures of all parts that were measured."""
    command = "OMP_NUM_THREADS=1 python benchmarks/bench_joint.py --out docs/results/joint"
    made = ", ".join(f"{part} {results[part]['code']}" for part in PARTS if part in results)
    text = (
        f"Made by `{command}` with trackfish3d {__version__}, one thread. Method `joint` with its defaults "
        "unless told. "
        "A part can be measured alone with `--only`; the code that each was measured with: "
        f"{made}.\n"
    )
    parts = ["# The joint tracker against its goals\n", text]
    parts += goals_section(out.resolve().parent, results)
    sections = {"points": points_section, "rigs": rigs_section, "growth": growth_section, "doubt": doubt_section}
    for part, section in sections.items():
        if part in results:
            parts += section(results[part]["rows"])
    if "stages" in results:
        parts += stages_section(results["stages"]["rows"], STAGE_FRAMES)
    if "growth" in results:
        draw_growth(results["growth"]["rows"], out / "growth.png")
    if "doubt" in results:
        draw_doubt(results["doubt"]["rows"], out / "reliability.png")
    with atomic_path(out / "report.md") as temporary:
        temporary.write_text("\n".join(parts), encoding="utf-8")


def main() -> None:
    """Measure the parts asked for and write the report of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of report.md, results.json and pictures")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(PARTS), help="parts, with commas")
    parser.add_argument(
        "--synfish",
        type=lambda text: [Path(p) for p in text.split(",")],
        default=[],
        help="SynFish made before, by seed",
    )
    parser.add_argument("--dense", type=Path, help="folder with other schools thirty and hundred")
    parser.add_argument("--data", type=Path, help="folder with 3D-ZeF; otherwise TRACKFISH3D_DATA")
    parser.add_argument("--work", type=Path, help="folder that keeps scenes; temporary without")
    parser.add_argument("--draw", action="store_true", help="only write the report anew from results.json")
    arguments = parser.parse_args()
    if unknown := set(arguments.only) - set(PARTS):
        parser.error(f"--only {', '.join(sorted(unknown))}: parts are {', '.join(PARTS)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "results.json"
    results: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        arguments.work = Path(folder) if arguments.work is None else arguments.work
        for part in [] if arguments.draw else arguments.only:
            results[part] = {"code": code_digest(METHOD_CODE)[:8], "rows": run(part, arguments)}
            with atomic_path(path) as temporary:
                temporary.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            write_report(results, arguments.out)
    write_report(results, arguments.out)
    print(arguments.out / "report.md")


if __name__ == "__main__":
    main()
