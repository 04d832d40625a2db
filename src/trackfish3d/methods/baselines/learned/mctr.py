"""MCTR's association (Patel et al. 2024) on shared detections: track slots that all views write to.

Written from the abstract and second-hand descriptions; its losses were not read in source. A fixed number of track
embeddings is updated in every frame by attention to the detections of each view, with weights of its own a view, then
among themselves; each detection is a probability over slots, and detections of one animal should have the same. The
original finds its objects by a DETR a view; here tokens are crops and boxes of the detections that all methods share.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from ....cameras import CameraRig
from ....core.errors import InputError
from ....core.progress import Progress
from ....maths.assignment import assign
from ....recordings.detections import Detections
from ...base import Method, MethodSettings
from ...result import Result
from ..single_view import lift
from .crops import read_crops
from .labelled import LabelledScene
from .tokens import MODEL, Attend, Clip, Tokens, teach_on_clips
from .weights import load_weights

Ints = NDArray[np.int64]
SLOTS = 32
LENGTH = 6  # frames of a clip
VIEWS = 3


class MCTRNet(nn.Module):
    """Slots, attention to each view and among themselves, and a dot product with detections."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = Tokens()
        self.view = nn.Embedding(VIEWS, MODEL)
        self.start = nn.Parameter(torch.randn(SLOTS, MODEL) * 0.5)
        self.from_view = nn.ModuleList(Attend(MODEL) for _ in range(VIEWS))
        self.among = Attend(MODEL)
        self.query, self.key = nn.Linear(MODEL, MODEL), nn.Linear(MODEL, MODEL)

    def assign(self, slots: Tensor, token: Tensor) -> Tensor:
        """Probability (N, SLOTS) of each detection to be of each slot."""
        return torch.softmax(self.query(token) @ self.key(slots).T / MODEL**0.5, 1)

    def update(self, slots: Tensor, token: Tensor, camera: Tensor) -> Tensor:
        """Slots (SLOTS, D) after the detections of a frame, tokens (N, D) of cameras (N,)."""
        for c, layer in enumerate(self.from_view):
            mine = token[camera == c]
            if len(mine):
                slots = layer(slots, mine)
        out: Tensor = self.among(slots, slots)
        return out


def teach(scenes: Sequence[LabelledScene], steps: int, seed: int, progress: Progress) -> MCTRNet:
    """Teach the crop network, then slots on clips of all views, by which pairs are of one animal."""

    def loss(net: MCTRNet, scene: LabelledScene, inputs: Tensor, clip: Clip, _: np.random.Generator) -> Tensor:
        camera = torch.from_numpy(scene.detections.camera[clip[0]].astype(np.int64))
        return clip_loss(net, inputs, camera, clip[1], scene.identity[clip[0]])

    return teach_on_clips(MCTRNet, scenes, (max(steps // 2, 1), steps), seed, LENGTH, progress, loss, views=False)


def clip_loss(net: MCTRNet, inputs: Tensor, camera: Tensor, time: Ints, who: Ints) -> Tensor:
    """Pairs of one animal, in one frame and in neighbouring ones, share a slot; others do not."""
    token = net.tokens(inputs) + net.view(camera)
    slots: Tensor = net.start
    chance: list[Tensor] = []
    total: Tensor = token.new_zeros(())
    count = 0
    for t in range(LENGTH):
        mine = np.flatnonzero(time == t)
        slots = net.update(slots, token[mine], camera[mine])
        chance.append(net.assign(slots, token[mine]))
        for back in (0, 1):
            if t - back < 0:
                continue
            there = np.flatnonzero(time == t - back)
            if not len(mine) or not len(there):
                continue
            likely = (chance[t] @ chance[t - back].T).clamp(1e-6, 1 - 1e-6)
            same = torch.from_numpy(who[mine][:, None] == who[there][None])
            loss = -(likely.log()[same].mean() if bool(same.any()) else 0.0)
            loss = loss - ((1 - likely).log()[~same].mean() if bool((~same).any()) else 0.0)
            total, count = total + loss, count + 1
    return total / max(count, 1)


class MCTRSettings(MethodSettings):
    """Settings of MCTR's association."""

    crops: Path | None = Field(None, description="crops of the detections (.npz of 'trackfish3d crops')")
    model: Path | None = Field(None, description="weights (.safetensors); None: the shipped ones")
    min_probability: float = Field(0.2, ge=0, le=1, description="probability of its slot that a detection needs")


class MCTR(Method):
    """One slot an animal over views and time, triangulated."""

    name: ClassVar[str] = "mctr"
    Settings: ClassVar[type[Any]] = MCTRSettings

    @torch.no_grad()
    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Result:
        """Give every detection its slot, one a slot and camera, and triangulate those that share one."""
        s: MCTRSettings = self.settings
        if len(rig) != VIEWS:
            raise InputError(f"method mctr has weights of its own for {VIEWS} views; the recording has {len(rig)}")
        net = MCTRNet()
        load_weights(net, s.model, self.name)
        camera = torch.from_numpy(detections.camera.astype(np.int64))
        crops = read_crops(s.crops, detections, self.name)
        token = net.tokens(net.tokens.inputs(rig, detections, crops)) + net.view(camera)
        label = np.full(len(detections), -1, np.int64)
        slots: Tensor = net.start
        for k in range(len(detections.frames)):
            rows = np.arange(len(detections))[detections.at(k)]
            slots = net.update(slots, token[rows], camera[rows])
            chance = net.assign(slots, token[rows]).numpy().astype(np.float64)
            for c in range(VIEWS):
                mine = np.flatnonzero(detections.camera[rows] == c)
                slot = assign(np.where(chance[mine] >= s.min_probability, 1 - chance[mine], np.inf))
                label[rows[mine]] = slot
            progress(k + 1, len(detections.frames))
        return Result(lift(rig, detections, label))


@torch.no_grad()
def pair_scores(net: MCTRNet, scene: LabelledScene, rows: Ints) -> NDArray[np.float64]:
    """Chance (N, N) that pairs of rows of one frame share a slot, after that frame alone."""
    camera = torch.from_numpy(scene.detections.camera[rows].astype(np.int64))
    token = net.tokens(net.tokens.inputs(scene.rig, scene.detections.select(rows), scene.crops[rows]))
    token = token + net.view(camera)
    chance = net.assign(net.update(net.start, token, camera), token)
    return np.asarray((chance @ chance.T).numpy(), np.float64)
