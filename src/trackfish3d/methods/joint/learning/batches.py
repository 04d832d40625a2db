"""Frames of `PairFrames` as padded batches."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from ...padding import pad, size_batches
from .network import Batch, PairNet
from .pair_features import PairFrames

Ints = NDArray[np.int64]
F32 = NDArray[np.float32]


def make_batch(frames: PairFrames, chosen: Ints) -> tuple[Batch, Ints]:
    """Batch of the chosen frames (B,), and which pairs (P,) of the recording it holds."""
    counts = frames.starts[chosen + 1] - frames.starts[chosen]
    block = np.repeat(np.arange(len(chosen)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    pairs = np.repeat(frames.starts[chosen], counts) + within
    begin = frames.offsets[chosen][block]
    arrays = (
        pad(frames.tokens, frames.offsets, chosen),
        pad(frames.camera, frames.offsets, chosen, -1),
        block,
        frames.first[pairs] - begin,
        frames.second[pairs] - begin,
        frames.columns[pairs],
    )
    return Batch(*(torch.from_numpy(np.ascontiguousarray(a)) for a in arrays)), pairs


def batches(frames: PairFrames, most_tokens: int = 1024) -> Iterator[Ints]:
    """Frames that hold pairs, in batches of similar size."""
    some = np.flatnonzero(np.diff(frames.starts) > 0)
    if len(some):
        yield from size_batches(frames.offsets, some, most_tokens)


@torch.no_grad()
def score_pairs(net: PairNet, frames: PairFrames) -> tuple[F32, F32]:
    """Log-likelihood ratios (P,) of all pairs of a recording: of geometry, and beyond it."""
    known, beyond = np.zeros(len(frames.first), np.float32), np.zeros(len(frames.first), np.float32)
    net.eval()
    for chosen in batches(frames):
        batch, pairs = make_batch(frames, chosen)
        one, other = net(batch)
        known[pairs], beyond[pairs] = one.numpy(), other.numpy()
    return known, beyond
