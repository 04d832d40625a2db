"""What to believe about a recording before it is tracked, and after a look at it."""

import numpy as np
from numpy.typing import NDArray

from ....cameras.rig import CameraRig
from ....core.progress import silent
from ....recordings.detections import Detections
from ...matching import POINT_ERROR, group_frames, hungarian_match
from ...scale import box_size, estimate_scale, middle_frames
from ..bodies.kind import POINTS, UNKNOWN, VISIBLE, WHOLE
from ..bodies.shape import any_direction
from ..bodies.usual import explained, fit_bodies, visible_rates
from ..engine import Engine
from ..model import TrackingModel
from ..observations import Observations
from ..refinement.refine import smoothed
from ..refinement.trajectories import Trajectories
from ..settings import JointSettings
from ..tracklets.deciding import with_pairing
from .estimate import fit

Array = NDArray[np.float64]
NOISE_BOXES = 0.03  # of a box's diagonal, before it is fitted
NOISE_POINTS = 2.0  # px, for detections without boxes
FALSE_SHARE = 0.05  # of detections
NEW_ANIMALS = 0.05  # a frame
STEPS = (0.01, 0.04, 0.16)  # ways in a frame that are tried, body lengths
LONG_STEPS = (0.64, 2.56, 10.24)  # that are tried where the longest of those was best, or none explained anything
POINT_LENGTH = 0.1  # of the water's extent, for detections without boxes
START_FRAMES = 40
FEW_TOUCHED = 0.02  # share of boxes that another touches, below which nobody asks whether they are cut
FEW_VIEWS = 3  # hardly tell which side of a box is cut; in crowds that tracklets decide, nobody asks
CUT_ROUNDS = 2  # further fits where boxes are cut
NOISE_STEP = 0.7  # between noises that are tried where boxes are cut
NOISE_STEPS = 6  # of them at most
NOISE_GAIN = 0.025  # share of the likelihood that a step must gain


def initial_model(rig: CameraRig, detections: Detections, settings: JointSettings) -> TrackingModel:
    """Fit a model to the middle of a recording.

    Lengths come from first groups, the motion is the one that explains most of a short stretch, and everything is
    fitted twice to the tracks of a longer one.
    """
    model = with_pairing(rig, stretch(detections, settings.fit_frames), first_model(rig, detections, settings))
    model = best_start(rig, detections, model, settings)
    for _ in range(settings.fit_rounds):
        engine, obs, part = pilot(rig, detections, model, settings, settings.fit_frames)
        if not engine.confirmed:
            break
        model = fit(rig, obs, followed(rig, engine, obs, model, settings), len(part.frames), model, settings.dart_share)
    if not settings.fit_rounds or model.body is None or settings.detector == WHOLE:
        return model
    if model.tracklets and settings.detector == "auto" and len(np.unique(detections.camera)) <= FEW_VIEWS:
        return model.with_(detector=WHOLE)
    return with_bodies(rig, detections, model, settings)


def followed(
    rig: CameraRig, engine: Engine, obs: Observations, model: TrackingModel, settings: JointSettings
) -> Trajectories:
    """Return the smoothed tracks of a pilot."""
    paths = Trajectories.of(engine.logs, engine.confirmed)
    return smoothed(rig, explained(rig, obs, paths, model), paths, model, settings)


def with_bodies(rig: CameraRig, detections: Detections, model: TrackingModel, settings: JointSettings) -> TrackingModel:
    """Return the model that takes boxes for cut by whoever is in front, where that explains the recording better.

    Sizes must say that boxes are cut (`bodies.kind`), and the tracks of a pilot must be likelier; neither is asked
    where the user knows it.
    """
    plain = model.with_(detector=WHOLE)
    part = stretch(detections, settings.fit_frames)
    obs = Observations.of(rig, part, model)
    if obs.sides.any(1).mean() < FEW_TOUCHED:
        return plain
    engine = tracked(rig, part, obs, model, settings)
    if not engine.confirmed:
        return plain
    paths = followed(rig, engine, obs, plain, settings)
    told = fit_bodies(rig, obs, paths, plain, settings.detector)
    if told.detector != VISIBLE:
        return plain
    before = evidence_of(engine)
    trial = told
    for _ in range(CUT_ROUNDS):
        trial = best_noise(rig, detections, trial, settings)
        engine, obs, part = pilot(rig, detections, trial, settings, settings.fit_frames)
        if not engine.confirmed:
            return plain
        paths = followed(rig, engine, obs, trial, settings)
        trial = fit(rig, obs, paths, len(part.frames), trial, settings.dart_share, keep_noise=True)
        trial = visible_rates(rig, obs, paths, fit_bodies(rig, obs, paths, trial, VISIBLE))
    after = evidence_of(pilot(rig, detections, trial, settings, settings.fit_frames)[0])
    return trial if settings.detector == VISIBLE or after > before else plain


