"""Frames of unequal size, padded into batches."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .model import TrackFishNet
from .settings import GroupingSettings


def pad(values: NDArray, offsets: NDArray[np.int64], frames: NDArray[np.integer], fill: float = 0) -> NDArray:
    """Rows (M, ...) of the chosen frames as one array (B, N, ...), N the largest frame."""
    count = offsets[frames + 1] - offsets[frames]
    n = int(count.max(initial=1))
    out = np.full((len(frames), n, *values.shape[1:]), fill, values.dtype)
    place = np.arange(n)[None] < count[:, None]
    rows = (offsets[frames][:, None] + np.arange(n)[None])[place]
    out[place] = values[rows]
    return out


def size_batches(
    offsets: NDArray[np.int64], frames: NDArray[np.integer], most_tokens: int = 4096
) -> Iterator[NDArray[np.int64]]:
    """Split frames into batches of similar size, each at most `most_tokens` padded detections."""
    count = (offsets[1:] - offsets[:-1])[frames]
    order = np.argsort(count, kind="stable")
    first = 0
    while first < len(order):
        last = first + 1
        while last < len(order) and (last - first + 1) * max(int(count[order[last]]), 1) <= most_tokens:
            last += 1
        yield np.asarray(frames)[order[first:last]].astype(np.int64)
        first = last


def affinity(h: Tensor, logits: Tensor, settings: GroupingSettings) -> Tensor:
    """(B, N, N) ``w_P P + w_F (cos + 1) / 2`` (paper, eq. in 3.5)."""
    z = torch.nn.functional.normalize(h, dim=-1)
    cosine = z @ z.transpose(1, 2)
    return settings.weight_probability * logits.sigmoid() + settings.weight_feature * 0.5 * (cosine + 1)


@torch.no_grad()
def embed(
    net: TrackFishNet, raw: NDArray[np.float32], offsets: NDArray[np.int64], frames: NDArray[np.int64]
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the network on frames: h (B, N, D), pair logits (B, N, N), mask (B, N)."""
    device = next(net.parameters()).device
    count = offsets[frames + 1] - offsets[frames]
    tokens = torch.from_numpy(pad(raw, offsets, frames)).to(device)
    mask = torch.arange(tokens.shape[1], device=device)[None] < torch.from_numpy(count).to(device)[:, None]
    mask[:, 0] = True  # an empty frame still needs one key to attend to
    h = net(tokens, mask)
    return h, net.transformer.logits(h), mask
