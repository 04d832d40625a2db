"""The pair network: a small transformer over the detections of a frame, with pairs as attention bias.

Its answer has two parts that add up to the log-likelihood ratio of "one animal" against "two":
what geometry alone says, from the first columns of a pair, and what shape and surroundings say beyond that. A tracker
that weighs reprojection by itself takes the second part only and counts nothing twice.
"""

from typing import NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from ....core.settings import Settings
from .kernels import COLUMNS, GEOMETRIC
from .pair_features import TOKEN, VECTORS

MOST = 8.0  # no single pair is surer than this


class PairSettings(Settings):
    """Sizes of the network."""

    width: int = Field(96, ge=8)
    layers: int = Field(3, ge=0)
    heads: int = Field(4, ge=1)
    feed_forward: int = Field(192, ge=8)
    pair_width: int = Field(48, ge=8, description="hidden numbers of a pair")


class Batch(NamedTuple):
    """Frames padded to one size: tokens (B, N, TOKEN), camera (B, N) -1 for none; and their pairs as a list: block,
    first, second (P,) places in the batch, columns (P, COLUMNS).
    """

    tokens: Tensor
    camera: Tensor
    block: Tensor
    first: Tensor
    second: Tensor
    columns: Tensor


class Layer(nn.Module):
    """Pre-norm transformer layer whose attention takes a bias for each head and pair.

    ``nn.TransformerEncoderLayer`` cannot be used: its fast path returns NaN for a float mask of each head.
    """

    def __init__(self, settings: PairSettings) -> None:
        super().__init__()
        width = settings.width
        self.heads = settings.heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, settings.feed_forward), nn.Linear(settings.feed_forward, width)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """Update tokens x (B, N, D) by attention with bias (B, H, N, N)."""
        q, k, v = self.qkv(self.norm1(x)).reshape(*x.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(F.relu(self.up(self.norm2(x))))  # type: ignore[no-any-return]


class PairNet(nn.Module):
    """Log-likelihood ratios of pairs: `forward` returns the part of geometry and the part beyond, (P,) each.

    ``scale`` and ``shift`` calibrate the second part; training sets them on tracks it has not learned from.
    """

    scale: Tensor
    shift: Tensor

    def __init__(self, settings: PairSettings | None = None) -> None:
        super().__init__()
        self.settings = s = settings or PairSettings()
        self.embed = nn.Sequential(nn.Linear(TOKEN - 3 + 6, s.width), nn.ReLU(), nn.Linear(s.width, s.width))
        self.pair = nn.Sequential(
            nn.Linear(COLUMNS, s.pair_width), nn.ReLU(), nn.Linear(s.pair_width, s.pair_width), nn.ReLU()
        )
        self.bias = nn.Linear(s.pair_width, max(s.layers, 1) * s.heads)
        self.same_camera = nn.Parameter(torch.zeros(max(s.layers, 1), s.heads))
        self.layers = nn.ModuleList(Layer(s) for _ in range(s.layers))
        self.norm = nn.LayerNorm(s.width)
        self.both, self.product = nn.Linear(s.width, s.pair_width), nn.Linear(s.width, s.pair_width)
        self.join = nn.Linear(s.pair_width, s.pair_width)
        self.score = nn.Linear(s.pair_width, 1)
        self.geometry = nn.Sequential(
            nn.Linear(GEOMETRIC, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)
        )
        self.register_buffer("scale", torch.ones(()))
        self.register_buffer("shift", torch.zeros(()))

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Both parts (P,) for the pairs of a batch, the second calibrated."""
        known: Tensor = self.geometry(batch.columns[:, :GEOMETRIC])[:, 0]
        hidden = self.pair(batch.columns)
        mixed = self.join(hidden)
        if len(self.layers):
            h = self.norm(self._context(batch, hidden))
            one, other = h[batch.block, batch.first], h[batch.block, batch.second]
            mixed = mixed + self.both(one + other) + self.product(one * other)
        beyond = MOST * torch.tanh(self.score(F.relu(mixed))[:, 0] / MOST)
        return MOST * torch.tanh(known / MOST), self.scale * beyond + self.shift

    def _context(self, batch: Batch, hidden: Tensor) -> Tensor:
        """Tokens (B, N, D) that know the detections they may belong to; a pair that is no option is not attended."""
        blocks, n = batch.camera.shape
        x: Tensor = self.embed(_with_axis_square(batch.tokens))
        heads = self.settings.heads
        bias = self.bias(hidden).view(-1, len(self.layers), heads)
        place = (batch.block * n + batch.first) * n + batch.second
        back = (batch.block * n + batch.second) * n + batch.first
        same = batch.camera[:, :, None] == batch.camera[:, None]  # true for itself, and among the padding
        for k, layer in enumerate(self.layers):
            full = torch.where(same[..., None], self.same_camera[k], x.new_tensor(-1e4)).view(-1, heads)
            full = full.index_put((place,), bias[:, k]).index_put((back,), bias[:, k])
            x = layer(x, full.view(blocks, n, n, heads).permute(0, 3, 1, 2))
        return x


def _with_axis_square(tokens: Tensor) -> Tensor:
    """Replace the axis, whose sign means nothing, by the products of its components."""
    axis = tokens[..., VECTORS - 3 : VECTORS]
    x, y, z = axis.unbind(-1)
    square = torch.stack([x * x, y * y, z * z, x * y, x * z, y * z], -1)
    return torch.cat([tokens[..., : VECTORS - 3], square, tokens[..., VECTORS:]], -1)
