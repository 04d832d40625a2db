"""Finding a camera that is early or late."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..cameras.residuals import meet
from ..core.compiled import KERNEL
from .agreement import Sample, ViewErrors, mean_per_block, pair_errors, typical
from .delay import LEAN, UNKNOWN, Delay, follow, measure_delay

SHIFTS = np.arange(-5, 6)
WIDEST = 600  # frames of the wide search, both ways
_WIDE_FRAMES = 80
_CERTAIN = 5.0  # standard errors by which a delay must differ from none
_LEAST_WAY = 0.14  # diagonals of a detection by which the shift must move animals: leans may be as large
_AGREES = 0.25  # of what chance has may be left at a shift far off
_NEAR_OVERLAP, _FAR_OVERLAP = 0.4, 0.15  # share of the frames that must be left to judge a shift
_STANDS_OUT = 5.0  # standard deviations by which the best shift of a wide search must be below the others

Array = NDArray[np.float64]
Table = dict[tuple[int, int], Array]


@dataclass(frozen=True)
class Shift:
    """A shift of view b against view a that explains them better than none.

    ``late`` frames; ``before_px``, ``after_px`` typical error; ``delay`` as the motion has it; ``sure`` whether it was
    shown, or only may be; ``edge`` whether better ones may lie beyond what could be searched; ``far`` whether it came
    from the wide search.
    """

    late: int
    before_px: float
    after_px: float
    delay: Delay
    sure: bool
    edge: bool = False
    far: bool = False

    @property
    def probability(self) -> float:
        """That the clock is to blame, from the standard errors, tempered: their law is not a normal one."""
        z = abs(self.delay.frames) / self.delay.error if np.isfinite(self.delay.error) else _CERTAIN
        return float(1 - 0.5 / (1 + (z / 2) ** 3))


def shift_table(sample: Sample, views: list[ViewErrors]) -> Table:
    """Mean error (S, F) of each pair of cameras in each sampled frame, with the second one shifted by `SHIFTS`."""
    step = sample.step
    return {
        (a, b): np.stack(
            [mean_per_block(pair_errors(sample, views[a], views[b], int(s) * step), len(sample.frames)) for s in SHIFTS]
        )
        for a, b in combinations(range(len(views)), 2)
    }


def find_shift(
    sample: Sample, a: ViewErrors, b: ViewErrors, table: Array, lost: bool, chance_px: float
) -> Shift | None:
    """Shift of `b` against `a` that would explain them better than none, or None.

    `table` (S, F) as `shift_table` has it; `lost`: the views agree no better than views of other times, so that the
    search must be wide; `chance_px`: error of views of other times.
    """
    links = follow(sample, b)
    centre = len(SHIFTS) // 2
    mean = _means(table, _NEAR_OVERLAP)
    near = int(np.nanargmin(mean)) if np.isfinite(mean).any() else centre
    shift = int(SHIFTS[near]) * sample.step
    after = typical(pair_errors(sample, a, b, shift).error)
    wide = None
    if lost or abs(near - centre) >= centre - 1:
        wide = wide_search(sample, a, b, links, _FAR_OVERLAP if lost else _NEAR_OVERLAP)
        if wide is not None and (wide.after_px < after or not np.isfinite(after)):
            shift, after = wide.shift, wide.after_px
    if shift == 0:
        return None
    before = typical(pair_errors(sample, a, b, 0).error)
    far = abs(shift) > SHIFTS[-1] * sample.step
    if not after < (0.5 if far else 0.97) * before:
        return None
    late, delay = without_lean(sample, [a], b, shift, links)
    if late == 0:
        return None
    # motion near a false shift says that shift again: far off, errors must tell
    sure = certain(delay, late, before, after) and (not far or after < _AGREES * chance_px)
    if wide is not None and shift == wide.shift and wide.stands_out:
        sure = sure or after < 0.6 * min(before, chance_px)
    return Shift(late, before, after, delay, sure, wide is not None and wide.edge, far)


def without_lean(
    sample: Sample, others: list[ViewErrors], mine: ViewErrors, shift: int, links: NDArray[np.int64]
) -> tuple[int, Delay]:
    """Shift that is left when what leans of the centroids add to the best one is taken away, and the delay there.

    The shift with the least error is off by what leans feign. Where motion tells the two apart better than that, it
    has the word; matches near the true shift are better ones, so that it is asked again there. `links` (N,) as
    `follow` makes them for `mine`.
    """
    delay = _delay_to_all(sample, others, mine, shift, links)
    late = shift
    for _ in range(3):
        feigned = 1.4 * LEAN / max(delay.way, 1e-6)
        if not (np.isfinite(delay.frames) and delay.error < feigned and abs(delay.frames - late) < 3 * feigned):
            break
        moved = round(delay.frames / sample.step) * sample.step
        if moved == late:
            break
        again = _delay_to_all(sample, others, mine, moved, links)
        if not np.isfinite(again.frames):
            break
        late, delay = moved, again
    return late, delay


def _delay_to_all(
    sample: Sample, others: list[ViewErrors], mine: ViewErrors, shift: int, links: NDArray[np.int64]
) -> Delay:
    """Delay against one view, or the mean of those against several, each by its certainty."""
    every = [measure_delay(sample, other, mine, shift, links) for other in others]
    known = [d for d in every if np.isfinite(d.frames) and np.isfinite(d.error)]
    if len(known) < 2:
        return known[0] if known else UNKNOWN
    weight = np.array([d.error**-2 for d in known])
    frames = float(weight @ [d.frames for d in known] / weight.sum())
    # the lean of this camera is in all of them: more pairs do not make it less
    return replace(known[int(np.argmax(weight))], frames=frames)


def certain(delay: Delay, shift: int, before: float, after: float) -> bool:
    """Whether the whole says by far more than its error that there is a delay, and time's and animals' halves agree."""
    if delay is UNKNOWN or not abs(delay.frames) > _CERTAIN * delay.error or delay.blocks < 4:
        return False
    if abs(shift) * delay.way < _LEAST_WAY:
        return False
    near = max(1.0, 0.35 * abs(shift))
    if any(np.isfinite(h) and abs(h - shift) > max(near, 2.5 * error) for h, error in delay.animals):
        return False
    return after < 0.85 * before and all(abs(h - shift) < near for h in delay.halves)


def _means(table: Array, overlap: float) -> Array:
    """(S,) mean error of each shift over the frames in which it is known; NaN below a share `overlap` of the most."""
    known = np.isfinite(table)
    count = known.sum(1)
    mean = np.where(known, table, 0.0).sum(1) / np.maximum(count, 1)
    return np.asarray(np.where(count >= max(5, overlap * count.max(initial=0)), mean, np.nan))


@dataclass(frozen=True)
class Wide:
    """Best shift of a wide search, whether it stands out from the others in both halves, and is at the edge."""

    shift: int
    after_px: float
    stands_out: bool
    edge: bool


def wide_search(sample: Sample, a: ViewErrors, b: ViewErrors, links: NDArray[np.int64], overlap: float) -> Wide | None:
    """Try shifts of hundreds of frames, coarse to fine, that leave a share `overlap` of the frames or more."""
    few = sample.frames[:: max(-(-len(sample.frames) // _WIDE_FRAMES), 1)]
    step = sample.step
    span = int(max(a.frame[-1], b.frame[-1]) - min(a.frame[0], b.frame[0])) // step
    reach = min(WIDEST, int(0.8 * span))
    if reach < 2 or len(few) < 8:
        return None
    stride = _stride(sample, b, links)
    coarse = np.arange(-reach // stride * stride, reach + 1, stride) * step
    cost = _costs(sample, a, b, few, coarse)
    total = _means(cost, overlap)
    known = np.isfinite(total)
    if known.sum() < 8:
        return None
    tries = [int(coarse[k]) for k in np.argsort(np.where(known, total, np.inf))[:6]]
    fine = np.unique([t + s * step for t in tries for s in range(-stride, stride + 1)])
    errors = np.array([typical(pair_errors(sample, a, b, int(s)).error) for s in fine])
    if not np.isfinite(errors).any():
        return None
    best, after = int(fine[np.nanargmin(errors)]), float(np.nanmin(errors))
    tried = np.abs(coarse[known]).max()
    edge = bool(abs(best) >= tried - stride * step)
    far = known & (np.abs(coarse - best) > 3 * stride * step)
    if far.sum() < 6:
        return Wide(best, after, False, edge)
    at = int(np.argmin(np.abs(coarse - best)))
    spread = float(np.std(total[far])) + 1e-9
    deep = (np.mean(total[far]) - total[at]) / spread > _STANDS_OUT and np.min(total[far]) - total[at] > spread
    deep = deep and abs(best) > 3 * stride * step  # none at all must be one of the others
    return Wide(best, after, bool(deep and _halves_agree(cost, coarse, best, 2 * stride * step, overlap)), edge)


def _stride(sample: Sample, view: ViewErrors, links: NDArray[np.int64]) -> int:
    """Moments between shifts that are tried: what an animal needs to move by a quarter of the largest error."""
    known = np.flatnonzero(links >= 0)
    if not len(known):
        return 1
    pixel = sample.detections.centroids[view.row]
    way = np.linalg.norm(pixel[links[known]] - pixel[known], axis=1)
    return int(np.clip(0.25 * sample.cap_px / max(np.quantile(way, 0.75), 1e-3), 1, 8))


def _halves_agree(cost: Array, shifts: NDArray[np.int64], best: int, within: int, overlap: float) -> bool:
    middle = cost.shape[1] // 2
    for half in (cost[:, :middle], cost[:, middle:]):
        mean = _means(half, overlap)
        if not np.isfinite(mean).any() or abs(int(shifts[np.nanargmin(mean)]) - best) > within:
            return False
    return True


def _costs(sample: Sample, a: ViewErrors, b: ViewErrors, frames: NDArray[np.int64], shifts: NDArray[np.int64]) -> Array:
    """(S, F) mean error of the detections of `a` with the nearest ray of `b` at each shift: no assignment."""
    begin_a, end_a = np.searchsorted(a.frame, frames), np.searchsorted(a.frame, frames, "right")
    out = np.empty((len(shifts), len(frames)))
    for k, s in enumerate(shifts):
        begin, end = np.searchsorted(b.frame, frames + s), np.searchsorted(b.frame, frames + s, "right")
        _nearest(a.ray, a.fan, begin_a, end_a, b.ray, begin, end, sample.cap_px, out[k])
    return out


@njit(**KERNEL)
def _nearest(ray_a, fan_a, begin_a, end_a, ray_b, begin_b, end_b, cap, out):  # type: ignore[no-untyped-def]
    most = 1
    for k in range(len(begin_b)):
        most = max(most, end_b[k] - begin_b[k])
    du, dv = np.empty(most), np.empty(most)
    gap, error = np.empty(most, np.float32), np.empty(most, np.float32)
    for k in range(len(begin_a)):
        na, nb = end_a[k] - begin_a[k], end_b[k] - begin_b[k]
        if na == 0 or nb == 0:
            out[k] = np.nan
            continue
        total = 0.0
        for i in range(begin_a[k], end_a[k]):
            meet(ray_a, i, ray_b, begin_b[k], end_b[k], fan_a[i], du, dv, gap, error, begin_b[k])
            best = cap
            for j in range(nb):
                best = error[j] if error[j] < best else best
            total += best
        out[k] = total / na
