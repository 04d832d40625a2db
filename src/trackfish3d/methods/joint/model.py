"""What the joint tracker believes about a recording: noise, motion, chances. All of it comes from the detections."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...cameras.rig import CameraRig
from ...recordings.detections import Detections
from .cues import ROUND
from .pair_odds import NO_BONDS, Bonds

Array = NDArray[np.float64]
FLOOR_PX = 0.5  # no detector is better than this


@dataclass(frozen=True, eq=False)
class Belief:
    """Parameters of the likelihoods; C cameras.

    ``noise`` (C,) standard deviation of a centroid, as a share of its box's diagonal, or px where ``points``.
    ``acceleration`` standard deviation of the velocity's change in a frame, ``velocity`` of an unknown velocity,
    ``dart`` of the velocity's change when an animal darts, world units a frame. ``clear``, ``hidden`` (C,) chance to be
    detected in full view, and at the place of another. ``clutter`` (C,) false detections a px^2 and frame. ``births``
    new animals a world unit^3 and frame. ``body_length`` world units. ``scales`` (3,): see `cues.likeness`.
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

    def with_(self, **changes: object) -> "Belief":
        """Return a copy with changes."""
        return replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Sights:
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
    bonds: Bonds = NO_BONDS
    first: int = 0

    @classmethod
    def of(cls, rig: CameraRig, detections: Detections, belief: Belief) -> "Sights":
        """Prepare detections: rays through lens and water once, noise in px, log size and axis of each."""
        camera = detections.camera.astype(np.int64)
        diagonal = np.hypot(detections.x2 - detections.x1, detections.y2 - detections.y1)
        noise = belief.noise[camera] * (1.0 if belief.points else diagonal)
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

    def with_bonds(self, rig: CameraRig, detections: Detections, body_length: float, model: Path) -> "Sights":
        """Return these sights with what a pair network says about them."""
        from .learning.odds import load_odds

        return replace(self, bonds=Bonds.of(*load_odds(model)(rig, detections, self.noise, body_length)))

    def frame(self, number: int, rows: slice, views: int) -> "FrameSights":
        """Return the detections of one frame, which are sorted by camera."""
        camera = self.camera[rows]
        return FrameSights(
            number, rows.start + self.first, np.searchsorted(camera, np.arange(views + 1)), camera,
            self.u[rows], self.v[rows], self.noise[rows], self.log_size[rows], self.axis[rows], self.origin[rows],
            self.direction[rows], self.bonds,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class FrameSights:
    """Detections of one frame: columns of `Sights`, its ``number``, its first row, and where each camera begins."""

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
    bonds: Bonds = NO_BONDS

    def __len__(self) -> int:
        return len(self.u)

    def rows(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows in the recording of detections counted within the frame; -1 stays."""
        return np.where(members >= 0, members + self.start, -1)
