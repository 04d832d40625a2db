"""The loss of one window of frames: association, contrastive, temporal."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ...groups import Groups
from ..batches import affinity
from ..features import Raw
from ..grouping import group_detections
from ..losses import association_loss, contrastive_loss, temporal_loss
from ..network import TrackFishNet
from .settings import TrainingSettings
from .temporal import GroupTable, link_groups
from .training_scenes import TrainingScene


@dataclass
class GroupMemory:
    """What recipe `paper` carries from pair to pair of a scene: past groups, and the last frame's encoding."""

    groups: GroupTable | None = None
    encoded: Tensor | None = None
    frame: int = -1

    def encoding(self, frame: int, n: int) -> Tensor | None:
        """Return the encoding (n, D) of a frame, cut or padded with zeros; None if it is not the last one seen."""
        if self.encoded is None or self.frame != frame:
            return None
        return F.pad(self.encoded, (0, 0, 0, n - len(self.encoded)))  # negative padding cuts


@dataclass(frozen=True)
class WindowLoss:
    """The total with its gradient; loss, association, contrastive, temporal, groups and links as numbers."""

    total: Tensor
    parts: dict[str, float]


def window_loss(
    net: TrackFishNet,
    scene: TrainingScene,
    frames: NDArray[np.int64],
    settings: TrainingSettings,
    full: bool,
    rng: np.random.Generator,
    memory: GroupMemory | None = None,
) -> WindowLoss:
    """Loss of frames (B,) of a scene, one after the other; without `full` (warm-up) the association loss alone.

    Losses of frames are summed over the two frames of a pair and averaged over pairs, so that a window of one pair is
    the paper's step.
    """
    device = next(net.parameters()).device
    s = settings
    tokens_np, keep = scene.tokens(frames)
    if net.training:
        augment(scene, frames, tokens_np, keep, s, rng)
    tokens, mask = torch.from_numpy(tokens_np).to(device), torch.from_numpy(keep).to(device)
    seed = int(rng.integers(2**62)) if net.training else None
    carried = memory if s.reuse_features else None
    h, logits = _through(net, tokens, mask, frames, carried, seed, s)
    label, confidence = (torch.from_numpy(x).to(device) for x in scene.dense_labels(frames, keep))
    pairs = max(len(frames) - 1, 1)
    share = torch.full((len(frames),), 2.0 / pairs, device=device)  # a frame inside the window belongs to two pairs
    share[0] = share[-1] = 1.0 / pairs
    association = torch.dot(share, association_loss(logits, label, confidence))
    total = s.losses.association * association
    parts = {"association": association.item(), "contrastive": 0.0, "temporal": 0.0, "groups": 0.0, "links": 0.0}
    if full:
        groups, number, place, owner = _group(scene, frames, h, logits, mask, s)
        parts["groups"] = len(groups)
        if s.losses.contrastive:
            loss = torch.dot(share, contrastive_loss(h, number, mask, s.losses.temperature))
            parts["contrastive"] = loss.item()
            total = total + s.losses.contrastive * loss
        if s.losses.temporal:
            summed = h.new_zeros(len(groups), h.shape[-1]).index_add(0, owner, h[place])
            loss, links = _temporal(net, F.normalize(summed, dim=-1), groups, scene.clock(frames), s, memory)
            parts["temporal"], parts["links"] = loss.item(), links
            total = total + s.losses.temporal * loss
    return WindowLoss(total, {"loss": total.item(), **parts})


def _through(
    net: TrackFishNet,
    tokens: Tensor,
    mask: Tensor,
    frames: NDArray[np.int64],
    memory: GroupMemory | None,
    seed: int | None,
    settings: TrainingSettings,
) -> tuple[Tensor, Tensor]:
    """Context embeddings (B, N, D) and logits (B, N, N); a memory gives the first frame its encoding of before."""
    kind = tokens.device.type
    attend = mask.clone()
    attend[:, 0] = True  # a frame with every detection dropped still needs a key
    with torch.autocast(kind, torch.bfloat16, enabled=settings.mixed_precision and kind == "cuda"):
        before = None if memory is None else memory.encoding(int(frames[0]), tokens.shape[1])
        if before is None:
            encoded: Tensor = net.encoder(tokens)
        else:
            encoded = torch.cat([before[None], net.encoder(tokens[1:])])
        if memory is not None:
            memory.encoded, memory.frame = encoded[-1].detach(), int(frames[-1])
        h = net.transformer(encoded, tokens[..., [1, 0]], attend, seed).float()
    return h, net.transformer.logits(h)


