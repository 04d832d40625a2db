"""Whether a detector that was taught is better than its teacher's first look, told without truth.

Both look at pictures that were held back, and are compared with what a second look makes of them, which knows from the
other views and moments how many animals there are, and where.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..base import FrameDetections
from ..masks.outlines import overlap

_ALIKE = 0.5  # intersection over union of two masks of one animal


@dataclass
class Agreement:
    """How a detector agrees with a second look: ``pictures``, ``animals``, ``seen`` masks, ``alike`` of both."""

    pictures: int = 0
    animals: int = 0
    seen: int = 0
    alike: int = 0

    @property
    def recall(self) -> float:
        """Share of the animals that it found."""
        return self.alike / max(self.animals, 1)

    @property
    def precision(self) -> float:
        """Share of what it found that are animals."""
        return self.alike / max(self.seen, 1)

    @property
    def both(self) -> float:
        """Harmonic mean of the two."""
        return 2 * self.alike / max(self.animals + self.seen, 1)

    def add(self, found: FrameDetections, looked: FrameDetections) -> None:
        """Count one picture.

        Parameters
        ----------
        found : what the detector sees.
        looked : what a second look sees; its masks that no track explains do not count.
        """
        sure = np.isfinite(looked.columns["visible"])
        theirs = [m for m, s in zip(looked.masks or (), sure, strict=True) if s]
        mine = list(found.masks or ())
        alike = np.array([[overlap(a, b) for b in theirs] for a in mine]).reshape(len(mine), len(theirs))
        rows, columns = linear_sum_assignment(-np.where(alike >= _ALIKE, 1 + alike, 0))
        self.pictures += 1
        self.animals += len(theirs)
        self.seen += len(mine)
        self.alike += int((alike[rows, columns] >= _ALIKE).sum())

    def __str__(self) -> str:
        return f"recall {self.recall:.3f}, precision {self.precision:.3f}"


@dataclass
class Verdict:
    """Agreement of the ``taught`` detector and of the ``background`` detector alone, in the same held-out pictures."""

    taught: Agreement
    background: Agreement

    @property
    def better(self) -> bool:
        """Whether the taught one agrees more."""
        return self.taught.both > self.background.both

    def lines(self) -> list[str]:
        """Return what a user should know."""
        told = "better than" if self.better else "NOT better than"
        out = [
            f"{self.taught.pictures} pictures held back, {self.taught.animals} animals by a second look: taught "
            f"{self.taught}; background {self.background}: taught is {told} background here"
        ]
        if not self.better:
            out.append("use '--detector background' here, or teach with more (--set pictures=..., --set steps=...)")
        return out
