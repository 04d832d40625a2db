"""Which pixels are whose, where animals hardly differ from the background: by bodies that are followed.

Bodies of animals seen a moment ago are laid over the picture where they are expected, then bodies for what blobs show
beyond them. It does for a weak view what `memory` does for one where animals are seen whole.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..masks.blobs import Blob, shapes
from .appearance import Appearance
from .body_fit import BodySearch, Start
from .body_kernels import LENGTH

Array = NDArray[np.float64]
_GROWN_UP = 3  # frames seen before an animal is remembered while unseen
_ROUNDS = 2  # times that bodies are sought for what is left


@dataclass(eq=False)
class BodyTracker:
    """Animals of one view: ``body`` (F, 6) as in `_bodies`, ``velocity`` (F, 2) px a frame.

    ``seen`` (F,) frames seen so far; ``missed`` (F,) frames since last seen.
    """

    forget_frames: int = 10
    body: Array = field(default_factory=lambda: np.zeros((0, 6)))
    velocity: Array = field(default_factory=lambda: np.zeros((0, 2)))
    seen: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    missed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    COLUMNS = ("body", "velocity", "seen", "missed")

    def turn_back(self) -> None:
        """Let time run the other way."""
        self.velocity *= -1

    def boxes(self, frames: int) -> Array:
        """(F, 4) around where animals are expected ``frames`` after the last picture: left, top, right, bottom, px."""
        middle = self.body[:, :2] + frames * self.velocity
        reach = self.body[:, LENGTH, None]
        return np.column_stack([middle - reach, middle + reach])

    def step(
        self, blobs: list[Blob], level: NDArray[np.uint8], appearance: Appearance, clear: float = 0, frames: int = 1
    ) -> list[Blob]:
        """Explain the blobs of the next frame (``frames`` after the last) by bodies, and remember those.

        New bodies are sought only for blobs that reach the level ``clear``: others are shadows.
        """
        self.body[:, :2] += frames * self.velocity
        usual = np.array([2 * appearance.major, 2 * appearance.minor])
        search = BodySearch(level)
        again = search.find([Start.known(b, usual) for b in self.body])
        for _ in range(_ROUNDS):
            rest = [
                piece for blob in blobs if blob.level >= clear for piece in search.uncovered(blob, appearance.smallest)
            ]
            facts = shapes(rest) if rest else {}
            if not search.find([Start.fresh(facts, k, usual) for k in range(len(rest))]):
                break
        self._remember(search.bodies, dict(again), frames)
        return search.masks(search.bodies, blobs)

    def _remember(self, bodies: list[Array], again: dict[int, int], frames: int) -> None:
        """Take up what was found: ``again`` maps animals to bodies; the other bodies are new animals."""
        self.missed += frames
        for k, row in again.items():
            new = bodies[row]
            self.velocity[k] += 0.4 * (new[:2] - self.body[k, :2]) / max(frames, 1)
            size = self.body[k, LENGTH:] + 0.2 * (new[LENGTH:] - self.body[k, LENGTH:])
            self.body[k, :LENGTH], self.body[k, LENGTH:] = new[:LENGTH], size
        found = list(again)
        self.seen[found] += 1
        self.missed[found] = 0
        self.velocity[self.missed > 0] *= 0.8
        kept = self.missed <= np.where(self.seen >= _GROWN_UP, self.forget_frames, 1)
        known = set(again.values())
        fresh = np.array([b for row, b in enumerate(bodies) if row not in known]).reshape(-1, 6)
        self.body = np.concatenate([self.body[kept], fresh])
        self.velocity = np.concatenate([self.velocity[kept], np.zeros((len(fresh), 2))])
        self.seen = np.append(self.seen[kept], np.ones(len(fresh), np.int64))
        self.missed = np.append(self.missed[kept], np.zeros(len(fresh), np.int64))
