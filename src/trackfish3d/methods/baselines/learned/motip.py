"""MOTIP's association (Gao et al., CVPR 2025) on shared detections: identities predicted as words of a vocabulary.

Written from the paper. Each trajectory gets a random word; tokens of past detections carry theirs, those of the present
carry "unknown", and a decoder says which word each has, or "new". The original finds its objects by a deformable DETR
trained together with the decoder; here tokens are crops and boxes of the detections that all methods share.
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
from .tokens import MODEL, Attend, Clip, Tokens, teach_on_clips

Ints = NDArray[np.int64]
WORDS = 50
NEW = WORDS  # the word of the unknown and the newborn
WIDE = 128
LENGTH = 10  # frames of a clip, and of what is remembered
HIDE, SWAP = 0.3, 0.3  # of clips: tokens hidden, words of two animals exchanged in one frame


class MOTIPNet(nn.Module):
    """Tokens with words, three layers of attention to the past with a bias by age, a word for each."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = Tokens()
        self.words = nn.Embedding(WORDS + 1, MODEL)
        self.age = nn.Parameter(torch.zeros(LENGTH + 1))
        self.join = nn.Linear(2 * MODEL, WIDE)
        self.layers = nn.ModuleList(Attend(WIDE) for _ in range(3))
        self.head = nn.Linear(WIDE, WORDS + 1)

    def forward(self, token: Tensor, time: Tensor, past: Tensor, past_time: Tensor, word: Tensor) -> Tensor:
        """Logits (N, WORDS + 1) of present tokens (N, D) at ``time`` (N,), from past ones (M, D) with words (M,)."""
        unknown = torch.full((len(token),), NEW)
        h = self.join(torch.cat([token, self.words(unknown)], 1))
        memory = self.join(torch.cat([past, self.words(word)], 1))
        age = time[:, None] - past_time[None]
        bias = torch.where(age > 0, self.age[age.clamp(0, LENGTH)], torch.tensor(-1e9))
        for layer in self.layers:
            h = layer(h, memory, bias)
        logits: Tensor = self.head(h)
        return logits


def teach(scenes: Sequence[LabelledScene], steps: int, seed: int, progress: Progress) -> MOTIPNet:
    """Teach the crop network, then the decoder on clips of single views."""

    def loss(net: MOTIPNet, scene: LabelledScene, inputs: Tensor, clip: Clip, rng: np.random.Generator) -> Tensor:
        return clip_loss(net, inputs, clip[1], scene.identity[clip[0]], rng)

    return teach_on_clips(MOTIPNet, scenes, (max(steps // 3, 1), steps), seed, LENGTH, progress, loss)


def clip_loss(net: MOTIPNet, inputs: Tensor, time: Ints, who: Ints, rng: np.random.Generator) -> Tensor:
    """Cross-entropy of the words of a clip: inputs (N, A), place in time (N,), animal (N,)."""
    animals, index = np.unique(who, return_inverse=True)
    word = rng.permutation(WORDS)[: len(animals)][index]
    shown = word.copy()
    if rng.random() < SWAP and len(animals) > 1:
        a, b = rng.permutation(len(animals))[:2]
        when = int(rng.integers(LENGTH))
        for one, other in ((a, b), (b, a)):
            mine = (index == one) & (time == when)
            shown[mine] = word[index == other][0]
    past = rng.random(len(who)) >= HIDE if rng.random() < 0.5 else np.ones(len(who), bool)
    seen = np.full(len(who), False)
    for i in range(len(animals)):
        mine = np.flatnonzero((index == i) & past)
        if len(mine):
            seen |= (index == i) & (time > time[mine[0]])
    target = np.where(seen, word, NEW)
    later = np.flatnonzero(time > 0)
    before = np.flatnonzero(past & (time < LENGTH - 1))
    if not len(later) or not len(before):
        return next(net.parameters()).sum() * 0
    token = net.tokens(inputs)
    clock = torch.from_numpy(time)
    logits = net(token[later], clock[later], token[before], clock[before], torch.from_numpy(shown[before]))
    return F.cross_entropy(logits, torch.from_numpy(target[later]))


class MOTIPSettings(TokenViewSettings):
    """Settings of MOTIP's association."""

    min_probability: float = Field(0.2, ge=0, le=1, description="probability that a known identity needs")
    min_score: float = Field(0.3, ge=0, le=1, description="score that a detection needs")


class MOTIP(TokenViews):
    """Identity words in each view, views matched once, triangulated."""

    name: ClassVar[str] = "motip"
    Settings: ClassVar[type[Any]] = MOTIPSettings
    Net: ClassVar[type[Any]] = MOTIPNet

    def view(self, net: MOTIPNet) -> "_View":
        """Return a view without tracks."""
        return _View(net, self.settings.min_probability)


class _View:
    """The past of one view: tokens, times and words, and whose word is whose."""

    def __init__(self, net: MOTIPNet, least: float) -> None:
        self.net, self.least, self.next = net, least, 0
        self.token, self.time, self.word = torch.zeros(0, MODEL), torch.zeros(0, dtype=torch.long), np.zeros(0, int)
        self.owner: dict[int, int] = {}

    def update(self, frame: int, token: Tensor) -> Ints:
        """Identities (K,) of the detections of a frame."""
        recent = (self.time > frame - LENGTH).numpy()
        self.token, self.time, self.word = self.token[recent], self.time[recent], self.word[recent]
        self.owner = {w: i for w, i in self.owner.items() if w in self.word}
        given = np.full(len(token), -1, np.int64)
        if len(token) and len(self.word):
            now = torch.full((len(token),), frame)
            logits = self.net(token, now, self.token, self.time, torch.from_numpy(self.word))
            chance = torch.softmax(logits, 1).numpy()[:, :WORDS].astype(np.float64)
            words = np.array(sorted(self.owner), int)
            chance = chance[:, words]
            partner = assign(np.where(chance >= self.least, 1 - chance, np.inf))
            given = np.where(partner >= 0, words[np.maximum(partner, 0)], -1)
        free = [w for w in range(WORDS) if w not in self.owner]
        for i in np.flatnonzero(given < 0):
            if free:
                given[i] = free.pop(0)
                self.owner[int(given[i])] = self.next
                self.next += 1
        kept = given >= 0
        self.token = torch.cat([self.token, token[torch.from_numpy(kept)]])
        self.time = torch.cat([self.time, torch.full((int(kept.sum()),), frame)])
        self.word = np.concatenate([self.word, given[kept]])
        return np.array([self.owner[int(w)] if w >= 0 else -1 for w in given], np.int64)