def _group(
    scene: TrainingScene, frames: NDArray[np.int64], h: Tensor, logits: Tensor, mask: Tensor, settings: TrainingSettings
) -> tuple[Groups, Tensor, tuple[Tensor, Tensor], Tensor]:
    """Group the window; the `frame` of its groups is the place in it.

    Also the group (B, N) of each detection, -1 for none, and for the members (M,) of all groups their place in h,
    frame and row, and the group they belong to.
    """
    det, offsets = scene.detections, scene.detections.offsets
    with torch.no_grad():
        scores = affinity(h, logits, settings.grouping).float()
        scores = scores.masked_fill_(~(mask[:, :, None] & mask[:, None]), -1.0).cpu()
    first, last = offsets[frames[0]], offsets[frames[-1] + 1]
    count = offsets[frames + 1] - offsets[frames]
    rows: slice | NDArray[np.int64] = slice(first, last)
    if last - first != count.sum():  # frames were skipped
        rows = np.concatenate([np.arange(offsets[f], offsets[f + 1]) for f in frames])
    starts = np.append(0, np.cumsum(count))
    groups = group_detections(
        scene.rig,
        np.arange(len(frames)),
        starts,
        det.camera[rows],
        det.score[rows],
        det.centroids[rows],
        det.boxes[rows],
        scores.numpy(),
        settings.grouping,
    )
    owner = np.repeat(np.arange(len(groups)), np.diff(groups.offsets))
    block = groups.frame[owner]
    place = groups.members - starts[block]
    number = np.full(mask.shape, -1, np.int64)
    sure = groups.confidence[owner] >= settings.grouping.min_confidence
    number[block[sure], place[sure]] = owner[sure]
    tensors = [torch.from_numpy(x).to(h.device) for x in (number, block, place, owner)]
    return groups, tensors[0], (tensors[1], tensors[2]), tensors[3]


def _temporal(
    net: TrackFishNet,
    mean: Tensor,
    groups: Groups,
    clock: NDArray[np.int64],
    settings: TrainingSettings,
    memory: GroupMemory | None,
) -> tuple[Tensor, int]:
    """Temporal loss over the links that end in the window after its first frame, and their number.

    `clock` (B,) are the frames' numbers. The memory of recipe `paper` holds the frames before the window; links into
    the first frame had their turn in the pair before.
    """
    now = GroupTable(
        clock,
        np.searchsorted(groups.frame, np.arange(len(clock) + 1)),
        groups.position,
        mean.detach().float().cpu().numpy(),
        groups.confidence,
    )
    table, past = now, None
    if memory is not None:
        past = memory.groups or GroupTable.empty(mean.shape[1])
        table = past.join(now)
        first = len(past.frame)
        memory.groups = table.cut(max(len(table.frame) - settings.link.memory, 0), len(table.frame) - 1)
    else:
        first = 0
    early, late, weight = link_groups(table, first + 1, settings.link)
    if not len(early):
        return mean.new_zeros(()), 0
    source = mean
    if past is not None and len(past.embedding):
        source = torch.cat([torch.from_numpy(past.embedding).to(mean), mean])
    loss = temporal_loss(
        net.predictor(source[torch.from_numpy(early).to(mean.device)]),
        source[torch.from_numpy(late).to(mean.device)],
        torch.from_numpy(weight).to(mean.device),
    )
    return loss, len(early)


def augment(
    scene: TrainingScene,
    frames: NDArray[np.int64],
    tokens: NDArray[np.float32],
    keep: NDArray[np.bool_],
    settings: TrainingSettings,
    rng: np.random.Generator,
) -> None:
    """Change `tokens` (B, N, 9) and `keep` (B, N) in place as the settings ask: all of it needs no label."""
    if settings.drop_detections:
        keep &= rng.random(keep.shape) >= settings.drop_detections
    if settings.shuffle_cameras and len(scene.rig) > 1:
        order = rng.permutation(len(scene.rig)).astype(np.float32)
        index = np.rint(tokens[..., Raw.CAMERA] * (len(order) - 1)).astype(np.int64)
        tokens[..., Raw.CAMERA] = order[index] / (len(order) - 1)
    if settings.jitter:
        scene.jitter(frames, tokens, settings.jitter * rng.standard_normal((*keep.shape, 2)))
