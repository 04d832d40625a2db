"""Teaching the network: the same lessons and seed give the same weights, stopped in between or not."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from ...core.files import atomic_path
from ...core.progress import Progress
from ..learned.torch_glue import use_threads
from .lessons import Lessons
from .mixing import Batch, make_batch
from .unet import REACH, UNet

_BATCH = 16
_RATE, _WARM = 4e-3, 50  # learning rate at most, steps until it is reached
_SAVE_EVERY = 100  # steps
_WAY = 1.0  # what the ways to the middles count beside the animals
_ADAM = ("exp_avg", "exp_avg_sq")


def fit(
    lessons: Lessons, steps: int, seed: int, state: Path, stamp: str, progress: Progress
) -> dict[str, NDArray[np.float32]]:
    """Return the weights by name.

    Parameters
    ----------
    lessons : to learn from.
    steps : of so many examples.
    seed : of weights and examples.
    state : file that keeps how far it got; one of another ``stamp`` is not taken up.
    stamp : what lessons and settings are known by.
    progress : called with steps done and steps in all.
    """
    use_threads(1)  # more would add numbers up in another order
    torch.manual_seed(seed)
    net = UNet()
    optimiser = torch.optim.AdamW(net.parameters(), lr=_RATE, weight_decay=1e-4)
    first = _take_up(net, optimiser, state, stamp)
    progress(first, steps)
    for step in range(first, steps):
        for group in optimiser.param_groups:
            group["lr"] = _RATE * min(1.0, (step + 1) / _WARM) * 0.5 * (1 + np.cos(np.pi * step / steps))
        optimiser.zero_grad()
        loss_of(net, make_batch(lessons, _BATCH, [seed, step])).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        if (step + 1) % _SAVE_EVERY == 0 or step + 1 == steps:
            _keep(net, optimiser, step + 1, state, stamp)
            progress(step + 1, steps)
    return {name: value.numpy() for name, value in net.state_dict().items()}


def loss_of(net: UNet, batch: Batch) -> torch.Tensor:
    """Return how far the network is off: cross entropy of animals, and distance of the middles, in its own unit.

    Parameters
    ----------
    net : the network.
    batch : examples.
    """
    cells, animal, way, known, middled = (torch.from_numpy(np.ascontiguousarray(v)) for v in vars(batch).values())
    told = net(cells)
    wrong = torch.nn.functional.binary_cross_entropy_with_logits(told[:, 0], animal, reduction="none")
    off = torch.nn.functional.smooth_l1_loss(told[:, 1:], way / REACH, reduction="none", beta=0.1).sum(1)
    return (wrong * known).sum() / known.sum().clamp(min=1) * 4 + _WAY * (off * middled).sum() / middled.sum().clamp(
        min=1
    )


def _keep(net: UNet, optimiser: torch.optim.Optimizer, step: int, path: Path, stamp: str) -> None:
    values = {f"net.{name}": value.numpy() for name, value in net.state_dict().items()}
    for k, kept in enumerate(optimiser.state_dict()["state"].values()):
        values |= {f"{name}.{k}": kept[name].numpy() for name in _ADAM}
    with atomic_path(path) as temporary:
        save_file(values, temporary, {"step": str(step), "stamp": stamp})


def _take_up(net: UNet, optimiser: torch.optim.Optimizer, path: Path, stamp: str) -> int:
    """Go on where a file says; returns the steps done, 0 where there is none."""
    from safetensors import safe_open

    try:
        with safe_open(path, "numpy") as file:
            said = file.metadata() or {}
        if said.get("stamp") != stamp:
            return 0
        values = {name: torch.from_numpy(value) for name, value in load_file(path).items()}
        net.load_state_dict({k.removeprefix("net."): v for k, v in values.items() if k.startswith("net.")})
        step = int(said["step"])
        state = optimiser.state_dict()
        for k in range(len(list(net.parameters()))):
            state["state"][k] = {name: values[f"{name}.{k}"] for name in _ADAM} | {"step": torch.tensor(float(step))}
        optimiser.load_state_dict(state)
    except (OSError, SafetensorError, KeyError, ValueError, RuntimeError):
        return 0
    return step
