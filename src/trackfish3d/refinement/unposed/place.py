"""From sights of one moving thing to cameras, clocks and its path: two views first, the others against the path."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...cameras import Camera, CameraRig
from ...core.errors import InputError
from ..adjustment import RefusedError
from ..bundle import POSE, WATER, Prior, Rigged, Settled, settle
from ..kernels import CLOCK, SHARED, Sights
from ..paths import lay_paths, points_at, usual_acceleration
from ..rigs import rig_of, state_of
from .against_path import LEAST_SEEN, OFTEN, Placed, Scene, agreed_path, possible_clocks, resect
from .reading import Sighting2D
from .views import Pairing, View, pair_views

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
_LEAST_PARALLAX = 2.0  # degrees
_KNOTS = 4.0  # frames of the reference between knots
_FOCALS = (1.0, 0.7, 1.4, 2.0)  # of a guess, to begin with
_STARTS = 5  # pairs that are tried to begin with
_GAP = 12.0  # frames of the reference without a sight at which the path is cut
_LONG = 15.0  # frames of a piece, at least
_GUESSED = 0.1  # of a focal length that was guessed from the size of the picture
_KNOWN = 0.01  # of one that is known
_SHIFT, _RATE = 5.0, 1e-3  # how far clocks may be from what two views said


@dataclass(frozen=True)
class FromTracks:
    """Cameras, clocks and path.

    Attributes
    ----------
    rig : the cameras that could be placed.
    lost : the others, with the reason.
    clock : by camera, scale and shift: frame of the reference = scale x own frame + shift.
    reference : camera whose frames are the common clock.
    time : (T,) frames of the reference.
    path : (T, 3) where the thing was.
    error_px : by camera, median reprojection error.
    mean_px : by camera, mean reprojection error of sights that count (within Huber's limit).
    sigma_frames : by camera, standard deviation of its shift.
    """

    rig: CameraRig
    lost: dict[str, str]
    clock: dict[str, tuple[float, float]]
    reference: str
    time: Array
    path: Array
    error_px: dict[str, float]
    mean_px: dict[str, float]
    sigma_frames: dict[str, float]


def calibrate_from_tracks(
    lenses: Mapping[str, Camera],
    seen: Mapping[str, Sighting2D],
    *,
    fps: Mapping[str, float] | None = None,
    synchronous: bool = False,
    guessed: bool = False,
    say: Callable[[str], None] | None = None,
) -> FromTracks:
    """Place cameras and set their clocks by one thing that moved before all of them.

    The first camera that is placed is the world, and the distance between the first two is 1; `scale_world` and
    `align_centres` put it into a world of the user's.

    Parameters
    ----------
    lenses : by camera; poses are not used.
    seen : by camera, where it saw the thing.
    fps : by camera, frames a second, where they differ.
    synchronous : whether frame numbers already agree.
    guessed : whether focal lengths are guesses: they are fitted, with the first two radial coefficients.
    say : called with a line about each camera that is placed.
    """
    if guessed:
        return _guessing(lenses, seen, fps, synchronous, say)
    return _calibrate(lenses, seen, fps, synchronous, False, say or (lambda line: None))


def _guessing(
    lenses: Mapping[str, Camera],
    seen: Mapping[str, Sighting2D],
    fps: Mapping[str, float] | None,
    synchronous: bool,
    say: Callable[[str], None] | None,
) -> FromTracks:
    """Try several focal lengths to begin with, and keep what explains the sights best."""
    best: tuple[tuple[int, float], FromTracks] | None = None
    for factor in _FOCALS:
        tried = {n: replace(c, K=_stretched(c.K, factor)) for n, c in lenses.items()}
        try:
            found = _calibrate(tried, seen, fps, synchronous, True, lambda line: None)
        except (RefusedError, InputError):  # a lens that no camera has: this guess led astray
            continue
        worth = len(found.rig), -float(np.mean(list(found.error_px.values())))
        if best is None or worth > best[0]:
            best = worth, found
    if best is None:
        raise RefusedError("no two cameras agree on a path of the thing, whatever their focal lengths")
    for name in best[1].rig.names if say else ():
        assert say is not None
        say(f"camera {name}: focal length {best[1].rig[name].K[0, 0]:.0f} px")
    return best[1]


def _stretched(K: Array, factor: float) -> Array:
    """K (3, 3) with other focal lengths."""
    out = K.copy()
    out[:2, :2] *= factor
    return out


def _calibrate(
    lenses: Mapping[str, Camera],
    seen: Mapping[str, Sighting2D],
    fps: Mapping[str, float] | None,
    synchronous: bool,
    guessed: bool,
    tell: Callable[[str], None],
) -> FromTracks:
    """Place all cameras from the best pairs on."""
    names = [n for n in lenses if n in seen]
    if len(names) < 2:
        raise RefusedError("two cameras or more must have seen the thing")
    cameras, sights = [lenses[n] for n in names], [seen[n] for n in names]
    views = [View.of(c, s) for c, s in zip(cameras, sights, strict=True)]
    rates = [1.0 if fps is None else fps[n] for n in names]
    pairs = _pairs(views, rates, synchronous)
    if not pairs:
        raise RefusedError("no two cameras agree on a path of the thing; are lenses and files those of these cameras?")
    scene = Scene(names, cameras, sights, views, rates, synchronous, guessed, pairs)
    best: tuple[int, Placed, dict[str, str]] | None = None
    why = RefusedError("no two cameras see the thing from sides that differ")
    for i, j in sorted(pairs, key=lambda k: -_worth(pairs[k]))[:_STARTS]:
        if best is not None and {i, j} <= best[1].pose.keys():
            continue  # these two are placed already, and agree with the others
        placed = _first_two(i, j, pairs[i, j])
        try:
            lost = _place_others(placed, scene, tell)
            explained = _explained(scene, placed)
        except (RefusedError, InputError) as refused:
            why = RefusedError(str(refused))
            continue
        if best is None or explained > best[0]:
            best = explained, placed, lost
    if best is None:
        raise why
    return _finish(scene, best[1], best[2])


def _pairs(views: list[View], rates: list[float], synchronous: bool) -> dict[tuple[int, int], Pairing]:
    found = {}
    for i, j in combinations(range(len(views)), 2):
        pair = pair_views(views[i], views[j], rates[j] / rates[i], 0 if synchronous else None)
        if pair is not None and pair.parallax > _LEAST_PARALLAX:
            found[i, j] = pair
    return found


def _worth(pair: Pairing) -> float:
    """How good a pair is to begin with: many moments, little error, a shift that stands out."""
    return float(np.log(pair.matches) - 0.5 * np.log(pair.error_px + 0.2) + min(np.log(pair.stands_out), 1.0))


def _first_two(i: int, j: int, pair: Pairing) -> Placed:
    pose = {i: np.eye(3, 4), j: np.column_stack([pair.R, pair.t])}
    return Placed(pose, {i: (1.0, 0.0), j: (1 / pair.scale, -pair.shift / pair.scale)}, i)


def _place_others(placed: Placed, scene: Scene, tell: Callable[[str], None]) -> dict[str, str]:
    """Place the remaining cameras one by one, the surest first, and adjust everything after each."""
    done = _adjust(placed, scene)
    while True:
        left = [k for k in range(len(scene.names)) if k not in placed.pose]
        time, path = agreed_path(placed, scene.views, scene.within_px)
        tries = []
        for k in left:
            for clock in possible_clocks(k, placed, scene):
                found = resect(scene.views[k], time, path, *clock)
                if found is not None:
                    tries.append((found[2], k, found[0], found[1]))
        for _, k, pose, own in sorted(tries, key=lambda t: -t[0]):
            more = _with(k, pose, own, placed, scene, done)
            if more is not None:
                done = more
                mine = done.sight_camera == len(placed.pose) - 1
                tell(f"camera {scene.names[k]}: placed by {int(mine.sum())} sights")
                break
        else:
            return {scene.names[k]: "it agrees with the path of the others at no shift of its clock" for k in left}


def _with(
    k: int, pose: Array, clock: tuple[float, float], placed: Placed, scene: Scene, done: Settled
) -> Settled | None:
    """Adjust with one camera more; None, and all as before, where it explains little or spoils what others explain."""
    before = dict(placed.pose), dict(placed.clock), list(scene.cameras)
    placed.pose[k], placed.clock[k] = pose, clock
    try:
        more = _adjust(placed, scene)
        mine = more.sight_camera == len(placed.pose) - 1
        least = max(LEAST_SEEN, OFTEN * len(scene.sights[k].frame))
        enough = mine.sum() >= least and (more.weight[mine] > 0.5).mean() >= 0.5
        if enough and (more.weight > 0.5).sum() >= (done.weight > 0.5).sum() + 0.3 * mine.sum():
            return more
    except (RefusedError, InputError):
        pass
    placed.pose, placed.clock, scene.cameras = before
    return None


def _explained(scene: Scene, placed: Placed) -> int:
    """How many sights the placed cameras explain."""
    _, done, _ = _bundle(placed, scene, False)
    return int((done.weight > 0.999).sum())


def _bundle(placed: Placed, scene: Scene, lenses: bool) -> tuple[list[int], Settled, Array]:
    """Adjust all placed cameras, clocks and the path together; `lenses`: known ones a little, too."""
    cameras, sights = scene.cameras, scene.sights
    ordered = list(placed.pose)
    mine = [replace(cameras[k], R=placed.pose[k][:, :3], t=placed.pose[k][:, 3]) for k in ordered]
    if scene.guessed:
        scene.views = [View.of(c, s) for c, s in zip(cameras, sights, strict=True)]
    time, path = agreed_path(placed, scene.views, scene.within_px)
    if not len(time):
        raise RefusedError("two cameras agree on no point of the path")
    piece: Ints = np.cumsum(np.diff(time, prepend=time[0]) > _GAP).astype(np.int64)
    first, last = np.full(piece[-1] + 1, np.inf), np.full(piece[-1] + 1, -np.inf)
    np.minimum.at(first, piece, time)
    np.maximum.at(last, piece, time)
    long = last - first >= _LONG
    number = np.cumsum(long) - 1
    kept = long[piece]
    time, path, piece = time[kept], path[kept], number[piece[kept]]
    first, last = first[long], last[long]
    if not len(first):
        raise RefusedError(f"no {_LONG:g} frames of the path were seen by two cameras without a gap")
    rows: list[tuple[NDArray[Any], ...]] = []
    middle, clock = np.zeros(len(ordered)), np.zeros((len(ordered), 4))
    for c, k in enumerate(ordered):
        scale, shift = placed.clock[k]
        moment = scale * sights[k].frame + shift
        at = np.clip(np.searchsorted(first, moment, side="right") - 1, 0, len(first) - 1)
        inside = (moment >= first[at]) & (moment <= last[at])
        middle[c] = float(np.median(sights[k].frame))
        clock[c, :2] = scale * middle[c] + shift, scale
        pixel = sights[k].pixel[inside]
        share = pixel[:, 1] / cameras[k].size[1] - 0.5
        rows.append((np.full(inside.sum(), c), at[inside], sights[k].frame[inside], pixel, share))
    joined = [np.concatenate(columns) for columns in zip(*rows, strict=True)]
    seen = Sights(joined[0], joined[1], joined[2], np.ascontiguousarray(joined[3]), joined[4], np.ones(len(joined[0])))
    knots, freely = (1.0, 100.0) if scene.synchronous else (_KNOTS, 2.0)  # moments need not be near each other in time
    bend = (freely * max(usual_acceleration(piece, time, path, 8), 1e-9) * knots**2) ** -2.0
    paths = lay_paths(piece, time, path, knots, bend * (1e-3 * path.std()) ** 2)
    start = Rigged(state_of(CameraRig(tuple(mine))), clock, middle, paths)
    prior = np.zeros((len(ordered), SHARED))
    distance = np.array([np.linalg.norm(np.median(path, 0) - c.centre) for c in mine])
    prior[:, POSE : POSE + 3], prior[:, POSE + 3 : WATER] = 1.0, 3 * distance[:, None]
    prior[:, 0] = prior[:, 1] = (_GUESSED if scene.guessed else _KNOWN * lenses) * np.array([c.K[0, 0] for c in mine])
    loose = 1.0 if scene.guessed else 0.1 * lenses  # lenses of a board of another day are nearly those of today
    prior[:, 4] = prior[:, 5] = 0.3 * loose
    prior[:, 2] = prior[:, 3] = [0.03 * loose * c.size[0] for c in mine]
    if not scene.synchronous:
        prior[1:, CLOCK], prior[1:, CLOCK + 1] = _SHIFT, _RATE
    return ordered, settle(start, Prior(prior, np.zeros((0, 3))), seen, bend, 60), time


def _adjust(placed: Placed, scene: Scene) -> Settled:
    """Adjust what is placed, and keep it."""
    ordered, done, _ = _bundle(placed, scene, False)
    rig = rig_of(done.rigged.state, CameraRig(tuple(scene.cameras[k] for k in ordered)))
    for c, k in enumerate(ordered):
        placed.pose[k] = np.column_stack([rig[c].R, rig[c].t])
        offset, scale = done.rigged.clock[c, :2]
        placed.clock[k] = float(scale), float(offset - scale * done.rigged.middle[c])
        if scene.guessed:
            scene.cameras[k] = replace(rig[c], R=np.eye(3), t=np.zeros(3))
    return done


def _finish(scene: Scene, placed: Placed, lost: dict[str, str]) -> FromTracks:
    names = scene.names
    ordered, done, time = _bundle(placed, scene, len(placed.pose) > 2)
    rig = rig_of(done.rigged.state, CameraRig(tuple(scene.cameras[k] for k in ordered)))
    paths = done.rigged.paths
    at = np.clip(np.searchsorted(paths.begin, time, side="right") - 1, 0, len(paths.begin) - 1)
    sigma = np.append(np.sqrt(np.maximum(np.diag(done.covariance), 0)), 0.0)
    size = np.hypot(*done.error.T)
    result: dict[str, dict[str, float]] = {"median": {}, "mean": {}, "sigma": {}}
    clock = {}
    for c, k in enumerate(ordered):
        mine = done.sight_camera == c
        result["median"][names[k]] = float(np.median(size[mine]))
        counted = mine & (done.weight > 0.999)
        result["mean"][names[k]] = float(size[counted].mean()) if counted.any() else np.nan
        result["sigma"][names[k]] = float(sigma[done.places[c, CLOCK]])
        offset, scale = done.rigged.clock[c, :2]
        clock[names[k]] = float(scale), float(offset - scale * done.rigged.middle[c])
    order = [names[k] for k in ordered]
    kept = rig.select(tuple(n for n in names if n in order))
    return FromTracks(
        kept,
        lost,
        clock,
        names[placed.reference],
        time,
        points_at(paths, at, time)[0],
        result["median"],
        result["mean"],
        result["sigma"],
    )
