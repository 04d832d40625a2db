"""AdamW on a network whose parameters lie in one piece of memory."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..association.model import TrackFishNet


class FlatAdamW:
    """AdamW and gradient clipping as one operation each, instead of one per parameter tensor.

    At one pair of frames a step, fifty small tensors cost more in calls than in arithmetic. The predictor is a piece
    of its own: without a link it has no gradient and, as with PyTorch's optimisers, is left alone.
    """

    def __init__(self, net: TrackFishNet, rate: float, weight_decay: float) -> None:
        self.net = net
        parts = (net.encoder, net.transformer), (net.predictor,)
        self.parameters = [[p for module in part for p in module.parameters()] for part in parts]
        self.flat: list[torch.nn.Parameter] = []
        for tensors in self.parameters:
            flat = torch.cat([p.detach().reshape(-1) for p in tensors])
            for view, p in zip(torch.split(flat, [p.numel() for p in tensors]), tensors, strict=True):
                p.data = view.view_as(p)
            self.flat.append(torch.nn.Parameter(flat))
        self.adam = torch.optim.AdamW(self.flat, lr=rate, weight_decay=weight_decay, fused=True)

    def gradient(self, loss: Tensor) -> list[Tensor | None]:
        """Gradient of a loss by each piece, flat; None for a piece the loss does not see."""
        every = [p for tensors in self.parameters for p in tensors]
        grads = list(torch.autograd.grad(loss, every, allow_unused=True))
        pieces: list[Tensor | None] = []
        for tensors in self.parameters:
            mine, grads = grads[: len(tensors)], grads[len(tensors) :]
            if all(g is None for g in mine):
                pieces.append(None)
                continue
            filled = [torch.zeros_like(p) if g is None else g for g, p in zip(mine, tensors, strict=True)]
            pieces.append(torch.cat([g.reshape(-1) for g in filled]))
        return pieces

    def step(self, pieces: Sequence[Tensor | None], rate: float, clip_norm: float) -> None:
        """Clip the gradient to a norm and update."""
        norm = math.sqrt(sum(float(g.dot(g)) for g in pieces if g is not None))
        scale = min(1.0, clip_norm / (norm + 1e-6))
        for flat, grad in zip(self.flat, pieces, strict=True):
            flat.grad = grad if grad is None or scale == 1.0 else grad.mul_(scale)
        for group in self.adam.param_groups:
            group["lr"] = rate
        self.adam.step()

    def state_dict(self) -> dict[str, Any]:
        """State of the optimiser."""
        return self.adam.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up a saved state."""
        self.adam.load_state_dict(state)
