"""What no camera could see: detections far outside of every image, which a damaged or mistaken file may hold."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras.rig import CameraRig
from ..core.reading.limits import refuse_rows, refuse_wild_frames
from .detections import Detections

IMAGES = 10.0  # image sizes that a pixel or a box may reach beyond the image: cut animals and extrapolated points do
_SIDES = {"u": 0, "x1": 0, "x2": 0, "v": 1, "y1": 1, "y2": 1}


def refuse_unseen(rig: CameraRig, camera: NDArray[Any], columns: Mapping[str, Any], source: str) -> None:
    """Refuse pixels and boxes that no image of their camera comes near to, with the row.

    Parameters
    ----------
    rig : the cameras.
    camera : (N,) index of each row's camera.
    columns : u, v, x1, y1, x2, y2 of the rows, each (N,) px, as far as known.
    source : what is named in the message.
    """
    size = np.array([c.size for c in rig], dtype=np.float64)[np.asarray(camera, dtype=np.int64)]
    for name, side in _SIDES.items():
        if columns.get(name) is None:
            continue
        values, length = np.asarray(columns[name], dtype=np.float64), size[:, side]
        bad = (values < -IMAGES * length) | (values > (1 + IMAGES) * length)
        if bad.any():
            row = int(np.argmax(bad))
            image = "x".join(str(s) for s in rig[int(camera[row])].size)
            where = f"the image of camera {rig.names[int(camera[row])]} ({image} px)"
            refuse_rows(bad, f"{name} is {values[row]:g}, far outside of {where}", source)


def checked(found: Detections, rig: CameraRig, source: str) -> Detections:
    """Return detections of a file of ours if cameras could have seen them.

    Parameters
    ----------
    found : as read; its cameras are the rig's.
    rig : the cameras.
    source : what is named in the message.
    """
    refuse_wild_frames(found.frame, source)
    refuse_unseen(rig, found.camera, {name: getattr(found, name) for name in _SIDES}, source)
    return found
