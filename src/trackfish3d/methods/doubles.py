"""What was given twice counts once: a camera that is another one again, and detections that are listed twice.

Two copies of a detection look like two animals, and two copies of a camera like two views that agree.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import CameraRig
from ..recordings.detections import Detections
from ..recordings.tracks import Tracks

Ints = NDArray[np.int64]
MOSTLY = 0.5  # share of a camera's detections that are copies, from which they count once: two animals may coincide
DIGITS = 2  # of a pixel, to which copies agree


class Once(NamedTuple):
    """A recording in which nothing is twice, and the way back.

    rig, detections : what is left.
    camera : (C,) place of each camera that is left.
    row : (N,) row of each detection that is left.
    notes : what was left out, a line each.
    """

    rig: CameraRig
    detections: Detections
    camera: Ints
    row: Ints
    notes: tuple[str, ...]

    def back(self, tracks: Tracks, rig: CameraRig) -> Tracks:
        """Return tracks of what is left as tracks of the recording as it was given.

        Parameters
        ----------
        tracks : of what is left.
        rig : all cameras that were given.
        """
        if not self.notes:
            return tracks
        detection = np.full((len(tracks.frame), len(rig)), -1, np.int64)
        if tracks.detection is not None:
            detection[:, self.camera] = np.where(tracks.detection >= 0, self.row[tracks.detection], -1)
        return replace(tracks, detection=None if tracks.detection is None else detection, cameras=rig.names)


def once(rig: CameraRig, detections: Detections) -> Once:
    """Leave out cameras and detections that are there twice.

    Parameters
    ----------
    rig : the cameras.
    detections : of these cameras.
    """
    notes = []
    keep = np.ones(len(detections), bool)
    again = copies(detections)
    for c, camera in enumerate(rig):
        mine = detections.camera == c
        count = int((again & mine).sum())
        if count > MOSTLY * 0.5 * mine.sum():
            keep &= ~(again & mine)
            notes.append(f"camera {camera.name}: {count} detections are listed twice and count once")
    left = list(range(len(rig)))
    for b in range(1, len(rig)):
        for a in range(b):
            if a in left and same_camera(rig, a, b) and _same_detections(detections, keep, a, b):
                left.remove(b)
                keep &= detections.camera != b
                notes.append(f"camera {rig[b].name} is camera {rig[a].name} again: it was left out")
                break
    everything = np.arange(len(detections))
    if not notes:
        return Once(rig, detections, np.arange(len(rig)), everything, ())
    names = tuple(rig.names[k] for k in left)
    place = np.searchsorted(left, detections.camera[keep]).astype(detections.camera.dtype)
    rest = replace(detections.select(keep), cameras=names, camera=place)
    return Once(rig.select(names), rest, np.array(left, np.int64), everything[keep], tuple(notes))


def _key(detections: Detections) -> NDArray[np.float64]:
    """(N, 6) centroids and boxes, rounded."""
    columns = (detections.u, detections.v, detections.x1, detections.y1, detections.x2, detections.y2)
    return np.asarray(np.round(np.column_stack(columns), DIGITS), np.float64)


def copies(detections: Detections) -> NDArray[np.bool_]:
    """(N,) whether the same detection was listed before."""
    key = _key(detections)
    order = np.lexsort((*key.T, detections.camera, detections.frame))
    same = (np.diff(detections.frame[order]) == 0) & (np.diff(detections.camera[order]) == 0)
    same &= (np.diff(key[order], axis=0) == 0).all(1)
    out = np.zeros(len(detections), bool)
    out[order[1:][same]] = True
    return out


def same_camera(rig: CameraRig, a: int, b: int) -> bool:
    """Whether two cameras are one: the same place, direction, lens and water."""
    return bool(np.allclose(rig.packed[a], rig.packed[b], rtol=1e-9, atol=1e-9))


def _same_detections(detections: Detections, keep: NDArray[np.bool_], a: int, b: int) -> bool:
    """Whether most detections of one camera are those of the other."""
    key = np.column_stack([detections.frame, _key(detections)])
    one, other = ({tuple(k) for k in key[keep & (detections.camera == c)].tolist()} for c in (a, b))
    return len(one & other) > MOSTLY * max(len(one), len(other))
