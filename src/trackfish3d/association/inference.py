"""Pass 1 of the published inference: network and grouping, over all frames of a recording or over one."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..recordings import Detections, Groups
from .batches import affinity, embed, size_batches
from .features import raw_features
from .grouping import group_detections
from .model import TrackFishNet
from .settings import GroupingSettings

Vectors = NDArray[np.float32]
BATCH_TOKENS = 2048  # padded detections that go through the network at once; more only miss the cache


def group_frames(
    net: TrackFishNet,
    rig: CameraRig,
    detections: Detections,
    settings: GroupingSettings,
    progress: Callable[[int, int], None] | None = None,
    half: bool = False,
) -> Groups:
    """Group the detections of every frame by the network; groups are sorted by frame and carry embeddings.

    Frames of like size go through the network together. `half` uses 16-bit floats where the device is no CPU (there
    they are slower).
    """
    raw = raw_features(rig, detections)
    parts: list[_Part] = []
    done = 0
    device = next(net.parameters()).device
    for batch in size_batches(detections.offsets, np.arange(len(detections.frames)), BATCH_TOKENS):
        with torch.inference_mode(), torch.autocast(device.type, enabled=half and device.type != "cpu"):
            h, logits, _ = embed(net, raw, detections.offsets, batch)
            table = affinity(h, logits, settings).float().cpu().numpy()
            vectors = h.float().cpu().numpy()
        parts.append(_group_batch(rig, detections, batch, table, vectors, settings))
        done += len(batch)
        if progress is not None:
            progress(done, len(detections.frames))
    return _in_order(parts, net.settings.width)


def predictor(net: TrackFishNet) -> Callable[[Vectors], Vectors]:
    """Return the temporal predictor as a function of arrays: embeddings (M, D) to those of the next frame."""
    device = next(net.parameters()).device

    def predict(embedding: Vectors) -> Vectors:
        with torch.inference_mode():
            ahead: Vectors = net.predictor(torch.from_numpy(embedding).to(device)).float().cpu().numpy()
        return ahead

    return predict


@dataclass(frozen=True)
class _Part:
    """Groups of a batch, and their members as rows of the whole recording."""

    groups: Groups
    members: NDArray[np.int64]
    embedding: Vectors


def _group_batch(
    rig: CameraRig,
    detections: Detections,
    batch: NDArray[np.int64],
    table: NDArray[np.float32],
    vectors: Vectors,
    settings: GroupingSettings,
) -> _Part:
    """Group the frames of a batch by their affinities (B, N, N); vectors (B, N, D) are their embeddings."""
    begin = detections.offsets[batch]
    count = detections.offsets[batch + 1] - begin
    offsets = np.append(0, np.cumsum(count)).astype(np.int64)
    rows = _ranges(begin, count)
    groups = group_detections(
        rig,
        detections.frames[batch],
        offsets,
        detections.camera[rows],
        detections.score[rows],
        detections.centroids[rows],
        detections.boxes[rows],
        table,
        settings,
    )
    flat = vectors[np.arange(vectors.shape[1])[None] < count[:, None]]
    return _Part(groups, rows[groups.members], mean_embedding(flat, groups))


def mean_embedding(h: Vectors, groups: Groups) -> Vectors:
    """(G, D) unit mean of the members' embeddings h (M, D)."""
    if not len(groups):
        return np.zeros((0, h.shape[1]), np.float32)
    total = np.add.reduceat(h[groups.members], groups.offsets[:-1], axis=0)
    return np.asarray(total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12), np.float32)


def _ranges(begin: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """All numbers of the ranges ``begin .. begin + count``, one after the other."""
    shift = np.repeat(begin - np.append(0, np.cumsum(count))[:-1], count)
    return np.asarray(np.arange(len(shift)) + shift, np.int64)


def _in_order(parts: list[_Part], width: int) -> Groups:
    """Put the groups of batches, which are sorted by size, into the order of frames."""
    empty = [np.zeros(0, np.int64)]
    frame = np.concatenate([*empty, *(p.groups.frame for p in parts)])
    order = np.argsort(frame, kind="stable")
    count = np.concatenate([*empty, *(np.diff(p.groups.offsets) for p in parts)])
    members = np.concatenate([*empty, *(p.members for p in parts)])
    begin = np.append(0, np.cumsum(count))[:-1]

    def column(name: str, *shape: int) -> NDArray[np.float64]:
        found = [getattr(p.groups, name) for p in parts]
        return np.concatenate([np.zeros((0, *shape)), *found])[order]

    return Groups(
        frame[order],
        members[_ranges(begin[order], count[order])],
        np.append(0, np.cumsum(count[order])).astype(np.int64),
        column("position", 3),
        column("covariance", 3, 3),
        column("confidence"),
        np.concatenate([np.zeros((0, width), np.float32), *(p.embedding for p in parts)])[order],
    )
