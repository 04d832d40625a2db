"""Learning on the very recording that is to be tracked, which needs no labels either."""

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ....cameras import CameraRig
from ....recordings import Detections
from ..features import GEOMETRIC
from ..network import TrackFishNet
from .settings import fast_recipe
from .trainer import EpochReport, Trainer
from .training_scenes import TrainingScene


def learn_on(
    rig: CameraRig,
    detections: Detections,
    base: TrackFishNet | None = None,
    epochs: int = 40,
    device: str = "auto",
    seed: int = 0,
    report: EpochReport | None = None,
    extra: NDArray[np.float32] | None = None,
) -> TrackFishNet:
    """Return a network fitted to one recording's detections, in eval mode.

    Parameters
    ----------
    base : network to go on from, with a third of the usual learning rate; None: a fresh one. Its camera count must be
        that of the rig, as `track` requires anyway.
    epochs : passes over the recording, all with every loss if there is a base, else the first quarter without.
    report : called after each epoch with its losses.
    extra : (N, D) features beside the geometric ones, for a base that takes such.
    """
    changes: dict[str, object] = {
        "epochs": epochs,
        "warmup_epochs": 0 if base is not None else epochs // 4,
        "learning_rate": 3e-4 if base is not None else 1e-3,
        "device": device,
        "seed": seed,
        "checkpoint_epochs": epochs,
    }
    if base is not None:
        changes["model"] = base.settings
    elif extra is not None:
        changes["model"] = {"raw_features": GEOMETRIC + extra.shape[1]}
    scene = TrainingScene.of("the recording", rig, detections, extra=extra)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer([scene], fast_recipe(**changes), Path(folder), start=base)
        trainer.train(report)
    return trainer.net.eval()
