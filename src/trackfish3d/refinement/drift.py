"""Cameras that were moved during a recording: which, when, and a calibration for each part.

The recording is probed: stretches of it are tracked under the cameras as they stood last, and adjusted. Where tracks
that were held out say that something moved, the moment is narrowed down by halving, then to the frame by which frames
the old and the new cameras explain better. What moved is the simplest explanation: one camera, the water, or all.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..core.files import finite
from ..core.progress import Progress, silent
from ..recordings import Detections
from .adjustment import Freedom, RefusedError, Setup, adjust_pieces, missed
from .loop import Tracker, Wish, enough, joint_tracker, refine_rig, setup_of, standard_errors, track_pieces
from .relocate import relocate
from .rigs import rig_of, state_of
from .sights import Pieces, spread

Array = NDArray[np.float64]
PROBE = 400  # frames that are tracked at a time
_SURE = 4.0  # standard errors by which held-out tracks must be better: many probes are looked at
_WORTH = 0.1  # of the cost, which must be won at least: detectors lean by more than nothing
_SIMPLE = 0.85  # of what freeing everything gains, which one camera or the water alone must explain
_CAP = 25.0  # squared error, in standard deviations, of a sight that is lost
_ROUNDS = 3  # of tracking and adjusting in a probe
_LASTING = 10.0  # frames for which errors of a detector last: so much less do frames say about the moment


@dataclass(frozen=True)
class Part:
    """A part of a recording during which nothing moved.

    Attributes
    ----------
    first, last : frames.
    rig : the cameras during it.
    moved : what was moved at its beginning: names of cameras, or ``water``; empty for the first part.
    first_sigma : standard deviation of `first`, frames; 0 for the first part.
    shifted_px : by how much the animals are seen elsewhere than before, by camera, root mean square.
    before_px, after_px : error of held-out sights at its beginning with the cameras before, and with its own.
    """

    first: int
    last: int
    rig: CameraRig
    moved: tuple[str, ...] = ()
    first_sigma: float = 0.0
    shifted_px: tuple[float, ...] = ()
    before_px: float = np.nan
    after_px: float = np.nan

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers, for JSON; the rig is a file of its own."""
        plain: dict[str, Any] = finite({k: v for k, v in self.__dict__.items() if k != "rig"})
        return plain


def tell_parts(parts: list[Part], fps: float | None, started: datetime | None = None) -> list[str]:
    """Say in plain words when what was moved, a line each.

    Parameters
    ----------
    parts : of a recording, in the order of time.
    fps : frames a second, None where nobody said.
    started : when the first frame was filmed.
    """
    if len(parts) == 1:
        return ["nothing was moved: one calibration holds from the first frame to the last"]
    lines = []
    for part in parts[1:]:
        when = f"frame {part.first} +- {part.first_sigma:.0f}"
        if fps is not None:
            after = timedelta(seconds=round((part.first - parts[0].first) / fps))
            when += f", {after} after the beginning" if started is None else f", {started + after:%Y-%m-%d %H:%M:%S}"
        everything = len(part.moved) > 1
        what = "everything" if everything else "the water" if part.moved == ("water",) else f"camera {part.moved[0]}"
        by = np.nanmax(part.shifted_px) if np.isfinite(part.shifted_px).any() else np.nan
        lines.append(
            f"{what} moved at {when}: animals {by:.1f} px elsewhere; held-out error {part.before_px:.2f} px with the "
            f"cameras before, {part.after_px:.2f} with new ones"
        )
    return lines


@dataclass(frozen=True)
class _Change:
    setup: Setup
    noise: Array
    moved: tuple[str, ...]
    before_px: float
    after_px: float


