"""Tracking of each view by a network over the tokens of its detections: what MOTIP and SambaMOTR share."""

from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from ....cameras import CameraRig
from ....core.progress import Progress
from ....recordings.detections import Detections
from ..single_view import SingleView, SingleViewSettings
from .crops import read_crops
from .weights import load_weights

Ints = NDArray[np.int64]


class TokenViewSettings(SingleViewSettings):
    """Crops and weights."""

    crops: Path | None = Field(None, description="crops of the detections (.npz of 'trackfish3d crops')")
    model: Path | None = Field(None, description="weights (.safetensors); None: the shipped ones")
    min_score: float = Field(0.0, ge=0, le=1, description="score that a detection needs")


class View(Protocol):
    """The tracks of one view."""

    def update(self, frame: int, token: Tensor) -> Ints:
        """Identities (K,) of the detections of a frame by their tokens (K, D)."""
        ...


class TokenViews(SingleView):
    """Each view by a network with ``tokens``, views matched once, triangulated."""

    Settings: ClassVar[type[Any]] = TokenViewSettings
    Net: ClassVar[type[Any]]

    @abstractmethod
    def view(self, net: Any) -> View:
        """Return a view without tracks."""

    @torch.no_grad()
    def track_views(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Ints:
        """2D identity (N,) of each detection within its camera, -1 for none."""
        s: TokenViewSettings = self.settings
        net = self.Net()
        load_weights(net, s.model, self.name)
        token = net.tokens(net.tokens.inputs(rig, detections, read_crops(s.crops, detections, self.name)))
        identity = np.full(len(detections), -1, np.int64)
        frames = detections.frames.tolist()
        for c in range(len(rig)):
            view = self.view(net)
            for k, frame in enumerate(frames):
                rows = np.arange(len(detections))[detections.at(k)]
                rows = rows[(detections.camera[rows] == c) & (detections.score[rows] >= s.min_score)]
                identity[rows] = view.update(frame, token[torch.from_numpy(rows)])
                progress(c * len(frames) + k + 1, len(rig) * len(frames))
        return identity
