"""Look back on whole tracks: whether two were swapped, and which fragment continues which."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ....core.compiled import KERNEL
from ....maths.assignment import assign
from ....maths.order import doubled
from ..model import TrackingModel
from ..settings import JointSettings
from .borders import Borders
from .filtering import meeting
from .trajectories import Trajectories

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Filtered = tuple[Array, Array, Array, Array, Array]


@dataclass(frozen=True, eq=False)
class Swaps:
    """Moments at which two tracks may have been exchanged.

    ``one``, ``other`` (K,): rows of the two after which the other's future would begin; ``odds`` (K,): log-likelihood
    ratio of exchanged against kept.
    """

    one: Ints
    other: Ints
    odds: Array

    def __len__(self) -> int:
        return len(self.odds)


@njit(**KERNEL)
def swap_odds(name, frame, by_frame, past, past_cov, future, future_cov, reach, q, share, dart, least):  # type: ignore[no-untyped-def]
    """All moments at which exchanging the futures of two tracks is not out of the question.

    name, frame (N,) : rows sorted by track and time; by_frame (N,) : rows in the order of frames. past, future : states
    (N, 6) and covariances of `run_filter`, after their own detections. reach : distance of two tracks beyond which none
    is asked, world units. least : smallest odds returned.
    """
    one, other, odds = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64)
    count = 0
    begin = 0
    n = frame.shape[0]
    while begin < n:
        end = begin
        while end < n and frame[by_frame[end]] == frame[by_frame[begin]]:
            end += 1
        for a in range(begin, end):
            i = by_frame[a]
            if i + 1 >= n or name[i + 1] != name[i]:
                continue
            for b in range(a + 1, end):
                j = by_frame[b]
                if j + 1 >= n or name[j + 1] != name[j]:
                    continue
                far = 0.0
                for k in range(3):
                    far += (past[i, k] - past[j, k]) ** 2
                if far > reach * reach:
                    continue
                gi, gj = float(frame[i + 1] - frame[i]), float(frame[j + 1] - frame[j])
                if gi != gj:
                    continue
                kept = meeting(past[i], past_cov[i], future[i + 1], future_cov[i + 1], gi, q, share, dart)
                kept += meeting(past[j], past_cov[j], future[j + 1], future_cov[j + 1], gj, q, share, dart)
                changed = meeting(past[i], past_cov[i], future[j + 1], future_cov[j + 1], gi, q, share, dart)
                changed += meeting(past[j], past_cov[j], future[i + 1], future_cov[i + 1], gj, q, share, dart)
                if changed - kept < least:
                    continue
                if count == odds.shape[0]:
                    one, other, odds = doubled(one), doubled(other), doubled(odds)
                one[count], other[count], odds[count] = i, j, changed - kept
                count += 1
        begin = end
    return one[:count], other[:count], odds[:count]


def undo_swaps(paths: Trajectories, swaps: Swaps, least: float) -> tuple[Trajectories, int]:
    """Exchange the futures of tracks where that is likelier by ``least``; a pair of tracks once a call."""
    name = paths.name.copy()
    done = 0
    touched: set[int] = set()
    for k in np.argsort(-swaps.odds, kind="stable"):
        if swaps.odds[k] < least:
            break
        a, b = int(paths.name[swaps.one[k]]), int(paths.name[swaps.other[k]])
        if a in touched or b in touched:
            continue
        touched |= {a, b}
        late = paths.frame > paths.frame[swaps.one[k]]
        first, second = late & (paths.name == a), late & (paths.name == b)
        name[first], name[second] = b, a
        done += 1
    return (paths.renamed(name) if done else paths), done


def find_swaps(
    paths: Trajectories,
    forth: Filtered,
    back: Filtered,
    model: TrackingModel,
    settings: JointSettings,
    least: float = -7.0,
) -> Swaps:
    """Moments at which two tracks near each other may be exchanged, with odds of at least ``least``."""
    order = np.argsort(paths.frame, kind="stable")
    reach = settings.swap_reach * model.body_length
    return Swaps(
        *swap_odds(
            paths.name,
            paths.frame,
            order,
            forth[2],
            forth[3],
            back[2],
            back[3],
            reach,
            model.acceleration**2,
            settings.dart_share,
            model.dart**2,
            least,
        )
    )


@njit(**KERNEL)
def link_density(name, frame, past, past_cov, future, future_cov, q, share, dart):  # type: ignore[no-untyped-def]
    """(N,) log density that the row before, with all its past, becomes each row, with all its future; inf for first."""
    out = np.full(frame.shape[0], np.inf)
    for i in range(1, frame.shape[0]):
        if name[i] == name[i - 1]:
            gap = float(frame[i] - frame[i - 1])
            out[i] = meeting(past[i - 1], past_cov[i - 1], future[i], future_cov[i], gap, q, share, dart)
    return out


def link_scores(
    paths: Trajectories, forth: Filtered, back: Filtered, model: TrackingModel, settings: JointSettings
) -> Array:
    """(N,) log-likelihood ratio of each row's link to the row before it, against any other animal; inf for first rows.

    Any other animal: as many as are tracked at once, anywhere in the water that they use, with any velocity.
    """
    density = link_density(
        paths.name,
        paths.frame,
        forth[2],
        forth[3],
        back[2],
        back[3],
        model.acceleration**2,
        settings.dart_share,
        model.dart**2,
    )
    low, high = np.quantile(paths.state[:, :3], [0.02, 0.98], axis=0)
    volume = float(np.prod(np.maximum(high - low, model.body_length)))
    animals = float(np.median(np.unique(paths.frame, return_counts=True)[1]))
    found: Array = density - math.log(animals / volume) + 3.0 * math.log(model.velocity * math.sqrt(2 * math.pi))
    return found


def stitch(
    paths: Trajectories,
    forth: Filtered,
    back: Filtered,
    model: TrackingModel,
    settings: JointSettings,
    prior: float,
    borders: Borders | None = None,
    said: Callable[[Trajectories, Array], None] | None = None,
) -> tuple[Ints, Array]:
    """Join fragments, all at once.

    Returns the new name (T,) of each track and the log-odds (T,) of its link to the one before it (inf where none). A
    fragment's end has at most one successor, so the choice of greatest total odds is an assignment.
    The odds of a link compare "this end becomes that start" with "one animal was lost and another appeared", which
    ``prior`` log-odds speak against; not so where, in an open scene, one leaves and the other comes at the ``borders``.
    ``said`` puts into the log-odds what people said of links (`pins.Pins.weigh`).
    """
    begin = paths.begin
    first, last = begin[:-1], begin[1:] - 1
    n = len(first)
    q = model.acceleration**2
    odds = link_odds(
        paths.frame[first],
        paths.frame[last],
        forth[2][last],
        forth[3][last],
        back[2][first],
        back[3][first],
        settings.stitch_gap,
        q,
        settings.dart_share,
        model.dart**2,
    )
    # A new animal is anywhere in the water with any velocity: that is what a link is weighed against.
    anew = math.log(model.births) - 3.0 * math.log(model.velocity * math.sqrt(2 * math.pi))
    value = odds - anew + prior
    if borders is not None:
        value[borders.leaving[:, None] | borders.entering[None, :]] -= prior + settings.stitch_prior
    if said is not None:
        said(paths, value)
    cost = np.where(value > 0, -value, np.inf)
    full = np.full((n, 2 * n), np.inf)
    full[:, :n] = cost
    full[np.arange(n), n + np.arange(n)] = 0.0
    chosen = assign(full)
    old = paths.name[first]
    new = old.copy()
    strength = np.full(n, np.inf)
    order = np.argsort(paths.frame[first], kind="stable")
    parent = {int(chosen[i]): i for i in range(n) if 0 <= chosen[i] < n}
    for j in order:
        if int(j) in parent:
            i = parent[int(j)]
            new[j] = new[i]
            strength[j] = value[i, j]
    return new, strength


@njit(**KERNEL)
def link_odds(start, end, past, past_cov, future, future_cov, most_gap, q, share, dart):  # type: ignore[no-untyped-def]
    """(T, T) log density that the end of track i becomes the start of track j; -inf where time forbids it."""
    n = start.shape[0]
    out = np.full((n, n), -np.inf)
    for i in range(n):
        for j in range(n):
            gap = start[j] - end[i]
            if i != j and 0 < gap <= most_gap:
                out[i, j] = meeting(past[i], past_cov[i], future[j], future_cov[j], float(gap), q, share, dart)
    return out
