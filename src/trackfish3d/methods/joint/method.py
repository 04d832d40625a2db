"""Method ``joint``: one assignment over views and time."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...cameras.rig import CameraRig
from ...core.progress import Progress, silent
from ...recordings import whole_frames
from ...recordings.detections import Detections
from ...recordings.tracks import Tracks
from ..base import Method
from ..result import Result
from .bodies.kind import VISIBLE
from .bodies.sharing import shared
from .bodies.usual import explained
from .fit.canonical import Canonical
from .fit.initialise import first_model, initial_model
from .long.long_run import LongRun
from .long.outcome import CLOSED, OPEN, STOPPED, number_note, total
from .long.sections import SECTION, WHOLE, Looked, Survey, survey
from .observations import Observations
from .parts.mending import mended
from .passes.readings import read
from .passes.turning import Course
from .refinement.confidence import suspects, undo_doubtful_joins
from .refinement.pins import Pins
from .refinement.refine import refine, smoothed
from .refinement.tracks_of import to_tracks
from .settings import JointSettings

Array = NDArray[np.float64]
CUT = (
    "boxes were taken to end where another animal begins, as those of visible parts do, by their sizes and by what "
    "they make of tracks; --set detector=whole if they show whole bodies"
)
PAIRED = (
    "rays of many animals meet several of another view, so pairs of views were decided by all frames of tracklets{}; "
    "--set tracklets=0 for each frame by itself"
)

AGAIN = (
    "tracks were torn, so the recording was gone through {} times, backwards and forwards by turns, and the likeliest "
    "parts were put together{}; --set passes=1 for once"
)
GAINING = "; the last time still gained, so more (passes) may, too"


class Joint(Method):
    """Views and time are decided together.

    In each frame every track takes a set of detections, at most one a view, so that no detection is taken twice and
    the total likelihood is greatest. Doubtful choices are tried on the frames that follow. New animals are followed as
    candidates until a window of frames tells which of them explain the detections that are left. In the end whole
    tracks are compared: exchanged where that is likelier, joined, and smoothed.

    The result's ``suspects`` are the moments at which identities may be wrong, its ``model`` is what was fitted.
    """

    name: ClassVar[str] = "joint"
    Settings: ClassVar[type[Any]] = JointSettings
    keeps_pins: ClassVar[bool] = True

    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Result:
        """Mend instances by what other views say of their parts, then fit, track, refine."""
        s: JointSettings = self.settings
        world = Canonical.of(rig, detections)
        if s.parts and detections.parts is not None:
            sound = mended(world.rig, world.detections, first_model(world.rig, world.detections, s).body_length)
            world = replace(world, detections=sound.detections, row=world.row[sound.source])
        rig, detections = world.rig, world.detections
        model = initial_model(rig, detections, s)
        obs = Observations.of(rig, detections, model)
        if s.model is not None:
            obs = obs.with_pair_odds(rig, detections, model.body_length, s.model)
        elif s.parts and detections.parts is not None:
            obs = obs.with_part_odds(rig, detections, model.body_length)
        if s.tool_tracks and detections.tracklet is not None:
            obs = replace(obs, tracklet=np.array(detections.tracklet, np.int64))
        reading = read(rig, Course.forwards(detections.frames, detections.offsets, obs), model, s, progress)
        notes = (STOPPED.format(reading.stopped),) if reading.stopped else ()
        if reading.passes > 1:
            notes = (*notes, AGAIN.format(reading.passes, GAINING if reading.gaining else ""))
        if model.detector == VISIBLE:
            notes = (*notes, CUT)
        if model.tracklets:
            notes = (*notes, PAIRED.format("" if model.shape is None else " and by outlines"))
        told = reading.paths
        if told is None:
            return Result(Tracks.build([], [], [], cameras=world.names), notes=notes, model=world.model(model))
        pins = Pins.of(self.pins, world, model.body_length)
        obs = explained(rig, obs, told, model)
        if s.share:
            obs, told = shared(rig, obs, detections.frame, smoothed(rig, obs, told, model, s), model)
        refined = refine(rig, obs, told, model, s, pins)
        refined = undo_doubtful_joins(rig, obs, refined, model, s)
        if s.scene == "auto" and refined.borders.inner:  # where no track begins or ends within, it makes no difference
            notes = (*notes, OPEN.format(refined.borders.at_border, refined.borders.inner) if refined.open else CLOSED)
        found = [replace(x, first=x.first + world.first, last=x.last + world.first) for x in suspects(refined)]
        tracks = to_tracks(world, obs, refined, model, s)
        return Result(tracks, tuple(found), notes, model=world.model(model))

    def remarks(self, result: Result) -> list[str]:
        """Say why there are other tracks than animals, where their number was told."""
        tracks = result.tracks
        most = int(np.unique(tracks.frame, return_counts=True)[1].max(initial=0))
        return number_note(len(tracks.identities), most, self.settings.animals)

    def track(
        self, rig: CameraRig, detections: Detections, fps: float = 30.0, progress: Progress | None = None
    ) -> Result:
        """Track all animals of a recording, a long one section by section."""
        self.refuse_cameras(rig, detections.cameras)
        long = None
        if len(detections) > WHOLE and detections.skeleton is None:
            pieces = partial(_pieces, detections)
            long = self.long_run(rig, pieces, self.survey(rig, pieces))
        if long is None:
            return super().track(rig, detections, fps, progress)
        made = list(long.go(progress or silent))
        totals, names = total(lambda: made, self.settings.scene)
        return Result(
            Tracks.concat([names.apply(p).tracks for p in made]),
            totals.ranked,
            tuple(totals.notes(long.engine.stopped, self.settings.scene, self.settings.animals)),
            method=self.name,
            settings=self.settings,
            model=long.world.model(long.model),
        )

    def survey(
        self,
        rig: CameraRig,
        pieces: Callable[[int], Iterator[Detections]],
        so_far: Looked | None = None,
        keep: Callable[[Looked], None] | None = None,
    ) -> Survey | None:
        """Look through a recording before it is tracked in sections; None where it must be tracked as a whole.

        So are recordings with a region, and those with what people or a network said of them.

        Parameters
        ----------
        rig : the cameras.
        pieces : gives detections anew at every call, from a frame on, in whole frames, ascending, as many at once as it
            likes.
        so_far : where a stopped look goes on.
        keep : is told before each section how far it is.
        """
        s = self.settings
        if self.pins or s.model is not None or s.region is not None or len(rig) < self.min_cameras:
            return None
        return survey(rig, pieces, so_far, keep)

    def long_run(
        self, rig: CameraRig, pieces: Callable[[int], Iterator[Detections]], known: Survey | None
    ) -> LongRun | None:
        """Return the run of a recording in sections; None where it must be tracked as a whole.

        So are those of up to `sections.WHOLE` detections, and such in which a camera or detections are there twice.

        Parameters
        ----------
        rig : the cameras.
        pieces : as of `survey`.
        known : what that found.
        """
        if known is None or known.rows <= WHOLE or known.twice:
            return None
        return LongRun(rig, pieces, known, self.settings)


def _pieces(detections: Detections, first: int) -> Iterator[Detections]:
    """Give detections in memory from a frame on."""
    return whole_frames.cut(detections.select(detections.frame >= first), SECTION)
