"""Method ``joint``: one assignment over views and time."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...cameras.rig import CameraRig
from ...recordings.detections import Detections
from ...recordings.tracks import Tracks
from ..base import Method, Progress
from ..postprocess import relabel
from .canonical import Canonical
from .engine import Engine
from .fit.initialise import initial_model
from .live_tracks import FutureFrames
from .model import TrackingModel
from .observations import Observations
from .refinement.confidence import link_confidence, suspects
from .refinement.filtering import linearised
from .refinement.lasting import lasting_covariance
from .refinement.refine import Refined, refine
from .refinement.trajectories import Trajectories
from .settings import JointSettings

Array = NDArray[np.float64]


class Joint(Method):
    """Views and time are decided together.

    In each frame every track takes a set of detections, at most one a view, so that no detection is taken twice and
    the total likelihood is greatest. Doubtful choices are tried on the frames that follow. New animals are followed as
    candidates until a window of frames tells which of them explain the detections that are left. In the end whole
    tracks are compared: exchanged where that is likelier, joined, and smoothed.

    After `track`, ``suspects`` lists the moments at which identities may be wrong, ``model`` what was fitted, and
    ``stopped`` how many searches ended before the best choice was proved.
    """

    Settings: ClassVar[type[Any]] = JointSettings

    def __init__(self, settings: JointSettings | None = None) -> None:
        super().__init__(settings)
        self.model: TrackingModel | None = None

    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Tracks:
        """Fit, track, mend."""
        s: JointSettings = self.settings
        world = Canonical.of(rig, detections)
        rig, detections = world.rig, world.detections
        model = initial_model(rig, detections, s)
        self.model = world.model(model)
        obs = Observations.of(rig, detections, model)
        if s.model is not None:
            obs = obs.with_pair_odds(rig, detections, model.body_length, s.model)
        engine = Engine(rig, model, s)
        frames = detections.frames
        for k, frame in enumerate(frames):
            engine.step(int(frame), detections.at(k), obs, FutureFrames(frames, detections.offsets, k))
            progress(k + 1, len(frames))
        engine.finish()
        self.suspects, self.stopped = [], engine.stopped
        if not engine.confirmed:
            return Tracks.build([], [], [], cameras=world.names)
        refined = refine(rig, obs, Trajectories.of(engine.logs, engine.confirmed), model, s)
        refined.paths.name, kept = _by_appearance(refined, s.min_obs)
        found = [x for x in suspects(refined) if max(x.track, x.other) < kept]
        self.suspects = [replace(x, first=x.first + world.first, last=x.last + world.first) for x in found]
        paths = refined.paths
        lines = linearised(rig.packed, paths.members, paths.state, 1e-4 * model.body_length)
        return to_tracks(world, refined, lasting_covariance(obs, paths, lines))


def _by_appearance(refined: Refined, min_obs: int) -> tuple[NDArray[np.int64], int]:
    """Names 0, 1, ... by first frame, so that suspects name the tracks as they are written; and how many are.

    Tracks observed in fewer than ``min_obs`` frames, which `postprocess` removes, come after all others.
    """
    paths = refined.paths
    old = paths.name[paths.begin[:-1]]
    short = np.add.reduceat((paths.members >= 0).any(1).astype(np.int64), paths.begin[:-1]) < min_obs
    new = np.argsort(np.lexsort((old, paths.frame[paths.begin[:-1]], short)))
    known = {int(a): int(b) for a, b in zip(old, new, strict=True)}
    for row in refined.joins:
        row[0] = known.get(int(row[0]), -1)
    return np.repeat(new, np.diff(paths.begin)).astype(np.int64), int((~short).sum())


def to_tracks(world: Canonical, refined: Refined, covariance: Array) -> Tracks:
    """Mended paths as tracks, with covariance (N, 3, 3), mean reprojection error and the confidence of each link."""
    rig, detections, paths = world.rig, world.detections, refined.paths
    error, count = np.zeros(len(paths.name)), np.zeros(len(paths.name))
    for c, cam in enumerate(rig):
        rows = np.flatnonzero(paths.members[:, c] >= 0)
        off = cam.project(paths.state[rows, :3]) - detections.centroids[paths.members[rows, c]]
        error[rows] += np.linalg.norm(off, axis=1)
        count[rows] += 1
    with np.errstate(invalid="ignore"):
        error = error / count
    return relabel(
        Tracks.build(
            paths.frame + world.first, paths.name, paths.state[:, :3] + world.origin,
            covariance=covariance, detection=world.members(paths.members), error_px=error,
            observed=count > 0, confidence=link_confidence(refined), cameras=world.names,
        )
    )  # fmt: skip
