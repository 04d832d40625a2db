"""Tracking while the animals swim: one frame of detections in, the living tracks out."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...cameras import CameraRig
from ...recordings import Detections, Tracks
from ..groups import groups_to_tracks
from ..live import FrameTracker
from .method import PaperSettings, load_network
from .tracker import PaperTracker

if TYPE_CHECKING:
    from .network import TrackFishNet


class OnlineTracker(FrameTracker):
    """The published tracker, live.

    It decides as ``track --method paper`` does before stitching: the network groups the frame, and the groups are
    linked to tracks. Stitching, filling of gaps and removal of ghosts need the future and are left out.

    Parameters
    ----------
    rig : the cameras.
    model : a trained network or its file; without one, the shipped model.
    settings : of method ``paper``.
    """

    def __init__(
        self,
        rig: CameraRig,
        model: "str | Path | TrackFishNet | None" = None,
        settings: PaperSettings | None = None,
    ) -> None:
        super().__init__(rig)
        self.settings = settings or PaperSettings()
        if model is None or isinstance(model, (str, Path)):
            self.net = load_network(rig, Path(model) if model else self.settings.model, self.settings.device)
        else:
            self.net = model
        from .inference import predictor

        self._tracker = PaperTracker(self.settings.tracker, predictor(self.net))

    def step(self, frame: int, detections: Detections) -> Tracks:
        """Group the frame and link the groups."""
        from .inference import group_frames

        groups = group_frames(self.net, self.rig, detections, self.settings.grouping, half=self.settings.half)
        assert groups.embedding is not None
        number = self._tracker.update(frame, groups.position, groups.embedding)
        seen = groups_to_tracks(self.rig, detections, groups, number, groups.confidence)
        lost, where = self._tracker.lost(frame)
        return Tracks.build(
            np.full(len(seen) + len(lost), frame),
            np.append(seen.track, lost),
            np.vstack([seen.position, where]),
            covariance=np.concatenate([seen.covariance, np.full((len(lost), 3, 3), np.nan)]),
            views=np.append(seen.views, np.zeros(len(lost))),
            error_px=np.append(seen.error_px, np.full(len(lost), np.nan)),
            observed=np.append(seen.observed, np.zeros(len(lost))),
            confidence=np.append(seen.confidence, np.full(len(lost), np.nan)),
            detection=np.vstack([seen.detection, np.full((len(lost), len(self.rig)), -1)]),
            cameras=self.rig.names,
        )
