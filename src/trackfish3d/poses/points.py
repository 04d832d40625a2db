"""Tracks that follow a part of the body, or its middle."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..recordings.poses import Poses
from ..recordings.tracks import Tracks

FAR = 0.15  # of the size of a body


def with_point(tracks: Tracks, poses: Poses, part: str) -> Tracks:
    """Return tracks whose positions are those of one part; where the part is left out, the point stays, unobserved.

    Parameters
    ----------
    tracks : of the animals.
    poses : made of these tracks.
    part : its name.
    """
    k = poses.skeleton.index(part)
    if not len(poses):
        return tracks
    row = _rows(tracks, poses)
    there = (row >= 0) & np.isfinite(poses.position[row, k]).all(-1)
    position = np.where(there[:, None], poses.position[row, k], tracks.position)
    covariance = np.where(there[:, None, None], poses.covariance[row, k], tracks.covariance)
    return replace(tracks, position=position, covariance=covariance, observed=there & poses.observed[row, k])


def with_middle(tracks: Tracks, poses: Poses) -> Tracks:
    """Return tracks whose points, where they are far from the mean of all parts, are that mean.

    An instance that was cut, joined, or has parts of a neighbour puts the middle of a body elsewhere in its view; poses
    know whose part is whose. Elsewhere the point stays as it was, with all that is known of its error.

    Parameters
    ----------
    tracks : of the animals.
    poses : made of these tracks.
    """
    if not len(poses):
        return tracks
    row = _rows(tracks, poses)
    middle = poses.position.mean(1)
    reach = np.linalg.norm(poses.position - middle[:, None], axis=-1).max(1)
    size = 2 * float(np.nanmedian(reach)) if np.isfinite(reach).any() else np.inf
    far = (row >= 0) & (np.linalg.norm(middle[row] - tracks.position, axis=1) > FAR * size)
    position = np.where(far[:, None], middle[row], tracks.position)
    spread = poses.covariance.mean(1)[row]  # as if all parts erred alike: their errors have cameras in common
    return replace(tracks, position=position, covariance=np.where(far[:, None, None], spread, tracks.covariance))


def _rows(tracks: Tracks, poses: Poses) -> NDArray[np.int64]:
    """Row (N,) of the pose of each row of the tracks, -1 for none."""
    place = {key: n for n, key in enumerate(zip(poses.frame.tolist(), poses.track.tolist(), strict=True))}
    keys = zip(tracks.frame.tolist(), tracks.track.tolist(), strict=True)
    return np.array([place.get(key, -1) for key in keys], np.int64)
