"""What tracklets say of pairs of detections before two cameras, where they stand in for a third ray.

A pair of detections is worth what the other frames of its two tracklets say of them, less what the best rival of either
is worth: where nobody else comes into question, agreement proves little, and where another agrees better, a pair that
meets in this frame is most likely chance.
"""

import math
from typing import NamedTuple

import numpy as np

from ....cameras.rig import CameraRig
from ....core.compiled import kernel
from ..arguments import NO_ODDS, Array, Columns, Ints, Lines, PairOdds
from .evidence import ASTRAY, FAR, gap_ratio, ray_gaps, spreads
from .linking import link_views

WINDOW = 30  # frames before and after a pair that tell of it: a tracklet may be of two animals far from it
LASTING = 3.0  # frames: errors of centroids last, so that many frames are worth no more than so many
NEAR = 6.0  # deviations: rays that pass farther apart than that in a frame are no pair of it
MOST_GAIN, MOST_LOSS = 4.0, 5.0  # log-odds that tracklets may give or take in a frame


class Leads(NamedTuple):
    """Pairs (P,) of detections whose rays meet: first, second, the number of their two tracklets as a pair.

    ``lead`` : log-likelihood ratio of one animal by other frames, less that of the best rival, or of none.
    """

    first: Ints
    second: Ints
    pair: Ints
    lead: Array


def tracklet_leads(
    rig: CameraRig, frames: Ints, offsets: Ints, columns: Columns, lines: Lines, more: PairOdds = NO_ODDS
) -> Leads:
    """Return what other frames of two tracklets say of all pairs of detections whose rays meet.

    Parameters
    ----------
    rig : the cameras.
    frames, offsets : (F,), (F + 1,) numbers of the frames, and their detections.
    columns, lines : detections of all frames and their rays.
    more : further log-likelihood ratios of pairs.
    """
    gaps = ray_gaps(offsets, columns, lines, spreads(rig, columns), FAR)
    if not len(gaps.first):
        return Leads(gaps.first, gaps.second, gaps.first, gaps.off)
    ratio = gap_ratio(gaps) + looked_up(more, gaps.first, gaps.second)
    label = link_views(columns, offsets, frames, len(rig))
    moment = np.repeat(np.arange(len(frames)), np.diff(offsets))
    begin, end = np.full(int(label.max()) + 1, len(frames)), np.zeros(int(label.max()) + 1, np.int64)
    np.minimum.at(begin, label, moment)
    np.maximum.at(end, label, moment)
    one, other, now = label[gaps.first], label[gaps.second], moment[gaps.first]
    pair = np.unique(one * len(begin) + other, return_inverse=True)[1].astype(np.int64)
    total, listed = others(pair, now, ratio)
    shared = np.minimum(np.minimum(end[one], end[other]), now + WINDOW) + 1
    shared -= np.maximum(np.maximum(begin[one], begin[other]), now - WINDOW)
    total += (shared - 1 - listed) * math.log(ASTRAY)  # frames in which their rays are far apart
    near = np.abs(gaps.off) < NEAR
    first, second, evidence = gaps.first[near], gaps.second[near], (total * LASTING / (shared - 1 + LASTING))[near]
    count = len(columns.u)
    rival = np.maximum(best_other(first, evidence, count), best_other(second, evidence, count))
    return Leads(first, second, pair[near], evidence - np.maximum(rival, 0.0))


def tracklet_odds(
    rig: CameraRig, frames: Ints, offsets: Ints, columns: Columns, lines: Lines, more: PairOdds = NO_ODDS
) -> PairOdds:
    """Return the log-odds of all pairs of detections whose rays meet, by tracklets and ``more``.

    Parameters
    ----------
    rig, frames, offsets, columns, lines, more : as of `tracklet_leads`.
    """
    leads = tracklet_leads(rig, frames, offsets, columns, lines, more)
    odds = np.clip(leads.lead, -MOST_LOSS, MOST_GAIN) + looked_up(more, leads.first, leads.second)
    return PairOdds.of(len(columns.u), leads.first, leads.second, odds)


def others(pair: Ints, frame: Ints, ratio: Array) -> tuple[Array, Ints]:
    """Sum of the ratios (P,) of other frames, up to `WINDOW` away, in which the same tracklets are listed; how many.

    pair, frame : (P,) number of the two tracklets, from 0, and of the frame.
    """
    moment = pair * (int(np.ptp(frame)) + 2 * WINDOW + 2) + frame - int(frame.min()) + WINDOW
    order = np.argsort(moment, kind="stable")
    begin, end = np.empty((2, len(moment)), np.int64)
    rising = moment[order]
    begin[order], end[order] = np.searchsorted(rising, rising - WINDOW), np.searchsorted(rising, rising + WINDOW + 1)
    total = np.append(0.0, np.cumsum(ratio[order]))
    return total[end] - total[begin] - ratio, end - begin - 1


@kernel
def best_other(key: Ints, value: Array, count: int) -> Array:
    """(P,) largest value (P,) among the other pairs of the same key (P,), below ``count``; -inf where there is none."""
    best, second, holder = np.full(count, -np.inf), np.full(count, -np.inf), np.full(count, -1)
    for p in range(key.shape[0]):
        k = key[p]
        if holder[k] < 0 or value[p] > best[k]:
            second[k], best[k], holder[k] = best[k], value[p], p
        elif value[p] > second[k]:
            second[k] = value[p]
    out = np.empty(key.shape[0])
    for p in range(key.shape[0]):
        out[p] = second[key[p]] if holder[key[p]] == p else best[key[p]]
    return out


@kernel
def looked_up(pairs: PairOdds, first: Ints, second: Ints) -> Array:
    """(P,) odds of pairs first < second (P,); 0 for those without an entry."""
    out = np.zeros(first.shape[0])
    if pairs.begin.shape[0] == 0:
        return out
    for p in range(first.shape[0]):
        for k in range(pairs.begin[first[p]], pairs.begin[first[p] + 1]):
            if pairs.partner[k] == second[p]:
                out[p] = pairs.odds[k]
                break
    return out
