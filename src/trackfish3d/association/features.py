"""Raw features of detections, as the published encoder takes them."""

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..recordings import Detections


def raw_features(rig: CameraRig, detections: Detections) -> NDArray[np.float32]:
    """(N, 9) u/W, v/H, w/W, h/H, camera/(C-1), score, ray x, y, z of each detection (paper, section 3.1).

    The ray is the unit direction in the animals' medium: through water, the refracted one. A detection without a
    ray (outside the lens, totally reflected) gets a zero direction.
    """
    size = np.array([c.size for c in rig], dtype=np.float64)[detections.camera]
    ray = np.zeros((len(detections), 3))
    for c, camera in enumerate(rig):
        mine = detections.camera == c
        rays = camera.rays(detections.centroids[mine])
        ray[mine] = np.where(rays.valid[:, None], rays.direction, 0.0)
    return np.column_stack(
        [
            detections.u / size[:, 0],
            detections.v / size[:, 1],
            (detections.x2 - detections.x1) / size[:, 0],
            (detections.y2 - detections.y1) / size[:, 1],
            detections.camera / max(len(rig) - 1, 1),
            detections.score,
            ray,
        ]
    ).astype(np.float32)
