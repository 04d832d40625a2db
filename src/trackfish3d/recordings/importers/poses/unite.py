"""Poses of several cameras as one table: parts in the same order, and points that mean the same in every view."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from ...centres import centres
from ...detections import Detections
from ...skeleton import Skeleton


def same_parts(pieces: Sequence[Detections]) -> list[Detections]:
    """Return pieces whose parts are those of all of them, in one order; a piece without parts has none that is seen.

    Parameters
    ----------
    pieces : of one rig; some or all may have parts, under any names and in any order.
    """
    known = [p.skeleton for p in pieces if p.skeleton is not None]
    if not known:
        return list(pieces)
    skeleton = reduce(Skeleton.united, known)
    spread = any(p.part_variance is not None for p in pieces)
    return [_widened(p, skeleton, spread) for p in pieces]


def same_tracks(pieces: Sequence[Detections]) -> list[Detections]:
    """Return pieces whose 2D tracks, if any has some, are numbered so that those of two files are never one.

    Parameters
    ----------
    pieces : of one rig, a file each.
    """
    if all(p.tracklet is None for p in pieces):
        return list(pieces)
    out, begin = [], 0
    for piece in pieces:
        own = np.full(len(piece), -1, np.int64) if piece.tracklet is None else piece.tracklet
        out.append(replace(piece, tracklet=np.where(own >= 0, own + begin, -1)))
        begin += int(own.max(initial=-1)) + 1
    return out


def _widened(piece: Detections, skeleton: Skeleton, spread: bool) -> Detections:
    parts = np.full((len(piece), len(skeleton), 3), np.nan)
    variance = np.full((len(piece), len(skeleton), 2), np.nan)
    if piece.skeleton is not None:
        place = [skeleton.index(p) for p in piece.skeleton.parts]
        parts[:, place] = piece.parts
        if piece.part_variance is not None:
            variance[:, place] = piece.part_variance
    return replace(piece, parts=parts, part_variance=variance if spread else None, skeleton=skeleton)


def centred(found: Detections) -> Detections:
    """Return detections whose points are the middles of their bodies, predicted where parts are missing.

    Parameters
    ----------
    found : of all cameras; returned as it is where it has no parts.
    """
    if found.parts is None or not len(found):
        return found
    middle = centres(found)
    low, high = found.boxes[:, :2], found.boxes[:, 2:]
    reach = np.maximum(high - low, 1.0)
    middle = np.clip(middle, low - reach, high + reach)  # a body is not far from what is seen of it
    known = np.isfinite(middle).all(1)
    u, v = np.where(known, middle[:, 0], found.u), np.where(known, middle[:, 1], found.v)
    return replace(found, u=u, v=v)
