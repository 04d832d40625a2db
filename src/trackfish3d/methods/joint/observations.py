"""Detections as the joint tracker's kernels take them: all frames, and one."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...cameras.rig import CameraRig
from ...recordings.detections import Detections
from .cues import ROUND
from .model import TrackingModel
from .pair_odds import NO_ODDS, PairOdds

Array = NDArray[np.float64]
FLOOR_PX = 0.5  # no detector is better than this


@dataclass(frozen=True, eq=False)
class Observations:
    """Detections as the kernels want them, all frames: (N,) columns, rays (N, 3), and what a network says of pairs.

    ``first`` : number of the first row, where these are the last of many that came one frame at a time.
    """

    camera: NDArray[np.int64]
    u: Array
    v: Array
    noise: Array
    log_size: Array
    axis: Array
    origin: Array
    direction: Array
    pair_odds: PairOdds = NO_ODDS
    first: int = 0

    @classmethod
    def of(cls, rig: CameraRig, detections: Detections, model: TrackingModel) -> "Observations":
        """Prepare detections: rays through lens and water once, noise in px, log size and axis of each."""
        camera = detections.camera.astype(np.int64)
        diagonal = np.hypot(detections.x2 - detections.x1, detections.y2 - detections.y1)
        noise = model.noise[camera] * (1.0 if model.points else diagonal)
        origin, direction = np.full((len(camera), 3), np.nan), np.full((len(camera), 3), np.nan)
        for c, cam in enumerate(rig):
            mine = camera == c
            rays = cam.rays(detections.centroids[mine])
            origin[mine], direction[mine] = rays.origin, rays.direction
        axis = np.full(len(camera), np.nan)
        if detections.angle is not None and detections.major is not None and detections.minor is not None:
            long = detections.major > ROUND * detections.minor
            axis[long] = detections.angle[long]
        return cls(
            camera, np.ascontiguousarray(detections.u), np.ascontiguousarray(detections.v),
            np.maximum(noise, FLOOR_PX), np.log(np.maximum(diagonal, 1e-3)), axis, origin, direction,
        )  # fmt: skip

    def with_pair_odds(self, rig: CameraRig, detections: Detections, body_length: float, model: Path) -> "Observations":
        """Return these observations with what a pair network says about them."""
        from .learning.odds import load_odds

        return replace(self, pair_odds=PairOdds.of(*load_odds(model)(rig, detections, self.noise, body_length)))

    def frame(self, number: int, rows: slice, views: int) -> "FrameObservations":
        """Return the detections of one frame, which are sorted by camera."""
        camera = self.camera[rows]
        return FrameObservations(
            number, rows.start + self.first, np.searchsorted(camera, np.arange(views + 1)), camera,
            self.u[rows], self.v[rows], self.noise[rows], self.log_size[rows], self.axis[rows], self.origin[rows],
            self.direction[rows], self.pair_odds,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class FrameObservations:
    """Detections of one frame: columns of `Observations`, its ``number``, its first row, where each camera begins."""

    number: int
    start: int
    begin: NDArray[np.int64]
    camera: NDArray[np.int64]
    u: Array
    v: Array
    noise: Array
    log_size: Array
    axis: Array
    origin: Array
    direction: Array
    pair_odds: PairOdds = NO_ODDS

    def __len__(self) -> int:
        return len(self.u)

    def rows(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows in the recording of detections counted within the frame; -1 stays."""
        return np.where(members >= 0, members + self.start, -1)
