"""What may be behind cameras that do not agree: parallax, names, clocks, water, calibration."""

from dataclasses import dataclass, replace

import numpy as np

from ..cameras import Camera
from .agreement import pair_errors, typical
from .clock import Shift, Table, certain, find_shift, without_lean
from .delay import follow
from .evidence import Evidence
from .refit import Refit, focal, planes, pose_and_focal, refit
from .water import WaterFit, guess_water


@dataclass(frozen=True)
class Explanation:
    """A cause, and the typical error in px over all pairs that would be left without it.

    ``rig``: the cameras as they would have to be; ``order``: whose films they would have.
    """

    kind: str
    after_px: float
    cameras: tuple[int, ...] = ()
    shift: Shift | None = None
    water: WaterFit | None = None
    refit: Refit | None = None
    also: str = ""
    rig: tuple[Camera, ...] = ()
    order: tuple[int, ...] = ()


def angle_between_rays(e: Evidence) -> float:
    """Largest over the pairs of the median angle, in degrees, between rays that may be one animal's."""
    largest = 0.0
    for a, b in e.pairs:
        one, other = e.views[a], e.views[b]
        m = e.matches[a, b]
        i, j = np.searchsorted(one.row, m.first), np.searchsorted(other.row, m.second)
        cosine = np.abs((one.ray[3:, i] * other.ray[3:, j]).sum(0))
        met = (m.error < 0.99 * e.sample.cap_px) & np.isfinite(cosine)
        if met.mean() > 0.3 if len(met) else False:
            angle = float(np.degrees(np.median(np.arccos(np.minimum(cosine[met], 1)))))
        else:  # rays from one place hardly ever meet before both cameras: how parallel are they at best?
            angle = _nearest_angle(e, a, b)
        largest = max(largest, angle)
    return largest


