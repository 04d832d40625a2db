"""Where tracks of a reading begin and end: not before an animal came, and not after it went.

A track that is followed past the moment at which its animal came into the room, or went out of it, goes on by chance:
now and then a view shows something near it. Such rows are worth less than nothing, since views that should have shown
the animal did not. A beginning or an end is left out if all of the track is likelier without it.
"""

import numpy as np
from numpy.typing import NDArray

from ....cameras.rig import CameraRig
from ..model import TrackingModel
from ..observations import Observations
from ..refinement.trajectories import Trajectories
from ..settings import JointSettings
from .worth import worth

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


def ended(
    rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel, settings: JointSettings
) -> tuple[Trajectories, Array]:
    """Return a reading without beginnings and ends of tracks that are likelier nobody's, and the worth of its rows.

    Parameters
    ----------
    rig, obs : the cameras and their detections.
    paths : the tracks of the reading.
    model, settings : of the recording, and of the method.
    """
    value = worth(rig, obs, paths, model, settings)
    kept = best_stretches(value, paths.begin)
    if kept.all():
        return paths, value
    shorter = paths.take(kept)
    less = worth(rig, obs, shorter, model, settings)
    track = np.repeat(np.arange(len(paths.begin) - 1), np.diff(paths.begin))
    count = len(paths.begin) - 1
    better = np.bincount(track[kept], less, count) > np.bincount(track, value, count)
    kept |= ~better[track]
    if kept.all():
        return paths, value
    shorter = paths.take(kept)
    return shorter, worth(rig, obs, shorter, model, settings)


def best_stretches(value: Array, begin: NDArray[np.int64]) -> Flags:
    """(N,) the rows of each track between the places at which it would best begin and end.

    value : (N,) of rows; a track's first row, whose worth holds the chance of a new animal, does not count against it.
    begin : (T + 1,) rows at which tracks begin.
    """
    kept = np.zeros(len(value), bool)
    for low, high in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True):
        part = value[low:high].copy()
        part[0] = max(part[0], 0.0)
        total = np.append(0.0, np.cumsum(part))
        last = int(np.argmax(total[1:] - np.minimum.accumulate(total[:-1])))
        first = int(np.argmin(total[: last + 1]))
        kept[low + first : low + last + 1] = True
    return kept
