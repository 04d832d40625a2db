"""Whether tracks after a second look are worth more than those before it, judged without truth.

A second look believes the tracks, so what it finds agrees with them, wrong ones too: that more views agree proves
nothing. Animals do not come into being or vanish in the middle of a film, and do not hide for long: tracks that break
more often without being observed more, or are observed less, are worse.
"""

from dataclasses import dataclass

import numpy as np

from ...recordings import Tracks

_BREAKS, _BREAKS_SHARE = 2, 0.1  # more breaks that may be chance: a number, and a share of those before
_OBSERVED = 0.005  # by which the observed share must rise for more breaks to be forgiven
_LESS_OBSERVED = 0.02  # by which it may fall
_ERROR = 1.25  # factor by which the reprojection error may rise


@dataclass(frozen=True)
class Soundness:
    """How well tracks hold together.

    Attributes
    ----------
    breaks : how many tracks begin or end in the middle of the film.
    observed : share of their moments that is not interpolated.
    error_px : median of the reprojection error, px; NaN where unknown.
    """

    breaks: int
    observed: float
    error_px: float

    @classmethod
    def of(cls, tracks: Tracks, first: int, last: int) -> "Soundness":
        """Judge tracks.

        Parameters
        ----------
        tracks : one row or more.
        first : frame at which animals may begin.
        last : frame at which they may end.
        """
        inverse = np.unique(tracks.track, return_inverse=True)[1]
        begin, end = np.full(inverse.max() + 1, last), np.full(inverse.max() + 1, first)
        np.minimum.at(begin, inverse, tracks.frame)
        np.maximum.at(end, inverse, tracks.frame)
        error = tracks.error_px[np.isfinite(tracks.error_px)]
        return cls(
            int((begin > first).sum() + (end < last).sum()),
            float(tracks.observed.mean()),
            float(np.median(error)) if len(error) else np.nan,
        )


def objection(before: Tracks, after: Tracks) -> str | None:
    """Return why tracks after a second look are worse than those before it; None where they are not.

    Parameters
    ----------
    before : tracks that the look believed.
    after : tracks of what it found.
    """
    if not len(before):
        return None
    if not len(after):
        return "no tracks are left"
    frames = np.concatenate([before.frame, after.frame])
    first, last = int(frames.min()), int(frames.max())
    return _worse(Soundness.of(before, first, last), Soundness.of(after, first, last))


def _worse(old: Soundness, new: Soundness) -> str | None:
    if new.observed < old.observed - _LESS_OBSERVED:
        return f"animals are observed in {new.observed:.1%} of their moments, {old.observed:.1%} before"
    if new.observed > old.observed + _OBSERVED:
        return None
    if new.breaks > old.breaks + max(_BREAKS, _BREAKS_SHARE * old.breaks):
        return f"tracks break {new.breaks} times, {old.breaks} before"
    if new.error_px > _ERROR * old.error_px:
        return f"views disagree by {new.error_px:.2f} px, {old.error_px:.2f} before"
    return None
