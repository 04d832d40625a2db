"""Method ``joint``: one assignment over views and time."""

from dataclasses import dataclass
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
from .engine import Engine, FrameLog
from .settings import JointSettings
from .smoothing import smooth

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(eq=False)
class Paths:
    """Confirmed tracks as columns, sorted by name and frame: (N,) name, frame, members (N, C), state, cov, margin."""

    name: Ints
    frame: Ints
    members: Ints
    state: Array
    cov: Array
    margin: Array

    @classmethod
    def of(cls, logs: list[FrameLog], names: set[int]) -> "Paths":
        """Collect the logs of these tracks, without the frames after their last detection."""
        wanted = np.array(sorted(names), np.int64)
        keep = [np.isin(g.name, wanted) for g in logs]
        cat = {k: np.concatenate([getattr(g, k)[m] for g, m in zip(logs, keep, strict=True)])
               for k in ("name", "members", "state", "cov", "margin")}
        frame = np.concatenate([np.full(m.sum(), g.frame) for g, m in zip(logs, keep, strict=True)]).astype(np.int64)
        order = np.lexsort((frame, cat["name"]))
        paths = cls(cat["name"][order], frame[order], *(cat[k][order] for k in ("members", "state", "cov", "margin")))
        hit = (paths.members >= 0).any(1)
        low, high = np.full(wanted.max(initial=0) + 1, 2**62), np.full(wanted.max(initial=0) + 1, -1)
        np.minimum.at(low, paths.name[hit], paths.frame[hit])
        np.maximum.at(high, paths.name[hit], paths.frame[hit])
        return paths.take((paths.frame <= high[paths.name]) & (paths.frame >= low[paths.name]))

    def take(self, rows: Any) -> "Paths":
        return Paths(*(getattr(self, k)[rows] for k in self.__dataclass_fields__))

    @property
    def begin(self) -> Ints:
        return np.append(np.flatnonzero(np.diff(self.name, prepend=-1)), len(self.name)).astype(np.int64)


class Joint(Method):
    """Views and time are decided together."""

    Settings: ClassVar[type[Any]] = JointSettings

    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Tracks:
        belief = first_belief(rig, detections)
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
