"""Where a network of recipe `paper` goes wrong: pair scores and embeddings apart, scene by scene and rig by rig.

``python benchmarks/recipe_parts.py MODEL --seen FOLDER --unseen FOLDER --work FOLDER [--out FILE]``; as
``recipe_paper.py``, and `--work` takes the schools that are filmed by other rigs. How well P and the cosine part
plausible pairs in every scene; what the published grouping and tracker make of one of the two if the other is made by
hand; and the train schools of two rigs that look the same way, each before the cameras of both. Truth is read to
measure alone.
"""

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

import hypothesis_parts as parts
from paper_hypotheses import table
from recipe_paper import TRAIN, Book, schools
from trackfish3d.benchmark.ambiguity import auc
from trackfish3d.benchmark.jobs import score
from trackfish3d.cameras import CameraRig
from trackfish3d.core.files import atomic_path, digest
from trackfish3d.methods.groups import Groups, groups_to_tracks
from trackfish3d.methods.paper.checkpoint import load_model
from trackfish3d.methods.paper.inference import ScoredFrames, group_scored, in_order
from trackfish3d.methods.paper.labels import pseudo_labels
from trackfish3d.methods.paper.method import PaperSettings, link_groups
from trackfish3d.methods.paper.network import TrackFishNet
from trackfish3d.methods.paper.settings import GroupingSettings
from trackfish3d.methods.paper.tracker import PaperTracker
from trackfish3d.methods.paper.train.settings import TrainingSettings
from trackfish3d.methods.paper.train.step import window_loss
from trackfish3d.methods.paper.train.training_scenes import TrainingScene
from trackfish3d.methods.postprocess import postprocess
from trackfish3d.recordings import Tracks
from trackfish3d.synfish.rigs import paper_rig
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene

# Pair scores and embeddings: of the network, or made by hand.
MIXED = {
    "its pair scores, its embeddings": ("own", "own"),
    "its pair scores, embeddings know nothing": ("own", "nothing"),
    "its pair scores, perfect embeddings": ("own", "perfect"),
    "labels for pair scores, its embeddings": ("labels", "own"),
}
TWINS = (4, 6)  # rigs whose cameras look the same ways, the third but for 0.45 degrees, from places up to 4 units apart
TRIPLETS = (0, 1, 3)
PAIRS = """\
## How well it parts pairs

Pairs that triangulate into both boxes, so that the labels cannot part them: the chance that a true one scores above a \
false one (AUC), by P, by the cosine of embeddings, and by the reprojection error; and the share of false ones whose P \
is 0.5 or more. *Others* are other schools of the train scenes."""
BY_HAND = """\
## One of the two made by hand

MOTA %. Labels for pair scores: P is 0.98 on plausible pairs and 0.02 else. The paper has 36.8 without the contrastive \
loss."""
AT_REST = """\
## Losses of the network as it is kept

While recipe `paper` goes through the scenes in their order, the losses of its log are of weights that have just seen \
the frames before. These are of the weights at the end, which then have seen train7 and train8 last."""
ALIKE = """\
## Rigs that look the same way

Cameras of rigs 4 and 6 have the same orientations (the third differs by 0.45 degrees) and stand up to 4 units apart. \
The published features hold the direction of a ray and not where it starts. MOTA % of each train school before the \
cameras of either, then the AUC of P over all pairs, on the recording that was trained on, for the labels of either \
rig."""
UNSEEN_RIG = """\
Rig 0, of test1 and test2 alone, has the orientations of rig 1 and the places of rig 3 (its third camera is turned by \
0.45 degrees). AUC of P over all pairs for the labels of each:"""


