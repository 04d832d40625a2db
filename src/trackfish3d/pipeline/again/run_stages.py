"""The stages of a run that look at the films again: tracks of what was found first, and the second look."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...core.files import atomic_path, remove_folder
from ...core.progress import Progress
from ...detection.again.films import write_looked
from ...detection.base import Detector
from ...detection.pipeline import WORK
from ...evaluation.truth_links import relink_recording
from ...health.kept import CHECK, kept_problems
from ...media.video import Video
from ...methods.base import Method
from ...recordings import Recording, read_tracks, write_table
from ..stages import Stage
from ..steps import counted, recorded
from .rounds_of_looks import FIRST, LOOKED, Looked, look_rounds, note

_FOUND = "detections.parquet"


@dataclass
class SecondLooks:
    """Second looks of a run: what was found first stays beside what is found then.

    Attributes
    ----------
    folder : of the recording.
    films : by camera.
    detector : that looks.
    method : that tells the looks what to expect.
    rounds : how many looks; 0 for none.
    workers : cameras at once.
    """

    folder: Path
    films: Mapping[str, Video]
    detector: Detector
    method: Method
    rounds: int
    workers: int | None

    @property
    def found(self) -> str:
        """File of what was found first."""
        return FIRST[_FOUND] if self.rounds else _FOUND

    def kept(self, detect: Stage) -> Stage:
        """Return the stage that detects, which then keeps what it found as what was found first.

        Parameters
        ----------
        detect : that writes detections.parquet.
        """
        if not self.rounds:
            return detect

        def work(progress: Progress) -> str:
            said = detect.work(progress)
            self._copy(_FOUND, self.found)
            return said

        return replace(
            detect, settings={**detect.settings, "first": True}, outputs=(self.folder / self.found,), work=work
        )

    def _seen_first(self) -> Recording:
        """Return the recording with what was found first."""
        recording = Recording.open(self.folder)
        recording.detections_file = self.found
        return recording

    def _copy(self, name: str, target: str) -> None:
        with atomic_path(self.folder / target) as temporary:
            shutil.copyfile(self.folder / name, temporary)

    def track(self) -> Stage:
        """Track what was found first, so that the second look knows what to expect."""
        target = self.folder / FIRST["tracks.parquet"]

        def work(progress: Progress) -> str:
            recording = self._seen_first()
            result = self.method.track(recording.rig, recording.detections, recording.fps, progress)
            write_table(result.tracks.to_table(), target)
            return result.summary

        return Stage("first tracks", recorded(self.folder, self.found), _stamp(self.method), (target,), work)

    def look(self) -> Stage:
        """Look at the films again.

        Left out where the cameras do not agree, for tracks would then tell lies, and where it makes tracks worse.
        """
        tracks_file = self.folder / FIRST["tracks.parquet"]

        def work(progress: Progress) -> str:
            recording, tracks = self._seen_first(), read_tracks(tracks_file)
            wrong = kept_problems(self.folder)
            if wrong or not len(tracks):
                self._copy(FIRST[_FOUND], _FOUND)
                note(self.folder, Looked(recording.detections))
                return f"left out, {'the check found something wrong' if wrong else 'there are no tracks'}"
            looked = look_rounds(
                recording,
                self.detector,
                self.method,
                tracks,
                self.films,
                self.rounds,
                self.workers,
                True,
                counted(progress, self.films),
            )
            if looked.rounds:
                write_looked(recording, looked.detections, looked.notes)
                relink_recording(Recording.open(self.folder))
            else:
                self._copy(FIRST[_FOUND], _FOUND)
                remove_folder(self.folder / WORK)
            note(self.folder, looked)
            return "\n".join([looked.lines()[-1], *looked.lines()[:-1]])

        inputs = (*recorded(self.folder, self.found), tracks_file, self.folder / CHECK)
        outputs = self.folder / _FOUND, self.folder / LOOKED
        return Stage("look again", inputs, {"rounds": self.rounds, **_stamp(self.method)}, outputs, work)


def _stamp(method: Method) -> dict[str, Any]:
    return {"method": method.name, "settings": method.settings.model_dump(mode="json")}
