"""The loss of one window of frames: association, contrastive, temporal."""

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ..association.batches import affinity, pad
from ..association.grouping import group_detections
from ..association.losses import association_loss, contrastive_loss, temporal_loss
from ..association.model import TrackFishNet
from .scenes import Scene, dense_labels
from .settings import TrainingSettings
from .temporal import FrameGroups, link_window


@dataclass
class Memory:
    """What recipe `paper` carries from pair to pair of a scene: past groups, and the last frame's encoding."""

    groups: list[FrameGroups] = field(default_factory=list)
    encoded: Tensor | None = None
    frame: int = -1


@dataclass(frozen=True)
class WindowLoss:
    """The total with its gradient, and the three parts and counts as numbers."""

    total: Tensor
    association: float
    contrastive: float
    temporal: float
    groups: int
    links: int


def window_loss(
    net: TrackFishNet,
    scene: Scene,
    frames: NDArray[np.int64],
    settings: TrainingSettings,
    full: bool,
    rng: np.random.Generator,
    memory: Memory | None = None,
) -> WindowLoss:
    """Loss of consecutive frames (B,) of a scene; without `full` (warm-up) the association loss alone.

    Losses of frames are summed over the two frames of a pair and averaged over pairs, so that a window of one pair is
    the paper's step.
    """
    device = next(net.parameters()).device
    det, offsets = scene.detections, scene.detections.offsets
    raw, keep = augment(scene, frames, settings, rng)
    count = offsets[frames + 1] - offsets[frames]
    mask_np = pad(keep, offsets, frames, False)
    tokens = torch.from_numpy(pad(raw, offsets, frames)).to(device)
    mask = torch.from_numpy(mask_np).to(device)
    attend = mask.clone()
    attend[:, 0] = True  # a frame with every detection dropped still needs a key
    encoded = net.encoder(tokens)
    if memory is not None and settings.reuse_features:
        if memory.encoded is not None and memory.frame == int(frames[0]):
            before = memory.encoded
            n = min(before.shape[0], encoded.shape[1])
            encoded = torch.cat([F.pad(before[:n], (0, 0, 0, encoded.shape[1] - n))[None], encoded[1:]])
        memory.encoded, memory.frame = encoded[-1].detach(), int(frames[-1])
    h = net.transformer(encoded, tokens[..., [1, 0]], attend)
    logits = net.transformer.logits(h)
    label, confidence = dense_labels(scene, frames, keep, tokens.shape[1])
    pairs = max(len(frames) - 1, 1)
    inner = torch.full((len(frames),), 2.0, device=device)  # a frame inside the window belongs to two pairs
    inner[0] = inner[-1] = 1.0
    per_frame = association_loss(logits, torch.from_numpy(label).to(device), torch.from_numpy(confidence).to(device))
    asso = (inner * per_frame).sum() / pairs
    total = settings.losses.association * asso
    ctr = temp = torch.zeros((), device=device)
    n_groups = n_links = 0
    if full:
        rows = np.concatenate([np.arange(offsets[f], offsets[f + 1]) for f in frames])
        scores = affinity(h.detach(), logits.detach(), settings.grouping).float()
        table = scores.masked_fill(~(mask[:, :, None] & mask[:, None]), -1.0).cpu().numpy()
        groups = group_detections(
            scene.rig,
            frames,
            np.append(0, np.cumsum(count)),
            det.camera[rows],
            det.score[rows],
            det.centroids[rows],
            det.boxes[rows],
            table,
            settings.grouping,
        )
        sure = groups.confidence >= settings.grouping.min_confidence
        block = np.searchsorted(frames, groups.frame)
        owner = np.repeat(np.arange(len(groups)), np.diff(groups.offsets))
        place = groups.members - np.append(0, np.cumsum(count))[block[owner]]
        number = np.full(mask_np.shape, -1, np.int64)
        used = sure[owner]
        number[block[owner][used], place[used]] = owner[used]
        ctr = (
            inner * contrastive_loss(h, torch.from_numpy(number).to(device), mask, settings.losses.temperature)
        ).sum()
        ctr = ctr / pairs
        n_groups = len(groups)
        if n_groups:
            flat = h[torch.from_numpy(block[owner]).to(device), torch.from_numpy(place).to(device)]
            mean = torch.zeros(n_groups, h.shape[-1], device=device).index_add(
                0, torch.from_numpy(owner).to(device), flat
            )
            mean = F.normalize(mean, dim=-1)
            temp, n_links = _temporal(
                net, mean, groups.position, groups.confidence, block, len(frames), settings, memory
            )
        total = total + settings.losses.contrastive * ctr + settings.losses.temporal * temp
    return WindowLoss(total, asso.item(), ctr.item(), temp.item(), n_groups, n_links)


def _temporal(
    net: TrackFishNet,
    mean: Tensor,
    position: NDArray[np.float64],
    confidence: NDArray[np.float64],
    block: NDArray[np.int64],
    n_frames: int,
    settings: TrainingSettings,
    memory: Memory | None,
) -> tuple[Tensor, int]:
    """Temporal loss over the links of the window, and of its last frame with the memory of recipe `paper`."""
    seen = mean.detach().double().cpu().numpy()
    past = memory.groups if memory is not None else []
    table = mean
    if past:
        stored = torch.from_numpy(np.concatenate([p.embedding for p in past])).to(mean)
        table = torch.cat([mean, stored])
    first = len(mean)
    older = []
    for p in past:
        older.append(FrameGroups(first + np.arange(len(p.rows)), p.position, p.embedding, p.confidence))
        first += len(p.rows)
    now = []
    for t in range(n_frames):
        mine = np.flatnonzero(block == t)
        now.append(FrameGroups(mine, position[mine], seen[mine], confidence[mine]))
    early, late, weight = link_window([*older, *now], settings.link)
    fresh = late < len(mean)  # links among remembered frames had their turn
    early, late, weight = early[fresh], late[fresh], weight[fresh]
    if memory is not None:
        # The last frame begins the next pair; those before it are the past.
        memory.groups = [*past, *now[:-1]][-(settings.link.memory - 1) :]
    if not len(early):
        return torch.zeros((), device=mean.device), 0
    at = torch.from_numpy(early).to(mean.device), torch.from_numpy(late).to(mean.device)
    loss = temporal_loss(net.predictor(table[at[0]]), table[at[1]], torch.from_numpy(weight).to(mean))
    return loss, len(early)


def augment(
    scene: Scene, frames: NDArray[np.int64], settings: TrainingSettings, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Raw features of the scene with the frames' detections jittered inside their boxes, and which take part (N,)."""
    raw = scene.raw
    keep = np.ones(len(raw), bool)
    if settings.drop_detections or settings.jitter:
        rows = np.concatenate([np.arange(scene.detections.offsets[f], scene.detections.offsets[f + 1]) for f in frames])
        keep[rows] = rng.random(len(rows)) >= settings.drop_detections
        if settings.jitter:
            raw = raw.copy()
            raw[rows, :2] += (settings.jitter * rng.normal(size=(len(rows), 2)) * raw[rows, 2:4]).astype(np.float32)
    return raw, keep
