"""What the joint tracker believes about a recording: noise, motion, chances. All of it comes from the detections."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .bodies.shape import BodyShape

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TrackingModel:
    """Parameters of the likelihoods; C cameras.

    ``noise`` (C,) standard deviation of a centroid, as a share of its box's diagonal, or px where ``points``.
    ``acceleration`` standard deviation of the velocity's change in a frame, ``velocity`` of an unknown velocity,
    ``dart`` of the velocity's change when an animal darts, world units a frame. ``clear``, ``hidden`` (C,) chance to be
    detected in full view, and at the place of another. ``clutter`` (C,) false detections a px^2 and frame. ``births``
    new animals a world unit^3 and frame. ``body_length`` world units. ``scales`` (3,): see `cues.likeness`.
    ``shape``: the usual body by which outlines are compared, None where they are not. ``body``: the usual body by what
    is clearly seen, None where detections have no size; ``memory``: how much of a body's own size stays from frame to
    frame. ``detector``: what boxes show, see `bodies.kind`; ``cut``: share of sides that are covered where they may be.
    ``tracklets``: whether all frames of two views' tracklets tell pairs (`tracklets.pairing`).
    """

    noise: Array
    acceleration: float
    velocity: float
    dart: float
    clear: Array
    hidden: Array
    clutter: Array
    births: float
    body_length: float
    scales: Array
    points: bool = False
    shape: BodyShape | None = None
    body: BodyShape | None = None
    memory: float = 1.0
    detector: str = "unknown"
    cut: float = 0.0
    tracklets: bool = False

    def with_(self, **changes: object) -> "TrackingModel":
        """Return a copy with changes."""
        return replace(self, **changes)  # type: ignore[arg-type]
