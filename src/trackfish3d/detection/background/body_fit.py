"""Bodies of the usual shape laid over what is seen of animals, where that leaves their outline open.

An animal that hardly differs from the background shows a flank, or head and tail. A body (a bent ellipse, see
`_bodies`) is moved to where it covers most of what differs from the background and least of what does not; pixels that
do not differ count little against it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..masks import kernels as mask_kernels
from ..masks.blobs import QUARTERS, Blob, shapes, split_labels
from . import body_kernels
from .appearance import Appearance
from .body_kernels import ANGLE, LENGTH, WIDTH, U, V

Array = NDArray[np.float64]
_ABSENT, _PRESENT = 2.0, 6.0  # standard deviations at which a pixel says nothing, and at which it says all it can
_UNSEEN = -0.3  # what a pixel that does not differ counts
_TAKEN = -0.15  # what a pixel counts that another body covers
_COVER = 1.2  # squared distance up to which a body covers pixels
_INNER = 0.45  # squared distance up to which all pixels are the body's: lens and codec make animals look wider
_NEAR = 1.5  # squared distance up to which those of a blob are
_SIDES = (0.0, -0.7, 0.7)  # half widths aside of a blob at which the search begins: either flank may be the seen one
_NARROW = 0.9  # of the usual width, below which a blob is taken for a part of an animal
_FLANK = 0.7  # of the usual width, below which a blob may be one flank of an animal
_SLIM = 0.85  # of the usual width, which is then laid over it
_FRESH = np.array(
    [3.0, 8.0, 0.3, 0.0, 0.0]
)  # stiffness of a body of which nothing is known; see `body_kernels.fit_body`
_KNOWN = np.array([3.0, 8.0, 0.3, 0.05, 0.1])  # of one that is about where it begins
_ENOUGH, _PLENTY = 0.2, 0.3  # of a body's area that its value must amount to, for an animal, for its outline


@dataclass(frozen=True, eq=False)
class Start:
    """Where the search for a body begins: ``body`` and ``usual`` (6,), ``stiff`` (5,), see `body_kernels.fit_body`.

    ``far``: nothing is known of its place, so that the search takes longer steps and begins on either side too.
    """

    body: Array
    usual: Array
    stiff: Array
    far: bool

    @classmethod
    def known(cls, body: Array, usual: Array) -> "Start":
        """Begin with a body that was seen a moment ago; its size may turn towards the ``usual`` (2,)."""
        rest = body.copy()
        rest[LENGTH:] = np.sqrt(body[LENGTH:] * usual)
        return cls(body, rest, _KNOWN, False)

    @classmethod
    def fresh(cls, facts: dict[str, Array], k: int, usual: Array) -> "Start":
        """Begin with the moments of blob ``k`` as `shapes` gives them, and a body of the ``usual`` (2,) size."""
        rest = np.array([facts["u"][k], facts["v"][k], facts["angle"][k], 0.0, *usual])
        body = rest.copy()
        body[LENGTH] = np.clip(2 * facts["major"][k], 0.6 * usual[0], 1.2 * usual[0])
        return cls(body, rest, _FRESH, True)


class BodySearch:
    """The search for bodies in one picture: ``level`` (H, W) of deviations; ``bodies`` found, ``taken`` (H, W) by them.

    Each body found takes its pixels: one that another explains already is not found twice.
    """

    def __init__(self, level: NDArray[np.uint8]) -> None:
        off = np.arange(256) / QUARTERS
        free = np.clip((off - _ABSENT) / (_PRESENT - _ABSENT), _UNSEEN, 1)
        self._worth = np.stack([free, np.full(256, _TAKEN)]).astype(np.float32)
        self._covered = np.stack([np.zeros(256), np.ones(256)]).astype(np.float32)
        self.level = level
        self.taken = np.zeros(level.shape, np.uint8)
        self.bodies: list[Array] = []

    def find(self, starts: list[Start]) -> list[tuple[int, int]]:
        """Find bodies, the best first; returns pairs of rows: of ``starts``, and of ``bodies``."""
        todo = [(self.fit(start), k, len(self.bodies)) for k, start in enumerate(starts)]
        out = []
        while todo:
            (value, body), k, when = todo.pop(max(range(len(todo)), key=lambda i: todo[i][0][0]))
            if when < len(self.bodies) and self._is_touched(body):
                todo.append((self.fit(starts[k]), k, len(self.bodies)))
            elif value >= _ENOUGH * body_kernels.area(body):
                body_kernels.take(body, self.taken, _COVER)
                out.append((k, len(self.bodies)))
                self.bodies.append(body)
        return out

    def fit(self, start: Start) -> tuple[float, Array]:
        """Value and place of the best body from one start."""
        first, scales = (1.0, 4) if start.far else (0.5, 3)
        fits = []
        for side in _SIDES if start.far else (0.0,):
            body = start.body.copy()
            body[U] -= side * body[WIDTH] * np.sin(body[ANGLE])
            body[V] += side * body[WIDTH] * np.cos(body[ANGLE])
            value = body_kernels.fit_body(
                body, start.usual, start.stiff, self.level, self.taken, self._worth, first, scales
            )
            fits.append((float(value), body))
        return max(fits, key=lambda f: f[0])

    def _is_touched(self, body: Array) -> bool:
        return bool(body_kernels.evidence_of(body, self.level, self.taken, self._covered) > 0)

    def uncovered(self, blob: Blob, smallest: float) -> list[Blob]:
        """Pieces of a blob, of at least ``smallest`` pixels, that no body covers."""
        h, w = blob.mask.shape
        rest = blob.mask & (self.taken[blob.top : blob.top + h, blob.left : blob.left + w] == 0)
        labels, parts = mask_kernels.label_mask(rest.astype(np.uint8))
        return split_labels(labels, parts, blob.left, blob.top, self.level, smallest)

    def masks(self, bodies: list[Array], blobs: list[Blob]) -> list[Blob]:
        """Pixels of each body that has any: its inner ones, and those of blobs close by; each is of one body only."""
        return [blob for _, blob in self.masks_of(bodies, blobs)]

    def masks_of(self, bodies: list[Array], blobs: list[Blob]) -> list[tuple[int, Blob]]:
        """Return `masks` with the row of the body of each."""
        if not bodies:
            return []
        boxes = np.array([body_kernels.box(b, self.level.shape) for b in bodies])
        left, top = boxes[:, :2].min(0)
        right, bottom = boxes[:, 2:].max(0)
        distance = np.full((bottom - top, right - left), _NEAR, np.float32)
        owner = np.zeros(distance.shape, np.int32)
        for k, body in enumerate(bodies):
            body_kernels.lay(body, k + 1, left, top, distance, owner)
        blobbed = np.zeros(distance.shape, np.bool_)
        for blob in blobs:
            mask_kernels.paint(blob.mask, blob.left - left, blob.top - top, 0, blobbed)
        count = np.zeros(len(bodies), np.int64)
        body_kernels.only_seen(distance, blobbed, _INNER, owner, count)
        have = np.flatnonzero(count).tolist()
        return list(zip(have, split_labels(owner, len(bodies), int(left), int(top), self.level, 1), strict=True))


def complete(blobs: list[Blob], level: NDArray[np.uint8], appearance: Appearance) -> list[Blob]:
    """Return the blobs with those that are too narrow for an animal made as wide as one, where there is evidence.

    Where animals differ clearly from the background, parts of the dim ones still are below any threshold; their
    width varies little.
    """
    facts = shapes(blobs) if blobs else {"minor": np.zeros(0)}
    narrow = np.flatnonzero(facts["minor"] < _NARROW * appearance.minor).tolist()
    if not narrow:
        return blobs
    search = BodySearch(level)
    for k in set(range(len(blobs))) - set(narrow):
        blob = blobs[k]
        h, w = blob.mask.shape
        search.taken[blob.top : blob.top + h, blob.left : blob.left + w] |= blob.mask
    out = list(blobs)
    for k in narrow:
        body = np.array([facts[name][k] for name in ("u", "v", "angle")] + [0.0, 2 * facts["major"][k], 0.0])
        body[WIDTH] = 2 * _SLIM * appearance.minor
        flank = facts["minor"][k] < _FLANK * appearance.minor  # either may be the seen one
        value, body = search.fit(Start(body, body, _KNOWN, bool(flank)))
        if value >= _PLENTY * body_kernels.area(body):
            out[k] = (search.masks([body], [blobs[k]]) or [blobs[k]])[0]
    return out
