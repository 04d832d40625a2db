"""Instances as the other views say they are: without parts of a neighbour, not cut in two, not joined from two.

A part that misses those of two views which show the same body is not of that body. Several such parts that meet those
of another body in two views are a detection of their own. Two detections of one view that lack each other's parts and
belong to one body in two other views are one detection.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ....cameras.rig import CameraRig
from ....recordings.detections import Detections
from ....recordings.importers.poses.unite import centred
from ..arguments import Array, Flags, Ints
from .odds import REACH, PartOdds, learn, rays_of
from .ray_gaps import PartRays, gaps, meeting

SURE = 2.0  # log-odds at which a detection of another view is taken to show the same body
LIKELY = 0.0  # the same for halves of a body, of which two views must say so
AGREES, MISSES = 0.0, -1.0  # log-likelihood ratio of a part above which it meets another view's, below which it misses
VIEWS = 2  # other views that must say so
TAKEN_OFF = 2  # parts, at least, that are a detection of their own


@dataclass(frozen=True, eq=False)
class Mended:
    """Detections that were mended, and ``source`` (N,), the row that each was before."""

    detections: Detections
    source: Ints


def mended(rig: CameraRig, detections: Detections, body_length: float) -> Mended:
    """Return detections as the other views say they are; parts of neighbours are left out, so that middles are right.

    Parameters
    ----------
    rig : the cameras.
    detections : with parts.
    body_length : world units.
    """
    same = Mended(detections, np.arange(len(detections)))
    if len(rig) <= VIEWS or detections.skeleton is None or detections.parts is None:
        return same
    rays, mirror = rays_of(rig, detections, REACH * body_length), detections.skeleton.mirror
    begin, end = np.array(detections.offsets[:-1], np.int64), np.array(detections.offsets[1:], np.int64)
    learnt = learn(rays, begin, end, mirror, body_length)
    if learnt is None:
        return same
    look = _Look(rays, learnt, mirror, body_length, len(rig))
    pairs = meeting(rays, begin, end, begin, end)
    partner, ratio = look.partners(*pairs, SURE)
    misses = (ratio < MISSES).sum(1) * ~(ratio > AGREES).any(1)
    doubtful, foreign = (_few(misses >= least, rays.seen) for least in (1, VIEWS))
    parts = np.where(doubtful[..., None], np.nan, detections.parts)
    rows, pieces, friends = _taken_off(detections, foreign, look, partner)
    source = np.concatenate([np.arange(len(detections)), rows])
    everything = _with(detections, parts, rows, pieces)
    joined = _joined(everything, np.concatenate([look.partners(*pairs, LIKELY)[0], friends]))
    kept = np.flatnonzero(joined == np.arange(len(joined)))
    if not doubtful.any() and len(kept) == len(joined):
        return same
    out = _united(everything, joined, kept)
    order = np.lexsort((out.camera, out.frame))
    return Mended(centred(out.select(order)), source[kept][order])


def _few(wrong: Flags, seen: Flags) -> Flags:
    """Parts (N, K) that are wrong, in detections where that is less than half of what is seen."""
    out: Flags = np.asarray(wrong & (2 * wrong.sum(1) < seen.sum(1))[:, None])
    return out


@dataclass(frozen=True, eq=False)
class _Look:
    rays: PartRays
    learnt: PartOdds
    mirror: Ints
    length: float
    views: int

    def ratios(self, first: Ints, second: Ints) -> tuple[Array, Array]:
        """Ratio (P, K) of each part of pairs of detections, the likelier way round, and the odds (P,) of the pairs."""
        both = tuple(g / self.length for g in gaps(self.rays, first, second, self.mirror))
        one, other = (np.where(np.isnan(g), np.nan, self.learnt.looked_up(g)) for g in both)
        turned = np.nansum(other, 1) > np.nansum(one, 1) + SURE
        return np.where(turned[:, None], other, one), self.learnt(*both)

    def partners(self, first: Ints, second: Ints, least: float) -> tuple[Ints, Array]:
        """Partner (N, C) of each detection in each view, -1 for none, and the ratio (N, C, K) of its parts with it.

        A partner's log-odds are above ``least``.
        """
        ratio, odds = self.ratios(first, second)
        n, parts = self.rays.seen.shape
        partner, ratios = np.full((n, self.views), -1, np.int64), np.full((n, self.views, parts), np.nan)
        order = np.argsort(odds, kind="stable")
        order = order[odds[order] > least]
        for one, other in ((first, second), (second, first)):
            at = one[order], self.rays.camera[other[order]]
            partner[at], ratios[at] = other[order], ratio[order]  # the likeliest is written last
        return partner, ratios


def _taken_off(detections: Detections, foreign: Flags, look: _Look, partner: Ints) -> tuple[Ints, Array, Ints]:
    """Parts that belong to another body: the rows (M,) they were in, parts (M, K, 3), and partners (M, C)."""
    assert detections.parts is not None
    rows, pieces, friends = [], [], []
    offsets, frames = detections.offsets, np.searchsorted(detections.frames, detections.frame)
    for i in np.flatnonzero(foreign.sum(1) >= TAKEN_OFF).tolist():
        begin, end = offsets[frames[i]], offsets[frames[i] + 1]
        others = np.arange(begin, end)
        others = others[(detections.camera[others] != detections.camera[i]) & ~np.isin(others, partner[i])]
        if not len(others):
            continue
        ratio = look.ratios(np.full(len(others), i), others)[0][:, foreign[i]]
        meets = (ratio > AGREES).sum(1) >= TAKEN_OFF
        worth = np.where(meets, np.nansum(ratio, 1), -np.inf)
        friend = np.full(look.views, -1, np.int64)
        for j in others[np.argsort(worth, kind="stable")]:
            if worth[j == others][0] > SURE:
                friend[detections.camera[j]] = j
        if (friend >= 0).sum() >= VIEWS:
            rows.append(i)
            pieces.append(np.where(foreign[i][:, None], detections.parts[i], np.nan))
            friends.append(friend)
    k = detections.parts.shape[1]
    shape = (len(rows), look.views)
    return np.array(rows, np.int64), np.array(pieces).reshape(-1, k, 3), np.array(friends, np.int64).reshape(shape)


def _with(detections: Detections, parts: Array, rows: Ints, pieces: Array) -> Detections:
    """Return detections with these parts (N, K, 3), and behind them pieces (M, K, 3) of rows (M,), unsorted."""
    every = np.concatenate([np.arange(len(detections)), rows])
    out = replace(detections.select(every), parts=np.concatenate([parts, pieces]))
    if not len(rows):
        return out
    assert out.parts is not None
    box = {}
    for at, low, high in ((0, "x1", "x2"), (1, "y1", "y2")):
        for name, side in ((low, np.nanmin), (high, np.nanmax)):
            column = getattr(out, name).copy()
            column[len(detections) :] = side(pieces[..., at], axis=1)
            box[name] = column
    if out.tracklet is not None:  # whose it is, the tool did not say
        box["tracklet"] = np.where(np.arange(len(out)) < len(detections), out.tracklet, -1)
    return replace(out, **box)


def _joined(detections: Detections, partner: Ints) -> Ints:
    """Row (N,) that each detection is part of: its own, or that of another in its view which lacks its parts."""
    assert detections.parts is not None
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(detections.parts[..., 0]))
    out = np.arange(len(detections))
    half = np.flatnonzero((seen.sum(1) < seen.shape[1]) & ((partner >= 0).sum(1) >= VIEWS) & seen.any(1))
    key = detections.frame[half] * len(detections.cameras) + detections.camera[half]
    order = np.argsort(key, kind="stable")
    for group in np.split(half[order], np.flatnonzero(np.diff(key[order])) + 1):
        for a, i in enumerate(group):
            for j in group[a + 1 :]:
                shared = (partner[i] >= 0) & (partner[i] == partner[j])
                if shared.sum() >= VIEWS and not (seen[i] & seen[j]).any() and out[i] == i and out[j] == j:
                    large, small = (i, j) if seen[i].sum() >= seen[j].sum() else (j, i)
                    out[small] = large
    return out


def _united(detections: Detections, joined: Ints, kept: Ints) -> Detections:
    """Return detections that are kept, with the parts and the boxes of those that are part of them."""
    assert detections.parts is not None
    parts = detections.parts.copy()
    sides = {name: getattr(detections, name).copy() for name in ("x1", "y1", "x2", "y2")}
    for small in np.flatnonzero(joined != np.arange(len(joined))):
        large = joined[small]
        parts[large] = np.where(np.isfinite(parts[large]), parts[large], parts[small])
        for name, column in sides.items():
            column[large] = (min if name in ("x1", "y1") else max)(column[large], column[small])
    return replace(detections, parts=parts, **sides).select(kept)
