"""False detections: shapes of fish that stand for some frames beside a fish, as reflections and shadows do."""

from __future__ import annotations

import numpy as np

from ..detection.masks.moments import BOTTOM, COLUMNS, COUNT, LEFT, RIGHT, SUM_X, SUM_XX, SUM_XY, SUM_Y, SUM_YY, TOP


class Ghosts:
    """The false detections of one view. Their number grows with the number of fish, because fish cast them.

    Those of the real detector do not follow their fish: they stay where they appeared, and go after some frames.
    """

    def __init__(self, births: float, frames: float, distance: float, spread: float, score: float) -> None:
        self._births, self._leave = births, 1 / max(frames, 1.0)
        self._distance, self._spread, self._score = distance, spread, score
        self._sums, self._scores = np.zeros((0, COLUMNS)), np.zeros(0)

    def step(self, rng: np.random.Generator, size: tuple[int, int], fish: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Go on one frame beside the visible masks ``fish`` (N, 11); returns sums (G, 11) and scores (G,)."""
        stays = rng.random(len(self._sums)) >= self._leave
        born = fish[rng.random(len(fish)) < self._births]
        self._sums, self._scores = self._sums[stays], self._scores[stays]
        if len(born) == 0:
            return self._sums, self._scores
        angle = rng.uniform(0, 2 * np.pi, len(born))
        reach = np.hypot(born[:, RIGHT] - born[:, LEFT], born[:, BOTTOM] - born[:, TOP])
        reach = reach * self._distance * np.exp(self._spread * rng.standard_normal(len(born)))
        shift = np.stack([reach * np.cos(angle), reach * np.sin(angle)], axis=1)
        score = rng.beta(8 * self._score, 8 * (1 - self._score), len(born))
        self._sums = np.vstack([self._sums, moved(born, shift, size)])
        self._scores = np.concatenate([self._scores, score])
        return self._sums, self._scores


def moved(sums: np.ndarray, shift: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Shift the sums of masks (N, 11) by (N, 2) px, less far where they would leave an image of (width, height)."""
    low = np.array([-0.5, -0.5]) - sums[:, [LEFT, TOP]]
    high = np.array(size) - 0.5 - sums[:, [RIGHT, BOTTOM]]
    dx, dy = np.clip(shift, low, high).T
    out: np.ndarray = sums.copy()
    n, x, y = sums[:, COUNT], sums[:, SUM_X], sums[:, SUM_Y]
    out[:, SUM_X], out[:, SUM_Y] = x + n * dx, y + n * dy
    out[:, SUM_XX] = sums[:, SUM_XX] + 2 * dx * x + n * dx * dx
    out[:, SUM_YY] = sums[:, SUM_YY] + 2 * dy * y + n * dy * dy
    out[:, SUM_XY] = sums[:, SUM_XY] + dx * y + dy * x + n * dx * dy
    out[:, [LEFT, RIGHT]] += dx[:, None]
    out[:, [TOP, BOTTOM]] += dy[:, None]
    return out
