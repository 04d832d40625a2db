"""Animals that come and go: which tracks begin or end where an animal enters or leaves the views.

In a closed tank an animal that is lost is still there, and one that appears is most likely the lost one. In an open
scene it may have left, and another one may have come. Which of the two a recording is can be seen from where tracks
begin and end.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....cameras.rig import CameraRig
from .trajectories import Trajectories

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
AHEAD = 10  # frames over which a motion is carried on
MOSTLY = 0.5  # share of beginnings and ends at the border from which a scene is open
ENOUGH = 4  # beginnings and ends that tell


class Borders(NamedTuple):
    """``entering``, ``leaving`` (T,): whether each track begins and ends at the border of what two views see.

    ``inner`` : beginnings and ends within the recording; ``at_border`` : those of them at the border.
    """

    entering: Flags
    leaving: Flags
    inner: int
    at_border: int

    @property
    def open(self) -> bool:
        """Whether animals seem to come and go."""
        return self.at_border >= max(ENOUGH, MOSTLY * self.inner)


def find_borders(rig: CameraRig, paths: Trajectories, past: Array, future: Array) -> Borders:
    """Tell which tracks enter and leave.

    Parameters
    ----------
    rig : the cameras.
    paths : T tracks.
    past : (N, 6) state of each row from all rows before it: position and velocity a frame, world units.
    future : (N, 6) from all rows after it.
    """
    first, last = paths.begin[:-1], paths.begin[1:] - 1
    entering = _beyond(rig, future[first], -1.0)
    leaving = _beyond(rig, past[last], 1.0)
    whole = int(paths.frame.min()), int(paths.frame.max())
    begins, ends = paths.frame[first] > whole[0], paths.frame[last] < whole[1]
    found = int((entering & begins).sum() + (leaving & ends).sum())
    return Borders(entering, leaving, int(begins.sum() + ends.sum()), found)


def _beyond(rig: CameraRig, state: Array, sign: float) -> Flags:
    """(T,) whether fewer than two cameras see a place that motion leads to within a few frames."""
    out = np.zeros(len(state), bool)
    for step in range(1, AHEAD + 1):
        place = state[:, :3] + sign * step * state[:, 3:]
        seen = np.zeros(len(state), np.int64)
        for camera in rig:
            pixel = camera.project(place)
            with np.errstate(invalid="ignore"):
                seen += ((pixel >= 0) & (pixel < np.array(camera.size))).all(1)
        out |= seen < 2
    return out