def find_parts(
    rig: CameraRig, detections: Detections, fps: float, wish: Wish, window: int, progress: Progress | None = None
) -> list[Part]:
    """Cut a recording where cameras or water moved, and refine the cameras of each part.

    Clocks are taken as they are.

    Parameters
    ----------
    rig : the cameras as calibrated.
    detections : on the common clock.
    fps : frames a second.
    wish : what may change.
    window : frames from one probe to the next.
    progress : called with frames done and frames in all.
    """
    tell = progress or silent
    first, last = int(detections.frame.min()), int(detections.frame.max())
    search = _Search(rig, detections, joint_tracker(fps), wish)
    setup = search.begin(first, min(first + max(window, PROBE), last), fps)
    parts = [Part(first, last, rig_of(setup.state, rig))]
    quiet = first
    for at in _probes(first, last, window):
        tell(at - first, last - first)
        change = search.change(setup, at)
        if change is None:
            quiet = at
            continue
        moment, sigma = search.moment(setup, change, quiet, at)
        if moment < parts[-1].first + PROBE:  # as it was from the beginning: a better calibration, not a move
            parts[-1], setup, quiet = replace(parts[-1], rig=rig_of(change.setup.state, rig)), change.setup, at
            continue
        clean = search.change(setup, moment + 1) if moment > at else None  # the probe lay across the moment
        change = clean or change
        parts[-1] = replace(parts[-1], last=moment - 1)
        parts.append(search.part(setup, change, moment, last, sigma, parts[-1].rig))
        setup, quiet = change.setup, max(moment, at)
    tell(last - first, last - first)
    return parts


def _probes(first: int, last: int, window: int) -> Iterator[int]:
    yield from range(first + max(window, PROBE), last - PROBE + 2, max(window, PROBE))
    if last - first > 2 * PROBE:
        yield last - PROBE + 1


