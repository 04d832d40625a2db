"""Fitting a YOLO segmenter to a training set, from its description alone: no weights are downloaded."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field

from ...core.device import pick_device
from ...core.errors import InputError
from ...core.files import atomic_path, renew_folder
from ..learned.yolo import import_ultralytics, load_yolo
from .training_set import SetReport, SetSettings

_FIT, _MARK = "fit", "settings.json"


class TrainSettings(SetSettings):
    """Settings of ``detect --train``: those of the set, and those of the fit."""

    model: str = Field("yolo26n-seg.yaml", description="YOLO configuration (.yaml), or weights (.pt) to go on from")
    epochs: int = Field(60, ge=1, description="times the set is gone through")
    batch: int = Field(16, ge=1, description="tiles a step")
    patience: int = Field(30, ge=0, description="epochs without a better one after which it stops")
    learning_rate: float | None = Field(None, gt=0, description="of AdamW; chosen by ultralytics otherwise")
    device: str | None = Field(None, description="cpu, cuda, cuda:1, mps; the GPU, where there is one")
    workers: int = Field(0, ge=0, description="processes that read pictures; 0 reads them in this one")


def set_settings(settings: TrainSettings) -> SetSettings:
    """Return the part that decides what is in the training set."""
    return SetSettings(**settings.model_dump(include=set(SetSettings.model_fields)))


def check_model(settings: TrainSettings) -> None:
    """Raise where ultralytics is missing or the model cannot be made, before hours of work."""
    import_ultralytics("detect --train")
    if not settings.model.endswith((".yaml", ".yml", ".pt")):
        raise InputError(f"model {settings.model}: give a YOLO configuration (.yaml) or weights (.pt)")
    if settings.model.endswith(".pt") and not Path(settings.model).is_file():
        raise InputError(f"model {settings.model}: no such file; weights are not downloaded")
    if load_yolo(Path(settings.model)).task != "segment":
        raise InputError(f"model {settings.model}: does not segment; take one such as yolo26n-seg.yaml")


def fit(report: SetReport, settings: TrainSettings, tell: Callable[[dict[str, float]], None] | None = None) -> Path:
    """Fit a segmenter to a set; returns the model's file, which `detect --detector yolo` takes.

    A fit that was stopped goes on after its last whole epoch. ``tell`` gets losses and scores of each epoch.
    """
    out = report.folder / "model.pt"
    weights = report.folder / _FIT / "weights"
    reached = epochs_done(report.folder / _FIT, settings)
    if reached < settings.epochs or not (weights / "last.pt").is_file():
        _train(report, settings, reached > 0, tell)
    elif out.is_file():
        return out
    write_model(weights / ("best.pt" if (weights / "best.pt").is_file() else "last.pt"), out, settings.size)
    return out


def _train(
    report: SetReport, settings: TrainSettings, resume: bool, tell: Callable[[dict[str, float]], None] | None
) -> None:
    """Let ultralytics fit, from the beginning or from its last whole epoch."""
    make = import_ultralytics("detect --train")
    if resume:
        model = make(str(report.folder / _FIT / "weights" / "last.pt"))
        options: dict[str, Any] = {"resume": True}
    else:
        renew_folder(report.folder / _FIT)
        model = load_yolo(Path(settings.model))
        options = _options(report, settings)
        with atomic_path(report.folder / _FIT / _MARK) as temporary:
            temporary.write_text(json.dumps(settings.model_dump(mode="json")), encoding="utf-8")
    if tell is not None:
        model.add_callback("on_fit_epoch_end", lambda t: tell(_epoch(t)) if t.epoch < settings.epochs else None)
    model.train(trainer=_trainer(), **options)


def _options(report: SetReport, settings: TrainSettings) -> dict[str, Any]:
    rate = {} if settings.learning_rate is None else {"optimizer": "AdamW", "lr0": settings.learning_rate}
    return {
        "data": str(report.data),
        "project": str(report.folder.resolve()),
        "name": _FIT,
        "exist_ok": True,
        "imgsz": settings.tile or settings.size,
        "epochs": settings.epochs,
        "batch": settings.batch,
        "nbs": settings.batch,  # otherwise several batches make one step, and few pictures few steps
        "patience": settings.patience,
        "seed": settings.seed,
        "workers": settings.workers,
        "single_cls": True,
        "device": pick_device(settings.device),
        "pretrained": settings.model.endswith(".pt"),
        "plots": False,
        "amp": False,
        "val": True,
        "verbose": False,
        "flipud": 0.5,
        "degrees": 15.0,
        "copy_paste": 0.3,
        "close_mosaic": max(1, settings.epochs // 10),
        **rate,
    }


def _trainer() -> Any:
    """Return ultralytics' trainer of segmenters, reading its own log without polars, a package of 170 MB."""
    from ultralytics.models.yolo.segment import SegmentationTrainer

    class Trainer(SegmentationTrainer):  # type: ignore[misc]
        def read_results_csv(self) -> dict[str, list[float]]:
            with Path(self.csv).open(encoding="utf-8", newline="") as stream:
                rows = list(csv.DictReader(stream))
            return {name.strip(): [float(row[name]) for row in rows] for name in (rows[0] if rows else ())}

    return Trainer


def _epoch(trainer: Any) -> dict[str, float]:
    """Numbers of the epoch that just ended."""
    losses = trainer.label_loss_items(trainer.tloss, prefix="loss")
    scores = {k.split("/")[-1]: float(v) for k, v in trainer.metrics.items() if k.endswith("(M)")}
    return {"epoch": trainer.epoch + 1, **{k.split("/")[-1]: float(v) for k, v in losses.items()}, **scores}


def epochs_done(folder: Path, settings: TrainSettings) -> int:
    """Whole epochs of a fit with these settings; 0 where there is none, all of them where one has ended early."""
    try:
        if json.loads((folder / _MARK).read_text(encoding="utf-8")) != settings.model_dump(mode="json"):
            return 0
    except (OSError, ValueError):
        return 0
    if not (folder / "weights" / "last.pt").is_file():
        return 0
    import_ultralytics("detect --train")
    from ultralytics.nn.tasks import torch_safe_load

    checkpoint, _ = torch_safe_load(str(folder / "weights" / "last.pt"), safe_only=True)
    # the optimiser is stripped from the weights of a fit that has ended
    return settings.epochs if checkpoint.get("optimizer") is None else int(checkpoint["epoch"]) + 1


def write_model(weights: Path, out: Path, size: int) -> None:
    """Copy weights, and let them say that pictures are to be shown ``size`` px long: tiles of that were learnt from."""
    import torch
    from ultralytics.nn.tasks import torch_safe_load

    checkpoint, _ = torch_safe_load(str(weights), safe_only=True)
    checkpoint["train_args"] = {**checkpoint.get("train_args", {}), "imgsz": size}
    with atomic_path(out) as temporary:
        torch.save(checkpoint, temporary)
