"""The network: a U-Net of about 100,000 weights, which tells each cell's animal by the way to its middle."""

from typing import Any

import torch
from torch import nn

from .cells import CHANNELS

WIDTHS = (8, 16, 32, 48)
"""Channels at full size, and after each halving."""
OUTPUTS = 3
"""Logit of an animal, and the way to its middle: right, down, in `REACH` cells."""
REACH = 8.0


class Step(nn.Module):
    """Two convolutions of 3 x 3 cells."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, inputs, h, w) to (B, outputs, h, w)."""
        return torch.relu(self.second(torch.relu(self.first(x))))


class UNet(nn.Module):
    """What cells show (B, 2, h, w) to `OUTPUTS` of each (B, 3, h, w); h, w multiples of `cells.MULTIPLE`.

    `onnx_file` writes down the same network: both change together.
    """

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList(Step(i, o) for i, o in zip((CHANNELS, *WIDTHS[:-1]), WIDTHS, strict=True))
        self.up = nn.ModuleList(
            Step(deep + flat, flat) for deep, flat in zip(WIDTHS[:0:-1], WIDTHS[-2::-1], strict=True)
        )
        self.head = nn.Conv2d(WIDTHS[0], OUTPUTS, 1)

    def forward(self, x: Any) -> Any:
        """Return the outputs of each cell."""
        sizes = []
        for k, step in enumerate(self.down):
            x = step(nn.functional.max_pool2d(x, 2) if k else x)
            sizes.append(x)
        for step, beside in zip(self.up, sizes[-2::-1], strict=True):
            x = step(torch.cat([nn.functional.interpolate(x, scale_factor=2.0, mode="nearest"), beside], 1))
        return self.head(x)
