"""2D tracks of the tool that made the detections: evidence of who is who, worth what this recording says of them.

Pose tools follow animals in each view alone, and exchange or rename them where they pass each other. Where two animals
pass in one view while the other views keep them apart, it is known whether the tool exchanged them: its rate of errors
is counted there, camera by camera, and says how much its word counts where all views are in doubt.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array, Flags, Ints
from ..observations import Observations
from ..refinement.repair import Swaps
from ..refinement.trajectories import Trajectories

MEMORY = 30  # frames over which a name is remembered
APART = 10  # frames without two tracks touching, after which they meet anew
LOST = 3  # frames that nobody saw it, after which names may say that it is another
DOUBT = (1.0, 4.0)  # errors and passes that are supposed before any is seen
LEAST = 0.02  # rate of errors, at least: nobody is never wrong


class ToolTracks:
    """Names that a tool gave to the detections of tracks.

    Parameters
    ----------
    obs : detections, with ``tracklet`` (D,): the tool's number, of its own in each camera; -1 for none.
    paths : tracks of them.
    """

    def __init__(self, obs: Observations, paths: Trajectories) -> None:
        self.obs, self.paths = obs, paths
        members = paths.members
        self.name = np.where(members >= 0, obs.tracklet[members], -1)
        begin, end = (np.repeat(x, np.diff(paths.begin)) for x in (paths.begin[:-1], paths.begin[1:] - 1))
        self.before = _carried(self.name, paths.frame, begin)
        self.after = _carried(self.name[::-1], -paths.frame[::-1], len(begin) - 1 - end[::-1])[::-1]

    def swapped(self, swaps: Swaps, body_length: float) -> Swaps:
        """Return swaps whose odds know what the tool says of the two tracks before and after they met.

        Parameters
        ----------
        swaps : moments at which two tracks may have been exchanged.
        body_length : world units.
        """
        if not len(swaps):
            return swaps
        frame, name = self.paths.frame, self.paths.name
        one, other = swaps.one, swaps.other
        order = np.lexsort((frame[one], name[other], name[one]))
        new = _anew(frame[one[order]], name[one[order]], name[other[order]])
        first, last = np.flatnonzero(new), np.append(np.flatnonzero(new)[1:], len(order)) - 1
        a, b = one[order], other[order]
        said = self._says(a[first], b[first], a[last] + 1, b[last] + 1) @ self._weights(body_length)
        more = np.empty(len(order))
        more[order] = said[np.cumsum(new) - 1]
        return Swaps(one, other, swaps.odds + more)

    def _says(self, a: Ints, b: Ints, a_then: Ints, b_then: Ints) -> Array:
        """(K, C) 1 where names of rows a, b are exchanged in later rows of the same tracks, -1 where kept, else 0."""
        one, other, one_then, other_then = self.before[a], self.before[b], self.after[a_then], self.after[b_then]
        kept = (one >= 0) & (one == one_then) | (other >= 0) & (other == other_then)
        crossed = (one >= 0) & (one == other_then) | (other >= 0) & (other == one_then)
        return np.asarray(crossed.astype(np.float64) - kept)

    def _weights(self, body_length: float) -> Array:
        """(C,) log-odds that the tool is right where two animals pass in its view, by how often it was."""
        wrong = self.errors(body_length)
        return np.asarray(np.log((1 - wrong) / wrong))

    def errors(self, body_length: float) -> Array:
        """(C,) share of passes in each view after which the tool had exchanged the two, where other views are sure.

        Parameters
        ----------
        body_length : world units; tracks nearer than this are not sure.
        """
        out = np.empty(self.name.shape[1])
        for c in range(len(out)):
            a, b, a_then, b_then = self._passes(c, body_length)
            says = self._says(a, b, a_then, b_then)[:, c]
            told = np.count_nonzero(says)
            out[c] = (np.count_nonzero(says > 0) + DOUBT[0]) / (told + DOUBT[1])
        return np.clip(out, LEAST, 0.5)

    def _passes(self, c: int, body_length: float) -> tuple[Ints, Ints, Ints, Ints]:
        """First rows (K,) of two tracks whose boxes touch in one view, far apart in the world, and their last rows."""
        paths = self.paths
        rows = np.flatnonzero(self.name[:, c] >= 0)
        rows = rows[np.argsort(paths.frame[rows], kind="stable")]
        box = self.obs.box[paths.members[rows, c]]
        found: list[NDArray[np.int64]] = [np.zeros((0, 2), np.int64)]
        cuts = np.append(np.flatnonzero(np.diff(paths.frame[rows], prepend=-1)), len(rows))
        for begin, end in pairwise(cuts.tolist()):
            some = box[begin:end]
            touch: Flags = (some[:, None, :2] <= some[None, :, 2:]).all(-1)
            i, j = np.nonzero(np.triu(touch & touch.T, 1))
            here = rows[begin:end]
            pair = np.column_stack([here[i], here[j]])
            far = np.linalg.norm(paths.state[pair[:, 0], :3] - paths.state[pair[:, 1], :3], axis=1)
            found.append(np.sort(pair[far > body_length], axis=1))  # rows are sorted by track: the earlier name first
        pairs = np.concatenate(found)
        names, frame = paths.name[pairs], paths.frame[pairs[:, 0]]
        pairs = pairs[np.lexsort((frame, names[:, 1], names[:, 0]))]
        new = _anew(paths.frame[pairs[:, 0]], *paths.name[pairs].T)
        first = np.flatnonzero(new)
        last = np.append(first[1:], len(pairs))[: len(first)] - 1
        return pairs[first, 0], pairs[first, 1], pairs[last, 0], pairs[last, 1]

    def torn(self) -> Trajectories:
        """Return tracks cut where an animal was lost and one of other names was found: links are to be weighed anew."""
        paths = self.paths
        seen = np.flatnonzero((paths.members >= 0).any(1))
        before, after = seen[:-1], seen[1:]
        lost = (paths.name[before] == paths.name[after]) & (paths.frame[after] - paths.frame[before] > LOST)
        before, after = before[lost], after[lost]
        other = self._odds(self.before[before], self.after[after]) < 0
        if not other.any():
            return paths
        name, keep, fresh = paths.name.copy(), np.ones(len(paths.name), bool), int(paths.name.max()) + 1
        for a, b in zip(before[other].tolist(), after[other].tolist(), strict=True):
            keep[a + 1 : b] = False
            name[b:][paths.name[b:] == paths.name[b]] = fresh
            fresh += 1
        return paths.take(keep).renamed(name[keep])

    def link_odds(self) -> Array:
        """(T, T) log-odds that the end of track i becomes the start of track j, by the names they have there."""
        first, last = self.paths.begin[:-1], self.paths.begin[1:] - 1
        return self._odds(self.before[last][:, None], self.after[first][None])

    def _odds(self, end: Ints, start: Ints) -> Array:
        """Log-odds (...) that who had names (..., C) when it was lost has names (..., C) when it is found."""
        paths, odds = self.paths, np.zeros(np.broadcast_shapes(end.shape, start.shape)[:-1])
        frames = len(np.unique(paths.frame))
        for c in range(self.name.shape[1]):
            rows = np.flatnonzero(self.name[:, c] >= 0)
            several = len(rows) / frames
            if several < 1.5:
                continue  # a name that all have says nothing
            mine, gap = np.diff(paths.name[rows]) == 0, np.diff(paths.frame[rows])
            same = np.diff(self.name[rows, c]) == 0
            stay = min(_share(same[mine]), _share(same[mine & (gap > 1)]))  # who is lost is not surer than who is not
            worth = (np.log(stay * several), np.log((1 - stay) / (1 - 1 / several)))
            a, b = end[..., c], start[..., c]
            odds += np.where((a >= 0) & (b >= 0), np.where(a == b, *worth), 0.0)
        return odds


def _share(kept: Flags) -> float:
    """Share of names that were kept, before any is seen by what is supposed of tools."""
    share = 1 - (np.count_nonzero(~kept) + DOUBT[0]) / (len(kept) + DOUBT[1])
    return float(np.clip(share, LEAST, 1 - LEAST))


def _carried(name: Ints, time: Ints, begin: Ints) -> Ints:
    """(N, C) the last name known at each row of its track, begun at row begin (N,), not older than `MEMORY`."""
    rows = np.arange(len(name))[:, None]
    last = np.maximum.accumulate(np.where(name >= 0, rows, -1), axis=0)
    fresh = (last >= begin[:, None]) & (time[:, None] - time[np.maximum(last, 0)] <= MEMORY)
    return np.where(fresh, np.take_along_axis(name, np.maximum(last, 0), axis=0), -1)


def _anew(frame: Ints, first: Ints, second: Ints) -> Flags:
    """(N,) where two tracks, first and second, meet anew, of rows sorted by both and by frame."""
    new = np.ones(len(frame), bool)
    new[1:] = (np.diff(first) != 0) | (np.diff(second) != 0) | (np.diff(frame) > APART)
    return new
