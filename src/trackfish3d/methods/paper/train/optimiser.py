"""AdamW on a network whose parameters lie in one piece of memory."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..compiled import Compiled, flatten
from ..network import TrackFishNet


class FlatAdamW:
    """AdamW and gradient clipping as one operation each, instead of one per parameter tensor.

    At one pair of frames a step, fifty small tensors cost more in calls than in arithmetic. The predictor is a piece
    of its own: without a link it has no gradient and, as with PyTorch's optimisers, is left alone.

    On the CPU, `compiled` is the network as one operation; the gradient of its piece comes back whole.
    """

    def __init__(self, net: TrackFishNet, rate: float, weight_decay: float) -> None:
        parts = (net.encoder, net.transformer), (net.predictor,)
        self.parameters = [[p for module in part for p in module.parameters()] for part in parts]
        self.flat = [flatten(tensors) for tensors in self.parameters]
        self.adam = torch.optim.AdamW(self.flat, lr=rate, weight_decay=weight_decay, fused=True)
        on_cpu = self.flat[0].device.type == "cpu" and self.flat[0].dtype == torch.float32
        self.compiled = Compiled(net, self.flat[0]) if on_cpu else None

    def gradient(self, loss: Tensor) -> list[Tensor | None]:
        """Gradient of a loss by each piece, flat; None for a piece the loss does not see."""
        whole = [] if self.compiled is None else [self.flat[0]]
        rest = self.parameters[len(whole) :]
        grads = list(torch.autograd.grad(loss, [*whole, *(p for tensors in rest for p in tensors)], allow_unused=True))
        pieces: list[Tensor | None] = [*grads[: len(whole)]]
        grads = grads[len(whole) :]
        for tensors in rest:
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
