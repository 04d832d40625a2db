"""2D tracks of another program, one file a camera with identities shared by all cameras, triangulated.

For multi-camera trackers that have no 3D of their own (ReST, MCTR) or were run elsewhere.
"""

import csv
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pydantic import Field

from ...cameras.rig import CameraRig
from ...core.errors import InputError
from ...core.files import read_text
from ...core.progress import Progress
from ...core.reading.limits import FARTHEST, refuse_rows, refuse_wild_frames
from ...recordings.detections import Detections
from ..base import Method, MethodSettings
from ..result import Result
from .single_view import lift

Array = NDArray[np.float64]
_COLUMNS = 6


class ExternalSettings(MethodSettings):
    """Where the files are and how they count."""

    folder: Path | None = Field(default=None, description="folder of <camera>.txt: frame,id,left,top,width,height,...")
    frame_offset: int = Field(
        default=0,
        description="added to the files' frame numbers (MOTChallenge counts from 1, a recording often from 0)",
    )
    min_iou: float = Field(
        default=0.5, gt=0, le=1, description="overlap from which the recording's detection stands in for a file's box"
    )


class External(Method):
    """Triangulate boxes that share an identity in a frame.

    Trackers report boxes; where the recording has a detection that overlaps the box, its centroid is used, so that all
    methods triangulate the same pixels. Boxes without one are triangulated by their centre.
    """

    name: ClassVar[str] = "external"
    Settings = ExternalSettings

    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Result:
        """Read, match with detections, triangulate."""
        folder = self.settings.folder
        if folder is None:
            raise InputError("method external needs --set folder=FOLDER with a MOT file for each camera")
        parts = []
        for c, name in enumerate(rig.names):
            table = read_mot_tracks(Path(folder) / f"{name}.txt")
            table[:, 0] += self.settings.frame_offset
            parts.append(np.column_stack([table, np.full(len(table), c)]))
            progress(c + 1, len(rig))
        rows = np.concatenate(parts)
        rows = rows[np.lexsort((rows[:, 6], rows[:, 0]))]
        frame, camera = rows[:, 0].astype(np.int64), rows[:, 6].astype(np.int64)
        boxes = np.column_stack([rows[:, 2], rows[:, 3], rows[:, 2] + rows[:, 4], rows[:, 3] + rows[:, 5]])
        at = _overlapping(
            frame,
            camera,
            boxes,
            detections.frame,
            detections.camera.astype(np.int64),
            detections.boxes,
            self.settings.min_iou,
        )
        centre = 0.5 * (boxes[:, :2] + boxes[:, 2:])
        pixel = np.where(at[:, None] >= 0, detections.centroids[at], centre)
        seen = Detections.build(rig.names, frame, camera, pixel[:, 0], pixel[:, 1], *boxes.T, source=str(folder))
        tracks = lift(rig, seen, rows[:, 1].astype(np.int64))
        used = np.where(tracks.detection >= 0, at[tracks.detection], -1)
        return Result(replace(tracks, detection=used, cameras=rig.names))


def read_mot_tracks(path: Path) -> Array:
    """Frame, id, left, top, width, height (N, 6) of a MOTChallenge file; an empty file is a camera without tracks."""
    rows: list[list[float]] = []
    try:
        lines = list(csv.reader(read_text(path).splitlines()))
    except csv.Error as error:
        raise InputError(f"{path}: is not MOTChallenge text ({error})") from None
    for number, line in enumerate(lines, start=1):
        if not line or not "".join(line).strip():
            continue
        try:
            values = [float(v) for v in line[:_COLUMNS]]
        except ValueError:
            values = []
        if len(values) < _COLUMNS or not np.isfinite(values).all():
            raise InputError(f"{path}: row {number}: needs frame, id, left, top, width, height as numbers")
        if values[0] != int(values[0]) or values[1] != int(values[1]) or values[1] < 0:
            raise InputError(f"{path}: row {number}: frame and id must be whole numbers, id not negative")
        if values[4] < 0 or values[5] < 0:
            raise InputError(f"{path}: row {number}: width and height must not be negative")
        rows.append(values)
    found = np.array(rows, dtype=np.float64).reshape(-1, _COLUMNS)
    refuse_rows((np.abs(found) > FARTHEST).any(1), f"a number is beyond {FARTHEST:g}", str(path))
    refuse_wild_frames(found[:, 0], str(path))
    return found


@njit(cache=True)
def _overlapping(frame, camera, boxes, d_frame, d_camera, d_boxes, min_iou):  # type: ignore[no-untyped-def]
    """Find the detection (N,) of greatest overlap with each box, -1 if it is below ``min_iou``."""
    out = np.full(frame.shape[0], -1, np.int64)
    for i in range(frame.shape[0]):
        best = min_iou
        k = np.searchsorted(d_frame, frame[i])
        while k < d_frame.shape[0] and d_frame[k] == frame[i]:
            if d_camera[k] == camera[i]:
                w = min(boxes[i, 2], d_boxes[k, 2]) - max(boxes[i, 0], d_boxes[k, 0])
                h = min(boxes[i, 3], d_boxes[k, 3]) - max(boxes[i, 1], d_boxes[k, 1])
                if w > 0 and h > 0:
                    a = (boxes[i, 2] - boxes[i, 0]) * (boxes[i, 3] - boxes[i, 1])
                    b = (d_boxes[k, 2] - d_boxes[k, 0]) * (d_boxes[k, 3] - d_boxes[k, 1])
                    overlap = w * h / (a + b - w * h)
                    if overlap >= best:
                        best = overlap
                        out[i] = k
            k += 1
    return out
