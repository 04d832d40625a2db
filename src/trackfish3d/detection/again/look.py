"""The second look at one camera's film: a detector that knows what the tracks expect."""

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...media.video import Picture, Video
from ..background.body_fit import BodySearch, Start
from ..background.body_kernels import LENGTH
from ..background.detector import BackgroundDetector
from ..base import Detector, FrameDetections
from ..masks.blobs import Blob, shapes
from ..masks.moments import moments
from .expected import Expected
from .explain import CANDIDATE, Explained, explain
from .learned import judge_boxes, judge_masks

Array = NDArray[np.float64]
_PIECE = 0.35  # of the area that animals should have, below which what nobody expects is a piece of one


class SecondLook(Detector):
    """Sees pictures with what tracks expect of them.

    Of the background detector it takes what stands out, before anything was divided; of any other its masks or boxes.

    Parameters
    ----------
    inner : the detector that looked first.
    expected : animals of the film's view.
    shift : added to a picture's number to reach the common clock.
    """

    name: ClassVar[str] = "second look"

    def __init__(self, inner: Detector, expected: Expected, shift: int) -> None:
        super().__init__(inner.settings)
        self.inner, self.expected, self.shift = inner, expected, shift
        self.learns = inner.learns

    def ready(self) -> None:
        """Raise what would make `prepare` fail."""
        self.inner.ready()

    def stamp(self) -> dict[str, Any]:
        """Return what the detections depend on: the first detector, and what is expected."""
        digest = hashlib.sha256()
        for column in fields(self.expected):
            digest.update(np.ascontiguousarray(getattr(self.expected, column.name)).tobytes())
        return {"inner": [self.inner.name, self.inner.stamp()], "expected": digest.hexdigest(), "shift": self.shift}

    def prepare(self, video: Video, threads: int = 1) -> list[str]:
        """Get the first detector ready for the film."""
        return self.inner.prepare(video, threads)

    def describe(self) -> dict[str, Any]:
        """Return what the first detector has learnt."""
        return self.inner.describe()

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what the first detector has learnt since `prepare`."""
        return self.inner.state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up a `state`."""
        self.inner.restore(state)

    def see(self, picture: Picture) -> FrameDetections:
        """Find the animals in the next picture."""
        here, d = self.expected.at(picture.number + self.shift), self.inner
        if isinstance(d, BackgroundDetector):
            found = _explained(d, picture, here)
            return FrameDetections.from_masks(found.masks, found.score).with_visible(found.visible)
        seen = d.see(picture)
        return judge_boxes(seen, here) if seen.masks is None else judge_masks(seen, here, picture.grey.shape)


def _explained(d: BackgroundDetector, picture: Picture, here: Expected) -> Explained:
    """Explain what stands out from the background by the animals that should be there."""
    blobs, level, clear = d.stands_out(picture, here.boxes)
    if d.appearance.weak:
        found = _lay_bodies(blobs, level, here, d, clear)
    else:
        found = explain(blobs, level, here, d.appearance, clear)
    d.learn_from(picture, [b for b in blobs if b.level >= clear] + found.masks)
    return found


def _lay_bodies(
    blobs: list[Blob], level: NDArray[np.uint8], here: Expected, detector: BackgroundDetector, clear: float
) -> Explained:
    """Lay bodies over what is seen of animals that hardly differ from the background, from where they should be.

    All views tell how large animals are, this one alone takes pieces for animals: sizes are those expected, and a
    piece as small as that is none.
    """
    look = detector.appearance
    bodies = [_body(here, k) for k in range(len(here))]
    usual = np.median([b[LENGTH:] for b in bodies], axis=0) if bodies else np.array([2 * look.major, 2 * look.minor])
    least = max(look.smallest, _PIECE * float(np.median(here.area))) if bodies else look.smallest
    search = BodySearch(level)
    again = search.find([Start.known(b, b[LENGTH:].copy()) for b in bodies])
    rest = [piece for b in blobs if b.level >= clear for piece in search.uncovered(b, least)]
    facts = shapes(rest) if rest else {}
    search.find([Start.fresh(facts, k, usual) for k in range(len(rest))])
    owner = np.full(len(search.bodies), -1, np.int64)
    for k, row in again:
        owner[row] = k
    drawn = [(owner[row], b) for row, b in search.masks_of(search.bodies, blobs) if owner[row] >= 0 or look.believes(b)]
    masks, mine = [b for _, b in drawn], np.array([k for k, _ in drawn], np.int64).reshape(-1)
    known = mine >= 0
    score = look.score(masks) * np.where(known, 1.0, CANDIDATE)
    visible = np.full(len(masks), np.nan)
    visible[known] = np.minimum(np.array([b.area for b in masks])[known] / here.area[mine[known]], 1.0)
    track = np.full(len(masks), -1, np.int64)
    track[known] = here.track[mine[known]]
    return Explained(masks, score, track, visible)


def _body(here: Expected, k: int) -> Array:
    """Return a straight body (6,) as `body_kernels` has it, with the moments of an ellipse."""
    sums = np.zeros((1, 11))
    xx, xy, yy = here.cov[k]
    sums[0, :6] = 1.0, 0.0, 0.0, xx, xy, yy
    facts = moments(sums)
    return np.array([*here.mean[k], facts["angle"][0], 0.0, 2 * facts["major"][0], 2 * facts["minor"][0]])