def _nearest_angle(e: Evidence, a: int, b: int) -> float:
    """Median over detections of a of the least angle to a ray of b; 90 where the cameras are well apart."""
    least = []
    base = e.rig[b].centre - e.rig[a].centre
    for frame in e.sample.frames[:: max(len(e.sample.frames) // 40, 1)]:
        i, j = e.views[a].frame == frame, e.views[b].frame == frame
        if i.any() and j.any():
            cosine = np.abs(e.views[a].ray[3:, i].T @ e.views[b].ray[3:, j])
            least.append(np.nanmax(np.where(np.isfinite(cosine), cosine, 0.0), axis=1))
    if not least or np.linalg.norm(base) > 0.02 * max(np.linalg.norm(c.centre - _middle(e)) for c in e.rig):
        return 90.0
    return float(np.degrees(np.median(np.arccos(np.minimum(np.concatenate(least), 1)))))


def _middle(e: Evidence) -> np.ndarray:
    return np.asarray(np.mean([c.centre + c.R[2] for c in e.rig], axis=0))


def swapped(e: Evidence) -> Explanation | None:
    """Try every exchange of two films."""
    best = None
    for a, b in e.pairs:
        order = list(range(len(e.rig)))
        order[a], order[b] = b, a
        error = e.trial(list(e.rig), order)
        if best is None or error < best.after_px:
            best = Explanation("swapped", error, (a, b), rig=tuple(e.rig), order=tuple(order))
    return best


def clocks(e: Evidence, table: Table) -> list[Explanation]:
    """Cameras that are late or early against the one that agrees best with the others, most certain first."""
    n = len(e.rig)
    reference = 0
    if n > 2:
        badness = [sum(e.suspicious(p) + 0.01 * e.error[p] for p in e.pairs if c in p) for c in range(n)]
        reference = int(np.argmin(np.nan_to_num(badness, nan=1e9)))
    found: list[Explanation] = []
    if e.rests:
        return found
    for c in range(n):
        if c == reference:
            continue
        a, b = min(c, reference), max(c, reference)
        errors = table[a, b]
        lost = e.by_chance((a, b)) or e.out_of_time((a, b))
        chance = e.other_time[a, b]
        errors = errors if c > reference else errors[::-1]
        shift = find_shift(e.sample, e.views[reference], e.views[c], errors, lost, chance)
        if shift is None:
            continue
        found.append(Explanation("clock", shift.after_px, (c,), shift=shift))
    late = {x.cameras[0] for x in found if x.shift is not None and x.shift.sure}
    agreed = [_with_all(e, x, [d for d in range(n) if d not in late | {x.cameras[0]}]) for x in found]
    kept = [x for x in agreed if x is not None]
    return sorted(kept, key=lambda x: x.after_px - 1e6 * (x.shift is not None and x.shift.sure))


def _with_all(e: Evidence, x: Explanation, others: list[int]) -> Explanation | None:
    """Let all cameras that keep time say how late this one is: their leans average out. None if they deny it."""
    assert x.shift is not None
    if len(others) < 2:
        return x
    mine = e.views[x.cameras[0]]

    def error(late: int) -> float:
        return float(np.nanmean([typical(pair_errors(e.sample, e.views[d], mine, late).error) for d in others]))

    near = [x.shift.late + k * e.sample.step for k in range(-4, 5)]
    errors = [error(s) for s in near]
    best = int(np.argmin(errors))
    if not errors[best] < 0.9 * error(0):
        return None
    late, delay = without_lean(e.sample, [e.views[d] for d in others], mine, near[best], follow(e.sample, mine))
    if late == 0:
        return None
    # what one pair was sure of, all must be: leans of two cameras alone could have made it
    sure = x.shift.sure and (x.shift.far or certain(delay, late, error(0), errors[best]))
    shift = replace(x.shift, late=late, before_px=error(0), after_px=errors[best], sure=sure)
    return replace(x, after_px=errors[best], shift=shift)


def water_missing(e: Evidence) -> Explanation | None:
    """Try a flat surface where the calibration has none."""
    if e.rig.refractive:
        return None
    guess = guess_water(e.still, e.rig)
    return Explanation("water missing", guess.with_px, tuple(range(len(e.rig))), water=guess)


def water_off(e: Evidence) -> list[Explanation]:
    """Try the calibration without its water."""
    who = tuple(c for c, camera in enumerate(e.rig) if camera.interfaces)
    dry = tuple(c.without_water() for c in e.rig)
    return [Explanation("water wrong", e.dry, who, also="none", rig=dry)] if who else []


def water_moved(e: Evidence) -> list[Explanation]:
    """Try the water elsewhere, before all cameras and before each."""
    who = tuple(c for c, camera in enumerate(e.rig) if camera.interfaces)
    if not who:
        return []
    near = [abs(float((c.centre - f.point) @ f.normal)) for c in e.rig for f in c.interfaces]
    change = planes(float(np.mean(near)))
    starts = np.array([[-1.0], [-0.5], [-0.35], [-0.2], [0.15], [0.3], [0.45], [0.6]])
    found = []
    for some in [who] + ([(c,) for c in who] if len(who) <= 3 else []):
        fit = refit(e.still, list(e.rig), some, change, 1, starts)
        cameras = [change(c, fit.change) if k in some else c for k, c in enumerate(e.rig)]
        found.append(Explanation("water wrong", e.trial(cameras), some, refit=fit, also="moved", rig=tuple(cameras)))
    return found


def calibration(e: Evidence) -> list[Explanation]:
    """Try another focal length, and another pose, of every camera."""
    cameras = list(e.rig)
    found = []
    for c in range(len(e.rig)):
        lens = refit(e.still, cameras, (c,), focal, 1, np.array([[-0.3], [-0.2], [-0.1], [0.1], [0.2], [0.3]]))
        found.append(_explained(e, lens, "focal"))
        both = refit(e.still, cameras, (c,), pose_and_focal, 4, np.array([[0.0, 0.0, 0.0, lens.change[0]]]))
        found.append(_explained(e, both, "pose"))
    return found


def _explained(e: Evidence, fit: Refit, what: str) -> Explanation:
    change = focal if what == "focal" else pose_and_focal
    cameras = [change(c, fit.change) if k == fit.camera else c for k, c in enumerate(e.rig)]
    return Explanation("calibration", e.trial(cameras), (fit.camera,), refit=fit, also=what, rig=tuple(cameras))
