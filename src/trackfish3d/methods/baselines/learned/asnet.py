"""ASNet (Cai et al., MessyTable, ECCV 2020): an appearance network and a network for the surroundings.

Written from the paper. The distance of two detections is that of their appearance and that of their surroundings, the
more of the latter the more alike they look: ``(1 - l) d_app + l d_sur`` with ``l`` the cosine of the appearances.
Detections of each pair of cameras are matched by the Hungarian method, triangulated, and linked by nearest neighbours.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from ....cameras import CameraRig
from ....cameras.residuals import pair_residuals
from ....core.progress import Progress
from ....recordings.detections import Detections
from ...groups import Groups
from ...matching import Array, Flags, Ints, group_frames, hungarian_match, pair_cost
from ..geometric import GeometricMethod, GeometricSettings
from .appearance import CropNet, as_pictures, features
from .crops import read_crops
from .labelled import LabelledScene
from .weights import load_weights

MARGIN = 0.5  # of squared distances of unit vectors; the original's 3 is for vectors without a norm


class ASNetwork(nn.Module):
    """Two crop networks that share nothing: the animal, and the picture around it with the animal blanked."""

    def __init__(self) -> None:
        super().__init__()
        self.animal = CropNet()
        self.surroundings = Around()


class Around(CropNet):
    """A `CropNet` that does not see the middle of a crop."""

    def forward(self, pictures: Tensor) -> Tensor:
        """Features of pictures (N, 3, S, S) with the middle half of each blanked."""
        blank = pictures.clone()
        quarter = pictures.shape[2] // 4
        blank[:, :, quarter : pictures.shape[2] - quarter, quarter : pictures.shape[3] - quarter] = 0.3
        return super().forward(blank)


def distances(animal: Tensor, around: Tensor) -> Tensor:
    """Distance (N, N) of all pairs, from unit features (N, D) of both kinds."""
    alike = (animal @ animal.T).clamp(0, 1)
    return (1 - alike) * 2 * (1 - animal @ animal.T) + alike * 2 * (1 - around @ around.T)


def teach(scenes: Sequence[LabelledScene], steps: int, seed: int, progress: Progress) -> ASNetwork:
    """Teach both networks by triplets across the views of a frame: all valid ones of a frame at once."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    net = ASNetwork()
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimiser, [int(0.6 * steps), int(0.8 * steps)], 0.1)
    net.train()
    for step in range(steps):
        scene = scenes[int(rng.integers(len(scenes)))]
        rows = scene.rows(int(rng.integers(scene.frames)))
        rows = rows[scene.identity[rows] >= 0]
        crops = scene.crops[rows]
        distance = distances(net.animal(as_pictures(crops, middle=True)), net.surroundings(as_pictures(crops)))
        camera, who = scene.detections.camera[rows].astype(np.int64), scene.identity[rows]
        loss = triplet_loss(distance, torch.from_numpy(camera), torch.from_numpy(who))
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        schedule.step()
        progress(step + 1, steps)
    return net.eval()


def triplet_loss(distance: Tensor, camera: Tensor, who: Tensor) -> Tensor:
    """Mean over pairs of one animal of the loss against all others of the second camera; (N, N), (N,), (N,)."""
    other = camera[:, None] != camera[None]
    same = (who[:, None] == who[None]) & other
    anchor, positive = torch.nonzero(same, as_tuple=True)
    if not len(anchor):
        return distance.sum() * 0
    rivals = other[anchor] & (camera[None] == camera[positive][:, None]) & (who[None] != who[anchor][:, None])
    loss = F.relu(distance[anchor, positive][:, None] - distance[anchor] + MARGIN) * rivals
    return loss.sum() / rivals.sum().clamp_min(1)


class ASNetSettings(GeometricSettings):
    """Settings of ASNet."""

    crops: Path | None = Field(None, description="crops of the detections (.npz of 'trackfish3d crops')")
    model: Path | None = Field(None, description="weights (.safetensors); None: the shipped ones")
    max_distance: float = Field(1.0, gt=0, description="largest learned distance of a pair")
    epipolar: float = Field(0.0, ge=0, description="weight of the reprojection error, px, beside the learned distance")


class ASNet(GeometricMethod):
    """Views matched by learned distances, points linked by nearest neighbours."""

    name: ClassVar[str] = "asnet"
    Settings: ClassVar[type[Any]] = ASNetSettings

    def associate(
        self, rig: CameraRig, detections: Detections, progress: Progress, frames: Ints | None = None
    ) -> Groups:
        """Group the detections of all frames, or of these."""
        s: ASNetSettings = self.settings
        animal, around = self.looks(detections)
        which = np.arange(len(detections.frames)) if frames is None else frames
        step = iter(which.tolist())

        def match(_: Array, camera: Ints) -> Flags:
            rows = detections.at(next(step))
            cost = pair_distances(animal[rows], around[rows], camera, s.max_distance)
            if s.epipolar:
                residuals = pair_residuals(rig, camera, detections.centroids[rows], detections.boxes[rows])
                cost = cost + s.epipolar * pair_cost(residuals, np.inf, False)
            return np.asarray(hungarian_match(cost, camera))

        return group_frames(rig, detections, match, np.inf, s.contain, progress, frames)

    def looks(self, detections: Detections) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Features (N, 64) of the animals and of their surroundings."""
        net = ASNetwork()
        load_weights(net, self.settings.model, self.name)
        crops = read_crops(self.settings.crops, detections, self.name)
        return features(net.animal, crops), features(net.surroundings, crops, middle=False)

    def match(self, cost: Array, camera: Ints) -> Flags:
        """Match by the geometric cost: only used before `associate` knows which frame it is at."""
        return np.asarray(hungarian_match(cost, camera))


def pair_distances(
    animal: NDArray[np.float32], around: NDArray[np.float32], camera: Ints, largest: float = np.inf
) -> Array:
    """Learned distance (N, N) of the detections of a frame; inf within a camera and above ``largest``."""
    found = distances(torch.from_numpy(animal), torch.from_numpy(around)).numpy().astype(np.float64)
    return np.where((camera[:, None] != camera[None]) & (found <= largest), found, np.inf)


def pair_scores(net: ASNetwork, scene: LabelledScene, rows: Ints) -> Array:
    """Negative distance (N, N) of the pairs of rows of one frame."""
    crops = scene.crops[rows]
    animal, around = features(net.animal, crops), features(net.surroundings, crops, middle=False)
    return -distances(torch.from_numpy(animal), torch.from_numpy(around)).numpy().astype(np.float64)
