"""What each sub-command runs: scenes, methods, gate; and the run itself."""

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import __version__
from ..core.errors import InputError
from ..core.files import write_json
from ..core.progress import TaskProgress
from ..synfish.scenes import EDITION
from .crowded.cmc import GATE_M, PUBLISHED_PEOPLE
from .crowded.cmc import SCENES as PEOPLE
from .crowded.crowd import half_of
from .jobs import Job, by_scene, in_parallel, run_job
from .paper import SYNFISH_TEST, ZEF_TEST
from .scenes import SceneSpec, check_scene, is_made, prepare
from .variants import ORACLE, ORACLE_TRUE, Variant, ablation_variants, parse_variant, weight_variants, with_model
from .zef import GATE_CM, PUBLISHED

GATE_SYNFISH = 1.0
CALIBRATION_NOISE = (0.05, 0.1, 0.2)
DETECTION_NOISE = (0.05, 0.1, 0.2, 0.4)
PAPER = ("hungarian", "greedy", "sort3d", "paper", "joint", ORACLE)
DENSE = ("thirty", "hundred")
CROWD = ("joint", ORACLE, ORACLE_TRUE)
ABLATION = (
    "hungarian",
    "hungarian:max_gap=0",
    "hungarian:contain=true",
    "hungarian:max_age=0",
    "sort3d",
    "sort3d:max_gap=0",
    "sort3d:max_age=3",
    "svt",
)
STAGES = ("paper", "sort3d", "joint")
PEERS = ("joint", "sort3d", "svt", "openptv", "openptv:linker=laptrack", "bytetrack", "ocsort", "sort2d")
# The paper's 3D-SORT waits 30 frames for a lost fish on SynFish and 3 on 3D-ZeF.
ZEF_SETTINGS: dict[str, dict[str, Any]] = {"sort3d": {"max_age": 3}, "svt": {"max_age": 3}}


@dataclass(frozen=True)
class Suite:
    """Scenes and methods of one sub-command."""

    name: str
    title: str
    scenes: tuple[SceneSpec, ...]
    variants: tuple[Variant, ...]
    gate: float
    source: Path | None = None


def make_suite(
    name: str,
    methods: Sequence[str] | None,
    scenes: Sequence[str] | None,
    source: Path | None = None,
    seeds: int = 1,
    model: Path | None = None,
    models: Path | None = None,
    edition: int = EDITION,
) -> Suite:
    """Return the suite of a sub-command, with the caller's methods and scenes where given.

    ``seeds`` schools of each SynFish scene are run; 3D-ZeF has the fish it has. ``model`` is the network of methods
    that have one; ``models`` a folder of networks to compare, in place of methods; ``edition`` that of SynFish.
    """
    if models is not None:
        variants = ablation_variants(models)
    elif name == "weights":
        variants = weight_variants()
    else:
        # The shipped network is for three cameras, 3D-ZeF has two.
        usual = tuple(m for m in PAPER if m != "paper" or name != "zef" or model is not None)
        defaults = {"peers": PEERS, "ablation": ABLATION, "stages": STAGES, "crowd": CROWD, "cmc": ("joint",)}.get(
            name, usual
        )
        variants = tuple(parse_variant(m) for m in methods or defaults)
    variants = with_model(variants, model)
    title, gate = TITLES[name], GATE_SYNFISH
    if name == "zef":
        gate = GATE_CM
        specs = [SceneSpec(s, "zef") for s in scenes or ZEF_TEST]
        variants = tuple(replace(v, settings=ZEF_SETTINGS.get(v.method, {}) | v.settings) for v in variants) + tuple(
            Variant(f"published-{p}", f"published-{p}") for p in PUBLISHED
        )
    elif name == "cmc":
        gate = GATE_M
        specs = [SceneSpec(s, "cmc") for s in scenes or PEOPLE]
        variants += (Variant(PUBLISHED_PEOPLE, PUBLISHED_PEOPLE),)
    elif name == "crowd":
        specs = [SceneSpec(s, "crowd") for s in scenes or half_of("report")]
        people = [spec.base.startswith("people") for spec in specs]
        if any(people) and not all(people):
            raise InputError(
                "gatherings (people00, ...) are in metres: give them apart from crowds of fish, in their own run"
            )
        gate = GATE_M if any(people) else gate
    elif name == "robustness":
        specs = []
        for base in scenes or SYNFISH_TEST:
            specs += [SceneSpec(base)]
            specs += [SceneSpec(base, noise="calibration", sigma=s) for s in CALIBRATION_NOISE]
            specs += [SceneSpec(base, noise="detection", sigma=s) for s in DETECTION_NOISE]
    else:
        default = {"density": DENSE, "speed": ("test1", "test4", *DENSE)}.get(name, SYNFISH_TEST)
        specs = [SceneSpec(s) for s in scenes or default]
    if name not in FOUND:
        specs = [replace(spec, edition=edition) for spec in specs]
    for spec in specs:
        check_scene(spec)
    if name not in FOUND:
        specs = [replace(spec, seed=seed) for spec in specs for seed in range(seeds)]
    return Suite(name, title, tuple(dict.fromkeys(specs)), variants, gate, source)


