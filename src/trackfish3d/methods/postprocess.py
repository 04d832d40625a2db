"""What every method's tracks go through in the end, so that methods are compared and not their cosmetics."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..recordings.tracks import Tracks


def postprocess(tracks: Tracks, max_gap: int = 15, min_obs: int = 2) -> Tracks:
    """Remove ghosts, fill short gaps, and number tracks from 0 by first appearance.

    The defaults are the paper's (its appendix on inference).

    Parameters
    ----------
    tracks : as a method made them.
    max_gap : two successive points of a track at most this many frames apart are joined by a straight line.
    min_obs : tracks with fewer observed points are removed.
    """
    return relabel(fill_gaps(remove_ghosts(tracks, min_obs), max_gap))


def remove_ghosts(tracks: Tracks, min_obs: int) -> Tracks:
    """Return the tracks that were observed at least ``min_obs`` times."""
    identity, index = np.unique(tracks.track, return_inverse=True)
    seen = np.bincount(index, weights=tracks.observed, minlength=len(identity))
    return tracks.select(seen[index] >= min_obs)


def fill_gaps(tracks: Tracks, max_gap: int) -> Tracks:
    """Fill frames between two points of a track, ``1 < dt <= max_gap`` frames apart, by linear interpolation.

    Added points are ``observed`` False, with no views, detections, error and covariance.
    """
    order = np.lexsort((tracks.frame, tracks.track))
    frame, track = tracks.frame[order], tracks.track[order]
    step = np.diff(frame)
    start = np.flatnonzero((np.diff(track) == 0) & (step > 1) & (step <= max_gap))
    missing = step[start] - 1
    before = order[np.repeat(start, missing)]
    after = order[np.repeat(start + 1, missing)]
    ahead = np.arange(missing.sum()) - np.repeat(np.cumsum(missing) - missing, missing) + 1
    share = (ahead / np.repeat(step[start], missing))[:, None]
    n = len(before)
    added: dict[str, Any] = {
        "frame": tracks.frame[before] + ahead,
        "track": tracks.track[before],
        "position": (1 - share) * tracks.position[before] + share * tracks.position[after],
        "covariance": np.full((n, 3, 3), np.nan),
        "sigma_velocity": np.full(n, np.nan),
        "views": np.zeros(n, np.int16),
        "error_px": np.full(n, np.nan),
        "observed": np.zeros(n, bool),
        "confidence": np.minimum(tracks.confidence[before], tracks.confidence[after]),
        "detection": np.full((n, len(tracks.cameras)), -1, np.int64),
    }
    return Tracks.concat([tracks, Tracks(**added, cameras=tracks.cameras)])


def numbering(tracks: Tracks) -> dict[int, int]:
    """Return new numbers 0, 1, 2, ... of tracks by their first frame; tracks that begin together keep their order.

    Parameters
    ----------
    tracks : of any numbers.
    """
    old, first = np.unique(tracks.track, return_index=True)
    order = np.lexsort((old, tracks.frame[first]))
    return {int(old[k]): number for number, k in enumerate(order)}


def renumber(tracks: Tracks, names: dict[int, int]) -> Tracks:
    """Return tracks under new numbers.

    Parameters
    ----------
    tracks : the tracks.
    names : new number of every old one.
    """
    old, index = np.unique(tracks.track, return_inverse=True)
    new: NDArray[np.int64] = np.array([names[int(o)] for o in old], np.int64)
    columns = {f.name: getattr(tracks, f.name) for f in fields(tracks)}
    return Tracks.build(**(columns | {"track": new[index]}))


def relabel(tracks: Tracks) -> Tracks:
    """Return tracks numbered 0, 1, 2, ... by their first frame.

    Parameters
    ----------
    tracks : of any numbers.
    """
    return renumber(tracks, numbering(tracks))
