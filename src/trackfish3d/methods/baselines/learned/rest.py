"""ReST (Cheng et al., ICCV 2023): a graph over views, then a graph over time, both read by message passing.

Written from the paper. Spatial graph: detections of one frame, edges between views. Edges that the network is sure of
join detections into objects; objects of this and the last frames make the temporal graph, whose edges give identities.
Both graphs are dense matrices here. The plane on which the original compares feet on the ground is one through the
middle of what the cameras see (`plane`): fish beside it are compared where their rays meet it.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from ....cameras import CameraRig
from ....core.progress import Progress
from ....maths.assignment import assign
from ....recordings.detections import Detections
from ...base import Method, MethodSettings
from ...result import Result
from ..single_view import lift
from .appearance import WIDTH, CropNet, features, teach_appearance
from .crops import read_crops
from .labelled import LabelledScene
from .plane import plane_points
from .weights import load_weights

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
PASSES = 4
ALPHA, GAMMA = 0.98, 5.0  # of the focal loss
MEMORY = 3  # frames of the temporal graph before the present one


def _mlp(*widths: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in pairwise(widths):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.1)]
    return nn.Sequential(*layers[:-1])


class MessagePassing(nn.Module):
    """Edges and nodes tell each other what they hold, four times; every pass gives a score of every edge."""

    def __init__(self, node_inputs: int, edge_inputs: int) -> None:
        super().__init__()
        self.node = _mlp(node_inputs, 128, 32)
        self.edge = _mlp(edge_inputs, 8, 6)
        self.tell_edge = _mlp(70, 32, 6)
        self.tell_node = _mlp(38, 64, 32)
        self.head = _mlp(6, 4, 1)

    def forward(self, node: Tensor, edge: Tensor, linked: Tensor) -> list[Tensor]:
        """Logits (N, N) of every pass; ``node`` (N, A), ``edge`` (N, N, B), ``linked`` (N, N) where there are edges."""
        h, e = self.node(node), self.edge(edge)
        n = len(h)
        count = linked.sum(1, keepdim=True).clamp_min(1)
        out = []
        for _ in range(PASSES):
            pair = torch.cat([h[:, None].expand(n, n, 32), h[None].expand(n, n, 32), e], -1)
            e = F.leaky_relu(self.tell_edge(pair), 0.1)
            message = self.tell_node(torch.cat([h[None].expand(n, n, 32), e], -1)) * linked[..., None]
            h = F.leaky_relu(message.sum(1) / count, 0.1)
            logit = self.head(e)[..., 0]
            out.append(0.5 * (logit + logit.T))
        return out


class ReSTNet(nn.Module):
    """Appearance, spatial graph, temporal graph."""

    def __init__(self) -> None:
        super().__init__()
        self.appearance = CropNet()
        self.spatial = MessagePassing(WIDTH, 4)
        self.temporal = MessagePassing(WIDTH + 4, 6)


def spatial_edges(feature: Tensor, point: Tensor) -> Tensor:
    """Edge inputs (N, N, 4): two distances of appearance, two of place."""
    cosine = 1 - feature @ feature.T
    away = point[:, None] - point[None]
    return torch.stack([cosine, cosine.clamp_min(0).sqrt(), away.abs().sum(-1), away.norm(dim=-1)], -1)


def temporal_edges(feature: Tensor, point: Tensor, velocity: Tensor, time: Tensor) -> Tensor:
    """Edge inputs (N, N, 6): as in space, and distances after each object's own velocity, and the time between."""
    gap = (time[None] - time[:, None])[..., None]
    ahead = point[:, None] + velocity[:, None] * gap - point[None]
    away = torch.stack([ahead.norm(dim=-1), gap[..., 0].abs() / MEMORY], -1)
    return torch.cat([spatial_edges(feature, point), away], -1)


def focal(logits: Sequence[Tensor], same: Tensor, linked: Tensor) -> Tensor:
    """Focal loss of all passes over the edges there are."""
    total = logits[0].new_zeros(())
    for logit in logits:
        p = torch.sigmoid(logit[linked])
        positive = -ALPHA * (1 - p) ** GAMMA * F.logsigmoid(logit[linked])
        negative = -(1 - ALPHA) * p**GAMMA * F.logsigmoid(-logit[linked])
        total = total + torch.where(same[linked], positive, negative).mean()
    return total


