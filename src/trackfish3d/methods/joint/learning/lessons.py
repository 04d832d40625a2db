"""Learn from tracks: those that stay consistent for long tell which detections are one animal. No label is needed.

A round tracks the recordings, takes the detections of long tracks for labelled, and teaches the pair network; the next
round tracks with what was learned. Truth is never opened.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from ....cameras import CameraRig
from ....core.settings import Settings
from ....recordings import Detections, Tracks
from .batches import make_batch
from .kernels import OF_MASKS
from .network import Batch, PairNet, PairSettings
from .pair_features import TOKENS_OF_MASKS, VECTORS, PairFrames, pair_frames

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class LearnSettings(Settings):
    """Everything that decides what is learned from tracks."""

    shortest: int = Field(20, ge=2, description="frames in which two views must agree on a track, to be a label")
    steps: int = Field(2500, ge=1, description="steps of a round")
    learning_rate: float = Field(2e-3, gt=0)
    weight_decay: float = Field(1e-2, ge=0)
    tokens: int = Field(768, ge=1, description="detections in a step, at most, unless one frame has more")
    without_masks: float = Field(0.15, ge=0, le=1, description="share of steps that see no mask")
    thinned: float = Field(0.2, ge=0, lt=1, description="share of detections left out of the thinned copy")
    held_out: float = Field(0.2, gt=0, lt=1, description="share of each recording, its end, kept to calibrate on")
    seed: int = Field(0, ge=0)
    model: PairSettings = Field(default_factory=PairSettings)


@dataclass(frozen=True, eq=False)
class Lesson:
    """A recording, or some of its cameras, with labels: 1 one animal, 0 two, -1 unknown, for each pair (P,).

    ``prior`` : log-odds of a plausible labelled pair; held (F,) : frames kept to calibrate on.
    """

    frames: PairFrames
    label: NDArray[np.int8]
    prior: float
    held: NDArray[np.bool_]

    @classmethod
    def of(cls, frames: PairFrames, owner: Ints, held: NDArray[np.bool_]) -> "Lesson":
        """Label pairs by whose (N,) the detections are, -1 unknown."""
        one, other = owner[frames.first], owner[frames.second]
        label = np.where((one < 0) | (other < 0), -1, one == other).astype(np.int8)
        prior = math.log(((label == 1).sum() + 1.0) / ((label == 0).sum() + 1.0))
        return cls(frames, label, prior, held)


def owners(tracks: Tracks, count: int, shortest: int) -> Ints:
    """(count,) track of each detection, -1 for those in none that two views agree on in ``shortest`` frames or more.

    Single-view points of a long track are left out: nothing but a prediction vouches for them.
    """
    owner = np.full(count, -1, np.int64)
    both = (tracks.detection >= 0).sum(1) >= 2
    name, inverse = np.unique(tracks.track, return_inverse=True)
    long = np.bincount(inverse[both], minlength=len(name)) >= shortest
    for rows in tracks.detection[both & long[inverse]].T:
        owner[rows[rows >= 0]] = tracks.track[both & long[inverse]][rows >= 0]
    return owner


def lessons(
    rig: CameraRig, detections: Detections, tracks: Tracks, noise: Array, body_length: float, settings: LearnSettings
) -> list[Lesson]:
    """Make lessons of a recording: whole, thinned, and seen by two of its cameras only, to serve rigs of any size.

    noise : (N,) px and body_length : world units, as the tracker fitted them.
    """
    owner = owners(tracks, len(detections), settings.shortest)
    rng = np.random.default_rng(settings.seed)
    last = np.quantile(detections.frames, 1.0 - settings.held_out)

    def lesson(cameras: Sequence[int], rows: Ints) -> Lesson:
        part = detections.select(rows)
        some = CameraRig(tuple(rig[c] for c in cameras), rig.units)
        number = np.full(len(rig), -1)
        number[list(cameras)] = np.arange(len(cameras))
        moments = {k: getattr(part, k) for k in ("area", "angle", "major", "minor")}
        boxes = part.x1, part.y1, part.x2, part.y2
        camera = number[part.camera]
        renamed = Detections.build(some.names, part.frame, camera, part.u, part.v, *boxes, part.score, **moments)
        frames = pair_frames(some, renamed, noise[rows], body_length)
        return Lesson.of(frames, owner[rows], renamed.frames > last)

    every = np.arange(len(detections))
    step = np.searchsorted(detections.frames, detections.frame)
    out = [lesson(range(len(rig)), every)]
    kept = every[(rng.random(len(every)) >= settings.thinned) & (step % 2 == 0)]
    if settings.thinned:
        out.append(lesson(range(len(rig)), kept))
    if len(rig) > 2:
        couples = list(combinations(range(len(rig)), 2))
        rng.shuffle(couples)
        for k, couple in enumerate(couples[:3]):
            out.append(lesson(couple, every[np.isin(detections.camera, couple) & (step % 3 == k)]))
    return [x for x in out if (x.label == 1).any()]


def teach(
    all_lessons: Sequence[Lesson],
    settings: LearnSettings,
    start: PairNet | None = None,
    minutes: float = math.inf,
    say: Callable[[dict[str, float]], None] | None = None,
) -> PairNet:
    """Train a network on lessons and calibrate it on the frames they hold back.

    start : network to go on from. minutes : after which the learning rate has fallen to its end, whatever the step;
    a run that this cuts short depends on the machine's speed. say : told step, loss of geometry, and loss.
    """
    torch.manual_seed(settings.seed)
    rng = np.random.default_rng(settings.seed)
    net = PairNet(settings.model)
    if start is not None:
        net = PairNet(start.settings)
        net.load_state_dict(start.state_dict())
        net.scale.fill_(1.0)
        net.shift.fill_(0.0)
    optimiser = torch.optim.AdamW(net.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)
    shares = np.array([math.sqrt(max((x.label[_mine(x, False)] >= 0).sum(), 0)) for x in all_lessons])
    began, done, losses = time.monotonic(), 0.0, []
    net.train()
    for step in range(settings.steps):
        done = max(step / settings.steps, (time.monotonic() - began) / 60.0 / minutes)
        if done >= 1.0:
            break
        rate = min(1.0, (step + 1) / 100) * (0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * done)))
        for group in optimiser.param_groups:
            group["lr"] = settings.learning_rate * rate
        lesson = all_lessons[int(rng.choice(len(shares), p=shares / shares.sum()))]
        batch, label = _draw(lesson, settings, rng)
        known, beyond = net(batch)
        one = _loss(known + lesson.prior, label)
        other = _loss(known.detach() + beyond + lesson.prior, label)
        optimiser.zero_grad(set_to_none=True)
        (one + other).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        losses.append((float(one.detach()), float(other.detach())))
        if say is not None and (step + 1) % 100 == 0:
            recent = np.mean(losses[-100:], axis=0)
            say({"step": step + 1, "geometry": float(recent[0]), "loss": float(recent[1]), "done": done})
    net.eval()
    calibrate(net, all_lessons)
    return net


def _mine(lesson: Lesson, held: bool) -> NDArray[np.bool_]:
    """Pairs (P,) of the frames that are held back, or of the others."""
    return np.repeat(lesson.held == held, np.diff(lesson.frames.starts))


def _draw(lesson: Lesson, settings: LearnSettings, rng: np.random.Generator) -> tuple[Batch, Tensor]:
    """Random frames of a lesson, turned in space, at times without what masks say; and the labels of their pairs."""
    frames = lesson.frames
    some = np.flatnonzero(~lesson.held & (np.diff(frames.starts) > 0))
    size = float(np.mean(np.diff(frames.offsets)[some])) if len(some) else 1.0
    chosen = rng.choice(some, min(max(int(settings.tokens / size), 1), len(some)), replace=False)
    batch, pairs = make_batch(frames, np.sort(chosen))
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    turned = batch.tokens.clone()
    vectors = turned[..., :VECTORS].reshape(*turned.shape[:2], -1, 3) @ torch.from_numpy(turn.astype(np.float32))
    turned[..., :VECTORS] = vectors.flatten(-2)
    columns = batch.columns
    if rng.random() < settings.without_masks:
        columns = columns.clone()
        columns[:, OF_MASKS] = 0.0
        turned[..., TOKENS_OF_MASKS] = 0.0
    return batch._replace(tokens=turned, columns=columns), torch.from_numpy(lesson.label[pairs])


def _loss(logit: Tensor, label: Tensor) -> Tensor:
    known = label >= 0
    if not known.any():
        return logit.sum() * 0.0
    return F.binary_cross_entropy_with_logits(logit[known], label[known].float())


def calibrate(net: PairNet, all_lessons: Sequence[Lesson]) -> None:
    """Set scale and shift of the part beyond geometry to those of greatest likelihood on frames held back."""
    from .batches import score_pairs

    parts: list[tuple[NDArray[np.floating], ...]] = []
    for lesson in all_lessons:
        use = _mine(lesson, True) & (lesson.label >= 0)
        if use.any():
            known, beyond = score_pairs(net, lesson.frames)
            parts.append((known[use] + lesson.prior, beyond[use], lesson.label[use].astype(np.float64)))
    if not parts:
        return
    offset, x, y = (torch.from_numpy(np.concatenate([p[k] for p in parts]).astype(np.float64)) for k in range(3))
    a, b = torch.ones((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    a.requires_grad_(), b.requires_grad_()
    solver = torch.optim.LBFGS([a, b], max_iter=60, line_search_fn="strong_wolfe")

    def closure() -> Any:
        solver.zero_grad()
        # a weak pull to 1 and 0 keeps few or separable pairs from making it infinitely sure
        loss = F.binary_cross_entropy_with_logits(offset + a * x + b, y, reduction="sum") + 2.0 * ((a - 1) ** 2 + b**2)
        loss = loss / len(y)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    solver.step(closure)  # type: ignore[no-untyped-call]
    net.scale.fill_(float(a.detach()))
    net.shift.fill_(float(b.detach()))