def linked(net: TrackFishNet, scene: parts.StageScene, groups: Groups, own: bool) -> Tracks:
    """Tracks of groups; the network's predictor is asked only about its own embeddings."""
    d, s = scene.detections, PaperSettings()
    if own:
        tracks = link_groups(net, groups, d, scene.rig, s.tracker)
    else:
        assert groups.embedding is not None
        tracker = PaperTracker()
        number = np.full(len(groups), -1, np.int64)
        for frame in d.frames.tolist():
            a, b = np.searchsorted(groups.frame, [frame, frame + 1])
            number[a:b] = tracker.update(frame, groups.position[a:b], groups.embedding[a:b])
        tracks = groups_to_tracks(scene.rig, d, groups, tracker.finish()[number], groups.confidence)
    return postprocess(tracks, s.max_gap, s.min_obs)


def mixed(net: TrackFishNet, scene: parts.StageScene, scores: str, embeddings: str) -> float:
    """MOTA (percent) with pair scores and embeddings each of the network or made by hand."""
    rig, d, settings = scene.rig, scene.detections, GroupingSettings()
    probability, vectors = parts.alone(net, scene)
    if embeddings != "own":
        vectors = parts.codes(scene, embeddings, np.random.default_rng(0))
    found = []
    for k in range(len(d.frames)):
        rows = d.at(k)
        likely: Any = probability[k]
        if scores == "labels":
            label, _ = pseudo_labels(rig, d.camera[rows], d.centroids[rows], d.boxes[rows])
            likely = np.where(label == 1, 0.98, 0.02)
        cosine = vectors[rows] @ vectors[rows].T
        both = settings.weight_probability * likely + settings.weight_feature * 0.5 * (cosine + 1)
        one = ScoredFrames(np.array([k]), both.astype(np.float32)[None], vectors[rows][None])
        found.append(group_scored(rig, d, one, settings))
    groups = in_order(found, vectors.shape[1])
    tracks = linked(net, scene, groups, embeddings == "own")
    return 100 * float(score(scene.truth, tracks, parts.GATE)["mota"])


def filmed(work: Path, name: str, rig: int) -> Path:
    """The school of a train scene before the cameras of a rig, in the middle of what they see."""
    folder = work / f"{name}_rig{rig}"
    if not (folder / "recording.toml").exists():
        (scene,) = benchmark_scenes([name])
        write_scene(scene.model_copy(update={"rig": rig}), folder)
    return folder


def believed(net: TrackFishNet, scene: parts.StageScene, rigs: dict[str, CameraRig]) -> dict[str, float]:
    """AUC of P for the labels that each rig would give to the same detections."""
    d = scene.detections
    probability, _ = parts.alone(net, scene)
    values: dict[str, list[tuple[Any, Any]]] = {name: [] for name in rigs}
    for k in range(len(d.frames)):
        rows = d.at(k)
        for name, rig in rigs.items():
            label, _ = pseudo_labels(rig, d.camera[rows], d.centroids[rows], d.boxes[rows])
            use = label >= 0
            values[name].append((probability[k][use], label[use] == 1))
    found = {}
    for name, pairs in values.items():
        p, positive = (np.concatenate(x) for x in zip(*pairs, strict=True))
        found[name] = float(auc(p[positive].astype(float), p[~positive].astype(float)) or np.nan)
    return found


def twins(book: Book, key: str, net: TrackFishNet, model: Path, work: Path) -> list[list[str]]:
    """Schools of the train scenes of two like rigs before the cameras of both."""
    rows = []
    for scene in benchmark_scenes(["train5", "train6", "train7", "train8"]):
        row = [f"{scene.name}, {scene.fish} fish; taught by rig {scene.rig}"]
        for rig in TWINS:
            folder = filmed(work, scene.name, rig)
            found = book.get(f"{key} {folder.name}", lambda f=folder: parts.tracked(model, [f])["mean"][0])
            row.append(f"{found:.1f}")
        there = parts.opened(filmed(work, scene.name, scene.rig))
        known = {str(r): paper_rig(r) for r in TWINS}
        believes = book.get(f"{key} {scene.name} believes", lambda s=there, r=known: believed(net, s, r))
        rows.append([*row, *(f"{believes[str(r)]:.3f}" for r in TWINS)])
    return rows


