"""Recipes: the paper's to the letter, and a fast one with the same network and losses."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from ....core.settings import Settings
from ..settings import GroupingSettings, LinkSettings, LossSettings, ModelSettings


class TrainingGrouping(GroupingSettings):
    """Grouping while training, with the thresholds of the paper (its appendix N.3); see docs/training.md."""

    threshold: float = Field(0.6, description="affinity a match needs")
    min_cosine: float = Field(0.55, ge=-1, le=1, description="theta_emb: cosine of embeddings that a match needs")
    min_probability: float = Field(0.6, ge=0, le=1, description="theta_assoc, read as the pair probability")


class TrainingSettings(Settings):
    """Everything that decides a training run. The defaults are the paper's."""

    recipe: Literal["paper", "fast"] = "paper"
    epochs: int = Field(400, ge=1)
    warmup_epochs: int = Field(100, ge=0, description="epochs with the association loss alone")
    learning_rate: float = Field(1e-4, gt=0)
    weight_decay: float = Field(1e-4, ge=0)
    clip_norm: float = Field(5.0, gt=0)
    window: int = Field(1, ge=1, description="consecutive pairs a window; 1 is the paper's")
    windows_a_step: int = Field(1, ge=1, description="windows whose gradients make one step")
    agreed_labels: bool = Field(False, description="of plausible pairs only those that all views agree on are labels")
    shuffle: bool = Field(False, description="windows in random order; the paper keeps the order of time")
    reuse_features: bool = Field(True, description="take frame t's encoding, detached, from the pair before")
    cosine_schedule: bool = Field(False, description="learning rate falls to a hundredth along a cosine")
    rise_steps: int = Field(0, ge=0, description="steps in which the learning rate rises from zero")
    drop_detections: float = Field(0.0, ge=0, lt=1, description="augmentation: share of detections left out")
    jitter: float = Field(0.0, ge=0, description="augmentation: centroids move by this share of their box")
    crowd: int = Field(1, ge=1, description="augmentation: recordings laid over themselves at so many times")
    shuffle_cameras: bool = Field(False, description="augmentation: cameras numbered anew in every window")
    frame_skip: int = Field(1, ge=1, description="augmentation: frames of a window are up to this many apart")
    calibration_noise: float = Field(0.0, ge=0, description="poses disturbed by this, degrees and world units")
    patience: int = Field(0, ge=0, description="stop after so many epochs without a better held-out loss; 0: never")
    checkpoint_epochs: int = Field(100, ge=1)
    seed: int = Field(0, ge=0)
    device: str = "auto"
    mixed_precision: bool = Field(True, description="bfloat16 in the network, on CUDA only")
    model: ModelSettings = Field(default_factory=ModelSettings)
    grouping: TrainingGrouping = Field(default_factory=TrainingGrouping)
    losses: LossSettings = Field(default_factory=LossSettings)
    link: LinkSettings = Field(default_factory=LinkSettings)


# What may differ between the parts of an interrupted run.
FREE = ("epochs", "device", "checkpoint_epochs")


def fast_recipe(**changes: object) -> TrainingSettings:
    """Return the fast recipe: same network and losses, many pairs a step, a schedule, label-free augmentation."""
    values: dict[str, object] = {
        "recipe": "fast",
        "epochs": 60,
        "warmup_epochs": 15,
        "learning_rate": 1e-3,
        "window": 7,
        "windows_a_step": 2,
        "agreed_labels": True,
        "shuffle": True,
        "reuse_features": False,
        "cosine_schedule": True,
        "rise_steps": 200,
        "drop_detections": 0.1,
        "jitter": 0.05,
        "checkpoint_epochs": 10,
    }
    grouping = changes.get("grouping", {})
    if isinstance(grouping, Mapping):  # its thresholds on cosine and probability are off, unless asked for
        changes["grouping"] = {"min_cosine": -1.0, "min_probability": 0.0, **grouping}
    return TrainingSettings.model_validate(values | changes)
