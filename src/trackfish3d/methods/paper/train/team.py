"""Processes that train one network together, as ``torchrun`` starts them; alone, a team of one."""

import os
from collections.abc import Sequence

import torch
from torch import Tensor, distributed


class Team:
    """Rank and size of the team, and sums over it.

    Each process takes its share of a step's windows and gradients are summed, so a run in several processes takes the
    same steps as in one.
    """

    def __init__(self, device: torch.device) -> None:
        self.rank, self.size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        if self.size > 1 and not distributed.is_initialized():
            distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")

    def sum(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over the team."""
        if self.size > 1:
            for tensor in tensors:
                distributed.all_reduce(tensor)

    def sum_numbers(self, numbers: dict[str, float], device: torch.device) -> dict[str, float]:
        """Return sums of named numbers, the same names in every process."""
        if self.size == 1:
            return numbers
        values = torch.tensor(list(numbers.values()), dtype=torch.float64, device=device)
        distributed.all_reduce(values)
        return dict(zip(numbers, values.tolist(), strict=True))

    def close(self) -> None:
        """Leave the team."""
        if self.size > 1 and distributed.is_initialized():
            distributed.barrier()
            distributed.destroy_process_group()
