"""PyTorch for detectors: its threads, and a torchvision that can be imported."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

from ...core.errors import MissingExtraError

_library: Any = None


def require_torch(extra: str, purpose: str) -> Any:
    """Return the torch module, or an error that says which extra brings it."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError("PyTorch", extra, purpose) from None
    return torch


def use_threads(threads: int) -> None:
    """Let torch compute in so many threads: cameras run side by side, and too many threads cost more than they save."""
    import torch

    torch.set_num_threads(threads)
    ultralytics = sys.modules.get("ultralytics.utils.torch_utils")
    if ultralytics is not None:  # which sets its own number, as many as cores, when it picks a device
        ultralytics.NUM_THREADS = threads  # type: ignore[attr-defined]


def repair_torchvision() -> None:
    """Make torchvision importable where its compiled part does not fit the torch that is installed.

    ultralytics, timm and transformers import it, but use hardly more of it than ``nms``. A wheel built for CUDA beside
    a torch for the CPU fails at import, because its operators are missing: the one that is needed is then defined here
    in plain torch. A torchvision that fits is left as it is. Every process has to call this before those packages.
    """
    global _library
    spec = importlib.util.find_spec("torchvision")
    if _library is not None or spec is None or spec.origin is None:
        return
    import torch

    for compiled in sorted(Path(spec.origin).parent.glob("_C.*")):
        try:
            torch.ops.load_library(str(compiled))  # type: ignore[no-untyped-call]
        except OSError:
            continue
        _library = torch.ops
        return
    _library = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for name in ("nms", "qnms"):  # the two that torchvision registers a fake of while it is imported
        _library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _library.impl("nms", suppress, "CompositeExplicitAutograd")
    import torchvision

    def nms(boxes: Any, scores: Any, iou_threshold: float) -> Any:
        return suppress(boxes, scores, iou_threshold)

    torchvision.ops.nms = torchvision.ops.boxes.nms = nms
    pooling = sys.modules["torchvision.ops.roi_align"]  # has a version in plain torch, but would compile it first
    plain = getattr(pooling._roi_align, "__wrapped__", None)  # type: ignore[attr-defined]
    if plain is not None:
        pooling._roi_align = plain  # type: ignore[attr-defined]


def suppress(boxes: Any, scores: Any, iou_threshold: float) -> Any:
    """Return indices of the boxes (N, 4) that overlap no better one by more than the threshold, best first."""
    import torch

    from ..masks.outlines import distinct_boxes

    order = scores.argsort(descending=True, stable=True)
    keep = distinct_boxes(boxes[order].detach().double().cpu().numpy(), float(iou_threshold))
    return order[torch.from_numpy(keep).to(order.device)]