def at_rest(net: TrackFishNet, folder: Path) -> dict[str, float]:
    """Losses of the network as it is kept, without dropout, on a scene that it was trained on; groups a frame."""
    scene, s = TrainingScene.load(folder), TrainingSettings(reuse_features=False)
    windows = scene.windows(16)
    net.eval()
    with torch.no_grad():
        rows = [window_loss(net, scene, frames, s, True, np.random.default_rng(0)).parts for frames in windows]
    found = {name: float(np.mean([r[name] for r in rows])) for name in ("association", "contrastive", "temporal")}
    return found | {"groups": sum(r["groups"] for r in rows) / sum(len(frames) for frames in windows)}


def triplets(book: Book, key: str, net: TrackFishNet, folders: list[Path]) -> list[list[str]]:
    """Which rig's geometry pair scores follow before the rig that was not trained on."""
    rows = []
    for folder in folders:
        known = {str(r): paper_rig(r) for r in TRIPLETS}
        found = book.get(f"{key} {folder.name} believes", lambda f=folder, r=known: believed(net, parts.opened(f), r))
        rows.append([folder.name, *(f"{found[str(r)]:.3f}" for r in TRIPLETS)])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--seen", type=Path, required=True)
    parser.add_argument("--unseen", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/results/recipe_paper/parts.md"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    net, _ = load_model(args.model)
    book, key = Book(args.out.parent / "numbers.json"), digest(args.model)[:16]
    rows, hand = [], []
    for kind, folders in schools(args).items():
        for f in folders:
            there = book.get(f"{key} {kind} {f.name} parting", lambda f=f: parts.parting_of(net, parts.opened(f)))
            numbers = [f"{there[n]:.3f}" for n in ("probability", "cosine", "error")]
            rows.append([f"{f.name}, {kind}", *numbers, f"{100 * there['false_accepted']:.0f}"])
    tests, seen = (schools(args)[kind] for kind in ("test", "seen"))
    for label, made in MIXED.items():
        found = [
            book.get(f"{key} {f.name} {label}", lambda f=f, m=made: mixed(net, parts.opened(f), *m))
            for f in (*tests, *seen)
        ]
        means = [np.mean(found[: len(tests)]), np.mean(found[len(tests) :])]
        hand.append([label, *(f"{x:.1f}" for x in (*found[: len(tests)], *means))])
    rest = []
    for scene, f in zip(benchmark_scenes(TRAIN), seen, strict=True):
        there = book.get(f"{key} {f.name} at rest", lambda f=f: at_rest(net, f))
        numbers = [f"{there[n]:.3f}" for n in ("association", "contrastive", "temporal")]
        rest.append([f.name, str(scene.rig), *numbers, f"{there['groups']:.1f}", f"{parts.visible([f]):.1f}"])
    lines = [
        f"# Parts of the network {args.model.stem}",
        "",
        f"Made by `python benchmarks/recipe_parts.py {shlex.join(sys.argv[1:])}`.",
        "",
        PAIRS,
        *table(["", "P", "cosine", "error", "false ones accepted %"], rows),
        BY_HAND,
        *table(["", *(f.name for f in tests), "test", "schools it saw"], hand),
        AT_REST,
        *table(["", "rig", "association", "contrastive", "temporal", "groups a frame", "fish in two views"], rest),
        ALIKE,
        *table(
            ["", *(f"before rig {r}" for r in TWINS), *(f"labels of rig {r}" for r in TWINS)],
            twins(book, key, net, args.model, args.work),
        ),
        UNSEEN_RIG,
        *table(["", *(f"labels of rig {r}" for r in TRIPLETS)], triplets(book, key, net, tests[:2])),
    ]
    with atomic_path(args.out) as temporary:
        temporary.write_text("\n".join(lines).replace("\n\n\n", "\n\n").rstrip() + "\n", encoding="utf-8")
    print(args.out)


if __name__ == "__main__":
    main()
