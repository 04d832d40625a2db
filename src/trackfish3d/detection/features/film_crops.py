"""Crops of a recording's detections from its films, for the methods that look at pictures."""

from pathlib import Path

import numpy as np

from ...core.errors import InputError
from ...core.progress import TaskProgress
from ...methods.baselines.learned.crops import LARGEST, SIZE, cut, write_crops
from ...recordings import Recording
from ..pipeline import check_videos


def cut_crops(recording: Recording, out: str | Path, *, progress: TaskProgress | None = None) -> list[str]:
    """Write a crop of every detection, in their order, as ``.npz``; returns notes, a line each.

    Parameters
    ----------
    recording : with detections and a film of every camera that has some.
    out : FILE.npz.
    progress : called with the camera, its frames done and its frames in all.
    """
    if Path(out).suffix != ".npz":
        raise InputError(f"{out}: name the crops FILE.npz")
    detections = recording.detections
    if len(detections) * 3 * SIZE * SIZE > LARGEST:
        raise InputError(
            f"{recording.folder}: the crops of {len(detections)} detections are more than {LARGEST // 10**9} GB; "
            "cut the recording into parts"
        )
    crops = np.zeros((len(detections), 3, SIZE, SIZE), np.uint8)
    videos, notes = check_videos(recording)
    seen = np.zeros(len(detections), bool)
    for name, video in videos.items():
        rows = np.flatnonzero(detections.camera == recording.rig.index(name))
        shift = recording.info.first_frame + recording.info.time_offset_frames.get(name, 0)
        number = detections.frame[rows] - shift
        stop = int(number.max(initial=-1)) + 1
        for picture in video.read(0, stop):
            first, last = np.searchsorted(number, [picture.number, picture.number + 1])
            if last > first:
                crops[rows[first:last]] = cut(picture.rgb, detections.boxes[rows[first:last]])
                seen[rows[first:last]] = True
            if progress is not None:
                progress(name, picture.number + 1, stop)
    if not seen.all():
        notes.append(f"{(~seen).sum()} of {len(seen)} detections have no picture; their crops are black")
    write_crops(out, crops)
    return notes
