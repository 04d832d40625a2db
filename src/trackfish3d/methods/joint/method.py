"""Method ``joint``: one assignment over views and time."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...cameras.rig import CameraRig
from ...core.progress import Progress
from ...recordings.detections import Detections
from ...recordings.tracks import Tracks
from ..base import Method
from ..result import Result
from .arguments import FutureFrames
from .engine import Engine
from .fit.canonical import Canonical
from .fit.initialise import first_model, initial_model
from .observations import Observations
from .parts.mending import mended
from .refinement.confidence import link_confidence, suspects, undo_doubtful_joins
from .refinement.filtering import linearised
from .refinement.lasting import lasting_errors
from .refinement.pins import Pins
from .refinement.refine import Lines, Refined, refine
from .refinement.trajectories import Trajectories
from .settings import JointSettings

Array = NDArray[np.float64]
_STOPPED = "{} searches ended before the best choice was proved (--set most_nodes=N searches longer)"

_OPEN = (
    "animals were taken to come and go: {} of {} beginnings and ends of tracks are at the border of the views; "
    "--closed if none can leave"
)


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
        engine = Engine(rig, model, s)
        frames = detections.frames
        for k, frame in enumerate(frames):
            engine.step(int(frame), detections.at(k), obs, FutureFrames(frames, detections.offsets, k))
            progress(k + 1, len(frames))
        engine.finish()
        notes = (_STOPPED.format(engine.stopped),) if engine.stopped else ()
        if not engine.confirmed:
            return Result(Tracks.build([], [], [], cameras=world.names), notes=notes, model=world.model(model))
        pins = Pins.of(self.pins, world, model.body_length)
        refined = refine(rig, obs, Trajectories.of(engine.logs, engine.confirmed), model, s, pins)
        refined = undo_doubtful_joins(rig, obs, refined, model, s)
        if refined.open and s.scene == "auto":
            notes = (*notes, _OPEN.format(refined.borders.at_border, refined.borders.inner))
        found = [replace(x, first=x.first + world.first, last=x.last + world.first) for x in suspects(refined)]
        paths = refined.paths
        lines = linearised(rig.packed, paths.members, paths.state, 1e-4 * model.body_length)
        tracks = to_tracks(world, refined, lines, *lasting_errors(obs, paths, lines, model.body_length))
        return Result(tracks, tuple(found), notes, model=world.model(model))

    def remarks(self, result: Result) -> list[str]:
        """Say why there are other tracks than animals, where their number was told."""
        told, tracks = self.settings.animals, result.tracks
        count = len(tracks.identities)
        if told is None or count == told:
            return []
        most = int(np.unique(tracks.frame, return_counts=True)[1].max(initial=0))
        if count > told:
            why = "some were lost for longer than can be bridged" if most <= told else "there are more at one moment"
        else:
            why = "the others were never seen by two views long enough"
        return [f"{count} tracks for {told} animals, at most {most} at one moment: {why}"]


def to_tracks(world: Canonical, refined: Refined, lines: Lines, covariance: Array, sigma_velocity: Array) -> Tracks:
    """Mended paths as tracks, with their errors, mean reprojection error and the confidence of each link.

    lines : `linearised` of the paths. It sees points that noise has put a little above the water, too.
    covariance (N, 3, 3), sigma_velocity (N,) : of `lasting_errors`.
    """
    detections, paths = world.detections, refined.paths
    pixel, _, use = lines
    off = np.linalg.norm(pixel - detections.centroids[np.maximum(paths.members, 0)], axis=2)
    with np.errstate(invalid="ignore"):
        error = np.where(use, off, 0.0).sum(1) / use.sum(1)
    return Tracks.build(
        paths.frame + world.first,
        paths.name,
        paths.state[:, :3] + world.origin,
        covariance=covariance,
        sigma_velocity=sigma_velocity,
        detection=world.members(paths.members),
        error_px=error,
        observed=(paths.members >= 0).any(1),
        confidence=link_confidence(refined),
        cameras=world.names,
    )
