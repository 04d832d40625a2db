"""The front door: detections from any tool's files."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...cameras.rig import CameraRig
from ...core.errors import InputError
from ..detections import MOMENTS, Detections
from ._file import SCORES, DetectionFile, Dropped
from .coco import read_coco
from .deeplabcut import read_deeplabcut
from .dltdv import read_dltdv
from .long.long_tables import is_long, regrouped, stream
from .mot import read_mot
from .plain_table import read_csv
from .poses.frame_json import read_frame_json
from .poses.long_table import read_pose_table
from .poses.movement_netcdf import read_movement
from .poses.sleap_analysis import read_sleap_analysis
from .poses.unite import centred, same_parts, same_tracks
from .sleap import read_sleap
from .sniff import sniff
from .yolo import read_yolo

READERS: dict[str, Callable[[DetectionFile], Detections]] = {
    "csv": read_csv,
    "parquet": read_csv,
    "mot": read_mot,
    "coco": read_coco,
    "yolo": read_yolo,
    "deeplabcut": read_deeplabcut,
    "sleap": read_sleap,
    "dltdv": read_dltdv,
    "poses": read_pose_table,
    "sleap-analysis": read_sleap_analysis,
    "openpose": read_frame_json,
    "movement": read_movement,
}
FORMATS = tuple(READERS)
Paths = str | Path | Sequence[str | Path] | Mapping[str, str | Path]


@dataclass(frozen=True, eq=False)
class DetectionFiles:
    """Files of detections that are one recording's, found and checked, but not read yet.

    Attributes
    ----------
    files : each with how to understand it.
    formats : of each.
    min_score : detections below it are left out.
    wanted : (C,) cameras that are taken.
    dropped : counts what was left out.
    """

    files: tuple[DetectionFile, ...]
    formats: tuple[str, ...]
    min_score: float
    wanted: NDArray[np.bool_]
    dropped: Dropped

    @property
    def long(self) -> bool:
        """Whether they are too long to be held in memory."""
        return is_long(self.files, self.formats)

    def read(self) -> Detections:
        """Read all of them."""
        pieces = [self._chosen(READERS[name](file)) for file, name in zip(self.files, self.formats, strict=True)]
        _refuse_doubles(self.files, pieces)
        return self._good(centred(concatenate(pieces, self.dropped)))

    def pieces(self, work: Path) -> Iterator[Detections]:
        """Give the same detections in ascending frames and pieces of one size, where they are `long`.

        Parameters
        ----------
        work : folder for what is between, of ours.
        """
        return regrouped(self._good(self._chosen(piece)) for piece in stream(self.files, work))

    def _chosen(self, found: Detections) -> Detections:
        return found if self.wanted[found.camera].all() else found.select(self.wanted[found.camera])

    def _good(self, found: Detections) -> Detections:
        keep = found.score >= self.min_score
        for camera, name in enumerate(found.cameras):
            low = int((~keep & (found.camera == camera)).sum())
            if low:
                self.dropped[name, f"score below {self.min_score:g}"] += low
        return found if keep.all() else found.select(keep)


def read_detections(paths: Paths, cameras: CameraRig, format: str | None = None, **options: Any) -> Detections:
    """Read detections of all cameras.

    Parameters
    ----------
    paths, cameras, format, **options : as of `find_detections`.
    """
    return find_detections(paths, cameras, format, **options).read()


def find_detections(
    paths: Paths,
    cameras: CameraRig,
    format: str | None = None,
    *,
    min_score: float = 0.0,
    columns: Mapping[str, str] | None = None,
    box_size: float | None = None,
    scores: str = "probability",
    sort: bool = False,
    keypoint: str | None = None,
    dropped: Dropped | None = None,
) -> DetectionFiles:
    """Find the files of detections of all cameras.

    Parameters
    ----------
    paths : one file or folder, several that each say which cameras they hold, or camera name -> file. A folder that
        holds a file or folder for each camera, called like the camera, stands for those.
    cameras : the rig; the result's cameras are its cameras.
    format : one of `FORMATS`; None: by content.
    min_score : detections below it are left out.
    columns, box_size, scores, sort, keypoint, dropped : see `DetectionFile`.
    """
    if format is not None and format not in READERS:
        raise InputError(f"unknown format '{format}'; known are {', '.join(FORMATS)}")
    if scores not in SCORES:
        raise InputError(f"unknown kind of scores '{scores}'; known are {', '.join(SCORES)}")
    if not 0 <= min_score <= 1:
        raise InputError(f"--min-score {min_score:g}: scores are between 0 and 1")
    if box_size is not None and not 0 < box_size < np.inf:
        raise InputError("the size of boxes must be above 0 px")
    counted: Dropped = Dropped() if dropped is None else dropped
    plain = DetectionFile(Path(), cameras, None, columns or {}, box_size, scores, sort, keypoint, counted)
    files = [replace(plain, path=path, camera=name) for name, path in _files(paths, cameras)]
    formats = tuple(format or sniff(file.path) for file in files)
    wanted = np.array([n in paths if isinstance(paths, Mapping) else True for n in cameras.names])
    return DetectionFiles(tuple(files), formats, min_score, wanted, counted)


def concatenate(pieces: Sequence[Detections], dropped: Dropped | None = None) -> Detections:
    """Return the detections of all pieces, sorted. Mask moments survive only if every piece has them."""
    if not pieces:
        raise InputError("no detections given")
    if len(pieces) == 1:
        return pieces[0]
    joined = Detections.concat(same_tracks(same_parts(pieces)))
    for piece in pieces:
        if dropped is not None and set(MOMENTS) & (set(piece.columns()) - set(joined.columns())):
            dropped["all", "mask shapes, because not every file has them"] += len(piece)
    return joined


def _files(paths: Paths, cameras: CameraRig) -> list[tuple[str | None, Path]]:
    if isinstance(paths, Mapping):
        for name in paths:
            cameras.index(name)
        shared = Counter(Path(p).resolve() for p in paths.values())
        given = [(name if shared[Path(p).resolve()] == 1 else None, Path(p)) for name, p in paths.items()]
        return list(dict.fromkeys(given))  # a file given for several cameras must say itself what is whose
    if not isinstance(paths, str | Path):
        return [pair for path in paths for pair in _files(path, cameras)]
    folder = Path(paths)
    if folder.is_dir():
        found = {n: [p for p in sorted(folder.glob("*")) if n in (p.name, p.stem)] for n in cameras.names}
        if all(len(p) == 1 for p in found.values()):
            return [(name, p[0]) for name, p in found.items()]
        twice = next((n for n, p in found.items() if len(p) > 1), None)
        if twice is not None and len(cameras) > 1:
            listed = ", ".join(p.name for p in found[twice][:5])
            raise InputError(f"{folder}: camera {twice} has more than one file: {listed}")
    return [(None, folder)]


def _refuse_doubles(files: Sequence[DetectionFile], pieces: Sequence[Detections]) -> None:
    """Refuse a frame of a camera that is in two files: its animals would count twice. Parts in a row are fine."""
    seen: dict[int, list[tuple[Path, NDArray[np.int64]]]] = {}
    for file, piece in zip(files, pieces, strict=True):
        for camera in np.unique(piece.camera).tolist():
            frames = np.unique(piece.frame[piece.camera == camera])
            for path, before in seen.get(camera, []):
                both = np.intersect1d(before, frames)
                if both.size:
                    name = piece.cameras[camera]
                    raise InputError(f"{file.path}: frame {both[0]} of camera {name} is in {path} as well")
            seen.setdefault(camera, []).append((file.path, frames))
