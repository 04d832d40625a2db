"""Models of transformers from a local folder, and pictures as they take them; their processors need torchvision."""

import json
import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError, MissingExtraError
from .torch_glue import repair_torchvision, require_torch


def require_transformers(extra: str, purpose: str) -> Any:
    """Return the transformers module, offline, or an error that says which extra brings it."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    require_torch(extra, purpose)
    repair_torchvision()
    try:
        import transformers
    except ImportError:
        raise MissingExtraError("transformers", extra, purpose) from None
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    return transformers


def load_pretrained(make: Any, folder: Path, **options: Any) -> Any:
    """Model of a folder with ``config.json`` and ``model.safetensors``, in evaluation mode.

    Only safetensors are read, which run no code. Weights that do not fill the model are an `InputError`: a network
    that is part random finds nothing, and says nothing about it.
    """
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: has no config.json; give the folder that 'save_pretrained' or a hub download made")
    try:
        model, loading = make.from_pretrained(
            str(folder), local_files_only=True, use_safetensors=True, output_loading_info=True, **options
        )
    except Exception as error:  # whatever a damaged file makes json, safetensors and transformers raise
        text = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{folder}: cannot be loaded ({text})") from None
    missing = sorted(loading["missing_keys"]) + sorted(str(k[0]) for k in loading["mismatched_keys"])
    if missing:
        raise InputError(
            f"{folder}: model.safetensors lacks {len(missing)} of the model's weights, such as {missing[0]}"
        )
    return model.eval()


def image_facts(folder: Path, side: int, mean: float | list[float], std: float | list[float]) -> dict[str, Any]:
    """``size`` (height, width), ``mean`` and ``std`` (3,) that a model was trained with, from its processor's file."""
    facts: dict[str, Any] = {"size": (side, side), "mean": mean, "std": std}
    for name in ("preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json"):
        try:
            said = json.loads((folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        said = said.get("image_processor", said)
        facts["mean"], facts["std"] = said.get("image_mean") or facts["mean"], said.get("image_std") or facts["std"]
        crop = said.get("crop_size") if said.get("do_center_crop") else None
        size = crop or said.get("size") or {}
        if isinstance(size, dict) and "height" in size and "width" in size:
            facts["size"] = int(size["height"]), int(size["width"])
        elif isinstance(size, dict) and "shortest_edge" in size:
            facts["size"] = int(size["shortest_edge"]), int(size["shortest_edge"])
        break
    return facts


def picture_tensor(rgb: NDArray[np.uint8], facts: dict[str, Any], device: str) -> Any:
    """(1, 3, h, w) of a picture (H, W, 3), stretched to the model's size and normalised."""
    import torch

    image = torch.from_numpy(np.ascontiguousarray(rgb)).to(device).permute(2, 0, 1)[None].float() / 255
    image = torch.nn.functional.interpolate(image, facts["size"], mode="bilinear", antialias=True, align_corners=False)
    mean, std = (
        torch.as_tensor(facts[k], device=device, dtype=torch.float32).expand(3)[None, :, None, None]
        for k in ("mean", "std")
    )
    return (image - mean) / std