class _Search:
    """The recording, and what is asked of it at a frame."""

    def __init__(self, rig: CameraRig, detections: Detections, tracker: Tracker, wish: Wish) -> None:
        self.rig, self.detections, self.tracker, self.wish = rig, detections, tracker, wish
        self.base = setup_of(rig, detections)
        still = Freedom(clocks=False, rates=False, water=False, leans=False)
        alone = [(c.name, replace(still, only=(k,))) for k, c in enumerate(rig)]
        if rig.refractive:
            alone.append(("water", replace(still, poses=False, water=True)))
        self.alone, self.all = alone, replace(still, water=rig.refractive)

    def between(self, first: int, last: int) -> Detections:
        frame = self.detections.frame
        return self.detections.select(np.flatnonzero((frame >= first) & (frame <= last)))

    def begin(self, first: int, last: int, fps: float) -> Setup:
        """Refine the cameras of the first part, if held-out tracks are better for it, and how each one's points lean.

        A detector leans along the body all the time: what it does from the first frame on is no move.
        """
        seen = spread(self.between(first, last), len(self.rig))
        try:
            found = refine_rig(self.rig, seen, fps, replace(self.wish, clocks=False))
            setup = replace(self.base, state=state_of(found.rig)) if found.accepted else self.base
            pieces = enough(self.rig, track_pieces(self.rig, setup, seen, self.tracker))
        except RefusedError:
            return self.base
        return adjust_pieces(setup, replace(self.all, poses=False, water=False, leans=True), pieces, 0.0)[0]

    def tracked(self, setup: Setup, first: int, last: int) -> Pieces:
        return track_pieces(self.rig, setup, self.between(first, last), self.tracker)

    def pieces(self, setup: Setup, first: int, last: int) -> Pieces | None:
        """Pieces that can tell something, or None."""
        try:
            return enough(self.rig, self.tracked(setup, first, last))
        except RefusedError:
            return None

    def change(self, setup: Setup, at: int) -> _Change | None:
        """Say what moved before the probe at a frame, None where nothing did or nothing can be told."""
        raw = self.tracked(setup, at, at + PROBE - 1)
        if not len(raw.held):
            return None
        near = relocate(self.rig, setup, raw, self.between(at, at + PROBE - 1))
        pieces = self.pieces(near, at, at + PROBE - 1)
        if pieces is None:
            return None
        new, noise = self._follow(near, pieces, self.all, at)
        pieces = self.pieces(new, at, at + PROBE - 1) or pieces
        judge = pieces.part(pieces.held)
        old_cost, old_error, _ = missed(setup, judge, noise)
        new_cost, new_error, _ = missed(new, judge, noise)
        gain = float((old_cost - new_cost).mean())
        if len(old_cost) < 2 or standard_errors(old_cost - new_cost) < _SURE or gain < _WORTH * float(old_cost.mean()):
            return None
        moved: tuple[str, ...] = tuple(c.name for c in self.rig)
        for name, freedom in self.alone:
            trial = adjust_pieces(self._only(setup, near, freedom), freedom, pieces.part(~pieces.held), 0.0)[0]
            cost, error, _ = missed(trial, judge, noise)
            won = float((old_cost - cost).mean())
            if won > _SIMPLE * gain:
                new, new_error, gain, moved = trial, error, max(gain, won / _SIMPLE), (name,)
        before, after = (float(np.median(np.hypot(*e.T))) for e in (old_error, new_error))
        return _Change(new, noise, moved, before, after)

    def _only(self, setup: Setup, near: Setup, freedom: Freedom) -> Setup:
        """Cameras that may move where they were found to be, the others where they were."""
        state = replace(setup.state, R=setup.state.R.copy(), t=setup.state.t.copy())
        for c in freedom.only or ():
            state.R[c], state.t[c] = near.state.R[c], near.state.t[c]
        return replace(setup, state=state)

    def _follow(self, setup: Setup, pieces: Pieces, freedom: Freedom, at: int) -> tuple[Setup, Array]:
        """Track and adjust by turns: under cameras that are far off, few animals are tracked."""
        now = setup
        for k in range(_ROUNDS):
            trial, done = adjust_pieces(now, freedom, pieces.part(~pieces.held), 0.0)
            again = self.pieces(trial, at, at + PROBE - 1) if k + 1 < _ROUNDS else None
            now = trial
            if again is None or len(again.sights.camera) < 1.02 * len(pieces.sights.camera):
                break
            pieces = again
        return now, done.noise

    def moment(self, old: Setup, change: _Change, quiet: int, at: int) -> tuple[int, float]:
        """Find the first frame after a move between a quiet probe and one that is not, and its standard deviation."""
        low, high = quiet, at
        while high - low > 2 * PROBE:
            middle = (low + high) // 2
            still = self._for_new(old, change, middle, middle + PROBE - 1).sum() <= 0
            low, high = (middle, high) if still else (low, middle)
        first, last = low, min(high + PROBE, int(self.detections.frame.max()))
        cost = np.append(0.0, np.cumsum(self._for_new(old, change, first, last)))  # of a move before frame first + k
        chance = np.exp(-(cost - cost.min()) / 2 / _LASTING)
        chance /= chance.sum()
        k = np.arange(len(cost))
        sigma = float(np.sqrt(chance @ (k - chance @ k) ** 2))
        return first + int(np.argmin(cost)), max(sigma, 0.5)

    def _for_new(self, old: Setup, change: _Change, first: int, last: int) -> Array:
        """(F,) by how much the new cameras explain each frame better than the old ones; a sight that is lost counts."""
        seen, lost = self._costs(old, change.noise, first, last)
        seen_new, lost_new = self._costs(change.setup, change.noise, first, last)
        return np.asarray(lost - lost_new + _CAP * (seen_new - seen))

    def _costs(self, setup: Setup, noise: Array, first: int, last: int) -> tuple[Array, Array]:
        """Sights (F,) and their squared errors (F,), in standard deviations, of each frame under some cameras."""
        size = last - first + 1
        pieces = self.tracked(setup, first, last)
        if not len(pieces.held):
            return np.zeros(size), np.zeros(size)
        error = np.hypot(*missed(setup, pieces, noise)[1].T) / noise[pieces.sights.camera]
        frame = np.clip(np.round(pieces.sights.frame).astype(np.int64) - first, 0, size - 1)
        lost = np.bincount(frame, weights=np.minimum(error**2, _CAP), minlength=size)
        return np.bincount(frame, minlength=size).astype(np.float64), np.asarray(lost, np.float64)

    def part(self, old: Setup, change: _Change, first: int, last: int, sigma: float, before: CameraRig) -> Part:
        """Put a change into numbers."""
        rig = rig_of(change.setup.state, self.rig)
        pieces = self.pieces(change.setup, first, min(first + PROBE - 1, last))
        shifted = np.full(len(rig), np.nan)
        if pieces is not None:
            for c, (a, b) in enumerate(zip(before, rig, strict=True)):
                apart = b.project(pieces.position) - a.project(pieces.position)
                shifted[c] = float(np.sqrt(np.nanmean((apart**2).sum(1))))
        shifts = tuple(float(s) for s in shifted)
        return Part(first, last, rig, change.moved, sigma, shifts, change.before_px, change.after_px)
