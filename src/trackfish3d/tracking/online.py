"""Tracking while the animals swim: one frame of detections in, the living tracks out."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..cameras import CameraRig
from ..errors import InputError
from ..recordings import Detections, Tracks
from .linking import groups_to_tracks
from .paper import PaperSettings, load_network
from .published import PublishedTracker

if TYPE_CHECKING:
    from ..association.model import TrackFishNet


class FrameTracker(ABC):
    """A tracker that is fed frame by frame. A subclass is one algorithm: a `step`.

    `update` is the same for all: it finds out which frame it was given, and refuses what a tracker cannot take.
    """

    def __init__(self, rig: CameraRig) -> None:
        self.rig = rig
        self.frame: int | None = None

    def update(self, detections: Detections, frame: int | None = None) -> Tracks:
        """Take the detections of one frame and return the tracks that live in it.

        Parameters
        ----------
        detections : of one frame, all cameras; may be empty.
        frame : its number, greater than that of the last call; by default that of the detections, or the number after
            the last where there are none.

        Returns
        -------
        Tracks of this frame: ``track`` (its number never changes), ``position``, ``views``, ``confidence``, and the
        rows of ``detections`` it was seen by. Tracks that live but were not seen are where they are predicted to be,
        with ``observed`` False, no views and confidence NaN.
        """
        if tuple(detections.cameras) != self.rig.names:
            raise InputError(
                f"detections are of cameras {', '.join(detections.cameras)}, "
                f"the calibration of {', '.join(self.rig.names)}"
            )
        if len(detections.frames) > 1:
            raise InputError(f"update takes one frame; these detections are of {len(detections.frames)}")
        if frame is None:
            after = 0 if self.frame is None else self.frame + 1
            frame = int(detections.frames[0]) if len(detections) else after
        if self.frame is not None and frame <= self.frame:
            raise InputError(f"frame {frame} comes after frame {self.frame}; frames are taken in order, each once")
        self.frame = frame
        return self.step(frame, detections)

    @abstractmethod
    def step(self, frame: int, detections: Detections) -> Tracks:
        """Make the tracks of the next frame; `update` has checked it."""


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
        from ..association.inference import predictor

        self._tracker = PublishedTracker(self.settings.tracker, predictor(self.net))

    def step(self, frame: int, detections: Detections) -> Tracks:
        """Group the frame and link the groups."""
        from ..association.inference import group_frames

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
