"""Schools, networks and measurements of `paper_hypotheses.py`.

Truth is read to measure, never to train: a network sees detections and calibration alone.
"""

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from trackfish3d.benchmark.ambiguity import auc, pairs_of_frames
from trackfish3d.benchmark.jobs import score
from trackfish3d.benchmark.stages import StageScene
from trackfish3d.core.files import atomic_path
from trackfish3d.methods.groups import groups_to_tracks
from trackfish3d.methods.paper.checkpoint import load_model
from trackfish3d.methods.paper.inference import ScoredFrames, group_scored, in_order, score_frames
from trackfish3d.methods.paper.labels import pseudo_labels
from trackfish3d.methods.paper.method import Paper, PaperSettings
from trackfish3d.methods.paper.network import TrackFishNet
from trackfish3d.methods.paper.settings import GroupingSettings
from trackfish3d.methods.paper.tracker import PaperTracker
from trackfish3d.methods.paper.train.settings import TrainingSettings, fast_recipe
from trackfish3d.methods.paper.train.trainer import Trainer
from trackfish3d.methods.paper.train.training_scenes import TrainingScene
from trackfish3d.methods.postprocess import postprocess
from trackfish3d.synfish.rigs import common_point, paper_rig
from trackfish3d.synfish.scenes import FPS, Scene, benchmark_scenes, write_school
from trackfish3d.synfish.school import Water, simulate_school

Numbers = dict[str, Any]
Vectors = NDArray[np.float32]
GATE = 1.0
FAST_CRUISE = 0.09  # body lengths a frame; with bursts 0.37 world units, inside the paper's gate of 0.5
OTHER = 20  # seed offset of schools that no network saw
PUBLISHED: Numbers = {"agreed_labels": False, "drop_detections": 0.0, "jitter": 0.0}
NO_GATES = {"min_cosine": -1.0, "min_probability": 0.0}
GATES = {"min_cosine": 0.55, "min_probability": 0.6}
# Published schedule, a tenth of its epochs: 400 take half a day on one core.
TENTH: Numbers = {"epochs": 40, "warmup_epochs": 10, "checkpoint_epochs": 10}


def kept(path: Path, make: Callable[[], Numbers]) -> Numbers:
    """Numbers of a JSON file; made and written if it is not there."""
    if not path.exists():
        found = make()
        with atomic_path(path) as temporary:
            temporary.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def of_split(split: str) -> list[Scene]:
    return [s for s in benchmark_scenes(edition=1) if s.split == split]


def moved() -> list[Scene]:
    """Test scenes whose fish have the length and the volume of the train scene of like cameras."""
    scenes = {s.name: s for s in benchmark_scenes(edition=1)}
    like = {"test1": "train4", "test2": "train4", "test6": "train7"}
    return [
        scenes[name].model_copy(update={"spread": scenes[other].spread, "length": scenes[other].length})
        for name, other in like.items()
    ]


def under_rigs() -> list[Scene]:
    """The school of test1 before the cameras of rigs 0, 1 and 3."""
    (four,) = benchmark_scenes(["test1"], edition=1)
    return [four.model_copy(update={"rig": rig, "name": f"rig{rig}"}) for rig in (0, 1, 3)]


def eight() -> list[Scene]:
    """The train scene of eight fish."""
    return benchmark_scenes(["train3"], edition=1)


def eight_others() -> list[Scene]:
    """Four other schools of the train scene of eight fish."""
    (scene,) = eight()
    seeds = range(OTHER, OTHER + 4)
    return [scene.model_copy(update={"name": f"train3_{k}", "seed": scene.seed + 1000 * k}) for k in seeds]


# Kind of schools: scenes, cruising speed (None: the benchmark's), seed offset.
SCHOOLS: dict[str, tuple[Callable[[], list[Scene]], float | None, int]] = {
    "seen": (lambda: of_split("train"), None, 0),
    "other": (lambda: of_split("train"), None, OTHER),
    "seen_fast": (lambda: of_split("train"), FAST_CRUISE, 0),
    "other_fast": (lambda: of_split("train"), FAST_CRUISE, OTHER),
    "test": (lambda: of_split("test"), None, 0),
    "eight": (eight, None, 0),
    "eight_fast": (eight, FAST_CRUISE, 0),
    "eight_others": (eight_others, None, 0),
    "moved": (moved, None, 0),
    "rigs": (under_rigs, None, 0),
}


