"""What a detector is: it prepares itself for one video, and then sees picture by picture."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core.settings import Settings
from ..media.video import Picture, Video
from .masks.blobs import Blob, shapes

COLUMNS = ("u", "v", "x1", "y1", "x2", "y2", "score", "area", "angle", "major", "minor", "visible")
_POINTS = COLUMNS[:7]


class DetectorSettings(Settings):
    """Settings of a detector; None means that the value is taken from the video."""


@dataclass(frozen=True, eq=False)
class FrameDetections:
    """Detections of one picture: ``columns`` (K,) each by name, and the masks they came from, if there are any.

    ``parts`` (K, P, 3) : u, v, score of the parts of each body, NaN where unseen, of a detector of poses.
    """

    columns: dict[str, NDArray[np.float64]]
    masks: tuple[Blob, ...] | None = None
    parts: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.columns["u"])

    @classmethod
    def from_masks(cls, masks: list[Blob], score: NDArray[np.float64]) -> "FrameDetections":
        """Centroids, boxes and moments of masks; ``score`` (K,)."""
        facts = shapes(masks)
        sums = np.array([m.sums for m in masks]).reshape(-1, 11)
        columns = {name: facts[name] for name in ("u", "v", "area", "angle", "major", "minor")}
        columns |= {name: sums[:, 6 + k] for k, name in enumerate(("x1", "y1", "x2", "y2"))}
        return cls({**columns, "score": score}, tuple(masks))

    @classmethod
    def from_boxes(cls, boxes: NDArray[np.float64], score: NDArray[np.float64]) -> "FrameDetections":
        """Boxes (K, 4) x1, y1, x2, y2 alone: the centroid is the middle, moments are not known."""
        boxes = np.asarray(boxes, dtype=np.float64).reshape(-1, 4)
        columns = {name: boxes[:, k] for k, name in enumerate(("x1", "y1", "x2", "y2"))}
        columns |= {"u": boxes[:, [0, 2]].mean(1), "v": boxes[:, [1, 3]].mean(1), "score": np.asarray(score, float)}
        return cls({name: columns[name] for name in _POINTS})

    def with_visible(self, visible: NDArray[np.float64]) -> "FrameDetections":
        """Return them with the share (K,) of each animal that is not hidden, NaN where unknown."""
        return FrameDetections({**self.columns, "visible": visible}, self.masks, self.parts)

    def select(self, keep: NDArray[np.bool_]) -> "FrameDetections":
        """Return those that ``keep`` (K,) says."""
        masks = None if self.masks is None else tuple(m for m, k in zip(self.masks, keep, strict=True) if k)
        parts = None if self.parts is None else self.parts[keep]
        return FrameDetections({name: column[keep] for name, column in self.columns.items()}, masks, parts)


class Detector(ABC):
    """One way to find animals in pictures. A subclass is one method: its settings, and a `see`.

    Until `prepare` it holds its settings alone, so that it can be copied and sent to another process.

    Parameters
    ----------
    settings : of its class `Settings`; as by default without.
    """

    name: ClassVar[str]
    """What users call it."""
    Settings: ClassVar[type[Any]] = DetectorSettings
    moments: ClassVar[bool] = True
    """Whether detections have mask moments."""
    learns: bool = False
    """Whether `prepare` learns from the pictures of the film, and has to again where the camera was knocked."""

    def __init__(self, settings: DetectorSettings | None = None) -> None:
        self.settings: Any = self.Settings() if settings is None else settings

    def ready(self) -> None:  # noqa: B027 (most detectors need nothing)
        """Raise what would make `prepare` fail before any video is opened, such as weights that are missing."""

    def stamp(self) -> dict[str, Any]:
        """Return what the detections depend on beside settings and video, as plain values, to know a stopped run by."""
        return {}

    def prepare(self, video: Video, threads: int = 1) -> list[str]:
        """Get ready for one video; returns what a user should know, a line each.

        Parameters
        ----------
        video : the film whose pictures `see` will be given.
        threads : how many it may use.
        """
        return []

    def describe(self) -> dict[str, Any]:
        """Return what `prepare` has learnt, as plain numbers, to be written beside the detections.

        A detector of poses names its parts here: ``parts``, a list of names.
        """
        return {}

    @abstractmethod
    def see(self, picture: Picture) -> FrameDetections:
        """Find the animals in the next picture.

        Parameters
        ----------
        picture : one of the video that it was prepared for; pictures come in ascending numbers.
        """

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what `see` has learnt since `prepare`, as arrays, so that a stopped run goes on as if it never had."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where another of its kind stood.

        Parameters
        ----------
        state : what `state` returned there.
        """
        if state:
            raise ValueError("this detector keeps no state")
