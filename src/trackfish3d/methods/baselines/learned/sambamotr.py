"""SambaMOTR's memory of tracks (Segu et al., ICLR 2025) on shared detections: synchronised state-space models.

Written from the paper. Every track carries the state of a selective state-space model, fed with what was seen of it;
tracks look at each other's states; the output is the query that finds the track's detection in the next frame. A track
that is not seen is fed nothing (the paper's MaskObs). In the original queries go through the decoder of a deformable
DETR; here they are compared with crops and boxes of the detections that all methods share, so that it is the least
faithful of the rivals.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from ....core.progress import Progress
from ....maths.assignment import assign
from .labelled import LabelledScene
from .token_views import TokenViews, TokenViewSettings
from .tokens import MODEL, Attend, Clip, Tokens, log_none, teach_on_clips

Ints = NDArray[np.int64]
STATE = 16
LENGTH = 8  # frames of a clip
MASK = 0.1  # of observations hidden while learning


class SambaNet(nn.Module):
    """A selective state-space step, attention among tracks, a query for the next frame."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = Tokens()
        self.into = nn.Linear(MODEL, MODEL)
        self.step = nn.Linear(MODEL, MODEL)
        self.write, self.read = nn.Linear(MODEL, STATE), nn.Linear(MODEL, STATE)
        self.decay = nn.Parameter(torch.log(torch.arange(1.0, STATE + 1)).repeat(MODEL, 1))
        self.skip = nn.Parameter(torch.ones(MODEL))
        self.gate = nn.Linear(MODEL, MODEL)
        self.among = Attend(MODEL)
        self.query, self.key = nn.Linear(MODEL, MODEL), nn.Linear(MODEL, MODEL)
        self.none = nn.Parameter(torch.zeros(1))

    def advance(self, state: Tensor, token: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """State (N, D, S) and query (N, D) of tracks after a frame; unseen ones are fed zeros."""
        x = F.silu(self.into(token)) * seen[:, None]
        delta = F.softplus(self.step(x))[..., None]
        state = state * torch.exp(-delta * self.decay.exp()) + delta * self.write(x)[:, None] * x[..., None]
        y = (state * self.read(x)[:, None]).sum(-1) + self.skip * x
        y = y * F.silu(self.gate(token * seen[:, None]))
        query: Tensor = self.among(y, y)
        return state, query

    def find(self, query: Tensor, token: Tensor) -> Tensor:
        """Log-probability (N, M + 1) that each detection is each track's, last that none is."""
        return log_none(self.query(query) @ self.key(token).T / MODEL**0.5, self.none)


def teach(scenes: Sequence[LabelledScene], steps: int, seed: int, progress: Progress) -> SambaNet:
    """Teach the crop network, then the memory on clips of single views."""

    def loss(net: SambaNet, scene: LabelledScene, inputs: Tensor, clip: Clip, rng: np.random.Generator) -> Tensor:
        return clip_loss(net, inputs, clip[1], scene.identity[clip[0]], rng)

    return teach_on_clips(SambaNet, scenes, (max(steps // 2, 1), steps), seed, LENGTH, progress, loss)


def clip_loss(net: SambaNet, inputs: Tensor, time: Ints, who: Ints, rng: np.random.Generator) -> Tensor:
    """Cross-entropy of where each track is in the next frame, along a clip; (N, A), (N,), (N,)."""
    animals = np.unique(who)
    row = np.full((LENGTH, len(animals)), -1)
    row[time, np.searchsorted(animals, who)] = np.arange(len(who))
    token = net.tokens(inputs)
    state = token.new_zeros(len(animals), MODEL, STATE)
    total: Tensor = token.new_zeros(())
    count = 0
    born = np.zeros(len(animals), bool)
    for t in range(LENGTH - 1):
        born |= row[t] >= 0
        seen = (row[t] >= 0) & (rng.random(len(animals)) >= MASK)
        state, query = net.advance(state, token[np.maximum(row[t], 0)], torch.from_numpy(seen).float())
        there = np.flatnonzero(time == t + 1)
        alive = np.flatnonzero(born)
        if len(there) and len(alive):
            place = np.full(len(who) + 1, len(there))
            place[there] = np.arange(len(there))
            total = total + F.nll_loss(net.find(query[alive], token[there]), torch.from_numpy(place[row[t + 1][alive]]))
            count += 1
    return total / max(count, 1)


class SambaMOTRSettings(TokenViewSettings):
    """Settings of SambaMOTR's association."""

    min_probability: float = Field(0.3, ge=0, le=1, description="probability that a track's detection needs")
    max_age: int = Field(15, ge=0, description="frames a track may go unseen")


class SambaMOTR(TokenViews):
    """State-space memory of tracks in each view, views matched once, triangulated."""

    name: ClassVar[str] = "sambamotr"
    Settings: ClassVar[type[Any]] = SambaMOTRSettings
    Net: ClassVar[type[Any]] = SambaNet

    def view(self, net: SambaNet) -> "_View":
        """Return a view without tracks."""
        return _View(net, self.settings.min_probability, self.settings.max_age)


class _View:
    """Tracks of one view: state, query, age and number of each."""

    def __init__(self, net: SambaNet, least: float, age: int) -> None:
        self.net, self.least, self.limit, self.next = net, least, age, 0
        self.state, self.query = torch.zeros(0, MODEL, STATE), torch.zeros(0, MODEL)
        self.age, self.number = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def update(self, frame: int, token: Tensor) -> Ints:
        """Identities (K,) of the detections of a frame; frames are taken as they come."""
        partner = np.full(len(self.number), -1, np.int64)
        if len(self.number) and len(token):
            chance = self.net.find(self.query, token).exp().numpy()[:, :-1].astype(np.float64)
            partner = assign(np.where(chance >= self.least, 1 - chance, np.inf))
        given = np.full(len(token), -1, np.int64)
        given[partner[partner >= 0]] = self.number[partner >= 0]
        fresh = np.flatnonzero(given < 0)
        given[fresh] = self.next + np.arange(len(fresh))
        self.next += len(fresh)
        row = np.concatenate([partner, fresh])
        self.number = np.concatenate([self.number, given[fresh]])
        self.state = torch.cat([self.state, torch.zeros(len(fresh), MODEL, STATE)])
        self.age = np.where(row >= 0, 0, np.concatenate([self.age, np.zeros(len(fresh), np.int64)]) + 1)
        if len(row):
            seen = torch.from_numpy(row >= 0).float()
            fed = token[np.maximum(row, 0)] if len(token) else torch.zeros(len(row), MODEL)
            self.state, self.query = self.net.advance(self.state, fed, seen)
        alive = self.age <= self.limit
        kept = torch.from_numpy(alive)
        self.state, self.age, self.number = self.state[kept], self.age[alive], self.number[alive]
        self.query = self.query[kept] if len(row) else self.query
        return given
