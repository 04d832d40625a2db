"""A small network for crops, taught to tell individuals: in place of the OSNet, ResNet and DETR of the rivals."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ....core.progress import Progress
from .crops import Crops
from .labelled import LabelledScene

WIDTH = 64
TEMPERATURE = 0.1


class CropNet(nn.Module):
    """Four convolutions, mean over the picture, a unit vector (N, 64)."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for a, b in ((3, 16), (16, 32), (32, 64), (64, 64)):
            layers += [nn.Conv2d(a, b, 3, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(64, WIDTH)

    def forward(self, pictures: Tensor) -> Tensor:
        """Features of pictures (N, 3, S, S) in 0..1."""
        return F.normalize(self.head(self.body(pictures - 0.3).mean((2, 3))), dim=1)


def as_pictures(crops: Crops, middle: bool = False) -> Tensor:
    """Crops (N, 3, S, S) as floats in 0..1; with ``middle`` the half that holds the animal alone."""
    if middle:
        quarter = crops.shape[2] // 4
        crops = crops[:, :, quarter : crops.shape[2] - quarter, quarter : crops.shape[3] - quarter]
    return torch.from_numpy(np.ascontiguousarray(crops)).float() / 255


@torch.no_grad()
def features(net: nn.Module, crops: Crops, middle: bool = True, batch: int = 256) -> NDArray[np.float32]:
    """Features (N, D) of all crops."""
    parts = [net(as_pictures(crops[i : i + batch], middle)).numpy() for i in range(0, len(crops), batch)]
    return np.concatenate(parts) if parts else np.zeros((0, WIDTH), np.float32)


def same_animal_loss(feature: Tensor, identity: Tensor) -> Tensor:
    """Supervised contrastive loss (Khosla et al. 2020) of unit features (N, D) with identities (N,)."""
    score = feature @ feature.T / TEMPERATURE
    itself = torch.eye(len(feature), dtype=torch.bool)
    score = score.masked_fill(itself, -1e9)
    same = (identity[:, None] == identity[None]) & ~itself
    some = same.any(1)
    if not bool(some.any()):
        return score.sum() * 0
    log = score - score.logsumexp(1, keepdim=True)
    return -((log * same).sum(1)[some] / same.sum(1)[some]).mean()


def teach_appearance(
    scenes: Sequence[LabelledScene], steps: int, seed: int, progress: Progress, apart: int = 10
) -> CropNet:
    """Teach a `CropNet` to tell the individuals of a scene over views and time.

    Parameters
    ----------
    scenes : of the train split.
    steps : of the optimiser; each sees all crops of two frames of one scene, at most ``apart`` frames apart.
    seed : of weights and draws.
    progress : called with steps done and steps in all.
    apart : largest distance of the two frames.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    net = CropNet()
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    net.train()
    for step in range(steps):
        scene = scenes[int(rng.integers(len(scenes)))]
        first = int(rng.integers(scene.frames - 1))
        second = min(first + int(rng.integers(1, apart + 1)), scene.frames - 1)
        rows = np.concatenate([scene.rows(first), scene.rows(second)])
        rows = rows[scene.identity[rows] >= 0]
        feature = net(as_pictures(scene.crops[rows], middle=True))
        loss = same_animal_loss(feature, torch.from_numpy(scene.identity[rows]))
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        schedule.step()
        progress(step + 1, steps)
    return net.eval()
