"""The network on the CPU as one operation with a gradient, for training.

At the size of a frame, PyTorch spends more time on calls, and on the padding of frames, than on arithmetic. Here one
compiled function goes through encoder, transformer and pair head, and another back; parameters and their gradient lie
in one piece each. `TrackFishNet` is the definition; the tests hold this to it, values and gradients.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from . import _passes, kernels

if TYPE_CHECKING:
    from .network import TrackFishNet

F32 = NDArray[np.float32]


class Compiled:
    """A network whose encoder and transformer lie in `flat` (P,), in the order of their parameters.

    The parameters become views of `flat`, so whatever changes it changes the network.
    """

    def __init__(self, net: "TrackFishNet", flat: Tensor) -> None:
        self.flat = flat
        transformer = net.transformer
        self.dropout = transformer.dropout
        self.frequency: F32 = transformer.rope.frequency.numpy()
        layers: list[Any] = list(transformer.layers)
        self.heads: int = layers[0].heads
        self.attention: bool = layers[0].attention
        self.layers, self.width, self.hidden = len(layers), transformer.project.out_features, layers[0].up.out_features
        ends: list[Any] = [net.encoder.first, net.encoder.second, transformer.pair, transformer.score]
        norm = net.encoder.norm
        trunk: list[Any] = [transformer.project, *(m for x in layers for m in (x.qkv, x.out, x.up, x.down))]
        inside = [transformer.project.bias]
        for x in layers:
            inside += [x.norm1.weight, x.norm1.bias, x.qkv.bias, x.out.bias]
            inside += [x.norm2.weight, x.norm2.bias, x.up.bias, x.down.bias]
        start = flat.data_ptr()
        groups = (
            [m.weight for m in trunk],
            inside,
            [m.weight for m in ends],
            [ends[0].bias, ends[1].bias, norm.weight, norm.bias, ends[2].bias, ends[3].bias],
        )
        self.arrays = tuple(tuple(p.detach().numpy() for p in group) for group in groups)
        self.places = tuple(np.array([(p.data_ptr() - start) // 4 for p in group]) for group in groups)

    def __call__(
        self, raw: Tensor, mask: Tensor, seed: int, before: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Go from raw features (B, N, F) to encodings and context embeddings (B, N, D) and pair logits (B, N, N).

        mask (B, N) says which tokens are detections; `seed` decides dropout; before (M, D) are encodings that the
        first frame has from elsewhere. The encoded detections have no gradient.
        """
        encoded, h, logits = _Network.apply(self.flat, self, raw, mask, seed, before)  # type: ignore[no-untyped-call]
        return encoded, h, logits

    def factors(self, mask: NDArray[np.bool_], seed: int) -> F32:
        """Factors of dropout of all layers, in one piece; none without dropout."""
        if not self.dropout:
            return np.zeros(0, np.float32)
        count = mask.sum(1)
        layer = self.heads * int((count**2).sum()) + int(count.sum()) * (2 * self.width + self.hidden)
        return np.asarray(kernels.keep_scale(self.layers * layer, self.dropout, seed))


class _Network(torch.autograd.Function):
    """The operation behind `Compiled`; its one parameter is the flat memory."""

    @staticmethod
    def forward(
        ctx: Any, flat: Tensor, net: Compiled, raw: Tensor, mask: Tensor, seed: int, before: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Go through the network."""
        real = mask.numpy()
        keep = net.factors(real, seed)
        known = np.zeros((0, net.width), np.float32) if before is None else before.numpy()
        encoded, h, logits, mine, saved = _passes.forward(
            raw.numpy(), real, known, net.frequency, net.heads, net.attention, keep, *net.arrays
        )
        ctx.net, ctx.state = net, (len(known), keep, mine, saved)
        ctx.mark_non_differentiable(out := torch.from_numpy(encoded))
        return out, torch.from_numpy(h), torch.from_numpy(logits)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Gradient of the flat parameters."""
        net, (fixed, keep, mine, saved) = ctx.net, ctx.state
        out = np.empty(net.flat.shape[0], np.float32)
        _passes.backward(
            np.ascontiguousarray(grads[1].numpy()),
            np.ascontiguousarray(grads[2].numpy()),
            fixed,
            net.frequency,
            net.heads,
            net.attention,
            keep,
            np.float32(1 / (1 - net.dropout)),
            *net.arrays,
            mine,
            saved,
            *net.places,
            out,
        )
        return torch.from_numpy(out), None, None, None, None, None


def flatten(parameters: list[nn.Parameter]) -> nn.Parameter:
    """Move parameters into one piece of memory (P,), in their order, and make them views of it."""
    flat = torch.cat([p.detach().reshape(-1) for p in parameters])
    for view, p in zip(torch.split(flat, [p.numel() for p in parameters]), parameters, strict=True):
        p.data = view.view_as(p)
    return nn.Parameter(flat)
