"""What stands out from the background of one view: its blobs, and a background that learns nothing under them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...media.video import Picture
from ..masks import kernels as mask_kernels
from ..masks.blobs import QUARTERS, Blob, Thresholds, find_blobs
from .appearance import Appearance
from .scene.glance import tiles_under
from .scene.model import Background
from .scene.tile_kernels import TILE
from .settings import BackgroundSettings

_MARGIN = 3  # pixels around an animal from which the background learns nothing
_HOLE = 0.1  # of an animal's area, the largest hole in one
_DRIFT_EVERY = 8  # frames between two steps of the still background


@dataclass(frozen=True, eq=False)
class Foreground:
    """One view: its ``background``, where nothing is looked for (``outside``, (H, W), or None), frames a second."""

    background: Background
    settings: BackgroundSettings
    fps: float
    outside: NDArray[np.bool_] | None = None

    def blobs(
        self, picture: Picture, appearance: Appearance, share: float, near: NDArray[np.float64] | None = None
    ) -> tuple[list[Blob], NDArray[np.uint8]]:
        """Return blobs of a picture as they are, before anything is divided, and the map (H, W) of deviations.

        Parameters
        ----------
        picture : the next one.
        appearance : what animals look like.
        share : of the animals' contrast, the least that a blob has.
        near : (B, 4) boxes in which the map is wanted even if nothing stirs: left, top, right, bottom, px.
        """
        s = self.settings
        low = round(max(QUARTERS * s.low, s.faint * appearance.level))
        tiles = None if near is None else tiles_under(near, self.background.size)
        level, spans = self.background.deviation(picture, appearance.side, low, tiles)
        if self.outside is not None:
            level[self.outside] = 0
        thresholds = Thresholds(
            low=low,
            high=self.least(appearance, share),
            reach=max(4, round(3 * appearance.minor)),
            outline=s.outline,
            gap=appearance.gap,
            close=appearance.close,
            smallest=0.5 * appearance.smallest,
            hole=_HOLE * appearance.typical,
        )
        return find_blobs(level, thresholds, spans, TILE), level

    def least(self, appearance: Appearance, share: float) -> int:
        """Return the level that a blob must reach.

        Parameters
        ----------
        appearance : what animals look like.
        share : of the animals' contrast that the blob has.
        """
        return round(max(QUARTERS * self.settings.high, share * appearance.level))

    def learn_from(self, picture: Picture, blobs: list[Blob], appearance: Appearance) -> None:
        """Let the background follow what is not an animal.

        Parameters
        ----------
        picture : the one that was judged last.
        blobs : its animals.
        appearance : what animals look like.
        """
        taken = np.zeros(self.background.luma.still.shape, np.bool_)
        margin = max(_MARGIN, appearance.close + 2)
        for blob in blobs:
            mask_kernels.paint(blob.mask, blob.left, blob.top, margin, taken)
        boxes = np.array([[b.left, b.top, b.left + b.mask.shape[1], b.top + b.mask.shape[0]] for b in blobs])
        tiles = tiles_under(boxes.reshape(-1, 4) + margin * np.array([-1, -1, 1, 1]), self.background.size)
        self.background.follow(picture, taken, tiles)
        if picture.number % _DRIFT_EVERY == _DRIFT_EVERY - 1:
            s = self.settings
            rate, slow = (_DRIFT_EVERY / (t * self.fps) for t in (s.drift_seconds, s.absorb_seconds))
            self.background.drift(picture, taken, min(rate, 1.0), min(slow, 1.0))
