"""The joint tracker while the animals swim."""

from dataclasses import replace

import numpy as np

from ...cameras.rig import CameraRig
from ...recordings.detections import Detections
from ...recordings.tracks import Tracks
from ..live import FrameTracker
from .engine import Engine
from .fit.initialise import initial_model
from .model import TrackingModel
from .observations import Observations
from .settings import JointSettings


class OnlineJoint(FrameTracker):
    """The joint tracker, live.

    It decides as ``track --method joint --set horizon=0 --set passes=1`` does before whole tracks are compared. Known
    animals come without delay; a new animal comes ``settings.window`` frames after it was first seen, when it is told
    from chance. Trying doubtful choices on later frames, reading the recording backwards, exchanging and joining tracks
    and smoothing need the future and are left out, and outlines of two views are not compared.

    Parameters
    ----------
    rig : the cameras.
    model : what was fitted on an earlier recording of the same set-up (``Joint.model`` after `track`). Without it,
        the first ``warm_up`` frames are kept and fitted; they give no tracks.
    settings : of method ``joint``.
    warm_up : frames to fit on, where there is no model.
    """

    def __init__(
        self,
        rig: CameraRig,
        model: TrackingModel | None = None,
        settings: JointSettings | None = None,
        warm_up: int = 100,
    ) -> None:
        super().__init__(rig)
        self.settings = settings or JointSettings()
        self.warm_up = warm_up
        self._waiting: list[tuple[int, Detections]] = []
        self._rows = 0  # detections so far: the engine tells those of different frames apart by their row
        self.engine = None if model is None else Engine(rig, model, self.settings)

    def step(self, frame: int, detections: Detections) -> Tracks:
        """Decide the frame, or keep it while there is too little to fit."""
        if self.engine is not None:
            return self._take(self.engine, frame, detections)
        self._waiting.append((frame, detections))
        if len(self._waiting) < self.warm_up:
            return Tracks.build([], [], [], cameras=self.rig.names)
        seen = Detections.concat([d for _, d in self._waiting])
        if not len(seen):
            self._waiting.clear()
            return Tracks.build([], [], [], cameras=self.rig.names)
        self.engine = Engine(self.rig, initial_model(self.rig, seen, self.settings), self.settings)
        waiting, self._waiting = self._waiting, []
        for number, found in waiting[:-1]:
            self._take(self.engine, number, found)
        return self._take(self.engine, frame, detections)

    def _take(self, engine: Engine, frame: int, detections: Detections) -> Tracks:
        plain = engine.model.with_(shape=None, tracklets=False)  # odds of pairs are those of a whole recording
        obs = replace(Observations.of(self.rig, detections, plain), first=self._rows)
        engine.step(frame, slice(0, len(detections)), obs)
        log = engine.logs.pop()
        alive = np.isin(log.name, engine.live.name[engine.live.confirmed])
        members = np.where(log.members >= 0, log.members - self._rows, -1)[alive]
        self._rows += len(detections)
        return Tracks.build(
            np.full(int(alive.sum()), frame),
            log.name[alive],
            log.state[alive, :3],
            covariance=log.cov[alive, :3, :3],
            detection=members,
            observed=(members >= 0).any(1),
            cameras=self.rig.names,
        )
