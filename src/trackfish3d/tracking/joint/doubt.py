"""How sure a track is of being one animal, link by link, and where to look first."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..suspects import Suspect
from .mending import Mended

Array = NDArray[np.float64]
SAME_ENCOUNTER = 10  # frames between two doubtful moments of the same two tracks that are one encounter


def suspects(mended: Mended, least: float = 0.001) -> list[Suspect]:
    """Return doubtful moments with at least this chance to be wrong, the most doubtful first.

    Moments of one encounter are readings of the same event, so the likeliest speaks for all. Exchanged and kept are
    the two readings of an encounter, and equally likely before it is looked at.
    """
    paths, swaps = mended.paths, mended.swaps
    found: list[Suspect] = []
    if len(swaps):
        a, b = paths.name[swaps.one], paths.name[swaps.other]
        a, b = np.minimum(a, b), np.maximum(a, b)
        frame = paths.frame[swaps.one]
        order = np.lexsort((frame, b, a))
        a, b, frame, odds = a[order], b[order], frame[order], swaps.odds[order]
        new = (np.diff(a, prepend=-1) != 0) | (np.diff(b, prepend=-1) != 0)
        new |= np.diff(frame, prepend=-(10**9)) > SAME_ENCOUNTER
        begin = np.append(np.flatnonzero(new), len(a))
        for i, j in pairwise(begin.tolist()):
            chance = float(expit(odds[i:j].max()))
            found.append(Suspect(int(frame[i]), int(frame[j - 1]) + 1, int(a[i]), int(b[i]), chance, "swap"))
    for (track, before, after), odds in zip(mended.joins, mended.odds, strict=True):
        found.append(Suspect(int(before), int(after), int(track), int(track), float(expit(-odds)), "join"))
    found = [s for s in found if s.probability >= least]
    return sorted(found, key=lambda s: (-s.probability, s.first, s.track))


def link_confidence(mended: Mended) -> Array:
    """(N,) chance that each row of the tracks is the same animal as the row before it."""
    paths = mended.paths
    wrong = np.zeros(len(paths.name))
    for s in suspects(mended, 0.0):
        for track in {s.track, s.other}:
            rows = np.flatnonzero((paths.name == track) & (paths.frame > s.first) & (paths.frame <= s.last))
            if len(rows):  # the chance is of the whole encounter: its last link bears it
                wrong[rows[-1]] = 1 - (1 - wrong[rows[-1]]) * (1 - s.probability)
    return 1 - wrong
