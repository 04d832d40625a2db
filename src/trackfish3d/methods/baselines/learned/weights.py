"""Weights of the rivals on disk: safetensors with the name of the rival, shipped or made by ``train-baseline``."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from ....core.errors import InputError
from ....core.files import atomic_path

FORMAT = "trackfish3d-rival-1"


def save_weights(net: nn.Module, path: str | Path, name: str, **notes: Any) -> None:
    """Write the weights of rival ``name`` in half precision, with ``notes`` about their making."""
    tensors = {k: _half(v.detach().cpu()).contiguous() for k, v in net.state_dict().items()}
    metadata = {"format": FORMAT, "rival": name, "notes": json.dumps(notes)}
    with atomic_path(path) as temporary:
        save_file(tensors, temporary, metadata)


def _half(value: torch.Tensor) -> torch.Tensor:
    return value.half() if value.is_floating_point() else value


def load_weights(net: nn.Module, path: str | Path | None, name: str) -> None:
    """Fill ``net`` with weights of rival ``name``; ``path`` None takes the shipped ones."""
    found = shipped_weights(name) if path is None else Path(path)
    if not found.is_file():
        raise InputError(f"{found}: no such weights; make them with 'trackfish3d train-baseline {name} --out FILE'")
    try:
        with safe_open(found, "pt") as file:
            whose = (file.metadata() or {}).get("rival")
            state = {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118 - safe_open is no mapping
        if whose != name:
            raise InputError(f"{found}: holds weights of {whose or 'something else'}, not of {name}")
        if not all(bool(torch.isfinite(v).all()) for v in state.values()):
            raise ValueError("some are not finite")
        net.load_state_dict({k: v.float() if v.is_floating_point() else v for k, v in state.items()})
    except InputError:
        raise
    except (SafetensorError, KeyError, ValueError, RuntimeError, OSError) as error:
        first = (str(error) or type(error).__name__).splitlines()[0][:160]
        raise InputError(f"{found}: are not complete weights of {name} ({first})") from None
    net.eval()


def shipped_weights(name: str) -> Path:
    """Where the weights of a rival that come with the package are, if they do."""
    root = resources.files("trackfish3d.methods.baselines.learned")
    return Path(str(root.joinpath(f"data/{name}.safetensors")))
