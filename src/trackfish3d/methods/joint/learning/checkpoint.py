"""Pair networks on disk: safetensors, so that loading somebody's model runs no code."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from ....core.errors import InputError
from ....core.files import atomic_path
from .network import PairNet, PairSettings

FORMAT = "trackfish3d-pairs-1"


def save_pairs(net: PairNet, path: str | Path, **notes: Any) -> None:
    """Write weights and, as metadata, the network's sizes and `notes` about its training."""
    metadata = {"format": FORMAT, "settings": net.settings.model_dump_json(), "notes": json.dumps(notes)}
    tensors = {k: v.detach().cpu().contiguous() for k, v in net.state_dict().items()}
    with atomic_path(path) as temporary:
        save_file(tensors, temporary, metadata)


def load_pairs(path: str | Path) -> PairNet:
    """Read a pair network in eval mode."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such model; make one with 'trackfish3d learn'")
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            state = {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118 - safe_open is no mapping
        if metadata.get("format") != FORMAT:
            raise InputError(f"{path}: is no pair network; make one with 'trackfish3d learn'")
        net = PairNet(PairSettings.model_validate_json(metadata["settings"]))
        net.load_state_dict(state)
        if not all(bool(torch.isfinite(v).all()) for v in net.state_dict().values()):
            raise ValueError("it has weights that are not finite")
    except (SafetensorError, KeyError, ValueError, RuntimeError, OSError) as error:
        if isinstance(error, InputError):
            raise
        first = (str(error) or type(error).__name__).splitlines()[0][:160]
        raise InputError(f"{path}: is not a complete pair network ({first})") from None
    return net.eval()


def shipped_pairs() -> Path:
    """Path of the pair network that comes with the package (docs/learning.md)."""
    path = Path(str(resources.files("trackfish3d.methods.joint.learning").joinpath("data/pairs.safetensors")))
    if not path.is_file():
        raise InputError("this installation has no pair network; make one with 'trackfish3d learn'")
    return path


def pair_notes(path: str | Path) -> dict[str, Any]:
    """Return what training wrote about a pair network."""
    with safe_open(path, "pt") as file:
        notes: dict[str, Any] = json.loads((file.metadata() or {}).get("notes", "{}"))
    return notes
