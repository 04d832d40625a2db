"""From tracks to sights: which pixels in which views belong to one moving point, in pieces of paths."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..recordings import Detections, Tracks
from .kernels import Sights

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
_GAP = 4  # frames that a path may jump without a sight
_LEAST = 12  # frames of a path
_BLOCK = 40  # frames after which a path is cut: pieces are held out whole
_HELD = 5  # every fifth piece is held out
_MOST = 24_000  # rows of tracks that an adjustment takes
_STRETCH = 400  # frames that are tracked in one go, where a recording is looked at in stretches, at most
_SHORTEST = 100  # and at least
_DOUBT = 0.5  # links less sure than this are not one animal


@dataclass(frozen=True)
class Retimed:
    """Detections on the common clock, each with the row and the frame number of its own camera."""

    detections: Detections
    row: Ints
    own_frame: Array


@dataclass(frozen=True)
class Pieces:
    """Pieces of paths: sights of each, and where the tracker had them.

    ``path`` (N,), ``time`` (N,), ``position`` (N, 3) are rows of the tracks, sorted by path and time; ``held`` (K,)
    marks pieces that the adjustment shall not see; ``track`` (K,) and ``first`` (K,) say whose they are and when.
    """

    sights: Sights
    path: Ints
    time: Array
    position: Array
    held: NDArray[np.bool_]
    track: Ints
    first: Array

    def part(self, wanted: NDArray[np.bool_]) -> "Pieces":
        """Return some of the pieces, numbered anew.

        Parameters
        ----------
        wanted : (K,) which.
        """
        number = np.cumsum(wanted) - 1
        rows, mine = wanted[self.path], wanted[self.sights.path]
        s = self.sights
        sights = Sights(s.camera[mine], s.path[mine], s.frame[mine], s.pixel[mine], s.share[mine], s.sigma[mine])
        return Pieces(
            sights._replace(path=number[sights.path]),
            number[self.path[rows]],
            self.time[rows],
            self.position[rows],
            self.held[wanted],
            self.track[wanted],
            self.first[wanted],
        )


def retime(detections: Detections, clock: Array, middle: Array) -> Retimed:
    """Put every camera's frames on the common clock, to the nearest frame.

    Where two frames of a camera come to lie on one, the nearer stays.

    Parameters
    ----------
    detections : with frame numbers as the cameras counted them.
    clock : (C, 2) or more columns: offset and scale of each camera's clock.
    middle : (C,) frame about which the scale turns.
    """
    camera = detections.camera.astype(np.int64)
    time = clock[camera, 0] + clock[camera, 1] * (detections.frame - middle[camera])
    frame = np.round(time).astype(np.int64)
    off = np.abs(time - frame)
    key = np.stack([camera, frame])
    order = np.lexsort((off, frame, camera))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(key[:, order], axis=1) != 0).any(0)
    nearest = np.empty(len(order))
    nearest[order] = off[order][np.flatnonzero(new)[np.cumsum(new) - 1]]
    kept = np.flatnonzero(off <= nearest + 1e-12)
    kept = kept[np.lexsort((kept, camera[kept], frame[kept]))]
    moved = replace(detections.select(kept), frame=frame[kept])
    return Retimed(moved, kept, detections.frame[kept].astype(np.float64))


def spread(detections: Detections, cameras: int, most: int = _MOST) -> Detections:
    """Leave of a long recording what an adjustment can take: stretches, evenly from its beginning to its end.

    Parameters
    ----------
    detections : of the whole recording.
    cameras : how many there are.
    most : rows of tracks that are wanted.
    """
    share = 1.25 * most * cameras / max(len(detections), 1)  # a quarter of the animals are seen by too few views
    first, last = (int(f) for f in (detections.frame.min(initial=0), detections.frame.max(initial=0)))
    wanted = share * (last - first + 1)
    count = max(int(np.ceil(wanted / _STRETCH)), 2)
    length = max(int(np.ceil(wanted / count)), _SHORTEST)
    if share >= 1 or count * length > last - first:
        return detections
    begins = np.linspace(first, last - length + 1, count).round().astype(np.int64)
    place = np.searchsorted(begins, detections.frame, side="right") - 1
    return detections.select(np.flatnonzero(detections.frame < begins[place] + length))


def collect(rig: CameraRig, tracks: Tracks, retimed: Retimed, most: int = _MOST) -> Pieces:
    """Cut tracks into pieces and take the pixels of every view they used alone.

    Parameters
    ----------
    rig : the cameras.
    tracks : of the retimed detections.
    retimed : what was tracked.
    most : rows of tracks at most; pieces are left out evenly over the recording.
    """
    sure = ~(tracks.confidence < _DOUBT)  # NaN, unknown, counts as sure
    own = np.where(tracks.shared, -1, tracks.detection)  # the middle of several animals is that of none
    rows = np.flatnonzero(tracks.observed & ((own >= 0).sum(1) >= 2))
    rows = rows[np.lexsort((tracks.frame[rows], tracks.track[rows]))]
    frame, track = tracks.frame[rows], tracks.track[rows]
    block = (frame - frame.min(initial=0)) // _BLOCK
    new = np.ones(len(rows), bool)
    if len(rows):
        new[1:] = (np.diff(track) != 0) | (np.diff(frame) > _GAP) | (np.diff(block) != 0) | ~sure[rows[1:]]
    piece = np.cumsum(new) - 1
    long = np.bincount(piece, minlength=1) >= _LEAST
    blocks = np.unique(block)
    total = int(long[piece].sum()) if len(piece) else 0
    if total > most:
        wanted = blocks[np.linspace(0, len(blocks) - 1, max(int(len(blocks) * most / total), 2)).round().astype(int)]
        long &= np.isin(block[np.flatnonzero(new)], wanted)
    kept = long[piece] if len(piece) else np.zeros(0, bool)
    rows, number = rows[kept], np.cumsum(long) - 1
    path = number[piece[kept]]
    firsts = np.flatnonzero(np.diff(path, prepend=-1) > 0)
    held = _held(tracks.track[rows[firsts]], tracks.frame[rows[firsts]] // _BLOCK)
    return Pieces(
        sights_of(rig, retimed, own[rows], path),
        path,
        tracks.frame[rows].astype(np.float64),
        tracks.position[rows],
        held,
        tracks.track[rows[firsts]],
        tracks.frame[rows[firsts]].astype(np.float64),
    )


def sights_of(rig: CameraRig, retimed: Retimed, members: Ints, path: Ints) -> Sights:
    """Return the detections of pieces of paths as sights, all of one weight.

    Parameters
    ----------
    rig : the cameras.
    retimed : detections, and their frames as each camera counted them.
    members : (M, C) detection of each moment in each view, -1 for none.
    path : (M,) piece of each moment.
    """
    r, c = np.nonzero(members >= 0)
    seen = members[r, c]
    heights = np.array([camera.size[1] for camera in rig], np.float64)
    return Sights(
        c.astype(np.int64),
        path[r],
        retimed.own_frame[seen],
        np.ascontiguousarray(retimed.detections.centroids[seen]),
        retimed.detections.v[seen] / heights[c] - 0.5,
        np.ones(len(c)),
    )


def _held(track: Ints, block: Ints) -> NDArray[np.bool_]:
    """(K,) every fifth piece, other ones in each block: all animals and all times are on both sides."""
    return np.asarray((track + 2 * block) % _HELD == 0)
