"""Image networks from local files, of timm or transformers, as functions from pictures to feature vectors."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core.device import pick_device
from ...core.errors import InputError, MissingExtraError
from ..learned.torch_glue import repair_torchvision, require_torch
from ..learned.transformers_glue import image_facts, load_pretrained, require_transformers

_PURPOSE = "features"
_IMAGENET = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
_FILES = (".safetensors", ".pth", ".pt", ".bin")


@dataclass(frozen=True, eq=False)
class Backbone:
    """``run`` takes pictures (B, 3, h, w), normalised, and gives features (B, ``width``); ``size`` (h, w)."""

    run: Callable[[Any], Any]
    width: int
    size: tuple[int, int]
    mean: list[float]
    std: list[float]
    device: str
    notes: list[str] = field(default_factory=list)


def load_backbone(path: Path, architecture: str | None = None, device: str | None = None) -> Backbone:
    """Load a network: a folder of transformers or timm, or a file of weights whose timm architecture is named.

    Parameters
    ----------
    path : folder with ``config.json`` and ``model.safetensors``, or a file of weights.
    architecture : timm's name of the network, such as ``resnet18``, for a file.
    device : where it runs; the GPU, where there is one.
    """
    require_torch(_PURPOSE, _PURPOSE)
    if path.is_dir():
        config = _config(path)
        if "architecture" in config:
            weights = next((path / f"model{s}" for s in _FILES if (path / f"model{s}").is_file()), None)
            if weights is None:
                raise InputError(f"{path}: has a timm config.json, but no model.safetensors beside it")
            return _timm(weights, str(config["architecture"]), device, config.get("pretrained_cfg") or {})
        return _transformers(path, device)
    if not path.is_file():
        raise InputError(f"{path}: no such file or folder; weights are not downloaded, give them from this computer")
    if architecture is None:
        raise InputError(f"{path}: is a file of weights alone; name its timm architecture with --architecture")
    return _timm(path, architecture, device, {})


def _config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder}: has no config.json; give a folder of transformers or timm, or a file") from None
    except (OSError, ValueError):
        raise InputError(f"{path}: is not JSON") from None
    if not isinstance(said, dict):
        raise InputError(f"{path}: is not the description of a network")
    return said


def _transformers(folder: Path, device: str | None) -> Backbone:
    transformers = require_transformers(_PURPOSE, _PURPOSE)
    model = load_pretrained(transformers.AutoModel, folder)
    where = pick_device(device)
    model = model.to(where)
    side = getattr(model.config, "image_size", None) or 224
    facts = image_facts(folder, side if isinstance(side, int) else int(side[0]), _IMAGENET["mean"], _IMAGENET["std"])
    mean, std = ([float(v)] * 3 if isinstance(v, int | float) else list(v) for v in (facts["mean"], facts["std"]))

    def run(pictures: Any) -> Any:
        out = model(pixel_values=pictures)
        pooled = getattr(out, "pooler_output", None)
        if pooled is None:
            pooled = out.last_hidden_state
            pooled = pooled.mean(1) if pooled.ndim == 3 else pooled.mean((-2, -1))
        return pooled.flatten(1)

    return _measured(run, facts["size"], mean, std, where, [], folder)


def _timm(weights: Path, architecture: str, device: str | None, facts: Mapping[str, Any]) -> Backbone:
    repair_torchvision()
    try:
        import timm
    except ImportError:
        raise MissingExtraError("timm", "features", _PURPOSE) from None
    try:
        model = timm.create_model(architecture, pretrained=False, num_classes=0)
    except Exception as error:  # whatever an unknown name makes timm raise
        raise InputError(f"architecture {architecture}: timm does not know it ({str(error)[:120]})") from None
    notes = fill(model, read_weights(weights), weights)
    where = pick_device(device)
    model = model.to(where).eval()
    said = {**(model.pretrained_cfg or {}), **facts}
    side = said.get("input_size") or (3, 224, 224)
    mean, std = (list(said.get(k) or _IMAGENET[k]) for k in ("mean", "std"))
    return _measured(model, (int(side[1]), int(side[2])), mean, std, where, notes, weights)


def _measured(
    run: Callable[[Any], Any],
    size: tuple[int, int],
    mean: list[float],
    std: list[float],
    device: str,
    notes: list[str],
    path: Path,
) -> Backbone:
    """Run the network once, to know how wide its features are."""
    import torch

    try:
        with torch.inference_mode():
            width = int(run(torch.zeros(1, 3, *size, device=device)).shape[1])
    except Exception as error:  # whatever a network that wants other input raises
        text = " ".join(str(error).split())[:160]
        raise InputError(f"{path}: does not take pictures of 3 x {size[0]} x {size[1]} ({text})") from None
    return Backbone(run, width, size, mean, std, device, notes)


def read_weights(path: Path) -> dict[str, Any]:
    """Tensors of a file by name; nothing but tensors is read, so no code of it runs."""
    if path.suffix not in _FILES:
        raise InputError(f"{path}: weights are {', '.join(_FILES)}")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return dict(load_file(path))
        import torch

        said = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever a damaged file makes torch, pickle and safetensors raise
        text = " ".join(str(error).split())[:120] or type(error).__name__
        raise InputError(f"{path}: cannot be read as weights ({text})") from None
    for name in ("state_dict", "model", "model_state", "ema"):
        if isinstance(said, dict) and isinstance(said.get(name), dict):
            said = said[name]
    if not isinstance(said, dict) or not said or not all(hasattr(v, "shape") for v in said.values()):
        raise InputError(f"{path}: holds no table of weights; give a state_dict")
    return {str(name): value for name, value in said.items()}


def fill(model: Any, weights: Mapping[str, Any], path: Path) -> list[str]:
    """Put weights into a model by name, or, where names differ throughout, in order; returns notes.

    A classifier that the file has and the model has not is left out. All of the model must be filled.
    """
    own = model.state_dict()
    for prefix in ("", "module.", "model.", "backbone."):
        named = {name.removeprefix(prefix): value for name, value in weights.items()}
        if all(name in named and named[name].shape == value.shape for name, value in own.items()):
            model.load_state_dict({name: named[name] for name in own})
            return []
    counters = "num_batches_tracked"
    wanted = [name for name in own if not name.endswith(counters)]
    given = [value for name, value in weights.items() if not name.endswith(counters)]
    if len(given) >= len(wanted) and all(own[n].shape == v.shape for n, v in zip(wanted, given, strict=False)):
        model.load_state_dict({**own, **dict(zip(wanted, given, strict=False))})
        return [f"{path}: names of weights differ; all {len(wanted)} were taken in their order, in which they fit"]
    missing = next((n for n in own if n not in weights or weights[n].shape != own[n].shape), wanted[0])
    raise InputError(f"{path}: is not of this architecture: {missing} {tuple(own[missing].shape)} is not in it")
