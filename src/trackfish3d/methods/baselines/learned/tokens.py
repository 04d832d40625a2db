"""Tokens of detections for the rivals that associate by attention: what a crop looks like and where its box is."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ....cameras import CameraRig
from ....core.progress import Progress
from ....recordings.detections import Detections
from .appearance import WIDTH, CropNet, features, teach_appearance
from .crops import Crops
from .labelled import LabelledScene

WAVES = 8  # sines and cosines of a number of a box
INPUTS = WIDTH + 4 * 2 * WAVES
MODEL = 96


class Tokens(nn.Module):
    """Crop network, taught before and left alone, and a layer to the width of the model."""

    def __init__(self) -> None:
        super().__init__()
        self.appearance = CropNet()
        self.into = nn.Sequential(nn.Linear(INPUTS, MODEL), nn.ReLU(), nn.Linear(MODEL, MODEL), nn.LayerNorm(MODEL))

    def forward(self, inputs: Tensor) -> Tensor:
        """Tokens (N, MODEL) of inputs (N, INPUTS)."""
        token: Tensor = self.into(inputs)
        return token

    def inputs(self, rig: CameraRig, detections: Detections, crops: Crops) -> Tensor:
        """Look of the crops and place of the boxes (N, INPUTS)."""
        size = np.tile(np.array([c.size for c in rig], float)[detections.camera], 2)
        box = np.concatenate([detections.centroids, detections.boxes[:, 2:] - detections.boxes[:, :2]], 1) / size
        angle = np.pi * box[:, :, None] * 2.0 ** np.arange(WAVES)
        place = np.concatenate([np.sin(angle), np.cos(angle)], 2).reshape(len(box), -1)
        look = features(self.appearance, crops)
        return torch.from_numpy(np.concatenate([look, place], 1).astype(np.float32))


def taught_tokens(
    scenes: Sequence[LabelledScene], steps: int, seed: int, progress: Progress
) -> tuple[dict[str, Tensor], list[Tensor]]:
    """Teach the crop network; returns its weights and the inputs of all detections of each scene."""
    tokens = Tokens()
    tokens.appearance = teach_appearance(scenes, steps, seed, progress)
    state: dict[str, Tensor] = tokens.appearance.state_dict()
    return state, [tokens.inputs(s.rig, s.detections, s.crops) for s in scenes]


class Attend(nn.Module):
    """Attention from one set of vectors to another, with a mask, and a layer behind it; four heads, norms before."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.norm_to, self.norm_out = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.layer = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, h: Tensor, to: Tensor, bias: Tensor | None = None) -> Tensor:
        """Change ``h`` (N, D) by what it attends to, (M, D); ``bias`` (N, M) is added to the scores, -inf forbids."""
        key = self.norm_to(to)[None]
        seen, _ = self.attention(self.norm(h)[None], key, key, attn_mask=bias, need_weights=False)
        h = h + seen[0]
        out: Tensor = h + self.layer(self.norm_out(h))
        return out


def clip_rows(scene: LabelledScene, camera: int | None, start: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of known animals in ``length`` frames from ``start`` on, of one camera or all, and their place in time."""
    rows = [scene.rows(t, camera) for t in range(start, start + length)]
    time = np.repeat(np.arange(length), [len(r) for r in rows])
    every = np.concatenate(rows)
    known = scene.identity[every] >= 0
    return every[known], time[known]


def descend(net: nn.Module, optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    """Take one clipped step down the gradient of a loss."""
    optimiser.zero_grad()
    torch.autograd.backward(loss)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimiser.step()


def log_none(score: Tensor, none: Tensor) -> Tensor:
    """Log-probabilities (N, M + 1) of ``score`` (N, M) and, last, of nothing (a number)."""
    return F.log_softmax(torch.cat([score, none.expand(len(score), 1)], 1), 1)
