"""The published network: geometric encoder, association transformer with 2D RoPE, temporal predictor.

Parameters: encoder 9,216, transformer 579,457, predictor 66,432, as in the paper's parameter budget.

Frames are padded to one size and carry a mask, so that many of them go through at once.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import kernels
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
        self.norm1, self.norm2 = nn.LayerNorm(settings.width), nn.LayerNorm(settings.width)
        self.qkv = nn.Linear(settings.width, 3 * settings.width)
        self.out = nn.Linear(settings.width, settings.width)
        self.up = nn.Linear(settings.width, settings.feed_forward)
        self.down = nn.Linear(settings.feed_forward, settings.width)

    def forward(self, x: Tensor, mask: Tensor, keep: tuple[Tensor, Tensor, Tensor, Tensor] | None = None) -> Tensor:
        """Update tokens x (B, N, D); mask (B, N) is True where a token is real.

        `keep` are the factors of dropout of the four places that have it: attention weights (B, H, N, N), its output
        (B, N, D), hidden (B, N, F) and output (B, N, D) of the feed-forward part.
        """
        q, k, v = self.qkv(self.norm1(x)).reshape(*x.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.attention:
            seen = mask[:, None, None, :]
            if keep is None:
                v = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
            else:  # the stock function with dropout draws it bit by bit
                bias = torch.zeros(seen.shape, dtype=q.dtype, device=q.device).masked_fill_(~seen, -torch.inf)
                weight = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2) + bias
                v = (weight.softmax(-1) * keep[0]) @ v
        mixed = self.out(v.transpose(1, 2).flatten(2))
        if keep is None:
            x = x + mixed
            return x + self.down(F.relu(self.up(self.norm2(x))))  # type: ignore[no-any-return]
        x = torch.addcmul(x, mixed, keep[1])
        return torch.addcmul(x, self.down(F.relu(self.up(self.norm2(x))) * keep[2]), keep[3])

    def dropped_shapes(self, blocks: int, n: int) -> tuple[tuple[int, ...], ...]:
        """Shapes of the four factors that `forward` takes for `blocks` frames of `n` tokens."""
        width, hidden = self.down.out_features, self.down.in_features
        return (blocks, self.heads, n, n), (blocks, n, width), (blocks, n, hidden), (blocks, n, width)


class PairScores(torch.autograd.Function):
    """The pair head's ``w . relu(a_i + b_j)`` on the CPU, without the B x N x N x D tensor in between."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, w: Tensor) -> Tensor:
        """Scores (B, N, N) of a, b (B, N, D) and w (D,)."""
        ctx.save_for_backward(a, b, w)
        return torch.from_numpy(kernels.pair_scores(a.detach().numpy(), b.detach().numpy(), w.detach().numpy()))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients of a, b and w."""
        grad = np.ascontiguousarray(grads[0].numpy())
        da, db, dw = kernels.pair_scores_gradient(grad, *(x.detach().numpy() for x in ctx.saved_tensors))
        return torch.from_numpy(da), torch.from_numpy(db), torch.from_numpy(dw)


class AssociationTransformer(nn.Module):
    """Embeddings of a frame to context embeddings and pair logits (paper, section 3.2)."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.dropout = settings.dropout
        self.project = nn.Linear(settings.width, settings.width)
        self.rope = Rope2d(settings.width)
        self.layers = nn.ModuleList(Layer(settings) for _ in range(settings.layers))
        self.pair = nn.Linear(2 * settings.width, settings.width)
        self.score = nn.Linear(settings.width, 1)

    def forward(self, encoded: Tensor, place: Tensor, mask: Tensor, seed: int | None = None) -> Tensor:
        """Context embeddings h (B, N, D) of encoded detections (B, N, D) at place (B, N, 2), mask (B, N).

        `seed` decides the dropout of a network that is being trained; without one it comes from PyTorch's generator.
        """
        h: Tensor = self.rope(self.project(encoded), place)
        for layer, keep in zip(self.layers, self._dropped(h, seed), strict=True):
            h = layer(h, mask, keep)
        return h

    def _dropped(self, h: Tensor, seed: int | None) -> list[Any]:
        """Factors of dropout of all layers, drawn at once; None where nothing is dropped."""
        if not (self.training and self.dropout):
            return [None] * len(self.layers)
        shapes = [s for x in self.layers if isinstance(x, Layer) for s in x.dropped_shapes(h.shape[0], h.shape[1])]
        sizes = [math.prod(s) for s in shapes]
        if h.device.type == "cpu":
            seed = int(torch.randint(2**62, ())) if seed is None else seed
            flat = torch.from_numpy(kernels.keep_scale(sum(sizes), self.dropout, seed))
        else:
            flat = torch.empty(sum(sizes), device=h.device).bernoulli_(1 - self.dropout).div_(1 - self.dropout)
        parts = [f.view(s) for f, s in zip(torch.split(flat.to(h.dtype), sizes), shapes, strict=True)]
        return [tuple(parts[i : i + 4]) for i in range(0, len(parts), 4)]

    def logits(self, h: Tensor) -> Tensor:
        """Logits (B, N, N) of all ordered pairs.

        ``W [h_i | h_j] = W_a h_i + W_b h_j``: the halves are applied once a detection, not once a pair.
        """
        width = h.shape[-1]
        first = F.linear(h, self.pair.weight[:, :width], self.pair.bias)
        second = F.linear(h, self.pair.weight[:, width:])
        if h.device.type == "cpu" and h.dtype == torch.float32:
            scores: Tensor = PairScores.apply(first, second, self.score.weight[0])  # type: ignore[no-untyped-call]
            return scores + self.score.bias
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

    def forward(self, raw: Tensor, mask: Tensor, seed: int | None = None) -> Tensor:
        """Context embeddings (B, N, D) of raw features (B, N, 9), whose first two columns are u / width, v / height."""
        h: Tensor = self.transformer(self.encoder(raw), raw[..., [1, 0]], mask, seed)
        return h

    def parameter_counts(self) -> dict[str, int]:
        """Trainable parameters of each module."""
        return {name: sum(p.numel() for p in part.parameters()) for name, part in self.named_children()}
