"""Tracks that are reflections of others: glass and the surface from below show animals once more, behind themselves.

All cameras see the image of an animal in a flat wall where a second animal would be: it gets a track of its own. It
moves in step with the first, mirrored at one plane: what lies between the two always points the same way, and its
middle stays in the plane. Animals that swim side by side keep that direction too, but carry the middle with them.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..recordings import Tracks

Array = NDArray[np.float64]
_FRAMES, _FRAMES_ALONE = 40, 120  # both are there, if another pair has the same mirror, and if none has
_OFF = 0.12  # of how far the animal moves across the mirror, by how much the image may be off
_ACROSS = 0.15  # of all its motion, the least that goes across the mirror
_MOST = 200  # tracks, the longest, that are compared with each other
_SAME_ANGLE, _SAME_PLACE = 0.12, 0.25  # radians, and share of the distance between the two, of one mirror


@dataclass(frozen=True, eq=False)
class Reflection:
    """A track that is the image of another.

    Attributes
    ----------
    image : number of the track behind the mirror.
    animal : number of the track before it.
    normal : (3,) of the mirror, unit, towards the animal.
    offset : of the mirror: points x on it have ``normal @ x == offset``, world units.
    frames : in which both are there.
    off : root mean square by which the image is off, world units.
    """

    image: int
    animal: int
    normal: Array
    offset: float
    frames: int
    off: float

    def __str__(self) -> str:
        x, y, z = self.normal
        return (
            f"track {self.image} looks like the reflection of track {self.animal} in a wall or surface with normal "
            f"({x:.2f}, {y:.2f}, {z:.2f}) at {self.offset:.4g}: it moves in step for {self.frames} frames"
        )


def find_reflections(tracks: Tracks, cameras: Array) -> list[Reflection]:
    """Return the tracks that are images of others, the longest in step first; each is the image of one.

    Parameters
    ----------
    tracks : of animals, and perhaps of images.
    cameras : (C, 3) centres of the cameras, which are before the mirror, world units.
    """
    numbers, count = np.unique(tracks.track, return_counts=True)
    longest = numbers[np.argsort(-count, kind="stable")][:_MOST]
    rows = {int(k): np.flatnonzero(tracks.track == k) for k in np.sort(longest)}
    paths = {k: (tracks.frame[r], tracks.position[r]) for k, r in rows.items() if len(r) >= _FRAMES}
    found = []
    for a, b in combinations(paths, 2):
        pair = _mirror_of(*paths[a], *paths[b])
        if pair is not None:
            found.append(_named(a, b, *pair, cameras))
    sure = [f for f in found if f.frames >= _FRAMES_ALONE or any(g is not f and _same(f, g) for g in found)]
    out: list[Reflection] = []
    for f in sorted(sure, key=lambda f: (-f.frames, f.off)):
        if not any(f.image in (g.image, g.animal) or f.animal == g.image for g in out):
            out.append(f)
    return out


def _mirror_of(
    frame: NDArray[np.int64], one: Array, others: NDArray[np.int64], two: Array
) -> tuple[Array, Array, Array, Array] | None:
    """Return normal, middles (F, 3), differences (F, 3) and error of the mirror between two paths; None without one."""
    _, i, j = np.intersect1d(frame, others, assume_unique=True, return_indices=True)
    if len(i) < _FRAMES:
        return None
    p, q = one[i], two[j]
    apart, middle = q - p, 0.5 * (p + q)
    normal = np.linalg.svd(apart, full_matrices=False)[2][0]
    along = apart @ normal
    across = float(np.std(p @ normal))
    beside = apart - along[:, None] * normal
    # Half of the difference is the animal's distance: an error of the image appears whole beside, half in the middle.
    off = np.sqrt(float((beside**2).sum(1).mean()) + 4 * float(np.var(middle @ normal)))
    moves = float(np.sqrt(p.var(axis=0).sum()))
    if across < _ACROSS * moves or off > _OFF * 2 * across or (along > 0).all() == (along < 0).all():
        return None
    return normal, middle, apart, np.array(off)


def _named(a: int, b: int, normal: Array, middle: Array, apart: Array, off: Array, cameras: Array) -> Reflection:
    """Return which of two tracks is the image: the one that the mirror hides from the cameras."""
    offset = float(np.mean(middle @ normal))
    if float(np.sum(np.sign(cameras @ normal - offset))) < 0:
        normal, offset = -normal, -offset
    behind = float(np.mean(apart @ normal)) < 0  # from a to b leads away from the cameras
    image, animal = (b, a) if behind else (a, b)
    return Reflection(image, animal, normal, offset, len(middle), float(off))


def _same(f: Reflection, g: Reflection) -> bool:
    """Whether two images are of one mirror."""
    if float(f.normal @ g.normal) < np.cos(_SAME_ANGLE):
        return False
    return abs(f.offset - g.offset) < max(_SAME_PLACE * abs(f.offset), 3 * max(f.off, g.off))
