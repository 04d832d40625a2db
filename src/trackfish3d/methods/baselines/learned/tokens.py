"""Tokens of detections for the rivals that associate by attention: what a crop looks like and where its box is."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
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

N = TypeVar("N", bound=nn.Module)
Clip = tuple[NDArray[np.int64], NDArray[np.int64]]  # rows (N,) of detections, and their places in time (N,)


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


def clip_rows(scene: LabelledScene, camera: int | None, start: int, length: int) -> Clip:
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


def teach_on_clips(
    make: Callable[[], N],
    scenes: Sequence[LabelledScene],
    steps: tuple[int, int],
    seed: int,
    length: int,
    progress: Progress,
    loss: Callable[[N, LabelledScene, Tensor, Clip, np.random.Generator], Tensor],
    views: bool = True,
) -> N:
    """Teach the crop network, then a network on clips of `length` frames, a clip a step.

    Parameters
    ----------
    make : a fresh network whose ``tokens`` are `Tokens`.
    scenes : of the train split.
    steps : of the crop network, and of the network after it.
    seed : of weights and draws.
    progress : called with steps done and steps in all.
    loss : of a network, a scene, the inputs (N, INPUTS) of a clip, its rows and places in time, and random numbers.
    views : a clip is of one camera, drawn; else of all.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    first, then = steps
    appearance = teach_appearance(scenes, first, seed, lambda d, _: progress(d, first + then))
    net = make()
    tokens = net.tokens
    assert isinstance(tokens, Tokens)
    tokens.appearance.load_state_dict(appearance.state_dict())
    inputs = [tokens.inputs(s.rig, s.detections, s.crops) for s in scenes]
    optimiser = torch.optim.AdamW(net.parameters(), 5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, then)
    for step in range(then):
        k = int(rng.integers(len(scenes)))
        scene = scenes[k]
        start = int(rng.integers(scene.frames - length))
        clip = clip_rows(scene, int(rng.integers(len(scene.rig))) if views else None, start, length)
        if len(clip[0]):
            descend(net, optimiser, loss(net, scene, inputs[k][clip[0]], clip, rng))
        schedule.step()
        progress(first + step + 1, first + then)
    return net.eval()


def log_none(score: Tensor, none: Tensor) -> Tensor:
    """Log-probabilities (N, M + 1) of ``score`` (N, M) and, last, of nothing (a number)."""
    return F.log_softmax(torch.cat([score, none.expand(len(score), 1)], 1), 1)
