"""Pass 1 of the published inference: network and grouping, over all frames of a recording or over one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from ...cameras import CameraRig
from ...core.progress import Progress
from ...recordings import Detections
from ..groups import Groups
from ..padding import size_batches
from .batches import affinity, embed
from .features import raw_features
from .grouping import group_detections
from .network import TrackFishNet
from .settings import GroupingSettings

Vectors = NDArray[np.float32]
BATCH_TOKENS = 2048  # padded detections that go through the network at once; more only miss the cache


@dataclass(frozen=True)
class ScoredFrames:
    """What the network says about a batch of frames.

    ``batch`` (B,) indices into ``detections.frames``; ``affinity`` (B, N, N) of ordered pairs and ``vectors``
    (B, N, D) embeddings, both padded to the largest frame.
    """

    batch: NDArray[np.int64]
    affinity: NDArray[np.float32]
    vectors: Vectors


def score_frames(
    net: TrackFishNet,
    rig: CameraRig,
    detections: Detections,
    settings: GroupingSettings,
    half: bool = False,
    extra: Vectors | None = None,
) -> Iterator[ScoredFrames]:
    """Run the network over all frames, those of like size together.

    `half` uses 16-bit floats where the device is no CPU (there they are slower). `extra` (N, E) are features beside the
    geometric ones, for a network that was trained with such.
    """
    raw = raw_features(rig, detections, extra)
    device = next(net.parameters()).device
    for batch in size_batches(detections.offsets, np.arange(len(detections.frames)), BATCH_TOKENS):
        with torch.inference_mode(), torch.autocast(device.type, enabled=half and device.type != "cpu"):
            h, logits, _ = embed(net, raw, detections.offsets, batch)
            table = affinity(h, logits, settings).float().cpu().numpy()
            vectors = h.float().cpu().numpy()
        yield ScoredFrames(batch, table, vectors)


def group_frames(
    net: TrackFishNet,
    rig: CameraRig,
    detections: Detections,
    settings: GroupingSettings,
    progress: Progress | None = None,
    half: bool = False,
    extra: Vectors | None = None,
) -> Groups:
    """Group the detections of every frame by the network; groups are sorted by frame and carry embeddings."""
    parts: list[Groups] = []
    done = 0
    for scored in score_frames(net, rig, detections, settings, half, extra):
        parts.append(group_scored(rig, detections, scored, settings))
        done += len(scored.batch)
        if progress is not None:
            progress(done, len(detections.frames))
    return in_order(parts, net.settings.width)


def predictor(net: TrackFishNet) -> Callable[[Vectors], Vectors]:
    """Return the temporal predictor as a function of arrays: embeddings (M, D) to those of the next frame."""
    device = next(net.parameters()).device

    def predict(embedding: Vectors) -> Vectors:
        with torch.inference_mode():
            ahead: Vectors = net.predictor(torch.from_numpy(embedding).to(device)).float().cpu().numpy()
        return ahead

    return predict


def group_scored(rig: CameraRig, detections: Detections, scored: ScoredFrames, settings: GroupingSettings) -> Groups:
    """Group a batch of frames; members are rows of all detections."""
    begin = detections.offsets[scored.batch]
    count = detections.offsets[scored.batch + 1] - begin
    rows = _ranges(begin, count)
    found = group_detections(
        rig,
        detections.frames[scored.batch],
        np.append(0, np.cumsum(count)).astype(np.int64),
        detections.camera[rows],
        detections.score[rows],
        detections.centroids[rows],
        detections.boxes[rows],
        scored.affinity,
        settings,
    )
    flat = scored.vectors[np.arange(scored.vectors.shape[1])[None] < count[:, None]]
    return replace(found, members=rows[found.members], embedding=mean_embedding(flat, found))


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


def _vectors(groups: Groups) -> Vectors:
    assert groups.embedding is not None
    return groups.embedding


def in_order(parts: list[Groups], width: int) -> Groups:
    """Put the groups of batches, which are sorted by size, into the order of frames; embeddings are `width` long."""
    empty = [np.zeros(0, np.int64)]
    frame = np.concatenate([*empty, *(p.frame for p in parts)])
    order = np.argsort(frame, kind="stable")
    count = np.concatenate([*empty, *(np.diff(p.offsets) for p in parts)])
    members = np.concatenate([*empty, *(p.members for p in parts)])
    begin = np.append(0, np.cumsum(count))[:-1]

    def column(name: str, *shape: int) -> NDArray[np.float64]:
        return np.concatenate([np.zeros((0, *shape)), *(getattr(p, name) for p in parts)])[order]

    return Groups(
        frame[order],
        members[_ranges(begin[order], count[order])],
        np.append(0, np.cumsum(count[order])).astype(np.int64),
        column("position", 3),
        column("covariance", 3, 3),
        column("confidence"),
        np.concatenate([np.zeros((0, width), np.float32), *(_vectors(p) for p in parts)])[order],
    )
