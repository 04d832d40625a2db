"""Trained networks on disk: safetensors, so that loading somebody's model runs no code."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from ...core.errors import InputError
from ...core.files import atomic_path
from .network import TrackFishNet
from .settings import ModelSettings


def save_model(net: TrackFishNet, path: str | Path, n_cameras: int, **notes: Any) -> None:
    """Write weights and, as metadata, the network's sizes, the number of cameras and `notes`.

    The same network and notes give the same bytes.
    """
    metadata = {
        "format": "trackfish3d-1",
        "settings": net.settings.model_dump_json(),
        "cameras": str(n_cameras),
        "notes": json.dumps(notes),
    }
    tensors = {k: v.detach().cpu().contiguous() for k, v in net.state_dict().items()}
    with atomic_path(path) as temporary:
        temporary.write_bytes(with_sorted_header(save(tensors, metadata)))


def with_sorted_header(file: bytes) -> bytes:
    """Order the header of a safetensors file, whose metadata are written in an order that changes from run to run."""
    end = 8 + int.from_bytes(file[:8], "little")
    header = json.dumps(json.loads(file[8:end]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # the format keeps tensors on multiples of eight
    return len(header).to_bytes(8, "little") + header + file[end:]


def load_model(path: str | Path) -> tuple[TrackFishNet, int]:
    """Read a network in eval mode, and the number of cameras it was trained for."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such model; train one with 'trackfish3d train'")
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            state = {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118 - safe_open is no mapping
        net = TrackFishNet(ModelSettings.model_validate_json(metadata["settings"]))
        net.load_state_dict(state)
        n_cameras = int(metadata["cameras"])
        if not all(bool(torch.isfinite(v).all()) for v in net.state_dict().values()):
            raise ValueError("it has weights that are not finite")
    except (SafetensorError, KeyError, ValueError, RuntimeError, OSError) as error:
        first = (str(error) or type(error).__name__).splitlines()[0][:160]
        raise InputError(f"{path}: is not a complete trackfish3d model ({first})") from None
    return net.eval(), n_cameras


def shipped_model() -> Path:
    """Path of the model that comes with the package, trained on three-camera schools (docs/model-card.md)."""
    path = Path(str(resources.files("trackfish3d.methods.paper").joinpath("data/model.safetensors")))
    if not path.is_file():
        raise InputError("this installation has no trained model; make one with 'trackfish3d train'")
    return path


def model_notes(path: str | Path) -> dict[str, Any]:
    """Return what training wrote about a model: recipe, epoch, losses."""
    with safe_open(path, "pt") as file:
        notes: dict[str, Any] = json.loads((file.metadata() or {}).get("notes", "{}"))
    return notes
