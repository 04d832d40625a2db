"""A first adjustment before anything is tracked, for crowds before cameras that are far off.

A tracker that is told wrong poses takes neighbours for one animal, and an adjustment by its tracks makes the poses fit
the mistakes. Pieces of paths that keep the same small distance of their rays for many frames are one animal whatever
the poses are (see `chains`); poses adjusted by these alone are near enough for a tracker.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.transform import Rotation

from ..cameras import CameraRig
from ..cameras.triangulation import triangulate_rays
from ..recordings import Detections
from .adjustment import Freedom, Setup, adjust_pieces, missed
from .chains import Chains, chains_of, company, rays_of
from .rigs import rig_of
from .sights import Pieces, Retimed, retime, sights_of

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
_ROUNDS = 2  # of finding company and adjusting
_LEAST = 15  # pieces
_HELD = 5  # every fifth is held out
_FAR = np.radians(6.0)  # turn of a camera beyond which it rather sees something else than the others
_BETTER = 0.6  # of the error of held-out pieces, below which it must fall: otherwise the old poses are near enough


def settle_first(rig: CameraRig, setup: Setup, detections: Detections, freedom: Freedom) -> Setup:
    """Return cameras adjusted by the surest company of pieces of paths; as they were, where these are no better.

    Parameters
    ----------
    rig : names, sizes and lens models of the cameras.
    setup : cameras, water, and clocks to the frame.
    detections : with frame numbers as the cameras counted them.
    freedom : what may move.
    """
    pieces, now, noise = surest_pieces(rig, setup, detections, near=False), setup, np.ones(len(rig))
    for _ in range(_ROUNDS):
        if pieces is None:
            return setup
        now, done = adjust_pieces(now, freedom, pieces.part(~pieces.held), 2.0)
        turned = Rotation.from_matrix(now.state.R @ setup.state.R.transpose(0, 2, 1)).magnitude()
        if turned.max() > _FAR:
            return setup
        pieces, noise = surest_pieces(rig, now, detections, near=True), done.noise
    if pieces is None:
        return setup
    judge = pieces.part(pieces.held)
    old, new = (float(np.median(np.hypot(*missed(s, judge, noise)[1].T))) for s in (setup, now))
    return now if new < _BETTER * old else setup


def surest_pieces(rig: CameraRig, setup: Setup, detections: Detections, near: bool) -> Pieces | None:
    """Pieces of paths in several pictures that are each other's company; None where they are too few.

    Parameters
    ----------
    rig : names, sizes and lens models of the cameras.
    setup : cameras, water and clocks.
    detections : with frame numbers as the cameras counted them.
    near : whether rays must meet, because the poses are nearly right, or only keep their distance.
    """
    retimed = retime(detections, setup.clock, setup.middle)
    now = rig_of(setup.state, rig)
    rays = rays_of(now, retimed.detections)
    groups: list[Ints] = []
    for window in chains_of(now, retimed.detections, 0):
        groups += _groups(window, rays, near)
    if len(groups) < _LEAST:
        return None
    return _pieces(now, retimed, rays, groups)


def _groups(window: Sequence[Chains], rays: Array, near: bool) -> list[Ints]:
    """Chains (C, T) of one animal each: those whose company does not contradict itself."""
    begin = np.cumsum([0, *(len(w.row) for w in window)])
    one, other = [], []
    for a in range(len(window)):
        for b in range(a + 1, len(window)):
            i, j = company(window[a].row, window[b].row, rays, near)
            one.append(begin[a] + i)
            other.append(begin[b] + j)
    i, j = np.concatenate(one), np.concatenate(other)
    size = int(begin[-1])
    label = connected_components(coo_array((np.ones(len(i)), (i, j)), (size, size)), directed=False)[1]
    camera = np.repeat(np.arange(len(window)), np.diff(begin))
    rows = np.concatenate([w.row for w in window])
    groups = []
    for k in np.flatnonzero(np.bincount(label) >= 2):
        mine = np.flatnonzero(label == k)
        if len(np.unique(camera[mine])) == len(mine):
            whole = np.full((len(window), rows.shape[1]), -1, np.int64)
            whole[camera[mine]] = rows[mine]
            groups.append(whole)
    return groups


def _pieces(rig: CameraRig, retimed: Retimed, rays: Array, groups: list[Ints]) -> Pieces:
    all_ = np.stack(groups)
    good = (all_ >= 0).sum(1) >= 2  # (G, T)
    path, moment = np.nonzero(good)
    found = all_[path, :, moment]  # (M, C)
    seen = found[found >= 0]
    offsets = np.concatenate([[0], np.cumsum((found >= 0).sum(1))])
    position = triangulate_rays(rays[seen, :3], rays[seen, 3:], offsets)[0]
    time = retimed.detections.frame[seen[offsets[:-1]]].astype(np.float64)
    sights = sights_of(rig, retimed, found, path)
    count = len(groups)
    firsts = np.searchsorted(path, np.arange(count))
    held = np.arange(count) % _HELD == 0
    return Pieces(sights, path, time, position, held, np.arange(count), time[firsts])
