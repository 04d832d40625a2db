"""Tracking while the animals move: what every live tracker shares."""

from abc import ABC, abstractmethod

from ..cameras import CameraRig
from ..core.errors import InputError
from ..recordings import Detections, Tracks


class FrameTracker(ABC):
    """A tracker that is fed frame by frame. A subclass is one algorithm: a `step`.

    `update` is the same for all: it finds out which frame it was given, and refuses what a tracker cannot take.

    Parameters
    ----------
    rig : the cameras.
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
        """Make the tracks of the next frame; `update` has checked it.

        Parameters
        ----------
        frame : its number.
        detections : of this frame.
        """