def objects_of(score: Array, camera: Ints, threshold: float, n_cameras: int) -> Ints:
    """Label (N,) of the objects of a frame: sure edges, at most one a camera, too large components split.

    Edges are taken surest first; one that would put two detections of a camera into an object is the one the original
    would cut again.
    """
    label = np.arange(len(camera))
    seen = [{int(c)} for c in camera]
    order = np.dstack(np.unravel_index(np.argsort(-score, axis=None), score.shape))[0]
    for i, j in order:
        if score[i, j] < threshold:
            break
        a, b = int(label[i]), int(label[j])
        if a != b and not (seen[a] & seen[b]) and len(seen[a] | seen[b]) <= n_cameras:
            label[label == b] = a
            seen[a] |= seen[b]
    return label


def teach(
    scenes: Sequence[LabelledScene], steps: int, seed: int, progress: Progress, appearance: CropNet | None = None
) -> ReSTNet:
    """Teach appearance first (unless given), then both graphs on its frozen features."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    net = ReSTNet()
    trained = appearance or teach_appearance(scenes, steps, seed, lambda d, t: progress(d, 3 * t))
    net.appearance.load_state_dict(trained.state_dict())
    seen = [features(trained, s.crops) for s in scenes]
    place = [plane_points(s.rig, s.detections) for s in scenes]
    graphs = [*net.spatial.parameters(), *net.temporal.parameters()]
    optimiser = torch.optim.Adam(graphs, 0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.01, total_steps=2 * steps)
    net.train()
    for step in range(2 * steps):
        k = int(rng.integers(len(scenes)))
        frame = int(rng.integers(MEMORY, scenes[k].frames))
        space = _spatial_loss(net, scenes[k], frame, seen[k], place[k])
        time = _temporal_loss(net, scenes[k], frame, seen[k], place[k])
        optimiser.zero_grad()
        torch.autograd.backward(space + time)
        nn.utils.clip_grad_norm_(graphs, 5.0)
        optimiser.step()
        schedule.step()
        progress(steps + step + 1, 3 * steps)
    return net.eval()


def _spatial_loss(net: ReSTNet, scene: LabelledScene, frame: int, seen: Any, place: Array) -> Tensor:
    rows = scene.rows(frame)
    feature, point = torch.from_numpy(seen[rows]), torch.from_numpy(place[rows]).float()
    camera, who = (torch.from_numpy(np.asarray(x[rows], np.int64)) for x in (scene.detections.camera, scene.identity))
    linked = camera[:, None] != camera[None]
    same = (who[:, None] == who[None]) & (who >= 0)[:, None]
    return focal(net.spatial(feature, spatial_edges(feature, point), linked), same, linked)


def _temporal_loss(net: ReSTNet, scene: LabelledScene, frame: int, seen: Any, place: Array) -> Tensor:
    """Temporal graph of the true objects of four frames."""
    parts = []
    for t in range(frame - MEMORY, frame + 1):
        rows = scene.rows(t)
        for who in np.unique(scene.identity[rows]):
            mine = rows[scene.identity[rows] == who]
            if who >= 0 and len(mine) > 1:
                parts.append((who, t, seen[mine].mean(0), place[mine].mean(0)))
    if len(parts) < 2:
        return next(net.parameters()).sum() * 0
    who = np.array([p[0] for p in parts])
    time = np.array([p[1] for p in parts])
    point = np.array([p[3] for p in parts])
    velocity = np.zeros_like(point)
    for i in range(len(parts)):
        before = np.flatnonzero((who == who[i]) & (time == time[i] - 1))
        velocity[i] = point[i] - point[before[0]] if len(before) else 0
    logits, linked = _temporal_scores(net, np.array([p[2] for p in parts]), point, velocity, time)
    same = torch.from_numpy(who[:, None] == who[None])
    return focal(logits, same, linked)


def _temporal_scores(net: ReSTNet, feature: Any, point: Array, velocity: Array, time: Ints) -> Any:
    f, p, v, t = (torch.from_numpy(np.asarray(x)).float() for x in (feature, point, velocity, time))
    linked = t[:, None] != t[None]
    node = torch.cat([f, p, v], 1)
    return net.temporal(node, temporal_edges(F.normalize(f, dim=1), p, v, t), linked), linked


class ReSTSettings(MethodSettings):
    """Settings of ReST."""

    crops: Path | None = Field(None, description="crops of the detections (.npz of 'trackfish3d crops')")
    model: Path | None = Field(None, description="weights (.safetensors); None: the shipped ones")
    threshold: float = Field(
        0.7, gt=0, lt=1, description="score that an edge needs; the original's is 0.9, this is best on train scenes"
    )
    max_age: int = Field(MEMORY, ge=1, description="frames an object stays in the temporal graph")


class ReST(Method):
    """Objects by the graph over views, identities by the graph over time, triangulated."""

    name: ClassVar[str] = "rest"
    Settings: ClassVar[type[Any]] = ReSTSettings

    @torch.no_grad()
    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Result:
        """Give every detection an identity, frame by frame, and triangulate those that share one."""
        net = ReSTNet()
        load_weights(net, self.settings.model, self.name)
        feature = features(net.appearance, read_crops(self.settings.crops, detections, self.name))
        place = plane_points(rig, detections)
        label = np.full(len(detections), -1, np.int64)
        memory = _Memory(self.settings.max_age, self.settings.threshold)
        for k, frame in enumerate(detections.frames.tolist()):
            rows = np.arange(len(detections))[detections.at(k)]
            camera = detections.camera[rows].astype(np.int64)
            score = spatial_score(net, feature[rows], place[rows], camera)
            own = objects_of(score, camera, self.settings.threshold, len(rig))
            names, index, count = np.unique(own, return_inverse=True, return_counts=True)
            mean = np.stack([feature[rows[index == n]].mean(0) for n in range(len(names))])
            where = np.stack([place[rows[index == n]].mean(0) for n in range(len(names))])
            several = count > 1
            ids = memory.name(net, frame, mean[several], where[several])
            given = np.full(len(names), -1, np.int64)
            given[several] = ids
            label[rows] = given[index]
            progress(k + 1, len(detections.frames))
        return Result(lift(rig, detections, label))


@torch.no_grad()
def spatial_score(net: ReSTNet, feature: NDArray[np.float32], place: Array, camera: Ints) -> Array:
    """Score (N, N) of the pairs of a frame, 0 within a camera."""
    f, p = torch.from_numpy(feature), torch.from_numpy(place).float()
    linked = torch.from_numpy(camera[:, None] != camera[None])
    score = torch.sigmoid(net.spatial(f, spatial_edges(f, p), linked)[-1]) * linked
    return np.asarray(score.numpy(), np.float64)


class _Memory:
    """Objects of the last frames, and the identity of each."""

    def __init__(self, age: int, threshold: float) -> None:
        self.age, self.threshold, self.next = age, threshold, 0
        self.feature = np.zeros((0, WIDTH))
        self.point, self.velocity = np.zeros((0, 2)), np.zeros((0, 2))
        self.time, self.who = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def name(self, net: ReSTNet, frame: int, feature: Array, point: Array) -> Ints:
        """Identities (K,) of the objects of a frame: best total score with the newest object of each identity."""
        recent = self.time >= frame - self.age
        self._keep(recent)
        ids = np.full(len(feature), -1, np.int64)
        velocity = np.zeros_like(point)
        if len(self.who) and len(feature):
            n = len(self.who)
            logits, _ = _temporal_scores(
                net,
                np.concatenate([self.feature, feature]),
                np.concatenate([self.point, point]),
                np.concatenate([self.velocity, velocity]),
                np.concatenate([self.time, np.full(len(feature), frame)]),
            )
            score = torch.sigmoid(logits[-1]).numpy()[:n, n:].astype(np.float64)
            names = np.unique(self.who)
            best = np.stack([score[self.who == w].max(0) for w in names])
            partner = assign(np.where(best >= self.threshold, 1 - best, np.inf))
            for i, j in enumerate(partner):
                if j >= 0:
                    ids[j] = names[i]
                    last = np.flatnonzero(self.who == names[i])[-1]
                    velocity[j] = (point[j] - self.point[last]) / max(frame - self.time[last], 1)
        fresh = ids < 0
        ids[fresh] = self.next + np.arange(fresh.sum())
        self.next += int(fresh.sum())
        self._add(frame, feature, point, velocity, ids)
        return ids

    def _keep(self, rows: NDArray[np.bool_]) -> None:
        for name in ("feature", "point", "velocity", "time", "who"):
            setattr(self, name, getattr(self, name)[rows])

    def _add(self, frame: int, feature: Array, point: Array, velocity: Array, ids: Ints) -> None:
        new = {"feature": feature, "point": point, "velocity": velocity, "who": ids}
        for name, value in (new | {"time": np.full(len(ids), frame, np.int64)}).items():
            setattr(self, name, np.concatenate([getattr(self, name), value]))


def pair_scores(net: ReSTNet, scene: LabelledScene, rows: Ints) -> Array:
    """Score (N, N) of the pairs of rows of one frame."""
    feature = features(net.appearance, scene.crops[rows])
    place = plane_points(scene.rig, scene.detections.select(rows))
    return spatial_score(net, feature, place, scene.detections.camera[rows].astype(np.int64))
