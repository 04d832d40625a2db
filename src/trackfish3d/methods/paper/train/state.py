"""Where a training run stands, in one safetensors file: loading somebody's run executes nothing of it."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor, nn

from ....core.errors import InputError
from ....core.files import atomic_path
from ..checkpoint import with_sorted_header
from ..network import TrackFishNet
from .settings import FREE, TrainingSettings

FORMAT = "trackfish3d-training-1"
MOMENTS = ("step", "exp_avg", "exp_avg_sq")
LOG_LIMIT = 1_000_000


@dataclass
class Standing:
    """Epochs done, the lowest loss and its epoch (infinity and 0 before there is one), a row of the log an epoch."""

    epoch: int
    best: float
    best_epoch: int
    log: list[dict[str, float]]


def save_state(
    path: Path, net: TrackFishNet, optimiser: torch.optim.Optimizer, settings: TrainingSettings, standing: Standing
) -> None:
    """Write weights, moments of the optimiser, settings and standing; the same run gives the same bytes."""
    tensors = {f"net.{name}": value for name, value in net.state_dict().items()}
    for name, parameter in net.named_parameters():
        tensors |= {f"optimiser.{name}.{key}": value for key, value in optimiser.state.get(parameter, {}).items()}
    best = None if math.isinf(standing.best) else standing.best
    metadata = {
        "format": FORMAT,
        "settings": settings.model_dump_json(),
        "progress": json.dumps({"epoch": standing.epoch, "best": best, "best_epoch": standing.best_epoch}),
        "log": json.dumps(standing.log),
    }
    plain = {name: value.detach().cpu().clone() for name, value in tensors.items()}
    with atomic_path(path) as temporary:
        temporary.write_bytes(with_sorted_header(save(plain, metadata)))


def load_state(path: Path, net: TrackFishNet, optimiser: torch.optim.Optimizer, settings: TrainingSettings) -> Standing:
    """Fill `net` and `optimiser` from a file of `save_state` whose settings are these, but for `FREE`."""
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors: dict[str, Tensor] = {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118 - no mapping
        if metadata.get("format") != FORMAT:
            raise ValueError("it is of another version")
        before = TrainingSettings.model_validate_json(metadata["settings"])
        if before.model_copy(update={name: getattr(settings, name) for name in FREE}) != settings:
            raise InputError(f"{path.parent}: was begun with other settings; choose another folder")
        standing = _standing(metadata)
        if not all(bool(torch.isfinite(v).all()) for v in tensors.values()):
            raise ValueError("it has numbers that are not finite")
        net.load_state_dict({k.removeprefix("net."): v for k, v in tensors.items() if k.startswith("net.")})
        for name, parameter in net.named_parameters():
            _restore(optimiser, name, parameter, {k: tensors.get(f"optimiser.{name}.{k}") for k in MOMENTS})
    except InputError:
        raise
    except Exception as error:  # damage shows as many kinds
        first = (str(error) or type(error).__name__).splitlines()[0][:160]
        raise InputError(f"{path}: cannot be resumed from ({first}); remove it to start anew") from None
    return standing


def _restore(
    optimiser: torch.optim.Optimizer, name: str, parameter: nn.Parameter, state: dict[str, Tensor | None]
) -> None:
    """Give a parameter its moments and count of steps; one that has taken no step has none of them."""
    there = {key: value for key, value in state.items() if value is not None}
    if not there:
        return
    shapes = {"step": torch.Size(()), "exp_avg": parameter.shape, "exp_avg_sq": parameter.shape}
    if {key: value.shape for key, value in there.items()} != shapes:
        raise ValueError(f"the optimiser's state of {name} does not fit")
    optimiser.state[parameter] = {key: value.to(parameter.device) for key, value in there.items()}


def _standing(metadata: dict[str, str]) -> Standing:
    """Read what `save_state` wrote about the epochs; ValueError if it contradicts itself."""
    told, log = json.loads(metadata["progress"]), json.loads(metadata["log"])
    epoch, best_epoch = int(told["epoch"]), int(told["best_epoch"])
    if not (isinstance(log, list) and 0 <= best_epoch <= epoch == len(log) <= LOG_LIMIT):
        raise ValueError("its log has not one row an epoch")
    rows = [{name: int(value) if name == "epoch" else float(value) for name, value in row.items()} for row in log]
    return Standing(epoch, math.inf if told["best"] is None else float(told["best"]), best_epoch, rows)
