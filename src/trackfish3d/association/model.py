"""The published network: geometric encoder, association transformer with 2D RoPE, temporal predictor.

Parameters: encoder 9,216, transformer 579,457, predictor 66,432, as in the paper's parameter budget.

Frames are padded to one size and carry a mask, so that many of them go through at once.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .settings import ModelSettings


class GeometricEncoder(nn.Module):
    """Raw features (..., 9) to embeddings (..., 128): two linear layers and a LayerNorm (paper, section 3.1)."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.first = nn.Linear(settings.raw_features, settings.hidden)
        self.second = nn.Linear(settings.hidden, settings.width)
        self.norm = nn.LayerNorm(settings.width)

    def forward(self, raw: Tensor) -> Tensor:
        """Encode each detection on its own."""
        encoded: Tensor = self.norm(self.second(F.relu(self.first(raw))))
        return encoded


class Rope2d(nn.Module):
    """Rotary embedding of a token's place in its image, without parameters.

    The first half of the channels turns with the vertical, the second with the horizontal coordinate; channel pair
    k of each half by ``pi * c / 10000^(2k / half)``.
    """

    frequency: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        half = width // 2
        pairs = torch.arange(half // 2, dtype=torch.float32)
        self.register_buffer("frequency", math.pi / 10000.0 ** (2 * pairs / half), persistent=False)

    def forward(self, tokens: Tensor, place: Tensor) -> Tensor:
        """Turn tokens (..., D) by place (..., 2), the normalised (y, x) of the centroid."""
        angle = place[..., None] * self.frequency  # (..., 2, D / 4)
        pairs = tokens.reshape(*tokens.shape[:-1], 2, -1, 2)  # (..., axis, pair, 2)
        cos, sin = angle.cos(), angle.sin()
        first, second = pairs[..., 0], pairs[..., 1]
        return torch.stack([first * cos - second * sin, first * sin + second * cos], -1).flatten(-3)


class Layer(nn.Module):
    """A pre-norm transformer layer with the parameters of ``nn.TransformerEncoderLayer``.

    Its own class because the stock layer's fast path returns NaN in eval mode for some masks; without attention (the
    MLP ablation) the same projections are applied to each token alone.
    """

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.heads, self.attention = settings.heads, settings.attention
        self.dropout = settings.dropout
        self.norm1, self.norm2 = nn.LayerNorm(settings.width), nn.LayerNorm(settings.width)
        self.qkv = nn.Linear(settings.width, 3 * settings.width)
        self.out = nn.Linear(settings.width, settings.width)
        self.up = nn.Linear(settings.width, settings.feed_forward)
        self.down = nn.Linear(settings.feed_forward, settings.width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Update tokens x (B, N, D); mask (B, N) is True where a token is real."""
        drop = self.dropout if self.training else 0.0
        q, k, v = self.qkv(self.norm1(x)).reshape(*x.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.attention:
            v = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :], dropout_p=drop)
        x = x + F.dropout(self.out(v.transpose(1, 2).flatten(2)), drop, self.training)
        hidden = F.dropout(F.relu(self.up(self.norm2(x))), drop, self.training)
        return x + F.dropout(self.down(hidden), drop, self.training)


class AssociationTransformer(nn.Module):
    """Embeddings of a frame to context embeddings and pair logits (paper, section 3.2)."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.project = nn.Linear(settings.width, settings.width)
        self.rope = Rope2d(settings.width)
        self.layers = nn.ModuleList(Layer(settings) for _ in range(settings.layers))
        self.pair = nn.Linear(2 * settings.width, settings.width)
        self.score = nn.Linear(settings.width, 1)

    def forward(self, encoded: Tensor, place: Tensor, mask: Tensor) -> Tensor:
        """Context embeddings h (B, N, D) of encoded detections (B, N, D) at place (B, N, 2), mask (B, N)."""
        h: Tensor = self.rope(self.project(encoded), place)
        for layer in self.layers:
            h = layer(h, mask)
        return h

    def logits(self, h: Tensor) -> Tensor:
        """Logits (B, N, N) of all ordered pairs.

        ``W [h_i | h_j] = W_a h_i + W_b h_j``: the halves are applied once a detection, not once a pair.
        """
        width = h.shape[-1]
        first = F.linear(h, self.pair.weight[:, :width], self.pair.bias)
        second = F.linear(h, self.pair.weight[:, width:])
        score: Tensor = self.score(F.relu(first[:, :, None] + second[:, None]))
        return score[..., 0]


class TemporalPredictor(nn.Module):
    """Group embedding at one frame to that of the next (paper, section 3.7)."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.up = nn.Linear(settings.width, 2 * settings.width)
        self.norm = nn.LayerNorm(2 * settings.width)
        self.down = nn.Linear(2 * settings.width, settings.width)

    def forward(self, group: Tensor) -> Tensor:
        """Predict (..., D) from (..., D)."""
        predicted: Tensor = self.down(self.norm(F.relu(self.up(group))))
        return predicted


class TrackFishNet(nn.Module):
    """Encoder, transformer and predictor together."""

    def __init__(self, settings: ModelSettings | None = None) -> None:
        super().__init__()
        self.settings = settings or ModelSettings()
        self.encoder = GeometricEncoder(self.settings)
        self.transformer = AssociationTransformer(self.settings)
        self.predictor = TemporalPredictor(self.settings)

    def forward(self, raw: Tensor, mask: Tensor) -> Tensor:
        """Context embeddings (B, N, D) of raw features (B, N, 9), whose first two columns are u / width, v / height."""
        h: Tensor = self.transformer(self.encoder(raw), raw[..., [1, 0]], mask)
        return h

    def parameter_counts(self) -> dict[str, int]:
        """Trainable parameters of each module."""
        return {name: sum(p.numel() for p in part.parameters()) for name, part in self.named_children()}