def schools(work: Path, kind: str) -> list[Path]:
    """Folders of the recordings of a kind, simulated if they are not there."""
    scenes, cruise, offset = SCHOOLS[kind]
    folders = []
    for scene in scenes():
        folder = work / "schools" / kind / scene.name
        folders.append(folder)
        if (folder / "recording.toml").exists():
            continue
        settings = scene.settings()
        if cruise is not None:
            settings = settings.model_copy(update={"cruise": cruise})
        rig = paper_rig(scene.rig)
        water = Water.around(common_point(rig), np.array([scene.spread[0], scene.spread[0], scene.spread[1]]))
        seed = scene.seed + 1000 * offset
        school = simulate_school(settings, water, scene.fish, scene.frames, seed)
        write_school(school, rig, folder, "detector", seed, FPS, f"SynFish {scene.name}, {kind}")
    return folders


@cache
def opened(folder: Path) -> StageScene:
    return StageScene.open(folder)


# Networks


def run_settings(name: str, seed: int, frames: int, pairs: int) -> TrainingSettings:
    """Settings of a run; `pairs` are the frames of one epoch of recipe `fast`."""
    if name.startswith("paper"):
        gates = GATES if name.endswith("gates") else NO_GATES
        return TrainingSettings.model_validate({**TENTH, "grouping": gates, "seed": seed, "device": "cpu"})
    frames = frames // 2 if name.startswith("eight") else frames
    epochs = max(4, math.ceil(frames / pairs))
    changes = {"grouping": GATES if name.endswith("gates") else NO_GATES, "seed": seed, "device": "cpu"}
    return fast_recipe(
        **PUBLISHED, **changes, epochs=epochs, warmup_epochs=epochs // 4, checkpoint_epochs=max(1, epochs // 4)
    )


RUNS = {"slow": "seen", "fast_fish": "seen_fast", "slow_gates": "seen", "eight": "eight", "eight_fast": "eight_fast"}
RUNS |= {"paper": "seen", "paper_gates": "seen"}


def trained(work: Path, name: str, seed: int, frames: int) -> Path:
    """Folder of a run, finished; one that was stopped goes on where it was."""
    folder = work / "runs" / f"{name}_{seed}"
    scenes = [TrainingScene.load(path, work / "cache") for path in schools(work, RUNS[name])]
    pairs = sum(len(window) for s in scenes for window in s.windows(fast_recipe().window))
    trainer = Trainer(scenes, run_settings(name, seed, frames, pairs), folder)
    trainer.train(
        lambda r: print(
            f"{name} {seed}: epoch {r['epoch']:.0f}, loss {r['loss']:.3f}, groups {r['groups']:.1f}, "
            f"{r['frames_per_second']:.0f} frames/s",
            flush=True,
        )
    )
    return folder


def checkpoints(folder: Path) -> dict[int, Path]:
    """Networks of a run by epoch, finished or not."""
    return dict(sorted((int(p.stem.split("_")[1]), p) for p in folder.glob("epoch_*.safetensors")))


# Measurements


def tracked(model: Path, folders: list[Path], **grouping: float) -> Numbers:
    """MOTA and IDF1 (percent) of each school and their mean."""
    settings = PaperSettings(model=model, device="cpu", grouping=GroupingSettings(**grouping))
    found = {}
    for folder in folders:
        scene = opened(folder)
        tracks = Paper(settings).track(scene.rig, scene.detections).tracks
        found[folder.name] = percent(score(scene.truth, tracks, GATE))
    return with_mean(found)


def percent(scores: Numbers) -> list[float]:
    return [100 * scores["mota"], 100 * scores["idf1"]]


def with_mean(found: dict[str, list[float]]) -> Numbers:
    return {**found, "mean": np.mean(list(found.values()), axis=0).tolist()}


