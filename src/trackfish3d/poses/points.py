"""Tracks that follow a part of the body."""

from dataclasses import replace

import numpy as np

from ..recordings.poses import Poses
from ..recordings.tracks import Tracks


def with_point(tracks: Tracks, poses: Poses, part: str) -> Tracks:
    """Return tracks whose positions are those of one part; where the part is left out, the point stays, unobserved.

    Parameters
    ----------
    tracks : of the animals.
    poses : made of these tracks.
    part : its name.
    """
    k = poses.skeleton.index(part)
    place = {key: n for n, key in enumerate(zip(poses.frame.tolist(), poses.track.tolist(), strict=True))}
    row = np.array([place.get(key, -1) for key in zip(tracks.frame.tolist(), tracks.track.tolist(), strict=True)])
    if not len(poses):
        return tracks
    there = (row >= 0) & np.isfinite(poses.position[row, k]).all(-1)
    position = np.where(there[:, None], poses.position[row, k], tracks.position)
    covariance = np.where(there[:, None, None], poses.covariance[row, k], tracks.covariance)
    return replace(tracks, position=position, covariance=covariance, observed=there & poses.observed[row, k])
