"""Numbers beyond which nothing is real: places, clocks and frames, for readers of files that may say anything."""

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError

FARTHEST = 1e10  # world units from the origin: a thousand kilometres where the unit is 0.1 mm
LONGEST = 10**9  # frames from the first to the last: a year at 30 a second
LARGEST_FRAME = 2**53  # beyond it a number in floating point is not exact
FASTEST, SLOWEST = 1e8, 1e-8  # frames a second


def refuse_rows(bad: ArrayLike, why: str, source: str) -> None:
    """Raise an `InputError` for the first of the rows that are `bad` (N,), counted from 0, and how many there are."""
    rows = np.flatnonzero(bad)
    if len(rows):
        more = f" (and {len(rows) - 1} more rows)" if len(rows) > 1 else ""
        raise InputError(f"{source}: row {rows[0]}: {why}{more}")


def refuse_far(position: ArrayLike, source: str) -> None:
    """Refuse places that no tank could hold; NaN, a place that is not known, is none of these.

    Parameters
    ----------
    position : (N, 3) world.
    source : what is named in the message.
    """
    points = np.asarray(position, dtype=np.float64)
    refuse_rows((np.abs(points) > FARTHEST).any(1), f"x, y or z is beyond {FARTHEST:g}, which no tank holds", source)


def refuse_nowhere(position: ArrayLike, source: str) -> None:
    """Refuse places that are none.

    Parameters
    ----------
    position : (N, 3) world.
    source : what is named in the message.
    """
    bad = ~np.isfinite(np.asarray(position, dtype=np.float64)).all(1)
    refuse_rows(bad, "x, y or z is not a finite number; leave such rows out", source)


def refuse_wild_frames(frame: ArrayLike, source: str) -> None:
    """Refuse frame numbers that no film has: too large, or too far from the others.

    Parameters
    ----------
    frame : (N,) whole numbers.
    source : what is named in the message.
    """
    frames = np.asarray(frame, dtype=np.int64)
    if not frames.size:
        return
    refuse_rows((frames > LARGEST_FRAME) | (frames < -LARGEST_FRAME), "the frame number is too large", source)
    if int(frames.max()) - int(frames.min()) > LONGEST:
        off = np.abs(frames - int(np.median(frames)))
        row = int(np.argmax(off))
        raise InputError(
            f"{source}: row {row}: frame {frames[row]} is more than {LONGEST:g} frames away from others; "
            "frames must be counted, not given as times"
        )
