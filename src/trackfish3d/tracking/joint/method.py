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
from .engine import Ahead, Engine
from .fitting import fit
from .filtering import run_filter
from .paths import Paths
from .repair import Swaps, stitch, swap_odds, unswap
from .settings import JointSettings
from .smoothing import smooth

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class Joint(Method):
    """Views and time are decided together."""

    Settings: ClassVar[type[Any]] = JointSettings

    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Tracks:
        belief = best_start(rig, detections, first_belief(rig, detections), self.settings)
        for _ in range(self.settings.fit_rounds):
            belief = refit(rig, detections, belief, self.settings)
        belief = belief.with_(noise=belief.noise * self.settings.caution)
        self.belief = belief
        sights = Sights.of(rig, detections, belief)
        engine = Engine(rig, belief, self.settings)
        frames = detections.frames
        for k in range(len(frames)):
            engine.step(int(frames[k]), detections.at(k), sights, Ahead(frames, detections.offsets, k))
            progress(k + 1, len(frames))
        engine.finish()
        self.engine = engine
        if not engine.confirmed:
            return Tracks.build([], [], [], cameras=rig.names)
        paths = Paths.of(engine.logs, engine.confirmed)
        paths = mend(rig, sights, paths, belief, self.settings)
        smooth(paths.begin, paths.frame, paths.state, paths.cov, belief.acceleration**2)
        return Tracks.build(
            paths.frame, paths.name, paths.state[:, :3], covariance=paths.cov[:, :3, :3], detection=paths.members,
            observed=(paths.members >= 0).any(1), cameras=rig.names,
        )  # fmt: skip


def mend(rig, sights, paths, belief, settings):
    """Exchange and join tracks as their whole past and future say; states become filtered ones."""
    for _ in range(settings.mend_rounds):
        smooth(paths.begin, paths.frame, paths.state, paths.cov, belief.acceleration**2)
        fwd, bwd = both_ways(rig, sights, paths, belief)
        one, other, odds = swap_odds(
            paths.name, paths.frame, np.argsort(paths.frame, kind="stable"), fwd[2], fwd[3], bwd[2], bwd[3],
            settings.swap_reach * belief.body_length, belief.acceleration**2, settings.burst_share, belief.dart**2, -3.0)
        paths, done = unswap(paths, Swaps(one, other, odds), settings.swap_least)
        if done:
            paths = refilter(rig, sights, paths, belief)
            continue
        name, strength = stitch(paths, fwd[2], fwd[3], bwd[2], bwd[3], belief, settings)
        joined = np.isfinite(strength).any()
        if not joined:
            break
        paths = fill(paths.renamed(np.repeat(name, np.diff(paths.begin))))
        paths = refilter(rig, sights, paths, belief)
    return refilter(rig, sights, paths, belief)


def both_ways(rig, sights, paths, belief):
    args = (rig.packed, paths.begin, paths.frame, paths.members, paths.state, sights.u, sights.v, sights.noise,
            belief.acceleration**2, belief.velocity**2, belief.body_length**2, 1e-4 * belief.body_length)
    return run_filter(*args, False), run_filter(*args, True)


def refilter(rig, sights, paths, belief):
    args = (rig.packed, paths.begin, paths.frame, paths.members, paths.state, sights.u, sights.v, sights.noise,
            belief.acceleration**2, belief.velocity**2, belief.body_length**2, 1e-4 * belief.body_length)
    _, _, state, cov, _ = run_filter(*args, False)
    return Paths(paths.name, paths.frame, paths.members, state, cov, paths.margin)


def fill(paths):
    """Add rows without detections in the gaps of tracks, on a straight line."""
    step = np.diff(paths.frame)
    at = np.flatnonzero((np.diff(paths.name) == 0) & (step > 1))
    missing = step[at] - 1
    before = np.repeat(at, missing)
    ahead = np.arange(missing.sum()) - np.repeat(np.cumsum(missing) - missing, missing) + 1
    share = (ahead / np.repeat(step[at], missing))[:, None]
    state = (1 - share) * paths.state[before] + share * paths.state[before + 1]
    n = len(before)
    out = Paths(
        np.append(paths.name, paths.name[before]), np.append(paths.frame, paths.frame[before] + ahead),
        np.vstack([paths.members, np.full((n, paths.members.shape[1]), -1)]), np.vstack([paths.state, state]),
        np.concatenate([paths.cov, paths.cov[before]]), np.append(paths.margin, np.full(n, np.inf)))
    return out.renamed(out.name)


def best_start(rig, detections, belief, settings):
    best, top = belief, -np.inf
    for share in (0.01, 0.04, 0.16):
        step = share * belief.body_length
        trial = belief.with_(acceleration=0.3 * step, velocity=1.5 * step, dart=3.0 * step)
        engine, _, _ = pilot(rig, detections, trial, settings, 40)
        evidence = sum(float(g.weight[np.isin(g.name, list(engine.confirmed))].sum()) for g in engine.logs)
        if evidence > top:
            best, top = trial, evidence
    return best


def pilot(rig, detections, belief, settings, count):
    frames = detections.frames
    k = np.arange(max(len(frames) // 2 - count // 2, 0), min(len(frames) // 2 + count // 2, len(frames)))
    rows = slice(int(detections.offsets[k[0]]), int(detections.offsets[k[-1] + 1]))
    part = detections.select(np.arange(rows.start, rows.stop))
    sights = Sights.of(rig, part, belief)
    engine = Engine(rig, belief, settings)
    for i in range(len(part.frames)):
        engine.step(int(part.frames[i]), part.at(i), sights)
    engine.finish()
    return engine, sights, part


def refit(rig, detections, belief, settings):
    engine, sights, part = pilot(rig, detections, belief, settings, settings.fit_frames)
    if not engine.confirmed:
        return belief
    paths = Paths.of(engine.logs, engine.confirmed)
    smooth(paths.begin, paths.frame, paths.state, paths.cov, belief.acceleration**2)
    return fit(rig, sights, paths, len(part.frames), belief, settings.burst_share)


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
        noise=np.full(C, 0.03), acceleration=0.3 * scale.step, velocity=1.5 * scale.step, dart=3.0 * scale.step, clear=np.full(C, 0.97),
        hidden=np.full(C, 0.7), clutter=0.05 * np.maximum(per, 0.1) / area, births=0.05 / volume, body_length=scale.body_length,
        scales=np.array([0.08, 0.35, 0.08]),
    )