def best_noise(rig: CameraRig, detections: Detections, model: TrackingModel, settings: JointSettings) -> TrackingModel:
    """Return the model with the noise under which tracks are most likely, steps down from what misfits say.

    Where boxes are cut, wrong tracks make misfits large, and large noise makes wrong tracks: misfits cannot tell, but
    the likelihood of the tracks that each noise leads to can. A step must gain clearly: errors last, and the likelihood
    takes them for independent.
    """
    best, most = model, -1e12
    for k in range(NOISE_STEPS):
        trial = model.with_(noise=model.noise * NOISE_STEP**k)
        evidence = evidence_of(pilot(rig, detections, trial, settings, settings.fit_frames)[0])
        if evidence <= most + NOISE_GAIN * abs(most):
            break
        best, most = trial, evidence
    return best


def evidence_of(engine: Engine) -> float:
    """Log-likelihood ratio of all tracks that count, against none."""
    names = np.array(sorted(engine.confirmed), np.int64)
    return sum(float(log.weight[np.isin(log.name, names)].sum()) for log in engine.logs)


def first_model(rig: CameraRig, detections: Detections, settings: JointSettings) -> TrackingModel:
    """Return what can be said without tracks: lengths, volume, density of detections."""
    points = box_size(detections) <= 0
    cameras, count = len(rig), len(detections.frames)
    seeing = len(np.unique(detections.camera))
    other = settings.model is not None or (settings.parts and detections.parts is not None)  # that tells pairs
    diagonal = float(np.mean([np.hypot(*c.size) for c in rig]))
    frames = middle_frames(detections)
    largest = POINT_ERROR * diagonal if points else diagonal
    groups = group_frames(rig, detections, hungarian_match, largest, not points, silent, frames)
    scale = estimate_scale(rig, detections, groups)
    length = scale.body_length
    extent = np.ptp(groups.position, axis=0) if len(groups) else np.zeros(3)
    if points or not np.isfinite(length):  # points show no size: a share of the water, outliers left out, stands in
        middle_half = np.quantile(groups.position, [0.25, 0.75], axis=0) if len(groups) else np.zeros((2, 3))
        extent = 2.0 * np.ptp(middle_half, axis=0)
        length = POINT_LENGTH * float(extent.max()) or 1.0
    area = np.array([c.size[0] * c.size[1] for c in rig], float)
    each = np.bincount(detections.camera, minlength=cameras) / max(count, 1)
    return TrackingModel(
        noise=np.full(cameras, NOISE_POINTS if points else NOISE_BOXES),
        acceleration=0.3 * STEPS[1] * length,
        velocity=1.5 * STEPS[1] * length,
        dart=3.0 * STEPS[1] * length,
        clear=np.full(cameras, 0.97),
        hidden=np.full(cameras, 0.7),
        clutter=FALSE_SHARE * np.maximum(each, 0.1) / area,
        births=NEW_ANIMALS / float(np.prod(extent + length)),
        body_length=length,
        scales=np.zeros(3) if points else np.array([0.08, 0.35, 0.08]),
        points=points,
        shape=None if points or seeing > settings.silhouettes else any_direction(length),
        body=None if points else any_direction(length),
        detector=POINTS if points else UNKNOWN,
        tracklets=not (points or other) and seeing <= settings.tracklets,
    )


def best_start(rig: CameraRig, detections: Detections, model: TrackingModel, settings: JointSettings) -> TrackingModel:
    """Return the model with the way in a frame under which a short stretch has the most likely tracks.

    Longer ways than usual ones, of insects and of low frame rates, are tried while they explain more.
    """
    part = stretch(detections, START_FRAMES)
    obs = Observations.of(rig, part, model)
    best, most = model, -np.inf
    longest = False  # of those tried so far is best
    for share in (*STEPS, *LONG_STEPS):
        if share in LONG_STEPS and not longest:
            break
        step = share * model.body_length
        trial = model.with_(acceleration=0.3 * step, velocity=1.5 * step, dart=3.0 * step)
        evidence = evidence_of(tracked(rig, part, obs, trial, settings))
        longest = evidence > most or evidence == most == 0.0
        if longest:
            best, most = trial, evidence
    return best


def pilot(
    rig: CameraRig, detections: Detections, model: TrackingModel, settings: JointSettings, count: int
) -> tuple[Engine, Observations, Detections]:
    """Track ``count`` frames in the middle of a recording, each frame for itself."""
    part = stretch(detections, count)
    obs = Observations.of(rig, part, model)
    return tracked(rig, part, obs, model, settings), obs, part


def tracked(
    rig: CameraRig, part: Detections, obs: Observations, model: TrackingModel, settings: JointSettings
) -> Engine:
    """Return an engine that has tracked some frames, each for itself; ``obs`` are their detections."""
    engine = Engine(rig, model, settings)
    for k, frame in enumerate(part.frames):
        engine.step(int(frame), part.at(k), obs)
    engine.finish()
    return engine


def stretch(detections: Detections, count: int) -> Detections:
    """Return ``count`` frames in the middle of a recording."""
    middle = len(detections.frames) // 2
    low, high = max(middle - count // 2, 0), min(middle + (count + 1) // 2, len(detections.frames))
    return detections.select(np.arange(detections.offsets[low], detections.offsets[high]))
