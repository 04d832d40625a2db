"""A second look at all films of a recording."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...core.files import read_json, remove_folder, write_json
from ...core.progress import TaskProgress, silent_tasks
from ...media.video import Video
from ...recordings import Detections, Recording, Tracks
from ..base import Detector
from ..pipeline import WORK, Report, detections_of, see_films
from .expected import expect
from .look import SecondLook

PREVIEW = "-again"
"""What the names of pictures to look at end with."""


def look_at_films(
    recording: Recording,
    detector: Detector,
    before: Detections,
    tracks: Tracks,
    *,
    videos: Mapping[str, Video],
    workers: int | None = None,
    progress: TaskProgress | None = None,
    previews: bool = True,
) -> tuple[Detections, Report]:
    """Look at every film once more with what tracks expect; returns all detections, on the common clock.

    Detections of cameras without a film stay. A look that was stopped goes on where it was. Nothing is written but
    what waits for `write_looked`.

    Parameters
    ----------
    recording : with films.
    detector : that found the detections.
    before : the detections that the tracks were made of.
    tracks : what to expect.
    videos : films by camera.
    workers : cameras at once; as many as cores by default.
    progress : called with the name of a camera, its frames done and its frames in all.
    previews : whether pictures to look at are drawn.
    """
    info = recording.info
    expected = expect(recording.rig, before, tracks)
    lookers: dict[str, Detector] = {
        name: SecondLook(
            detector,
            expected[recording.rig.index(name)],
            info.first_frame + info.time_offset_frames.get(name, 0),
        )
        for name in videos
    }
    report = see_films(
        videos, recording.folder, lookers, info.first_frame, workers, progress or silent_tasks, previews, PREVIEW
    )
    names = recording.rig.names
    blind = [c for c, name in enumerate(names) if name not in videos]
    pieces = list(detections_of(names, report.cameras, recording.folder))
    found = Detections.concat(pieces) if pieces else Detections.empty(names)
    found = found.shifted(recording.offsets)
    if blind:
        others = before.select(np.isin(before.camera, blind))
        found = Detections.concat([found, replace(others, visible=np.full(len(others), np.nan))])
    return found, report


def write_looked(recording: Recording, detections: Detections, notes: list[str]) -> None:
    """Write what a second look found as the recording's ``detections.parquet``, and remove what waited.

    Parameters
    ----------
    recording : that was looked at.
    detections : of all cameras, on the common clock.
    notes : what a user should know, a line each.
    """
    recording.write_detections(iter([detections.shifted(-recording.offsets)]))
    recording.forget("detections")
    path = recording.folder / "detections.settings.json"
    known = read_json(path)
    known = known if isinstance(known, dict) else {}
    write_json(path, {**known, "second_look": {"notes": notes}})
    remove_folder(recording.folder / WORK)
