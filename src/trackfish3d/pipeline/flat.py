"""Films without a calibration: detections and tracks in the pixels of each view."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..core import provenance
from ..core.errors import InputError
from ..core.files import atomic_path, plain_name
from ..core.lock import locked
from ..core.progress import TaskProgress, silent_tasks
from ..detection.base import Detector
from ..detection.pipeline import detections_of, finish, see_films
from ..detection.registry import make_detector
from ..media.video import Video
from ..methods.view_links import link_views
from ..recordings import Detections
from .films import Film

DETECTIONS, TRACKS, POSES = "detections.parquet", "tracks2d.csv", "poses2d.csv"


@dataclass(frozen=True, eq=False)
class Flat:
    """Detections and tracks of films, in pixels.

    Attributes
    ----------
    folder : where they were written.
    detections : of all films.
    track : (N,) 2D track of each detection within its camera, -1 for none.
    fps : frames a second of each camera.
    notes : what a user should know, a line each.
    """

    folder: Path
    detections: Detections
    track: NDArray[np.int64]
    fps: dict[str, float]
    notes: list[str]

    @property
    def table(self) -> pa.Table:
        """A row for every detection of a track: camera, track, frame, time_s, u_px, v_px, box, score."""
        found, kept = self.detections, self.track >= 0
        order = np.flatnonzero(kept)
        order = order[np.lexsort((found.frame[order], self.track[order], found.camera[order]))]
        rate = np.array([self.fps[n] for n in found.cameras])[found.camera[order]]
        columns: dict[str, Any] = {
            "camera": np.array(found.cameras)[found.camera[order]],
            "track": self.track[order],
            "frame": found.frame[order],
            "time_s": np.round(found.frame[order] / rate, 6),
        }
        columns |= {f"{n}_px": np.round(getattr(found, n)[order], 3) for n in ("u", "v", "x1", "y1", "x2", "y2")}
        return pa.table(columns | {"score": found.score[order]})

    @property
    def poses(self) -> pa.Table | None:
        """A row for every part that was seen: frame, camera, instance, part, u, v, score, track; None without parts."""
        found = self.detections
        if found.parts is None or found.skeleton is None:
            return None
        row, part = np.nonzero(np.isfinite(found.parts[..., 0]))
        instance = np.arange(len(found)) - np.searchsorted(found.frame, found.frame)
        values = np.round(found.parts[row, part], 3)
        return pa.table(
            {
                "frame": found.frame[row],
                "camera": np.array(found.cameras)[found.camera[row]],
                "instance": instance[row],
                "part": np.array(found.skeleton.parts)[part],
                "u": values[:, 0],
                "v": values[:, 1],
                "score": values[:, 2],
                "track": pa.array(self.track[row], mask=self.track[row] < 0),
            }
        )

    def to_pandas(self) -> Any:
        """Return the table of tracks as a data frame."""
        return self.table.to_pandas()

    def of_camera(self, name: str) -> tuple[int, int, int]:
        """Return frames with detections, detections and tracks of a camera.

        Parameters
        ----------
        name : of the camera.
        """
        mine = self.detections.camera == self.detections.cameras.index(name)
        frames = len(np.unique(self.detections.frame[mine]))
        return frames, int(mine.sum()), int(self.track[mine].max(initial=-1)) + 1

    def __repr__(self) -> str:
        facts = [f"{n}: {d} detections, {t} tracks" for n in self.fps for _, d, t in [self.of_camera(n)]]
        return f"<Flat {self.folder}: {'; '.join(facts)}>"


def detect_films(
    films: Film | Mapping[str, Film],
    out: str | Path | None = None,
    detector: str | Detector = "background",
    settings: Mapping[str, Any] | None = None,
    *,
    workers: int | None = None,
    previews: bool = True,
    overwrite: bool = False,
    progress: TaskProgress | None = None,
) -> Flat:
    """Find the animals in films without a calibration, and follow each in the pixels of its view.

    One camera is enough. Written are ``detections.parquet``, which `import_recording` takes once the cameras are
    calibrated, ``tracks2d.csv``, pictures to look at in ``preview/``, and, by a detector of poses, ``poses2d.csv``,
    which `import_recording` takes instead of the detections. A run that was stopped goes on where it was.

    Parameters
    ----------
    films : a film, or films by the names of their cameras; one in chapters as in `trackfish3d.Video.open`.
    out : folder of the outcome; the film's name with ``_2d`` behind it otherwise, in the current folder.
    detector : name of the detector, or one that is ready.
    settings : its settings by name.
    workers : films at once; as many as cores by default.
    previews : whether pictures to look at are drawn.
    overwrite : whether detections that are there are replaced.
    progress : called with the name of a camera, its frames done and its frames in all.
    """
    finder = detector if isinstance(detector, Detector) else make_detector(detector, settings)
    finder.ready()
    named = dict(films) if isinstance(films, Mapping) else {"": films}
    opened: dict[str, Video] = {}
    for name, film in named.items():
        video = Video.open(film)
        opened[plain_name(name or video.path.stem, "camera")] = video
    folder = Path(f"{next(iter(opened))}_2d") if out is None else Path(out)
    _refuse(folder, overwrite)
    names = tuple(opened)
    with locked(folder):
        report = see_films(opened, folder, finder, 0, workers, progress or silent_tasks, previews)
        found = Detections.concat(list(detections_of(names, report.cameras, folder)) or [Detections.empty(names)])
        flat = Flat(folder, found, link_views(found), {n: v.fps for n, v in opened.items()}, report.notes)
        with atomic_path(folder / DETECTIONS) as temporary:
            pq.write_table(found.to_table(), temporary, compression="zstd")
        with atomic_path(folder / TRACKS) as temporary:
            pacsv.write_csv(flat.table, temporary)
        if (poses := flat.poses) is not None:
            with atomic_path(folder / POSES) as temporary:
                pacsv.write_csv(poses, temporary)
        files = [f for v in opened.values() for f in v.files]
        made = {"detector": finder.name, "settings": finder.settings.model_dump(mode="json")}
        provenance.note(folder, "detect", files, made)
        finish(folder, finder, report)
    return flat


def _refuse(folder: Path, overwrite: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a folder with --out")
    if (folder / "recording.toml").exists():
        raise InputError(f"{folder}: is a recording; its own videos are found by 'detect {folder}'")
    if (folder / DETECTIONS).exists() and not overwrite:
        raise InputError(f"{folder}: has detections already; --overwrite replaces them, or name another folder")
