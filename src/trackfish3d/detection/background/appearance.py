"""What one animal looks like in a view."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..masks.blobs import Blob, shapes

Array = NDArray[np.float64]
_CLEAR = 105.0  # quarters of a standard deviation at which outlines become whole
_WIDE = 2.4  # px, deviation across an animal, from which a body can be laid over what is seen of it


@dataclass(frozen=True)
class Appearance:
    """Areas (px^2) ``smallest``, ``typical``, ``largest`` of one animal; ``major``, ``minor`` deviations, px.

    ``longest``: largest major deviation of one animal, px; ``fill``: what its mask fills of the like ellipse, at
    least; ``level``: its typical deviation, as `Blob.level`; ``side``: -1 darker, 1 brighter than the background, 0
    both; ``gap``, ``close``: see `blobs.Thresholds`; ``notes`` for the user, a line each.
    """

    smallest: float
    typical: float
    largest: float
    longest: float
    major: float
    minor: float
    fill: float
    level: float
    side: int
    gap: int
    close: int
    notes: tuple[str, ...] = field(default=())

    @property
    def weak(self) -> bool:
        """Whether the animals hardly differ from the background: parts of them are then not seen at all.

        Of animals a few pixels wide no more is known by a body than by what is seen.
        """
        return self.level < _CLEAR and self.minor > _WIDE

    def believes(self, blob: Blob) -> bool:
        """Whether a blob is large enough for an animal; a small one must differ as clearly as animals do."""
        if blob.area < self.smallest:
            return False
        return blob.area > 0.35 * self.typical or blob.level > 0.65 * self.level

    def score(self, blobs: list[Blob]) -> Array:
        """(B,) 0..1: how much like an animal each blob is, by contrast and by size."""
        if not blobs:
            return np.zeros(0)
        facts = shapes(blobs)
        contrast = np.clip(np.array([b.level for b in blobs]) / max(self.level, 1.0), 0, 1)
        size = np.minimum(facts["area"] / self.typical, 1.0)
        too_large = np.minimum(self.largest / facts["area"], 1.0)
        return np.asarray(np.clip(0.05 + 0.94 * contrast**0.25 * size**0.25 * too_large, 0, 0.99))