def parting(model: Path, folders: list[Path]) -> Numbers:
    """AUC on plausible pairs, mean over schools: of the pair probability, of the cosine, of the reprojection error.

    Also the share of false plausible pairs whose probability is 0.5 or more.
    """
    net, _ = load_model(model)
    rows = [list(parting_of(net, opened(folder)).values()) for folder in folders]
    mean = np.nanmean(np.array(rows, float), axis=0)
    return dict(zip(PARTING, mean.tolist(), strict=True))


PARTING = ("probability", "cosine", "error", "false_accepted")


def alone(net: TrackFishNet, scene: StageScene) -> tuple[dict[int, Vectors], Vectors]:
    """Pair probabilities (n, n) of each frame by its index, and unit embeddings (N, D) of all detections."""
    d = scene.detections
    table: dict[int, Vectors] = {}
    vectors = np.zeros((len(d), net.settings.width), np.float32)
    for scored in score_frames(net, scene.rig, d, GroupingSettings(weight_probability=1, weight_feature=0)):
        for b, k in enumerate(scored.batch.tolist()):
            n = d.offsets[k + 1] - d.offsets[k]
            table[k] = scored.affinity[b, :n, :n]
            vectors[d.at(k)] = scored.vectors[b, :n]
    return table, vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def parting_of(net: TrackFishNet, scene: StageScene) -> Numbers:
    """What `parting` says of one school."""
    d = scene.detections
    table, vectors = alone(net, scene)
    values: dict[str, list[NDArray[Any]]] = {"probability": [], "cosine": [], "error": [], "same": []}
    for k, pairs in enumerate(pairs_of_frames(scene.rig, d, scene.truth.identities_of_detections(len(d)))):
        first, second = pairs.first[pairs.plausible], pairs.second[pairs.plausible]
        values["probability"].append(table[k][first - d.offsets[k], second - d.offsets[k]])
        values["cosine"].append((vectors[first] * vectors[second]).sum(1))
        values["error"].append(-pairs.error_px[pairs.plausible])
        values["same"].append(pairs.same[pairs.plausible])
    flat = {name: np.concatenate(found) for name, found in values.items()}
    same = flat.pop("same")
    row = [auc(x[same].astype(float), x[~same].astype(float)) for x in flat.values()]
    return dict(zip(PARTING, [*row, float((flat["probability"][~same] >= 0.5).mean())], strict=True))


def visible(folders: list[Path]) -> float:
    """Fish that two cameras or more see, a frame; frames of all schools count alike."""
    counts = []
    for folder in folders:
        truth = opened(folder).truth
        assert truth.detection is not None
        seen = (truth.detection >= 0).sum(1) >= 2
        counts.append(np.bincount(truth.frame[seen], minlength=int(truth.frame.max()) + 1))
    return float(np.concatenate(counts).mean())


# Pair scores and embeddings made by hand, to see what the published grouping and tracker can do with them


def codes(scene: StageScene, kind: str, rng: np.random.Generator) -> Vectors:
    """Embeddings (N, 128): all the same, or one direction for each fish and each false detection."""
    d = scene.detections
    if kind == "nothing":
        return np.ones((len(d), 128), np.float32)
    whom = scene.truth.identities_of_detections(len(d))
    table = rng.standard_normal((int(whom.max()) + 1, 128))
    found = rng.standard_normal((len(d), 128))
    shown = whom[:, 0] >= 0
    found[shown] = sum(np.where((w >= 0)[:, None], table[w], 0.0)[shown] for w in whom.T)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def by_hand(folders: list[Path], kind: str, graded: bool, min_cosine: float = -1.0) -> Numbers:
    """MOTA and IDF1 if the pair head knew its labels and no more.

    P is 0.98 on plausible pairs and 0.02 else or, `graded`, the label's confidence; `kind` says what embeddings know.
    """
    settings = GroupingSettings()
    found = {}
    for folder in folders:
        scene = opened(folder)
        rig, d = scene.rig, scene.detections
        vectors = codes(scene, kind, np.random.default_rng(0))
        parts = []
        for k in range(len(d.frames)):
            rows = d.at(k)
            label, confidence = pseudo_labels(rig, d.camera[rows], d.centroids[rows], d.boxes[rows])
            cosine = vectors[rows] @ vectors[rows].T
            likely = np.where(label == 1, 0.5 + 0.48 * confidence if graded else 0.98, 0.02)
            table = settings.weight_probability * likely + settings.weight_feature * 0.5 * (cosine + 1)
            table = np.where(cosine < min_cosine, -1.0, table).astype(np.float32)
            one = ScoredFrames(np.array([k]), table[None], vectors[rows][None])
            parts.append(group_scored(rig, d, one, settings))
        groups = in_order(parts, 128)
        assert groups.embedding is not None
        tracker = PaperTracker()
        number = np.full(len(groups), -1, np.int64)
        for frame in d.frames.tolist():
            a, b = np.searchsorted(groups.frame, [frame, frame + 1])
            number[a:b] = tracker.update(frame, groups.position[a:b], groups.embedding[a:b])
        tracks = groups_to_tracks(rig, d, groups, tracker.finish()[number], groups.confidence)
        s = PaperSettings()
        found[folder.name] = percent(score(scene.truth, postprocess(tracks, s.max_gap, s.min_obs), GATE))
    return with_mean(found)


