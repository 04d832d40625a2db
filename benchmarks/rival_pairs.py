"""What the pairs of two views can be told by: how well each cue parts true pairs from false ones.

    python benchmarks/rival_pairs.py --data FOLDER [--weights FOLDER]

FOLDER is that of `trackfish3d train-baseline --data`. Prints the AUC (chance that a pair of one fish scores higher than
a pair of two, mean over train scenes) on schools that nobody was taught by: appearance alone, the place on the plane
alone (ReST's stand-in for the ground), the reprojection error, and the trained rivals. That the rivals
can learn at all is shown by tests/methods/baselines/test_learned.py, where every fish has a colour of its own.
"""

import argparse
from pathlib import Path

import numpy as np

from trackfish3d.benchmark.rivals.teaching import HELD_OUT, HELD_OUT_FRAMES, _auc, labelled
from trackfish3d.cameras.residuals import pair_residuals
from trackfish3d.methods.baselines.learned import asnet, mctr, rest, selfmva
from trackfish3d.methods.baselines.learned.appearance import features
from trackfish3d.methods.baselines.learned.weights import load_weights
from trackfish3d.synfish.scenes import benchmark_scenes

RIVALS = {
    "rest": (rest, rest.ReSTNet), "asnet": (asnet, asnet.ASNetwork), "selfmva": (selfmva, selfmva.SelfMVANet),
    "mctr": (mctr, mctr.MCTRNet),
}  # fmt: skip


def plane(_, scene, rows):  # type: ignore[no-untyped-def]
    """Negative distance of the places on the plane."""
    place = rest.plane_points(scene.rig, scene.detections.select(rows))
    return -np.linalg.norm(place[:, None] - place[None], axis=-1)


def appearance(net, scene, rows):  # type: ignore[no-untyped-def]
    """Cosine of the features of crops."""
    found = features(net.appearance, scene.crops[rows])
    return (found @ found.T).astype(float)


def geometry(_, scene, rows):  # type: ignore[no-untyped-def]
    """Negative reprojection error."""
    det = scene.detections
    residuals = pair_residuals(scene.rig, det.camera[rows].astype(np.int64), det.centroids[rows], det.boxes[rows])
    return -np.nan_to_num(0.5 * (residuals.error_px + residuals.error_px.T), nan=1e6, posinf=1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path)
    arguments = parser.parse_args()
    train = [s for s in benchmark_scenes() if s.split == "train"]
    held = [labelled(s, arguments.data, HELD_OUT_FRAMES, None, HELD_OUT) for s in train]
    nets = {}
    for name, (_, cls) in RIVALS.items():
        nets[name] = cls()
        load_weights(nets[name], arguments.weights and arguments.weights / f"{name}.safetensors", name)
    print(f"appearance alone (ReST's crop network)   {_auc(appearance, nets['rest'], held):.3f}")
    print(f"place on the plane alone                 {_auc(plane, None, held):.3f}")
    print(f"reprojection error                       {_auc(geometry, None, held):.3f}")
    for name, (module, _) in RIVALS.items():
        print(f"{name:40s} {_auc(module.pair_scores, nets[name], held):.3f}")


if __name__ == "__main__":
    main()
