"""Detection + geometric association + linking: the paper's Hungarian, greedy and 3D-SORT baselines.

Detections of each pair of cameras are matched by the mean reprojection error of their point in the two views, as the
paper describes its baselines. Matches are merged transitively, one detection a camera, and triangulated. Points are
linked over time by nearest neighbour, or by a constant-velocity Kalman filter. The paper's own grouping also asks
that the point falls into every member's box; with the setting `contain` the baselines do so too, and are better.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...cameras.rig import CameraRig
from ...core.progress import Progress
from ...maths.kalman import MotionNoise
from ...maths.linking import link_kalman, link_nearest
from ...recordings.detections import Detections
from ..base import Method, MethodSettings
from ..groups import Groups, groups_to_tracks
from ..matching import POINT_ERROR, Array, Flags, Ints, greedy_match, group_frames, hungarian_match
from ..result import Result
from ..scale import Scale, box_size, estimate_scale, middle_frames

# Chosen once, on the eight SynFish train scenes (benchmarks/choose_gates.py): mean MOTA changes by less than half a
# point over gates of 0.5 to 1 body length and over fourfold noise; the smallest gate of that plateau was taken.
GATE_LENGTHS = 0.5
MEASUREMENT_STEPS = 1.0
ACCELERATION_STEPS = 0.2
STEPS_A_LENGTH = 10.0  # stands in for a length that points do not show


class GeometricSettings(MethodSettings):
    """Settings of association by geometry and linking by distance."""

    max_error_px: float | None = Field(
        default=None,
        gt=0,
        description="largest mean reprojection error of a pair, px; None: 0.5 % of the image's diagonal, or the boxes",
    )
    contain: bool = Field(
        default=False, description="also reject pairs and groups whose point leaves the box of a member"
    )
    body_length: float | None = Field(
        default=None, gt=0, description="length of an animal, world units; None: estimated"
    )
    gate: float | None = Field(
        default=None, gt=0, description=f"largest distance of a link, world units; None: {GATE_LENGTHS} body lengths"
    )
    max_age: int = Field(default=15, ge=0, description="frames a track may go unseen")


class KalmanSettings(GeometricSettings):
    """The same with a constant-velocity Kalman filter."""

    max_age: int = Field(
        default=30, ge=0, description="frames a track may go unseen (paper: 30 on SynFish, 3 on 3D-ZeF)"
    )
    step: float | None = Field(default=None, gt=0, description="typical way in a frame, world units; None: estimated")
    measurement: float | None = Field(
        None,
        gt=0,
        description=f"standard deviation of a measured position, world units; None: {MEASUREMENT_STEPS} steps",
    )
    acceleration: float | None = Field(
        default=None, gt=0, description=f"change of velocity in a frame, world units; None: {ACCELERATION_STEPS} steps"
    )


def resolve_lengths(settings: GeometricSettings, scale: Scale) -> dict[str, float]:
    """Fill the lengths a user left open from the scale of the recording."""
    moved = scale.step if np.isfinite(scale.step) and scale.step > 0 else 1.0
    seen = scale.body_length if np.isfinite(scale.body_length) else STEPS_A_LENGTH * moved
    length = settings.body_length or seen
    found = {"body_length": length, "gate": settings.gate or GATE_LENGTHS * length}
    if isinstance(settings, KalmanSettings):
        step = settings.step or moved
        found |= {
            "step": step,
            "measurement": settings.measurement or MEASUREMENT_STEPS * step,
            "acceleration": settings.acceleration or ACCELERATION_STEPS * step,
        }
    return found


def resolve_error(settings: GeometricSettings, rig: CameraRig, detections: Detections) -> dict[str, float | bool]:
    """Pixel gate: boxes bound the error of a pair; point detections have none and get a share of the image."""
    contain = settings.contain and box_size(detections) > 0
    diagonal = float(np.mean([np.hypot(*c.size) for c in rig]))
    return {
        "max_error_px": settings.max_error_px or (diagonal if contain else POINT_ERROR * diagonal),
        "contain": contain,
    }


class GeometricMethod(Method):
    """Associate every frame by a matcher, then link."""

    Settings: ClassVar[type[Any]] = GeometricSettings

    @abstractmethod
    def match(self, cost: Array, camera: Ints) -> Flags:
        """Match the detections of a frame: see `Matcher`."""

    def link(self, groups: Groups) -> Ints:
        """Track (G,) of each group."""
        assert self.settings.gate is not None
        return link_nearest(groups.frame, groups.position, self.settings.gate, self.settings.max_age)

    def associate(
        self, rig: CameraRig, detections: Detections, progress: Progress, frames: Ints | None = None
    ) -> Groups:
        """Group the detections of all frames, or of these."""
        s = self.settings
        assert s.max_error_px is not None
        return group_frames(rig, detections, self.match, s.max_error_px, s.contain, progress, frames)

    def resolve(self, rig: CameraRig, detections: Detections) -> "GeometricMethod":
        """Estimate open lengths from Hungarian groups of a stretch in the middle of the recording."""
        if None not in self.settings.model_dump().values():
            return self
        ready = type(self)(self.settings.model_copy(update=resolve_error(self.settings, rig, detections)))
        first = ready.first_groups(rig, detections, middle_frames(detections))
        scale = estimate_scale(rig, detections, first)
        return type(self)(ready.settings.model_copy(update=resolve_lengths(ready.settings, scale)))

    def first_groups(self, rig: CameraRig, detections: Detections, frames: Ints) -> Groups:
        """Return Hungarian groups of some frames, whatever the method: to see how large animals are and where."""
        s = self.settings
        return group_frames(
            rig, detections, hungarian_match, s.max_error_px, s.contain, lambda done, total: None, frames
        )

    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Result:
        """Associate, then link."""
        groups = self.associate(rig, detections, progress)
        return Result(groups_to_tracks(rig, detections, groups, self.link(groups)))


class Hungarian(GeometricMethod):
    """Hungarian matching of every pair of cameras; nearest-neighbour linking."""

    name: ClassVar[str] = "hungarian"

    def match(self, cost: Array, camera: Ints) -> Flags:
        """Match the detections of a frame."""
        return np.asarray(hungarian_match(cost, camera))


class Greedy(GeometricMethod):
    """Cheapest pair first, in every pair of cameras; nearest-neighbour linking."""

    name: ClassVar[str] = "greedy"

    def match(self, cost: Array, camera: Ints) -> Flags:
        """Match the detections of a frame."""
        return np.asarray(greedy_match(cost, camera))


class Sort3D(Hungarian):
    """Hungarian matching of every pair of cameras; constant-velocity Kalman filter and gated assignment."""

    name: ClassVar[str] = "sort3d"
    Settings = KalmanSettings

    def link(self, groups: Groups) -> Ints:
        """Track (G,) of each group."""
        return link_by_kalman(self.settings, groups)


def link_by_kalman(settings: KalmanSettings, groups: Groups) -> Ints:
    """Link groups by Kalman prediction under resolved settings."""
    s = settings
    assert None not in (s.gate, s.step, s.measurement, s.acceleration)
    noise = MotionNoise(
        acceleration=float(s.acceleration or 0), measurement=float(s.measurement or 0), velocity=float(s.step or 0)
    )
    return link_kalman(groups.frame, groups.position, noise, float(s.gate or 0), s.max_age)
