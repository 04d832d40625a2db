"""Self-MVA (Seitz et al. 2025): views of one moment are alike, views of different moments are not; no identities.

Written from the paper alone. A detection is the Fourier code of two corners of its box and a token of its camera. A
network embeds it so that the detections of two cameras can be matched better at the same moment than 5 to 20 frames
apart, and a decoder draws the box of an embedding in its own view again. No calibration, no pictures, no identities.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from ....cameras import CameraRig
from ....core.progress import Progress
from ....maths.assignment import assign
from ....recordings.detections import Detections
from ...groups import Groups
from ...matching import Array, Flags, Ints, group_frames, hungarian_match
from ..geometric import GeometricMethod, GeometricSettings
from .labelled import LabelledScene
from .weights import load_weights

CODE = 64  # Fourier features of a corner: as many sines as cosines
WIDE = 192
MARGIN = 1.0
APART = (5, 20)  # frames between moments that are not the same


class SelfMVANet(nn.Module):
    """Fourier code and camera token, three residual layers, a unit embedding; a decoder back to boxes."""

    waves: Tensor

    def __init__(self, tokens: int = 8) -> None:
        super().__init__()
        self.register_buffer("waves", torch.randn(2, CODE // 2) * 2.0)
        self.token = nn.Embedding(tokens, 2 * CODE)
        self.into = nn.Linear(4 * CODE, WIDE)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDE, WIDE), nn.LayerNorm(WIDE), nn.ReLU()) for _ in range(3)
        )
        self.out = nn.Linear(WIDE, 64)
        self.decoder = nn.Linear(64 + 2 * CODE, 4)

    def forward(self, boxes: Tensor, camera: Tensor) -> Tensor:
        """Embed boxes as unit vectors (N, 64): boxes (N, 4) in 0..1 and cameras (N,)."""
        angle = 2 * np.pi * (2 * boxes.reshape(-1, 2, 2) - 1) @ self.waves
        code = torch.cat([angle.sin(), angle.cos()], -1).flatten(1)
        h = self.into(torch.cat([code, self.token(camera)], 1))
        for layer in self.layers:
            h = h + layer(h)
        return F.normalize(self.out(h), dim=1)

    def redraw(self, embedding: Tensor, camera: Tensor) -> Tensor:
        """Boxes (N, 4) in 0..1 of embeddings in a camera."""
        drawn: Tensor = self.decoder(torch.cat([embedding, self.token(camera)], 1))
        return drawn


def boxes_of(rig: CameraRig, detections: Detections) -> Tensor:
    """Boxes (N, 4) in units of their picture."""
    size = np.array([c.size for c in rig], float)[detections.camera]
    return torch.from_numpy(detections.boxes / np.tile(size, 2)).float()


def teach(scenes: Sequence[LabelledScene], steps: int, seed: int, progress: Progress) -> SelfMVANet:
    """Teach by synchronisation: identities of the scenes are not looked at.

    All rigs share one set of camera tokens, as in the paper's comparison, so that their geometries contradict each
    other.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    net = SelfMVANet()
    boxes = [boxes_of(s.rig, s.detections) for s in scenes]
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for step in range(steps):
        k = int(rng.integers(len(scenes)))
        scene = scenes[k]
        frame = int(rng.integers(scene.frames))
        other = frame + int(rng.integers(APART[0], APART[1] + 1)) * (1 if rng.random() < 0.5 else -1)
        other = other if 0 <= other < scene.frames else frame - (other - frame)
        a, b = rng.permutation(len(scene.rig))[:2].tolist()
        rows = [scene.rows(frame, a), scene.rows(frame, b), scene.rows(min(max(other, 0), scene.frames - 1), b)]
        if min(len(r) for r in rows) == 0:
            continue
        cameras = [torch.full((len(r),), c) for r, c in zip(rows, (a, b, b), strict=True)]
        embedded = [net(boxes[k][r], c) for r, c in zip(rows, cameras, strict=True)]
        near, far = matched_distance(embedded[0], embedded[1]), matched_distance(embedded[0], embedded[2])
        drawn = sum(F.l1_loss(net.redraw(e, c), boxes[k][r]) for e, c, r in zip(embedded, cameras, rows, strict=True))
        loss = F.relu(near - far + MARGIN) + 0.1 * drawn
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        schedule.step()
        progress(step + 1, steps)
    return net.eval()


def matched_distance(one: Tensor, other: Tensor) -> Tensor:
    """Mean distance of two sets of embeddings under their best matching."""
    distance = torch.cdist(one, other)
    partner = assign(distance.detach().numpy().astype(np.float64))
    rows = np.flatnonzero(partner >= 0)
    return distance[torch.from_numpy(rows), torch.from_numpy(partner[rows])].mean()


class SelfMVASettings(GeometricSettings):
    """Settings of Self-MVA."""

    model: Path | None = Field(None, description="weights (.safetensors); None: the shipped ones")
    min_similarity: float = Field(0.4, ge=-1, le=1, description="cosine that a match needs")


class SelfMVA(GeometricMethod):
    """Views matched by self-supervised embeddings of boxes, points linked by nearest neighbours."""

    name: ClassVar[str] = "selfmva"
    Settings: ClassVar[type[Any]] = SelfMVASettings

    @torch.no_grad()
    def associate(
        self, rig: CameraRig, detections: Detections, progress: Progress, frames: Ints | None = None
    ) -> Groups:
        """Group the detections of all frames, or of these."""
        s: SelfMVASettings = self.settings
        net = SelfMVANet()
        load_weights(net, s.model, self.name)
        embedded = net(boxes_of(rig, detections), torch.from_numpy(detections.camera.astype(np.int64))).numpy()
        which = np.arange(len(detections.frames)) if frames is None else frames
        step = iter(which.tolist())

        def match(_: Array, camera: Ints) -> Flags:
            mine = embedded[detections.at(next(step))]
            similarity = (mine @ mine.T).astype(np.float64)
            good = (similarity >= s.min_similarity) & (camera[:, None] != camera[None])
            return np.asarray(hungarian_match(np.where(good, 1 - similarity, np.inf), camera))

        return group_frames(rig, detections, match, np.inf, s.contain, progress, frames)

    def match(self, cost: Array, camera: Ints) -> Flags:
        """Match by the geometric cost: only used before `associate` knows which frame it is at."""
        return np.asarray(hungarian_match(cost, camera))


@torch.no_grad()
def pair_scores(net: SelfMVANet, scene: LabelledScene, rows: Ints) -> Array:
    """Cosine (N, N) of the pairs of rows of one frame."""
    camera = torch.from_numpy(scene.detections.camera[rows].astype(np.int64))
    embedded = net(boxes_of(scene.rig, scene.detections)[rows], camera)
    return np.asarray((embedded @ embedded.T).numpy(), np.float64)
