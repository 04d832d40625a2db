"""What the joint tracker's kernels take: arrays that belong together, by name.

T tracks, C cameras, N detections. Numba takes named tuples of arrays as they are, at about 1 us a call.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
NO_BOXES, NO_CENTRES = np.zeros((0, 4)), np.zeros((0, 3))


class Rig(NamedTuple):
    """Cameras.

    packed : (C, P), see `cameras.layout`.
    sizes : (C, 2) of their images, px.
    step : of derivatives, world units.
    centres : (C, 3) world units.
    """

    packed: Array
    sizes: Array
    step: float
    centres: Array = NO_CENTRES


class Beliefs(NamedTuple):
    """What is believed about detections (`model.TrackingModel`), and their usual size.

    clear, hidden : (C,) chance to be detected in full view, and at the place of another.
    log_clutter : (C,) log density of false detections, 1/px^2.
    scales : (3,), see `cues.likeness`.
    typical : (C,) log size of a detection.
    bodies : whether extents of tracks tell who hides whom.
    """

    clear: Array
    hidden: Array
    log_clutter: Array
    scales: Array
    typical: Array
    bodies: bool = False


class Predicted(NamedTuple):
    """Tracks as they should be in a frame; where two readings are compared, each array has one axis (2,) more.

    state, cov : (T, 6), (T, 6, 6).
    pixel, J, seen : (T, C, 2), (T, C, 2, 3) px a world unit, (T, C), where each camera should see them, if it does.
    found : (T, C) chance to be detected.
    size, axis, last : (T, C) log size, axis angle (NaN for none) and frame (-1 for none) of the last detection.
    half : (T, C, 4) half the width and height of its box in full view, px, and their deviations; 0 for unknown.
    hidden : (T, C, 4) sides of that box which nearer tracks cover (`bodies.hiding`).
    """

    state: Array
    cov: Array
    pixel: Array
    J: Array
    seen: Flags
    found: Array
    size: Array
    axis: Array
    last: Ints
    half: Array
    hidden: Flags

    def of(self, rows: Ints) -> "Predicted":
        """Return the same of these tracks."""
        return Predicted._make(values[rows] for values in self)

    def twice(self, rows: Ints) -> "Predicted":
        """Return two copies of the same of these tracks, one after the other on a new first axis."""
        two = np.stack([rows, rows])
        return Predicted._make(values[two] for values in self)


class Readings(NamedTuple):
    """Detections of a frame, sorted by camera.

    number : of the frame.
    begin : (C + 1,) first detection of each camera.
    u, v, noise : (N,) centroid and its standard deviation, px.
    log_size, axis : (N,) log of the size in px, axis angle in radians, NaN for none.
    box, cut : (N, 4) left, top, right, bottom, px, and the chance that each is covered (`bodies.sides`); (0, 4) where
        boxes are not cut.
    """

    number: int
    begin: Ints
    u: Array
    v: Array
    noise: Array
    log_size: Array
    axis: Array
    box: Array = NO_BOXES
    cut: Array = NO_BOXES


class Columns(NamedTuple):
    """Detections of many frames, (N,) each; see `Readings`."""

    camera: Ints
    u: Array
    v: Array
    noise: Array
    log_size: Array
    axis: Array
    box: Array = NO_BOXES
    cut: Array = NO_BOXES


class FutureFrames(NamedTuple):
    """Frames to come.

    frames : (F,) numbers.
    offsets : (F + 1,) of their detections.
    now : which of them is the present one.
    """

    frames: Ints
    offsets: Ints
    now: int


class Lines(NamedTuple):
    """Rays of a frame's detections: origin, direction (N, 3), camera (N,)."""

    origin: Array
    direction: Array
    camera: Ints


class Sightings(NamedTuple):
    """Sets of detections that may be new animals.

    members : (K, C) detection or -1.
    weight : (K,) log-likelihood ratio.
    position, cov : (K, 3), (K, 3, 3) world units.
    """

    members: Ints
    weight: Array
    position: Array
    cov: Array

    @classmethod
    def empty(cls, room: int, views: int) -> "Sightings":
        """Room for so many."""
        members = np.empty((room, views), np.int64)
        return cls(members, np.empty(room), np.empty((room, 3)), np.empty((room, 3, 3)))


class PairOdds(NamedTuple):
    """Log-likelihood ratios of pairs of detections of one recording.

    begin (N + 1,) : first entry of each detection; partner (M,) detections of later rows, ascending; odds (M,).
    A pair without an entry is one about which nothing is known.
    """

    begin: Ints
    partner: Ints
    odds: Array

    @classmethod
    def of(cls, count: int, first: Ints, second: Ints, odds: NDArray[np.floating]) -> "PairOdds":
        """Sort pairs (P,) of ``count`` detections, first before second."""
        order = np.lexsort((second, first))
        begin = np.searchsorted(first[order], np.arange(count + 1))
        return cls(begin.astype(np.int64), second[order].astype(np.int64), odds[order].astype(np.float64))


NO_ODDS = PairOdds(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
