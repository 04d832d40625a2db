"""Method ``paper``: TrackFish3D as published, with a trained network."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from ..association.batches import affinity, embed, size_batches
from ..association.checkpoint import load_model, pick_device
from ..association.features import raw_features
from ..association.grouping import group_detections
from ..association.model import TrackFishNet
from ..association.settings import GroupingSettings
from ..cameras import CameraRig
from ..errors import InputError
from ..recordings import Detections, Groups, Tracks
from .method import Method, MethodSettings, Progress
from .published import PublishedTracker, TrackerSettings


class PaperSettings(MethodSettings):
    """Settings of the published inference."""

    model: Path | None = Field(None, description="trained network (.safetensors)")
    device: str = Field("auto", description="auto, cpu, cuda or mps")
    grouping: GroupingSettings = Field(default_factory=GroupingSettings)
    tracker: TrackerSettings = Field(default_factory=TrackerSettings)


class Paper(Method):
    """Pass 1 groups every frame with the network, pass 2 links the groups, pass 2.5 stitches the fragments."""

    Settings: ClassVar[type[Any]] = PaperSettings

    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Tracks:
        """Track with the network that the setting `model` names."""
        s: PaperSettings = self.settings
        if s.model is None:
            raise InputError(
                "method paper needs a trained network: --set model=FILE (make one with 'trackfish3d train')"
            )
        net, n_cameras = load_model(s.model)
        if n_cameras != len(rig):
            raise InputError(f"{s.model}: was trained for {n_cameras} cameras, the recording has {len(rig)}")
        net = net.to(pick_device(s.device))
        groups = group_recording(net, rig, detections, s.grouping, progress)
        return link_groups(net, groups, detections, rig, s.tracker)


def group_recording(
    net: TrackFishNet, rig: CameraRig, detections: Detections, settings: GroupingSettings, progress: Progress
) -> Groups:
    """Pass 1: groups of all frames, with embeddings, sorted by frame."""
    raw = raw_features(rig, detections)
    frames = np.arange(len(detections.frames))
    offsets = detections.offsets
    parts: list[tuple[Groups, NDArray[np.int64], NDArray[np.float32]]] = []
    done = 0
    for batch in size_batches(offsets, frames):
        h, logits, _ = embed(net, raw, offsets, batch)
        table = affinity(h, logits, settings).float().cpu().numpy()
        count = offsets[batch + 1] - offsets[batch]
        rows = np.concatenate([np.arange(offsets[b], offsets[b + 1]) for b in batch])
        groups = group_detections(
            rig,
            detections.frames[batch],
            np.append(0, np.cumsum(count)),
            detections.camera[rows],
            detections.score[rows],
            detections.centroids[rows],
            detections.boxes[rows],
            table,
            settings,
        )
        place = np.arange(h.shape[1])[None] < count[:, None]
        flat = h.float().cpu().numpy()[place]
        parts.append((groups, rows[groups.members], mean_embedding(flat, groups)))
        done += len(batch)
        progress(done, len(frames))
    return _join(parts)


def mean_embedding(h: NDArray[np.float32], groups: Groups) -> NDArray[np.float32]:
    """(G, D) unit mean of the members' embeddings h (M, D)."""
    if not len(groups):
        return np.zeros((0, h.shape[1]), np.float32)
    total = np.add.reduceat(h[groups.members], groups.offsets[:-1], axis=0)
    return np.asarray(total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12), np.float32)


def _join(parts: list[tuple[Groups, NDArray[np.int64], NDArray[np.float32]]]) -> Groups:
    """Put the groups of batches, which are sorted by size, into the order of frames."""
    frame = np.concatenate([g.frame for g, _, _ in parts])
    order = np.argsort(frame, kind="stable")
    sizes = np.concatenate([np.diff(g.offsets) for g, _, _ in parts])
    members = np.concatenate([m for _, m, _ in parts])
    starts = np.append(0, np.cumsum(sizes))
    sorted_members = [members[starts[g] : starts[g + 1]] for g in order]
    return Groups(
        frame[order],
        np.concatenate([*sorted_members, np.zeros(0, np.int64)]).astype(np.int64),
        np.append(0, np.cumsum(sizes[order])).astype(np.int64),
        np.concatenate([g.position for g, _, _ in parts])[order],
        np.concatenate([g.covariance for g, _, _ in parts])[order],
        np.concatenate([g.confidence for g, _, _ in parts])[order],
        np.concatenate([e for _, _, e in parts])[order],
    )


def link_groups(
    net: TrackFishNet, groups: Groups, detections: Detections, rig: CameraRig, settings: TrackerSettings
) -> Tracks:
    """Pass 2 and 2.5: tracks of groups."""
    device = next(net.parameters()).device

    def predict(x: NDArray[np.float64]) -> NDArray[np.float64]:
        with torch.no_grad():
            return np.asarray(net.predictor(torch.from_numpy(x).float().to(device)).double().cpu().numpy())

    tracker = PublishedTracker(settings, predict)
    number = np.full(len(groups), -1, np.int64)
    assert groups.embedding is not None
    starts = np.searchsorted(groups.frame, detections.frames)
    ends = np.searchsorted(groups.frame, detections.frames, "right")
    for frame, a, b in zip(detections.frames.tolist(), starts, ends, strict=True):
        number[a:b] = tracker.update(frame, groups.position[a:b], groups.embedding[a:b].astype(np.float64))
    final = tracker.finish()
    return Tracks.build(
        groups.frame,
        [final[n] for n in number.tolist()],
        groups.position,
        covariance=groups.covariance,
        confidence=groups.confidence,
        detection=groups.detection_of(detections.camera, len(rig)),
        cameras=rig.names,
    )
