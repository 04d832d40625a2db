"""Which pixels are whose, when animals touch or break into pieces: by what they looked like a moment ago.

Every animal seen apart for a few frames is remembered as an ellipse with a velocity. When several of them lie in one
blob, its pixels are divided among them; when one of them lies over several pieces, the pieces are joined. Blobs that
nobody remembers are divided by their shape alone, if they are too large or too ragged to be one animal.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..masks.blobs import Blob, split_labels
from ..masks.moments import COUNT, SUM_X, SUM_XX, SUM_XY, SUM_Y, SUM_YY
from . import ellipse_kernels
from .appearance import Appearance
from .split import divide_by_shape, looks_single, merge

Array = NDArray[np.float64]
_GROWN_UP = 3  # frames seen apart before an animal's memory may divide a blob
_PROVEN = 12  # frames seen apart that prove two animals to be two
_ONE = 1.3  # typical areas that may still be one animal
_ROUNDS = 8
_NOISE = 25.0  # variance of a level, quarters of a standard deviation squared
_TRUST = 0.5  # how far an animal's tone counts beside its place
_HIDDEN = 0.2  # share of its area below which an animal counts as hidden
_PIECE = 0.6  # typical areas below which a blob may be a piece of an animal
_COMPLETE = 1.2  # of the animals' areas, what a piece and the blob that it completes may have together
_PART, _MOST = 0.35, 0.6  # share of an animal, or of a blob, that must lie in the other to belong to it
_SMALLER, _LARGER = 0.4, 2.5  # ratio of areas within which a blob may be an animal that was near
_BEHIND, _SUM = 1.3, 0.75  # areas of the one, and of all together, below which the others are behind it
_BENT = 1.5  # of its area, what a bent animal may have
_TURN, _CALM = 0.4, 0.8  # share of a surprise that velocity takes up, and that it keeps a frame out of sight
_RENEW = 0.5  # share of a new look that the memory takes up


@dataclass(eq=False)
class EllipseTracker:
    """Animals of one view: ``mean``, ``velocity`` (F, 2) px and px a frame, ``cov`` (F, 3), ``area`` (F,) px.

    ``tone`` (F, 2) mean and variance of the deviation of its pixels: those far away look paler. ``alone`` (F,) frames
    seen apart so far; ``missed`` (F,) frames since last seen.
    """

    forget_frames: int = 10
    mean: Array = field(default_factory=lambda: np.zeros((0, 2)))
    velocity: Array = field(default_factory=lambda: np.zeros((0, 2)))
    cov: Array = field(default_factory=lambda: np.zeros((0, 3)))
    area: Array = field(default_factory=lambda: np.zeros(0))
    tone: Array = field(default_factory=lambda: np.zeros((0, 2)))
    alone: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    missed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    COLUMNS = ("mean", "velocity", "cov", "area", "tone", "alone", "missed")

    def turn_back(self) -> None:
        """Let time run the other way."""
        self.velocity *= -1

    def boxes(self, frames: int) -> None:
        """Nothing: these animals stir wherever they are."""

    def claims(self, blobs: list[Blob], frames: int = 1) -> NDArray[np.int64]:
        """Return (B,) how many animals that are known well claim each blob of the next frame.

        Parameters
        ----------
        blobs : of the frame, undivided.
        frames : since the last.
        """
        before, self.mean = self.mean, self.mean + frames * self.velocity
        overlap = self._overlaps(blobs)
        self.mean = before
        known = (self.alone >= _GROWN_UP) & overlap.any(0)
        return np.bincount(overlap[:, known].argmax(0), minlength=len(blobs)) if len(blobs) else np.zeros(0, np.int64)

    def step(
        self, blobs: list[Blob], level: NDArray[np.uint8], appearance: Appearance, clear: float = 0, frames: int = 1
    ) -> list[Blob]:
        """Divide and join the blobs of the next frame (``frames`` after the last), and remember what came out.

        Blobs that nobody knows and that do not reach the level ``clear`` are left out: they are shadows.
        """
        self.mean = self.mean + frames * self.velocity
        overlap = self._overlaps(blobs)
        claim = np.where(overlap.any(0), overlap.argmax(0), -1) if len(blobs) else np.full(len(self.mean), -1)
        owners = [np.flatnonzero(claim == b).tolist() for b in range(len(blobs))]
        parts, fresh = self._gather(blobs, owners, overlap, level, appearance)
        out: list[Blob] = []
        seen: list[int] = []
        for b, blob in parts.items():
            fish = self._believable(owners[b], blob, appearance)
            alone = len(fish) == 1 and not self._only_bent(fish[0], blob, appearance)
            pieces = divide_by_shape(blob, level, appearance) if alone else []
            if len(pieces) > 1:
                self.missed[fish[0]] = self.forget_frames + 1
                fresh += pieces
            elif len(fish) == 1:
                self._see(fish[0], blob, level, apart=True)
                seen.append(fish[0])
                out.append(blob)
            else:
                shares, rest = self._share(fish, blob, level, appearance)
                for k, piece in shares:
                    self._see(k, piece, level, apart=False)
                    seen.append(k)
                    out.append(piece)
                fresh += rest
        self.missed += frames
        self.missed[seen] = 0
        self.velocity[self.missed > 0] *= _CALM
        self._forget()
        fresh = [blob for blob in fresh if blob.level >= clear]
        for blob in fresh:
            self._remember(blob, level)
        return out + fresh

    def _gather(
        self,
        blobs: list[Blob],
        owners: list[list[int]],
        overlap: Array,
        level: NDArray[np.uint8],
        appearance: Appearance,
    ) -> tuple[dict[int, Blob], list[Blob]]:
        """Return blobs that animals claim, with the small pieces that complete them, and blobs nobody knows."""
        parts = {b: blob for b, blob in enumerate(blobs) if owners[b]}
        fresh: list[Blob] = []
        for b, blob in enumerate(blobs):
            if owners[b]:
                continue
            host = -1
            if blob.area < _PIECE * appearance.typical and overlap[b].any():
                fish = int(overlap[b].argmax())
                host = next((h for h, mine in enumerate(owners) if fish in mine), -1)
            if host >= 0 and self._completes(blob, parts[host], owners[host], appearance):
                parts[host] = merge([parts[host], blob], level)
            else:
                fresh += divide_by_shape(blob, level, appearance)
        return parts, fresh

    def _completes(self, piece: Blob, host: Blob, fish: list[int], appearance: Appearance) -> bool:
        """Whether a piece and the blob beside it together are about as large as the animals that were there."""
        together = piece.area + host.area
        return bool(
            together < _COMPLETE * max(self.area[fish].sum(), appearance.typical * len(fish))
            and together <= appearance.largest
        )

    def _overlaps(self, blobs: list[Blob]) -> Array:
        """(B, F) pixels of each blob in the ellipse of each animal; 0 where too few to be (part of) it."""
        out = np.zeros((len(blobs), len(self.mean)))
        if not len(self.mean) or not blobs:
            return out
        reach = 3 * np.sqrt(np.maximum(self.cov[:, 0], self.cov[:, 2]))
        for b, blob in enumerate(blobs):
            h, w = blob.mask.shape
            near = np.flatnonzero(
                (self.mean[:, 0] > blob.left - reach)
                & (self.mean[:, 0] < blob.left + w + reach)
                & (self.mean[:, 1] > blob.top - reach)
                & (self.mean[:, 1] < blob.top + h + reach)
            )
            if len(near):
                inside = ellipse_kernels.overlaps(blob.mask, blob.left, blob.top, self.mean[near], self.cov[near])
                out[b, near] = np.where((inside > _PART * self.area[near]) | (inside > _MOST * blob.area), inside, 0)
        self._reach_out(blobs, out)
        return out

    def _reach_out(self, blobs: list[Blob], overlap: Array) -> None:
        """Link blobs and animals that are still alone to their nearest, within half a body length."""
        free_b, free_f = np.flatnonzero(~overlap.any(1)), np.flatnonzero(~overlap.any(0) & (self.missed < 3))
        if not len(free_b) or not len(free_f):
            return
        centre = np.array([blobs[b].sums[[SUM_X, SUM_Y]] / blobs[b].area for b in free_b])
        apart = np.linalg.norm(centre[:, None] - self.mean[None, free_f], axis=2)
        limit = 2 * np.sqrt(self.cov[free_f, 0] + self.cov[free_f, 2])
        ratio = np.array([blobs[b].area for b in free_b])[:, None] / self.area[None, free_f]
        cost = np.where((apart < limit) & (ratio > _SMALLER) & (ratio < _LARGER), apart, np.inf)
        while np.isfinite(cost).any():
            i, j = np.unravel_index(int(np.argmin(cost)), cost.shape)
            overlap[free_b[i], free_f[j]] = 1
            cost[i], cost[:, j] = np.inf, np.inf

    def _believable(self, fish: list[int], blob: Blob, appearance: Appearance) -> list[int]:
        """Of the animals that claim a blob, those whose memory counts; one, if the blob looks like one animal."""
        grown = [k for k in fish if self.alone[k] >= _GROWN_UP]
        if not grown:
            return [max(fish, key=lambda k: self.area[k])]
        if len(grown) > 1 and looks_single(blob, appearance):
            largest = max(grown, key=lambda k: self.area[k])
            others = [k for k in grown if k != largest]
            hidden = blob.area < min(_BEHIND * self.area[largest], _SUM * self.area[grown].sum())
            halves = self.alone[others].max() < _PROVEN  # they were apart for a moment only
            whole = (
                max(blob.area, self.area[grown].sum()) < _ONE * appearance.typical
            )  # together no more than one animal
            if halves or whole:
                self.missed[others] = self.forget_frames + 1
                return [largest]
            if hidden:  # behind it, and remembered for a while
                return [largest]
        return grown

    def _only_bent(self, k: int, blob: Blob, appearance: Appearance) -> bool:
        """Whether a blob is the animal that was alone here a moment ago, of about the same size, however it bends."""
        one = self.alone[k] >= _GROWN_UP and self.area[k] < _ONE * appearance.typical
        return bool(one and blob.area < _BENT * self.area[k])

    def _share(
        self, fish: list[int], blob: Blob, level: NDArray[np.uint8], appearance: Appearance
    ) -> tuple[list[tuple[int, Blob]], list[Blob]]:
        """Divide the pixels of a blob among ``fish``; returns pieces by animal, and pieces that are nobody's."""
        pixels = blob.pixels()
        tone = _levels(blob, level)
        while True:
            mean, cov, area = self.mean[fish].copy(), self.cov[fish].copy(), self.area[fish].copy()
            owner, distance = ellipse_kernels.share_pixels(
                pixels, mean, cov, area, 0.9, _ROUNDS, tone, self.tone[fish], _TRUST
            )
            count = np.bincount(owner, minlength=len(fish))
            hidden = np.flatnonzero(count < np.maximum(_HIDDEN * self.area[fish], appearance.smallest))
            if not len(hidden) or len(fish) == 1:
                break
            fish = [k for j, k in enumerate(fish) if j != hidden[np.argmin(count[hidden])]]
        self.cov[fish] = cov
        stray = distance > 4 * ellipse_kernels.NEAR
        owner = np.where(stray, -1, owner)
        left, top = pixels.min(0).astype(np.int64)
        right, bottom = pixels.max(0).astype(np.int64)
        labels = np.zeros((bottom - top + 1, right - left + 1), np.int32)
        at = (pixels - [left, top]).astype(np.int64)
        labels[at[:, 1], at[:, 0]] = owner + 1
        pieces = split_labels(labels, len(fish), int(left), int(top), level, 1)
        taken = [k for j, k in enumerate(fish) if (owner == j).any()]
        labels[...] = 0
        labels[at[stray, 1], at[stray, 0]] = 1
        rest = split_labels(labels, 1, int(left), int(top), level, appearance.smallest) if stray.any() else []
        return list(zip(taken, pieces, strict=True)), rest

    def _see(self, k: int, blob: Blob, level: NDArray[np.uint8], apart: bool) -> None:
        mean, cov = _moments(blob)
        self.velocity[k] += _TURN * (mean - self.mean[k])
        self.mean[k] = mean
        if apart:
            share = _RENEW if self.alone[k] else 1.0
            self.cov[k] += share * (cov - self.cov[k])
            self.area[k] += share * (blob.area - self.area[k])
            self.tone[k] += share * (_tone(blob, level) - self.tone[k])
            self.alone[k] += 1

    def _remember(self, blob: Blob, level: NDArray[np.uint8]) -> None:
        mean, cov = _moments(blob)
        fresh: tuple[NDArray, ...] = (mean[None], np.zeros((1, 2)), cov[None], np.array([blob.area]))
        fresh += (_tone(blob, level)[None], np.array([1]), np.array([0]))
        for name, value in zip(self.COLUMNS, fresh, strict=True):
            setattr(self, name, np.concatenate([getattr(self, name), value]))

    def _forget(self) -> None:
        kept = self.missed <= np.where(self.alone >= _GROWN_UP, self.forget_frames, 1)
        for name in self.COLUMNS:
            setattr(self, name, getattr(self, name)[kept])


def _levels(blob: Blob, level: NDArray[np.uint8]) -> Array:
    """(N,) deviations of a blob's pixels, in the order of `Blob.pixels`."""
    h, w = blob.mask.shape
    return level[blob.top : blob.top + h, blob.left : blob.left + w][blob.mask > 0].astype(np.float64)


def _tone(blob: Blob, level: NDArray[np.uint8]) -> Array:
    """Mean and variance of a blob's deviations; the variance is not less than that of rounding and noise."""
    levels = _levels(blob, level)
    return np.array([levels.mean(), levels.var() + _NOISE])


def _moments(blob: Blob) -> tuple[Array, Array]:
    s = blob.sums
    n = s[COUNT]
    u, v = s[SUM_X] / n, s[SUM_Y] / n
    cov = np.array([s[SUM_XX] / n - u * u + 0.25, s[SUM_XY] / n - u * v, s[SUM_YY] / n - v * v + 0.25])
    return np.array([u, v]), cov