FOUND = ("zef", "cmc", "crowd")
"""Suites that have the animals that they have, whatever the number of seeds."""
TITLES = {
    "crowd": "Crowds drawn at random",
    "cmc": "People who hide each other (CMC)",
    "synfish": "SynFish test scenes",
    "zef": "3D-ZeF zebrafish, with refraction",
    "robustness": "Robustness to calibration and detection noise",
    "density": "Density: 30 and 100 fish",
    "ablation": "Ablation",
    "weights": "Weights of distance and similarity in linking",
    "audit": "Audit of geometric pseudo-labels",
    "stages": "Stages replaced by the truth",
    "peers": "Peers on the same detections",
    "speed": "Speed",
}


def run_suite(
    suite: Suite, out: Path, workers: int, done: TaskProgress, keep: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Make the scenes, run the jobs, and write ``results.json``; returns the results scene by scene.

    keep : labels whose results are those that ``results.json`` has already.
    """
    kept = kept_results(out / "results.json", suite, keep)
    folders = prepare_scenes(suite, out, workers, done)
    source = None if suite.source is None else str(suite.source)
    jobs = [Job(s.name, v, suite.gate, source, s.base, s.seed) for s in suite.scenes for v in suite.variants]
    jobs = [job for job in jobs if job.variant.label not in keep or (job.scene, job.variant.label) in kept]
    finished = 0

    def heard(result: dict[str, Any]) -> None:
        nonlocal finished
        finished += 1
        done(f"{result['scene']} {result['label']}", finished, len(todo))

    todo = [i for i, job in enumerate(jobs) if (job.scene, job.variant.label) not in kept]
    # The slowest scenes first, so that no process is left with them in the end.
    order = sorted(todo, key=lambda i: -(folders[jobs[i].scene] / "detections.parquet").stat().st_size)
    ran = in_parallel([(run_job, (jobs[i], folders[jobs[i].scene], out)) for i in order], workers, heard)
    fresh = dict(zip(order, ran, strict=True))
    results = [fresh[i] if i in fresh else kept[job.scene, job.variant.label] for i, job in enumerate(jobs)]
    write_json(out / "results.json", summary(suite, results))
    return results


def kept_results(path: Path, suite: Suite, labels: Sequence[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """Results of ``labels`` in an earlier ``results.json`` by scene and label.

    A label may lack some scenes, which then stay without it, but not all.
    """
    if not labels:
        return {}
    if unknown := set(labels) - {v.label for v in suite.variants}:
        raise InputError(f"--keep {', '.join(sorted(unknown))}: not among the methods of this run")
    try:
        scenes = json.loads(path.read_text("utf-8"))["scenes"]
        wanted = [(s.name, label) for s in suite.scenes for label in labels if label in scenes.get(s.name, {})]
        found = {(s, label): {"scene": s, "label": label} | scenes[s][label] for s, label in wanted}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        found = {}
    if missing := set(labels) - {label for _, label in found}:
        raise InputError(f"{path}: has no results of {', '.join(sorted(missing))}; run without --keep")
    return found


def prepare_scenes(suite: Suite, out: Path, workers: int, done: TaskProgress) -> dict[str, Path]:
    """Folder of the recording of each scene, made where it is missing."""
    folders: dict[str, Path] = {}
    # Noisy scenes are made from clean ones, so clean ones come first.
    for noisy in (False, True):
        specs = [s for s in suite.scenes if (s.noise != "none") == noisy]
        if noisy:
            clean = {s.clean for s in specs} - set(suite.scenes)
            for spec in sorted(clean, key=lambda s: s.name):
                prepare(spec, out / "scenes", suite.source)
        count = 0

        def heard(path: Path, total: int = len(specs)) -> None:
            nonlocal count
            count += 1
            done(f"scene {path.name}", count, total)

        missing = [s for s in specs if not is_made(s, out / "scenes")]
        work = [(prepare, (s, out / "scenes", suite.source)) for s in missing]
        made = dict(zip(missing, in_parallel(work, workers, heard), strict=True)) if work else {}
        folders |= {s.name: made.get(s, out / "scenes" / s.name) for s in specs}
    return folders


def summary(suite: Suite, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Gather what ``results.json`` holds: every score per scene and method, and how it came about."""
    return {
        "suite": suite.name,
        "gate": suite.gate,
        "trackfish3d": __version__,
        "python": platform.python_version(),
        "scenes": {
            scene: {label: {k: v for k, v in r.items() if k not in ("scene", "label")} for label, r in rows.items()}
            for scene, rows in by_scene(results).items()
        },
    }
