"""Method ``joint``: one assignment over views and time."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...baselines.geometric import Hungarian
from ...cameras.rig import CameraRig
from ...recordings.detections import Detections
from ...recordings.tracks import Tracks
from ..method import Method, Progress
from ..scale import box_size, estimate_scale
from .belief import Belief, Sights
from .engine import Engine
from .fitting import fit
from .paths import Paths
from .settings import JointSettings
from .smoothing import smooth

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class Joint(Method):
    """Views and time are decided together."""

    Settings: ClassVar[type[Any]] = JointSettings

    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Tracks:
        belief = first_belief(rig, detections)
        for _ in range(self.settings.fit_rounds):
            belief = refit(rig, detections, belief, self.settings)
        self.belief = belief
        sights = Sights.of(rig, detections, belief)
        engine = Engine(rig, belief, self.settings)
        frames = detections.frames
        for k in range(len(frames)):
            engine.step(int(frames[k]), detections.at(k), sights)
            progress(k + 1, len(frames))
        engine.finish()
        self.engine = engine
        if not engine.confirmed:
            return Tracks.build([], [], [], cameras=rig.names)
        paths = Paths.of(engine.logs, engine.confirmed)
        smooth(paths.begin, paths.frame, paths.state, paths.cov, belief.acceleration**2)
        return Tracks.build(
            paths.frame, paths.name, paths.state[:, :3], covariance=paths.cov[:, :3, :3], detection=paths.members,
            observed=(paths.members >= 0).any(1), cameras=rig.names,
        )  # fmt: skip


def refit(rig, detections, belief, settings):
    frames = detections.frames
    k = np.arange(max(len(frames) // 2 - settings.fit_frames // 2, 0), min(len(frames) // 2 + settings.fit_frames // 2, len(frames)))
    rows = slice(int(detections.offsets[k[0]]), int(detections.offsets[k[-1] + 1]))
    part = detections.select(np.arange(rows.start, rows.stop))
    sights = Sights.of(rig, part, belief)
    engine = Engine(rig, belief, settings)
    for i in range(len(part.frames)):
        engine.step(int(part.frames[i]), part.at(i), sights)
    engine.finish()
    if not engine.confirmed:
        return belief
    paths = Paths.of(engine.logs, engine.confirmed)
    smooth(paths.begin, paths.frame, paths.state, paths.cov, belief.acceleration**2)
    return fit(rig, sights, paths, len(part.frames), belief)


def first_belief(rig: CameraRig, detections: Detections) -> Belief:
    ready = Hungarian()
    method = Hungarian(Hungarian.Settings(contain=box_size(detections) > 0))
    ready = method.resolve(rig, detections)
    n = len(detections.frames)
    middle = max(n // 2 - 50, 0)
    frames = np.arange(middle, min(middle + 100, n))
    groups = ready.first_groups(rig, detections, frames)
    scale = estimate_scale(rig, detections, groups)
    C = len(rig)
    volume = np.prod(np.ptp(groups.position, axis=0) + scale.body_length)
    area = np.array([c.size[0] * c.size[1] for c in rig], float)
    per = np.bincount(detections.camera, minlength=C) / max(n, 1)
    return Belief(
        noise=np.full(C, 0.03), acceleration=0.3 * scale.step, velocity=1.5 * scale.step, clear=np.full(C, 0.97),
        hidden=np.full(C, 0.7), clutter=0.05 * np.maximum(per, 0.1) / area, births=0.05 / volume, body_length=scale.body_length,
        scales=np.array([0.08, 0.35, 0.08]),
    )