# A learner that is no network: what the training pairs alone can teach about a pair


def pixel_pairs(folder: Path, plausible: bool) -> dict[tuple[int, int], tuple[NDArray[Any], NDArray[Any]]]:
    """Pairs (P, 4) of pixels of each two cameras, as shares of the image, and whether they show one fish (P,).

    All true pairs, or all `plausible` ones.
    """
    scene = opened(folder)
    d = scene.detections
    place = d.centroids / np.array([c.size for c in scene.rig], float)[d.camera]
    found: dict[tuple[int, int], list[list[NDArray[Any]]]] = {}
    for pairs in pairs_of_frames(scene.rig, d, scene.truth.identities_of_detections(len(d))):
        use = pairs.plausible if plausible else pairs.same
        first, second, same = pairs.first[use], pairs.second[use], pairs.same[use]
        both = np.stack([d.camera[first], d.camera[second]], 1)
        for a, b in np.unique(both, axis=0).tolist():
            mine = (both == [a, b]).all(1)
            rows = np.concatenate([place[first[mine]], place[second[mine]]], 1)
            found.setdefault((a, b), []).append([rows, same[mine]])
    return {key: (np.concatenate([x for x, _ in v]), np.concatenate([y for _, y in v])) for key, v in found.items()}


def local_learner(taught: list[Path], asked: list[Path], neighbours: int = 12) -> Numbers:
    """AUC on plausible pairs of schools by their distance from the plane through the nearest true pairs taught.

    Pairs of one point lie on a three-dimensional surface in the four numbers of two pixels; schools of the same rig
    teach together. Truth is the teacher here, so no network that learns as locally can do better.
    """
    rigs: dict[bytes, dict[tuple[int, int], list[NDArray[Any]]]] = {}
    for folder in taught:
        mine = rigs.setdefault(opened(folder).rig.packed.tobytes(), {})
        for key, (rows, _) in pixel_pairs(folder, plausible=False).items():
            mine.setdefault(key, []).append(rows)
    found = {}
    for folder in asked:
        known = rigs.get(opened(folder).rig.packed.tobytes())
        if known is None:
            continue
        near, same = [], []
        for key, (rows, truth) in pixel_pairs(folder, plausible=True).items():
            points = np.concatenate(known[key])
            close = points[cKDTree(points).query(rows, neighbours)[1]]  # (P, neighbours, 4)
            middle = close.mean(1)
            spread = np.einsum("pki,pkj->pij", close - middle[:, None], close - middle[:, None])
            normal = np.linalg.eigh(spread)[1][:, :, 0]
            near.append(-np.abs(np.einsum("pi,pi->p", rows - middle, normal)))
            same.append(truth)
        value, right = np.concatenate(near), np.concatenate(same)
        found[folder.name] = auc(value[right], value[~right])
    return {**found, "mean": float(np.mean([x for x in found.values() if x is not None]))}


def outside(taught: list[Path], asked: Path) -> float:
    """Share of a school's true positions outside the box of those that the recordings `taught` hold."""
    known = np.concatenate([opened(f).truth.position for f in taught])
    there = opened(asked).truth.position
    return float(((there < known.min(0)) | (there > known.max(0))).any(1).mean())
