"""A camera that was knocked so far that the tracker no longer uses it: turned until it sees what the others track."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter
from scipy.spatial.transform import Rotation

from ..cameras import Camera, CameraRig
from ..recordings import Detections
from .adjustment import Setup
from .rigs import rig_of
from .sights import Pieces

Array = NDArray[np.float64]
_LOST = 0.5  # share of the sights that the other cameras have, below which one is lost
_REACH = 0.2  # of the picture's width, by which what it sees may be elsewhere
_BIN = 4.0  # px
_VOTES = 0.3  # of the points of the others, which must be found at one shift


def relocate(rig: CameraRig, setup: Setup, pieces: Pieces, detections: Detections) -> Setup:
    """Turn cameras that the tracks hardly use, so that they see the animals which the others track.

    Every detection votes for its distance from every animal of its frame; true ones agree. A shift of the picture is a
    turn of the camera; what is left is the adjustment's.

    Parameters
    ----------
    rig : names, sizes and lens models of the cameras.
    setup : cameras, water and clocks.
    pieces : of paths, tracked under them.
    detections : that were tracked, on the common clock.
    """
    used = np.bincount(pieces.sights.camera, minlength=len(rig))
    now = rig_of(setup.state, rig)
    state = replace(setup.state, R=setup.state.R.copy(), t=setup.state.t.copy())
    for c in np.flatnonzero(used < _LOST * np.median(used)):
        camera = now[int(c)]
        shift = _shift(camera, pieces, detections.select(np.flatnonzero(detections.camera == c)))
        if shift is not None:
            turn = _turn(camera, np.nanmedian(camera.project(pieces.position), axis=0), shift)
            state.R[c], state.t[c] = turn @ state.R[c], turn @ state.t[c]
    return replace(setup, state=state)


def _shift(camera: Camera, pieces: Pieces, seen: Detections) -> Array | None:
    """(2,) px by which a camera sees the animals elsewhere; None where no shift has the votes."""
    expected = camera.project(pieces.position)
    frame = np.round(pieces.time).astype(np.int64)
    begin, end = np.searchsorted(seen.frame, frame, "left"), np.searchsorted(seen.frame, frame, "right")
    count = end - begin
    rows = np.repeat(np.arange(len(frame)), count)
    each = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + np.repeat(begin, count)
    apart = seen.centroids[each] - expected[rows]
    reach = _REACH * camera.size[0]
    apart = apart[(np.abs(apart) < reach).all(1)]  # NaN, what the camera cannot see, falls out
    bins = int(2 * reach / _BIN)
    votes = np.histogram2d(apart[:, 0], apart[:, 1], bins=bins, range=[[-reach, reach]] * 2)[0]
    votes = 9 * uniform_filter(votes, 3, mode="constant")
    i, j = np.unravel_index(int(np.argmax(votes)), votes.shape)
    if votes[i, j] < _VOTES * (count > 0).sum():
        return None
    peak = (np.array([i, j]) + 0.5) * (2 * reach / bins) - reach
    near = np.abs(apart - peak).max(1) < 2 * _BIN
    return np.asarray(np.median(apart[near], axis=0))


def _turn(camera: Camera, pixel: Array, shift: Array) -> Array:
    """(3, 3) rotation of the camera under which what it saw at a pixel is seen a shift further."""
    a, b = (np.linalg.solve(camera.K, [*p, 1.0]) for p in (pixel, pixel + shift))
    return np.asarray(Rotation.align_vectors(b[None], a[None])[0].as_matrix())
