"""What the inputs of ReST and ASNet allow: pairs of two views told by a classifier that is given them and the truth.

    python benchmarks/rival_ceilings.py --data FOLDER [--school 1] [--frames 12] [--rest FILE] [--asnet FILE]

FOLDER is that of `trackfish3d train-baseline --data`. Boosted trees are taught by the identities of one school of each
train scene that the networks have not seen, with the numbers that a rival has of a pair and, as a graph compares pairs,
with the rank of each number among the pairs of either detection. Prints the AUC on schools that nobody was taught by,
mean over scenes. Below it stand the networks themselves: what they lack against the trees is theirs, what trees lack
is not in what they see.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from trackfish3d.benchmark.rivals.teaching import HELD_OUT, HELD_OUT_FRAMES, _auc, labelled
from trackfish3d.methods.baselines.learned import asnet, rest
from trackfish3d.methods.baselines.learned.appearance import features
from trackfish3d.methods.baselines.learned.labelled import LabelledScene, pair_auc
from trackfish3d.methods.baselines.learned.plane import half_sphere, plane_points
from trackfish3d.methods.baselines.learned.weights import load_weights
from trackfish3d.synfish.scenes import benchmark_scenes

Cue = Callable[[LabelledScene], list[np.ndarray]]  # numbers (N, N) of the pairs of a scene's rows, one a cue


def apart(values: np.ndarray) -> np.ndarray:
    """Distances (N, N) of rows (N, D)."""
    return np.linalg.norm(values[:, None] - values[None], axis=-1)


def with_ranks(values: np.ndarray, camera: np.ndarray) -> list[np.ndarray]:
    """A number (N, N) of pairs, and how many pairs of either detection with the other's camera have a smaller one."""
    rank = np.zeros_like(values)
    for c in np.unique(camera):
        mine = camera == c
        rank[:, mine] = np.argsort(np.argsort(values[:, mine], axis=1), axis=1)
    return [values, np.minimum(rank, rank.T), np.maximum(rank, rank.T)]


def pairs_of(scene: LabelledScene, cues: Callable[[np.ndarray], list[np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (P, K) of the pairs of every frame, and whether they show one fish."""
    numbers, same = [], []
    for frame in range(scene.frames):
        rows = scene.rows(frame)
        rows = rows[scene.identity[rows] >= 0]
        camera, who = scene.detections.camera[rows], scene.identity[rows]
        use = np.triu(camera[:, None] != camera[None])
        found = [one for cue in cues(rows) for one in with_ranks(cue, camera)]
        numbers.append(np.stack([one[use] for one in found], -1))
        same.append((who[:, None] == who[None])[use])
    return np.concatenate(numbers), np.concatenate(same)


def told(taught: list[LabelledScene], held: list[LabelledScene], cues: Callable[[LabelledScene], Cue]) -> float:
    """Held-out AUC of boosted trees over cues."""
    train = [pairs_of(s, cues(s)) for s in taught]
    trees = HistGradientBoostingClassifier(max_iter=150, random_state=0)
    trees.fit(np.concatenate([x for x, _ in train]), np.concatenate([y for _, y in train]))
    values = [pair_auc(trees.predict_proba(x)[:, 1], y) for x, y in (pairs_of(s, cues(s)) for s in held)]
    return float(np.mean(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--school", type=int, default=1, help="seed offset of the schools that trees are taught by")
    parser.add_argument("--frames", type=int, default=12, help="of each")
    parser.add_argument("--rest", type=Path, help="weights; the shipped ones else")
    parser.add_argument("--asnet", type=Path, help="weights; the shipped ones else")
    args = parser.parse_args()
    torch.set_num_threads(1)
    train = [s for s in benchmark_scenes() if s.split == "train"]
    taught = [labelled(s, args.data, args.frames, None, args.school) for s in train]
    held = [labelled(s, args.data, HELD_OUT_FRAMES, None, HELD_OUT) for s in train]
    graph, looks = rest.ReSTNet(), asnet.ASNetwork()
    load_weights(graph, args.rest, "rest")
    load_weights(looks, args.asnet, "asnet")

    def places(scene: LabelledScene) -> Cue:
        where = plane_points(scene.rig, scene.detections)
        return lambda rows: [apart(where[rows])]

    def appearance(scene: LabelledScene) -> Cue:
        seen = features(graph.appearance, scene.crops)
        return lambda rows: [1 - seen[rows] @ seen[rows].T]

    def both(scene: LabelledScene) -> Cue:
        one, two = places(scene), appearance(scene)
        return lambda rows: one(rows) + two(rows)

    def animal(scene: LabelledScene) -> Cue:
        seen = features(looks.animal, scene.crops)
        return lambda rows: [1 - seen[rows] @ seen[rows].T]

    def around(scene: LabelledScene) -> Cue:
        seen = features(looks.surroundings, scene.crops, middle=False)
        return lambda rows: [1 - seen[rows] @ seen[rows].T]

    def looking(scene: LabelledScene) -> Cue:
        one, two = animal(scene), around(scene)
        return lambda rows: one(rows) + two(rows)

    best = [best_plane(s) for s in held]
    print(f"place on the best plane there is, found by the truth  {np.mean(best):.3f}")
    for label, cues in {
        "ReST: place on the plane": places, "ReST: appearance": appearance, "ReST: both": both,
        "ASNet: animal": animal, "ASNet: surroundings": around, "ASNet: both": looking,
    }.items():  # fmt: skip
        print(f"{label:30s} {told(taught, held, cues):.3f}", flush=True)
    print(f"ReST itself  {_auc(rest.pair_scores, graph, held):.3f}")
    print(f"ASNet itself {_auc(asnet.pair_scores, looks, held):.3f}")


def best_plane(scene: LabelledScene) -> float:
    """AUC of the distance on that plane, of all through the middle of the water, which has the highest."""
    found = []
    for normal in half_sphere(100):
        where = plane_points(scene.rig, scene.detections, normal)
        scores, same = [], []
        for frame in range(scene.frames):
            rows = scene.rows(frame)
            rows = rows[scene.identity[rows] >= 0]
            use = np.triu(scene.detections.camera[rows][:, None] != scene.detections.camera[rows][None])
            scores.append(-apart(where[rows])[use])
            same.append((scene.identity[rows][:, None] == scene.identity[rows][None])[use])
        found.append(pair_auc(np.concatenate(scores), np.concatenate(same)))
    return max(found)


if __name__ == "__main__":
    main()
