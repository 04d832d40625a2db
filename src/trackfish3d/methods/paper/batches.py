"""Frames of unequal size, padded into batches."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..padding import pad
from .network import TrackFishNet
from .settings import GroupingSettings


def affinity(h: Tensor, logits: Tensor, settings: GroupingSettings) -> Tensor:
    """(B, N, N) ``w_P P + w_F (cos + 1) / 2`` (paper, eq. in 3.5); -1 below `min_cosine` or `min_probability`."""
    z = torch.nn.functional.normalize(h, dim=-1)
    cosine = z @ z.transpose(1, 2)
    probability = logits.sigmoid()
    barred = (cosine.clamp(-1, 1) < settings.min_cosine) | (probability < settings.min_probability)
    found = settings.weight_probability * probability + settings.weight_feature * 0.5 * (cosine + 1)
    return found.masked_fill_(barred, -1.0)


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
