"""Tracking and adjusting by turns, until nothing changes; then the verdict of tracks that were held out."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..core.progress import Progress, silent
from ..methods.registry import make_method
from ..recordings import Detections, Tracks
from .adjustment import Freedom, RefusedError, Setup, adjust_pieces, missed
from .bundle import POSE, WATER, Settled
from .coarse import coarse_offsets
from .kernels import CLOCK
from .observability import parameters_of
from .outcome import CameraChange, Refinement
from .rigs import moved_state, rig_of, similarity, state_of
from .sights import Pieces, collect, retime, spread
from .surest import settle_first

Array = NDArray[np.float64]
Tracker = Callable[[CameraRig, Detections], Tracks]
_LEAST_PIECES = 15
_LEAST_SIGHTS = 60  # of a camera
_FLAT = 0.02  # least extent of the animals by their largest, below which they are in a plane
_SURE = 2.0  # standard errors by which held-out tracks must be better
_CLOCK_SURE = 0.5  # frames; a clock that is known worse cannot be told
_WORTH = 0.01  # share of the error that a further freedom must win on held-out tracks
_SIMPLE = 0.85  # of what all planes of water explain, which one must explain alone
_FAR_DEG = 10.0  # turn of a camera that is no refinement: it would rather see something else than the others
_MISFIT = 10.0  # errors of another camera, beyond which one rather sees something else
_MISFIT_PX = 5.0  # and this
_STILL = 0.003  # share of the error below which another round is not worth it


@dataclass(frozen=True)
class Wish:
    """What a user wants of a refinement.

    Parameters
    ----------
    clocks : whether clocks may be off.
    widest : frames by which they may be.
    lenses : whether focal lengths and distortion may change, where held-out tracks are better for it.
    index : whether the water's refractive index may change.
    readout : whether cameras read their rows one after the other (rolling shutter).
    rounds : of tracking and adjusting, at most.
    poses : whether cameras may have moved; where only the water did, holding them tells its height best.
    """

    clocks: bool = True
    widest: int = 12
    lenses: bool = True
    index: bool = False
    readout: bool = False
    rounds: int = 5
    poses: bool = True


def refine_rig(
    rig: CameraRig,
    detections: Detections,
    fps: float,
    wish: Wish | None = None,
    *,
    fps_known: bool = True,
    progress: Progress | None = None,
) -> Refinement:
    """Refine cameras, clocks and water of a recording.

    Parameters
    ----------
    rig : the cameras as calibrated.
    detections : on the clocks as they are believed to be.
    fps : frames a second.
    wish : what may change.
    fps_known : whether `fps` is more than a guess.
    progress : called with rounds done and rounds in all.
    """
    wish, tell = wish or Wish(), progress or silent
    if len(rig) < 2:
        raise RefusedError("one camera alone cannot be refined: there is nothing that it could agree with")
    tracker = joint_tracker(fps)
    start = setup_of(rig, detections)
    detections = spread(detections, len(rig))
    setup = _coarse(start, rig, detections, wish.widest) if wish.clocks else start
    freedom = Freedom(
        clocks=wish.clocks, rates=wish.clocks, water=rig.refractive, readout=wish.readout, poses=wish.poses
    )
    if wish.poses:
        setup = settle_first(rig, setup, detections, replace(freedom, rates=False, leans=False, readout=False))
    before, rounds = np.inf, 0
    tell(0, wish.rounds)
    while rounds < wish.rounds:
        pieces = enough(rig, track_pieces(rig, setup, detections, tracker))
        setup, done = adjust_pieces(setup, freedom, pieces.part(~pieces.held), 2.0 if rounds == 0 else 1.0)
        rounds += 1
        tell(rounds, wish.rounds)
        error = float(np.median(np.hypot(*done.error.T)))
        if abs(before - error) < _STILL * error:
            break
        before = error
    pieces = enough(rig, track_pieces(rig, setup, detections, tracker))
    if freedom.water and not wish.poses:
        setup, freedom = _simplest_water(start, setup, freedom, pieces)
    setup, done, told, held = _freer(setup, freedom, pieces, wish)
    tell(wish.rounds, wish.rounds)
    return _judge(rig, start, setup, done, pieces, told, held, rounds, fps if fps_known else None)


def joint_tracker(fps: float) -> Tracker:
    """Return the default tracker.

    Parameters
    ----------
    fps : frames a second.
    """

    def run(rig: CameraRig, detections: Detections) -> Tracks:
        return make_method("joint").track(rig, detections, fps).tracks

    return run


def setup_of(rig: CameraRig, detections: Detections) -> Setup:
    """Return cameras as they are believed to be, with clocks as if nothing were wrong.

    Parameters
    ----------
    rig : the cameras.
    detections : what tells the middle of the recording.
    """
    middle = np.full(len(rig), float(np.round((detections.frame.min() + detections.frame.max()) / 2)))
    clock = np.zeros((len(rig), 4))
    clock[:, 0], clock[:, 1] = middle, 1.0
    return Setup(state_of(rig), clock, middle)


def _coarse(setup: Setup, rig: CameraRig, detections: Detections, widest: int) -> Setup:
    """Set clocks to the frame before anything is tracked."""
    clock = setup.clock.copy()
    clock[:, 0] += coarse_offsets(rig, detections, widest)
    return replace(setup, clock=clock)


def track_pieces(rig: CameraRig, setup: Setup, detections: Detections, tracker: Tracker) -> Pieces:
    """Track under the cameras and clocks as they stand.

    Parameters
    ----------
    rig : names, sizes and lens models of the cameras.
    setup : cameras, water and clocks.
    detections : with frame numbers as the cameras counted them.
    tracker : makes tracks of detections.
    """
    retimed = retime(detections, setup.clock, setup.middle)
    now = rig_of(setup.state, rig)
    return collect(now, tracker(now, retimed.detections), retimed)


def enough(rig: CameraRig, pieces: Pieces) -> Pieces:
    """Return pieces that can tell something; refuse others.

    Parameters
    ----------
    rig : the cameras.
    pieces : of paths, tracked under them.
    """
    if len(pieces.held) < _LEAST_PIECES or not pieces.held.any():
        raise RefusedError(
            f"too few tracks: {len(pieces.held)} of {_LEAST_PIECES} pieces that two cameras saw for a while are there; "
            "film longer, or run 'trackfish3d check' first"
        )
    seen = np.bincount(pieces.sights.camera, minlength=len(rig))
    for c in np.flatnonzero(seen < _LEAST_SIGHTS):
        raise RefusedError(
            f"camera {rig[int(c)].name}: shares nothing with the others ({seen[c]} sights of their tracks)"
        )
    extent = np.linalg.svd(pieces.position - pieces.position.mean(0), compute_uv=False)
    if extent[2] < _FLAT * extent[0]:
        raise RefusedError(
            "all animals are in one plane, which leaves the cameras' poses open; film them at all depths"
        )
    return pieces


def _simplest_water(start: Setup, setup: Setup, freedom: Freedom, pieces: Pieces) -> tuple[Setup, Freedom]:
    """Take the height of one plane for what changed, where that explains nearly as much as all planes with their tilts.

    Water sinks and panes stay: more than that takes up the errors of a detector, and the height with it.
    """
    train, judge = pieces.part(~pieces.held), pieces.part(pieces.held)
    base = replace(setup, state=replace(setup.state, point=start.state.point, normal=start.state.normal))
    wide, done = adjust_pieces(base, freedom, train, 1.0)
    old, all_ = (missed(s, judge, done.noise)[0].mean() for s in (base, wide))
    best = (_SIMPLE * float(old - all_), setup, freedom)
    for q in range(len(start.state.point)):
        alone = replace(freedom, planes=(q,))
        trial = adjust_pieces(base, alone, train, 1.0)[0]
        won = float(old - missed(trial, judge, done.noise)[0].mean())
        if won > best[0]:
            best = won, trial, alone
    return best[1], best[2]


def _freer(setup: Setup, freedom: Freedom, pieces: Pieces, wish: Wish) -> tuple[Setup, Settled, list[str], list[str]]:
    """Allow more, one thing after the other, and keep what held-out tracks are better for."""
    train, judge = pieces.part(~pieces.held), pieces.part(pieces.held)
    setup, done = adjust_pieces(setup, freedom, train, 1.0)
    if wish.clocks:
        worst = _clock_sigma(done).max(initial=0.0)
        if worst > _CLOCK_SURE:
            raise RefusedError(
                f"the animals move too little to tell the clocks (to {worst:.1f} frames at best); "
                "--no-clocks adjusts the poses alone"
            )
    told = [
        *(["poses"] if wish.poses else []),
        *(["clocks"] if wish.clocks else []),
        *(["water"] if freedom.water else []),
    ]
    held = [] if freedom.planes is None else ["tilt and other planes of the water: one height explains as much"]
    more = [("focal", "focal lengths"), ("distortion", "distortion")] if wish.lenses else []
    more += [("index", "refractive index")] if wish.index and freedom.water else []
    cost = float(missed(setup, judge, done.noise)[0].mean())
    for name, words in more:
        wider = replace(freedom, **{name: True})  # type: ignore[arg-type]
        trial, settled = adjust_pieces(setup, wider, train, 1.0)
        better = float(missed(trial, judge, done.noise)[0].mean())
        if better < (1 - _WORTH) * cost:
            setup, done, freedom, cost = trial, settled, wider, better
            told.append(words)
        else:
            held.append(f"{words}: held-out tracks are not better for changing them")
    return setup, done, told, held


def _clock_sigma(done: Settled) -> Array:
    sigma = np.append(np.sqrt(np.diag(done.covariance)), 0.0)
    return np.asarray(sigma[done.places[:, CLOCK]])


def pose_covariance(done: Settled) -> Array:
    """Return the covariance (6 C, 6 C) of all poses; zeros where they were held.

    Parameters
    ----------
    done : an adjustment.
    """
    size = len(done.covariance)
    wide = np.zeros((size + 1, size + 1))  # place -1, what is held, reads zeros
    wide[:size, :size] = done.covariance
    where = done.places[:, POSE:WATER].ravel()
    return np.asarray(wide[np.ix_(where, where)])


def _not_a_nudge(changes: list[CameraChange]) -> str | None:
    """Say which camera rather sees something else than the others, None where none does."""
    far = max(changes, key=lambda c: c.turned_deg)
    if far.turned_deg > _FAR_DEG:
        return f"camera {far.name} would turn by {far.turned_deg:.0f} degrees, which is no nudge; calibrate it anew"
    after = np.array([c.after_px for c in changes])
    worst, usual = int(np.nanargmax(after)), float(np.nanmin(after))
    if after[worst] > _MISFIT * usual and after[worst] > _MISFIT_PX:
        return (
            f"camera {changes[worst].name} would still be missed by {after[worst]:.0f} px, another by {usual:.2f} px: "
            "it seems to see something else"
        )
    return None


def standard_errors(gain: Array) -> float:
    """By how many standard errors the mean is above zero.

    Parameters
    ----------
    gain : (K,) of each piece, two at least.
    """
    return float(gain.mean() / max(gain.std(ddof=1) / np.sqrt(len(gain)), 1e-12))


def _changes(
    rig: CameraRig,
    new: CameraRig,
    setup: Setup,
    done: Settled,
    pieces: Pieces,
    errors: tuple[NDArray[np.int64], Array, Array],
) -> list[CameraChange]:
    """Put into numbers what changed for each camera; `errors` are camera, old and new px of held-out sights."""
    sigma = np.append(np.sqrt(np.maximum(np.diag(done.covariance), 0.0)), 0.0)
    poses = pose_covariance(done)
    points = pieces.position[:: max(len(pieces.position) // 500, 1)]
    camera, old_px, new_px = errors
    changes = []
    for c, (a, b) in enumerate(zip(rig, new, strict=True)):
        shift = b.project(points) - a.project(points)
        mine = camera == c
        changes.append(
            CameraChange(
                name=a.name,
                moved=float(np.linalg.norm(b.centre - a.centre)),
                moved_sigma=float(np.linalg.norm(sigma[done.places[c, POSE + 3 : WATER]])),
                turned_deg=float(np.degrees(np.arccos(np.clip((np.trace(b.R @ a.R.T) - 1) / 2, -1, 1)))),
                turned_sigma_deg=float(np.degrees(np.linalg.norm(sigma[done.places[c, POSE : POSE + 3]]))),
                shifted_px=float(np.sqrt(np.nanmean((shift**2).sum(1)))),
                focal_percent=float(100 * (b.K[0, 0] / a.K[0, 0] - 1)),
                clock_frames=float(setup.clock[c, 0] - setup.middle[c]),
                clock_sigma_frames=float(sigma[done.places[c, CLOCK]]),
                clock_ppm=float(1e6 * (setup.clock[c, 1] - 1)),
                clock_sigma_ppm=float(1e6 * sigma[done.places[c, CLOCK + 1]]),
                readout_frames=float(setup.clock[c, 2]),
                readout_sigma_frames=float(sigma[done.places[c, CLOCK + 2]]),
                before_px=float(np.median(old_px[mine])) if mine.any() else np.nan,
                after_px=float(np.median(new_px[mine])) if mine.any() else np.nan,
                covariance=poses[6 * c : 6 * c + 6, 6 * c : 6 * c + 6],
            )
        )
    return changes


def _judge(
    rig: CameraRig,
    start: Setup,
    setup: Setup,
    done: Settled,
    pieces: Pieces,
    told: list[str],
    held: list[str],
    rounds: int,
    fps: float | None,
) -> Refinement:
    """Let the held-out pieces say which cameras are better, and put what changed into numbers."""
    judge = pieces.part(pieces.held)
    old_cost, old_error, old_point = missed(start, judge, done.noise)
    new_cost, new_error, new_point = missed(setup, judge, done.noise)
    if (done.places[:, POSE:WATER] >= 0).all():  # no camera holds the world: put it where it was
        setup = replace(setup, state=moved_state(setup.state, *similarity(new_point, old_point)))
    certainty = standard_errors(old_cost - new_cost)
    old_px, new_px = (np.hypot(*e.T) for e in (old_error, new_error))
    new = rig_of(setup.state, rig)
    sigma = np.append(np.sqrt(np.maximum(np.diag(done.covariance), 0.0)), 0.0)
    poses = pose_covariance(done)
    changes = _changes(rig, new, setup, done, pieces, (judge.sights.camera, old_px, new_px))
    planes = tuple(
        (float((setup.state.point[q] - start.state.point[q]) @ start.state.normal[q]), float(sigma[where[0]]))
        for q, where in enumerate(done.plane_places)
    )
    # a path follows the surer camera: of all sights together, the median could fall where both cameras get worse
    before, after = (float(np.nanmean([getattr(c, k) for c in changes])) for k in ("before_px", "after_px"))
    accepted = bool(certainty > _SURE and new_cost.mean() < old_cost.mean() and after < before)
    why = f"held-out tracks are missed by {before:.2f} px with the old cameras, by {after:.2f} px with new ones"
    wrong = _not_a_nudge(changes)
    if wrong is not None:
        accepted, why = False, wrong
    why = f"{why} ({certainty:.1f} standard errors better)" if accepted else f"the old cameras stay: {why}"
    index = (start.state.n_water, setup.state.n_water, float(sigma[done.index])) if done.index >= 0 else None
    return Refinement(
        rig=new,
        accepted=accepted,
        why=why,
        before_px=before,
        after_px=after,
        certainty=certainty,
        cameras=tuple(changes),
        water=planes,
        index=index,
        told=tuple(told),
        held=tuple(held),
        parameters=parameters_of(done, rig.names),
        sights=len(pieces.sights.camera),
        rounds=rounds,
        units=rig.units,
        covariance=poses,
        old=rig,
        fps=fps,
    )
