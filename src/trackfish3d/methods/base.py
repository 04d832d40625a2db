"""What a tracking method is: settings, and detections to tracks."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field, field_validator

from ..cameras.rig import CameraRig
from ..core.errors import InputError
from ..core.progress import Progress, silent
from ..core.settings import Settings
from ..recordings.detections import Detections
from ..recordings.edits.kinds import Pin
from ..recordings.tracks import Tracks
from .doubles import once
from .region import Region
from .result import Result

LEARN_EPOCHS = 40  # of a method that learns on the recording it is to track, unless told otherwise


class MethodSettings(Settings):
    """Settings all methods share. A length that is None is estimated from the recording."""

    max_gap: int = Field(default=15, ge=0, description="points of a track at most this many frames apart are joined")
    min_obs: int = Field(default=2, ge=1, description="tracks observed in fewer frames are removed as ghosts")
    region: str | None = Field(
        default=None, description="only there animals are tracked: x0:x1,y0:y1,z0:z1, or corners"
    )

    @field_validator("region")
    @classmethod
    def _readable(cls, text: str | None) -> str | None:
        if text is not None:
            Region.parse(text)
        return text


class Method(ABC):
    """A tracker of 3D trajectories. A subclass is one algorithm: its name, its settings and a `run`.

    `track` is the same for all: it checks the input, runs, and post-processes, so that no method is favoured.

    Parameters
    ----------
    settings : of the method; its defaults without.
    """

    name: ClassVar[str] = ""
    Settings: ClassVar[type[Any]] = MethodSettings
    min_cameras: ClassVar[int] = 2
    max_cameras: ClassVar[int] = 10**6
    keeps_pins: ClassVar[bool] = False
    pins: tuple[Pin, ...] = ()

    def __init__(self, settings: MethodSettings | None = None) -> None:
        self.settings: Any = self.Settings() if settings is None else settings

    def pinned(self, pins: Sequence[Pin]) -> "Method":
        """Return this method, which is to keep what people said of identities.

        Parameters
        ----------
        pins : pairs of moments of animals that are one, or are two.
        """
        if pins and not self.keeps_pins:
            raise InputError(f"--keep-edits: method {self.name} cannot be told which animal is which; joint can")
        made = type(self)(self.settings)
        made.pins = tuple(pins)
        return made

    def resolve(self, rig: CameraRig, detections: Detections) -> "Method":
        """Return this method with every length estimated that was left open; already closed ones stay.

        Parameters
        ----------
        rig : the cameras.
        detections : of the recording that is to be tracked.
        """
        return self

    @abstractmethod
    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Result:
        """Make tracks, before ghosts are removed and gaps filled. All settings are resolved.

        Parameters
        ----------
        rig : the cameras.
        detections : on a common clock, its cameras those of the rig.
        fps : frames a second.
        progress : called with steps done and steps in all.
        """

    def track(
        self, rig: CameraRig, detections: Detections, fps: float = 30.0, progress: Progress | None = None
    ) -> Result:
        """Track all animals of a recording. Nothing is left on the method.

        Parameters
        ----------
        rig : the cameras.
        detections : on a common clock, its cameras those of the rig.
        fps : frames a second.
        progress : called with steps done and steps in all.
        """
        self.refuse_cameras(rig, detections.cameras)
        single = once(rig, detections)
        count = len(single.rig)
        if not self.min_cameras <= count <= self.max_cameras:
            bound = f"at least {self.min_cameras}" if count < self.min_cameras else f"at most {self.max_cameras}"
            why = "".join(f"; {note}" for note in single.notes)
            raise InputError(f"this method needs {bound} cameras; the recording has {count}{why}")
        if not len(detections):
            return Result(Tracks.build([], [], [], cameras=rig.names), method=self.name, settings=self.settings)
        ready = self.resolve(single.rig, single.detections)
        made = ready.run(single.rig, single.detections, fps, progress or silent)
        made = replace(made, tracks=single.back(made.tracks, rig))
        made = self._within(made)
        done = made.finished(self.settings.max_gap, self.settings.min_obs)
        notes = (*single.notes, *done.notes, *self.remarks(done))
        return replace(done, notes=notes, method=self.name, settings=ready.settings)

    def _within(self, result: Result) -> Result:
        """Leave out points outside the region. They are cut off last, since who is outside explains detections too."""
        if self.settings.region is None:
            return result
        inside = Region.parse(self.settings.region).holds(result.tracks.position)
        note = f"{int((~inside).sum())} of {len(inside)} points of tracks lie outside the region and were left out"
        return replace(result, tracks=result.tracks.select(inside), notes=(*result.notes, note))

    @staticmethod
    def refuse_cameras(rig: CameraRig, names: Sequence[str]) -> None:
        """Refuse detections of other cameras.

        Parameters
        ----------
        rig : the cameras.
        names : of the cameras that the detections are of.
        """
        if tuple(names) != rig.names:
            raise InputError(f"detections are of cameras {', '.join(names)}, the calibration of {', '.join(rig.names)}")

    def remarks(self, result: Result) -> list[str]:
        """Return what a user should know about the finished tracks, a line each.

        Parameters
        ----------
        result : the tracks, numbered and filled.
        """
        return []
