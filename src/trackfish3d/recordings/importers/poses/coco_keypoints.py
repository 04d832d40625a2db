"""Keypoints of COCO annotations and results."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...detections import Detections
from .._file import DetectionFile
from ..keypoints import Poses, detections_from_poses


def keypoint_detections(
    file: DetectionFile,
    data: Any,
    kept: Sequence[Mapping[str, Any]],
    frame: NDArray[np.int64],
    camera: NDArray[np.int64],
) -> Detections:
    """Make detections of annotations with ``keypoints`` [x, y, v, ...]; their names are those of the category.

    Parameters
    ----------
    file : where they come from.
    data : the whole file; a list of results has no categories, then parts are called ``part_0`` and so on.
    kept : annotations.
    frame : (N,) of each.
    camera : (N,) of each.

    A visibility of 0 means not seen, 1 (covered) and 2 (visible) are a score of 1; results have scores in its place.
    Annotations may have a score of their own: where nothing but 0, 1 and 2 is there, it is visibility all the same.
    """
    flat = [np.array(a.get("keypoints") or [], dtype=np.float64) for a in kept]
    count = max(len(v) for v in flat) // 3
    named = next((c for c in _categories(data) if len(c.get("keypoints", ())) == count), None)
    names = [str(n) for n in named["keypoints"]] if named else [f"part_{k}" for k in range(count)]
    edges = [(int(a) - 1, int(b) - 1) for a, b in (named or {}).get("skeleton", ())]
    values = np.full((len(kept), count, 3), np.nan)
    for row, v in enumerate(flat):
        if len(v) not in (0, 3 * count):
            raise file.fail(f"annotation {row}: has {len(v)} numbers of keypoints, others have {3 * count}")
        if len(v):
            values[row] = v.reshape(-1, 3)
    values[~(values[..., 2] > 0)] = np.nan
    third = values[..., 2][np.isfinite(values[..., 2])]
    flags = bool(np.isin(third, (1, 2)).all() and (third == 2).any())
    labels = flags or (isinstance(data, dict) and not any("score" in a for a in kept))
    score = np.where(np.isfinite(values[..., 2]), 1.0, np.nan) if labels else values[..., 2]
    own = np.array([int(a.get("track_id", -1)) for a in kept], dtype=np.int64)
    tracklet = own if (own >= 0).any() else None
    return detections_from_poses(file, Poses(names, frame, camera, values[..., :2], score, edges, tracklet=tracklet))


def _categories(data: Any) -> list[Any]:
    found = data.get("categories") if isinstance(data, dict) else None
    return [c for c in found if isinstance(c, dict)] if isinstance(found, list) else []
