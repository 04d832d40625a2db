"""A recording: a folder with the cameras, what they saw, and what was made of it.

recording.toml      frame rate, first frame, number of frames, time offset of each camera
cameras.toml        calibration
detections.parquet  what the detector saw, frame numbers as each camera counted them
parts.parquet       the parts of each detection, where it is a pose: a row for a row
videos/<camera>.mp4 (or .avi, ...; of a film in chapters the folder videos/<camera>)
truth.parquet       if known
tracks.parquet, tracks.csv (the paper's columns), tracks_table.csv (for people)
poses.parquet, poses.csv  every part in 3D; truth_poses.parquet, if known
edits.jsonl         what people mended, only ever added to
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from ..cameras.native import read_cameras, read_toml, write_cameras
from ..cameras.rig import CameraRig
from ..core.errors import InputError, Note
from ..core.files import atomic_path, refuse_strange
from ..core.reading.limits import FASTEST, LARGEST_FRAME, LONGEST, SLOWEST
from ..core.settings import input_errors
from . import parts_file
from .detections import Detections
from .edits.edit_log import FILE as EDITS
from .edits.edit_log import read_log
from .edits.mending import Mending, TrackFile, errors_of
from .plausible import checked
from .poses import FILE, TEXT, TRUTH_FILE, Poses, read_poses, write_poses
from .storage import ROWS_PER_GROUP, groups_from, read_table, read_tracks, read_truth, write_pieces
from .tracks import Tracks
from .tracks_text import TABLE, digest_of, set_edited_aside, write_tracks_csv, write_tracks_table
from .truth import Truth

_TABLES = ("detections", "truth", "tracks", "mended_tracks", "poses", "truth_poses")
ASSUMED_FPS = 30.0
FIRST = -(2**62)  # before every frame
C = TypeVar("C", Detections, Truth)


class RecordingInfo(BaseModel):
    """What ``recording.toml`` says."""

    model_config = ConfigDict(extra="forbid")

    fps: float = Field(30.0, ge=SLOWEST, le=FASTEST, description="frames a second")
    fps_known: bool = Field(True, description="False: nobody said the frame rate, and seconds mean nothing")
    first_frame: int = Field(0, ge=-LARGEST_FRAME, le=LARGEST_FRAME, description="number of the first frame")
    frame_count: int = Field(0, ge=0, le=LONGEST + 1, description="frames from the first to the last, gaps included")
    time_offset_frames: dict[str, Annotated[int, Field(ge=-LONGEST, le=LONGEST)]] = Field(
        default_factory=dict, description="per camera, added to its frame numbers to reach the common clock"
    )
    description: str = ""


@dataclass(repr=False)
class Recording:
    """A recording on disk. Tables are read when first asked for, and kept until they are written or forgotten.

    Attributes
    ----------
    folder : where it is.
    info : what its ``recording.toml`` says.
    rig : its cameras.
    detections_file : the file of its folder that detections are read from.
    """

    folder: Path
    info: RecordingInfo
    rig: CameraRig
    detections_file: str = "detections.parquet"

    @classmethod
    def open(cls, folder: str | Path) -> "Recording":
        """Open a recording.

        Parameters
        ----------
        folder : where it is.
        """
        folder = Path(folder)
        refuse_strange(folder)
        if not (folder / "recording.toml").is_file():
            if (folder / "tracks2d.csv").is_file() and (folder / "detections.parquet").is_file():
                line = f"trackfish3d import --cameras FILE --detections {folder / 'detections.parquet'} --out RECORDING"
                raise InputError(
                    f"{folder}: is what 'detect' found in films of no known cameras; once they are: {line}"
                )
            kind = "a recording (no recording.toml in it)" if folder.is_dir() else "a folder"
            raise InputError(f"{folder}: is not {kind}; make one with 'trackfish3d import' or 'simulate'")
        path = folder / "recording.toml"
        with input_errors(f"{path}: "):
            info = RecordingInfo.model_validate(read_toml(path))
        rig = read_cameras(folder / "cameras.toml")
        for name in info.time_offset_frames:
            if name not in rig.names:
                raise InputError(
                    f"{path}: time_offset_frames names camera '{name}'; cameras.toml has {', '.join(rig.names)}"
                )
        return cls(folder, info, rig)

    @classmethod
    def create(
        cls,
        folder: str | Path,
        rig: CameraRig,
        *,
        fps: float | None = 30.0,
        detections: Detections | Iterator[Detections] | None = None,
        truth: Truth | Iterator[Truth] | None = None,
        truth_poses: Poses | None = None,
        frames: tuple[int, int] | None = None,
        time_offset_frames: dict[str, int] | None = None,
        description: str = "",
    ) -> "Recording":
        """Write a recording; an `fps` of None is written as 30 and marked as unknown.

        Parameters
        ----------
        folder : where it shall be.
        rig : its cameras.
        fps : frames a second.
        detections : with frame numbers as the cameras counted them, or pieces of them in ascending frames.
        truth : true positions, for scores only, or pieces of them in ascending frames.
        truth_poses : true positions of parts, for scores only.
        frames : first frame and number of frames on the common clock; by default those of detections and truth.
        time_offset_frames : by camera, added to its frame numbers to reach the common clock.
        description : a line about it.
        """
        folder = Path(folder)
        refuse_strange(folder)
        offsets = {k: v for k, v in (time_offset_frames or {}).items() if v}
        write_cameras(rig, folder / "cameras.toml")
        recording = cls(folder, RecordingInfo(time_offset_frames=offsets), rig)
        seen: list[int] = []
        if detections is not None:
            pieces = iter([detections]) if isinstance(detections, Detections) else detections
            recording.write_detections(_watched(pieces, seen, lambda d: d.frame + recording.offsets[d.camera]))
        if truth is not None:
            known = iter([truth]) if isinstance(truth, Truth) else truth
            write_pieces((t.to_table() for t in _watched(known, seen, lambda t: t.frame)), folder / "truth.parquet")
        if truth_poses is not None:
            write_poses(truth_poses, folder / TRUTH_FILE)
        first, count = frames or (min(seen, default=0), max(seen, default=-1) - min(seen, default=0) + 1)
        recording.info = RecordingInfo(
            fps=ASSUMED_FPS if fps is None else fps,
            fps_known=fps is not None,
            first_frame=first,
            frame_count=count,
            time_offset_frames=offsets,
            description=description,
        )
        recording.write_info()  # last: a folder without it is no recording, so an interrupted one is not opened
        return recording

    def __repr__(self) -> str:
        facts = [f"{len(self.rig)} cameras", f"{self.info.frame_count:,} frames at {self.fps:g}/s"]
        path = self.folder / "detections.parquet"
        if path.is_file():
            facts.append(f"{pq.read_metadata(path).num_rows:,} detections")
        return f"<Recording {self.folder}: {', '.join([*facts, self.units])}>"

    def write_info(self) -> None:
        """Write ``recording.toml``."""
        usual = {"fps_known"} if self.info.fps_known else set()  # left out: versions before do not know it
        with atomic_path(self.folder / "recording.toml") as temporary:
            temporary.write_text(tomli_w.dumps(self.info.model_dump(exclude=usual)), encoding="utf-8")

    @property
    def fps(self) -> float:
        """Frames a second."""
        return self.info.fps

    @property
    def units(self) -> str:
        """Unit of length of the world."""
        return self.rig.units

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """(C,) frames added to each camera's numbers to reach the common clock."""
        return np.array([self.info.time_offset_frames.get(n, 0) for n in self.rig.names], dtype=np.int64)

    @cached_property
    def detections(self) -> Detections:
        """All detections, on the common clock (each camera's time offset applied)."""
        return self.read_detections(self.detections_file)

    def read_detections(self, name: str) -> Detections:
        """Return detections of a file of the folder, on the common clock.

        Parameters
        ----------
        name : of the file.
        """
        path = self.folder / name
        raw = Detections.from_table(read_table(path), self.rig.names, str(path))
        beside = self.folder / parts_file.FILE
        if beside.exists():
            raw = parts_file.with_parts(raw, beside, self.rig.names)
        return checked(raw, self.rig, str(path)).shifted(self.offsets)

    def iter_detections(self, rows: int = ROWS_PER_GROUP, first: int = FIRST) -> Iterator[Detections]:
        """Give detections in pieces of whole frames, ascending, in bounded memory; time offsets applied.

        A camera's offset moves its rows across pieces, so rows are held back until no later row can precede them.

        Parameters
        ----------
        rows : how many are read at once.
        first : frame from which they are given; row groups before it are not read.
        """
        path = self.folder / self.detections_file
        ahead = int(self.offsets.min())
        held: Detections | None = None
        raw_last: int | None = None
        try:
            file = _open_parquet(path)
            groups = groups_from(file.metadata, first - int(self.offsets.max()))
            for batch in file.iter_batches(batch_size=rows, row_groups=groups):
                batch.validate(full=True)
                piece = Detections.from_table(pa.Table.from_batches([batch]), self.rig.names, str(path))
                checked(piece, self.rig, str(path))
                if not len(piece):
                    continue
                if raw_last is not None and raw_last > int(piece.frame[0]):
                    raise InputError(f"{path}: frame numbers go back at frame {int(piece.frame[0])}")
                raw_last = int(piece.frame[-1])
                piece = piece.shifted(self.offsets)
                piece = piece.select(piece.frame >= first) if int(piece.frame[0]) < first else piece
                held = piece if held is None else Detections.concat([held, piece])
                ready = held.frame < raw_last + ahead
                if ready.any():
                    yield held.select(ready)
                    held = held.select(~ready)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path}: is not a complete Parquet file ({str(error).splitlines()[0][:200]})") from None
        if held is not None and len(held):
            yield held

    def write_detections(self, pieces: Iterator[Detections]) -> None:
        """Write ``detections.parquet``.

        Parameters
        ----------
        pieces : in ascending frames, frame numbers as the cameras counted them.
        """
        beside = self.folder / parts_file.FILE
        beside.unlink(missing_ok=True)  # of the detections that were there before
        with ExitStack() as files:
            temporary = files.enter_context(atomic_path(self.folder / "detections.parquet"))
            writer = poses = None
            for piece in pieces:
                table = piece.to_table()
                writer = writer or pq.ParquetWriter(temporary, table.schema, compression="zstd")
                writer.write_table(table, row_group_size=ROWS_PER_GROUP)
                if piece.parts is not None:
                    table = parts_file.parts_table(piece)
                    path = None if poses else files.enter_context(atomic_path(beside))
                    poses = poses or pq.ParquetWriter(path, table.schema, compression="zstd")
                    poses.write_table(table, row_group_size=ROWS_PER_GROUP)
            if writer is None:
                pq.write_table(Detections.empty(self.rig.names).to_table(), temporary)
            else:
                writer.close()
            if poses is not None:
                poses.close()
        self.forget("detections")

    def forget(self, *tables: str) -> None:
        """Read tables from disk again when they are next asked for.

        Parameters
        ----------
        *tables : of detections, truth, tracks, mended_tracks, poses and truth_poses; all without.
        """
        for name in tables or _TABLES:
            self.__dict__.pop(name, None)

    @cached_property
    def truth(self) -> Truth | None:
        """Truth, or None where it is not known. For scores only."""
        path = self.folder / "truth.parquet"
        return read_truth(path) if path.exists() else None

    @cached_property
    def tracks(self) -> Tracks:
        """The tracks last written here."""
        path = self.folder / "tracks.parquet"
        if not path.exists():
            raise InputError(f"{self.folder}: has no tracks yet; run 'trackfish3d track {self.folder}'")
        return read_tracks(path)

    @cached_property
    def mended_tracks(self) -> Tracks:
        """The tracks as the edits in ``edits.jsonl`` leave them; those of the tracker where there are none."""
        log = read_log(self.folder / EDITS)
        if not log.active:
            return self.tracks
        file = TrackFile(self.folder / "tracks.parquet")
        held = log.on(file.digest) if file.path.is_file() else ()
        if older := len(log.older(file.digest)) if file.path.is_file() else len(log.active):
            message = f"{older} edits in {self.folder / EDITS} were made on other tracks and are not in these; "
            message += f"'trackfish3d track {self.folder} --keep-edits' solves under them"
            warnings.warn(message, Note, stacklevel=2)
        if not held:
            return self.tracks
        with errors_of(self.folder / EDITS):
            return Mending.of(file.pieces, held).apply(self.tracks)

    def write_tracks(self, tracks: Tracks) -> None:
        """Write ``tracks.csv``, ``tracks_table.csv`` and, with a digest of the first, ``tracks.parquet``.

        Parameters
        ----------
        tracks : of this recording.
        """
        self.write_track_pieces(lambda: [tracks])

    def write_track_pieces(self, pieces: Callable[[], Iterable[Tracks]]) -> None:
        """Write the files of `write_tracks` from pieces, in bounded memory.

        Parameters
        ----------
        pieces : gives all pieces, ascending in frames, anew at every call.
        """
        text = self.folder / "tracks.csv"
        set_edited_aside(self.folder / "tracks.parquet")
        write_tracks_csv(pieces(), text)
        write_tracks_table(pieces(), self.folder / TABLE, self.units, self.fps if self.info.fps_known else None)
        tables = (piece.to_table() for piece in pieces())
        write_pieces(tables, self.folder / "tracks.parquet", digest_of(text))
        self.forget("tracks", "mended_tracks")

    @cached_property
    def poses(self) -> Poses | None:
        """The poses last written here; None where there are none."""
        path = self.folder / FILE
        return read_poses(path) if path.exists() else None

    @cached_property
    def truth_poses(self) -> Poses | None:
        """True poses, or None where they are not known. For scores only."""
        path = self.folder / TRUTH_FILE
        return read_poses(path) if path.exists() else None

    def write_poses(self, poses: Poses | None) -> None:
        """Write ``poses.parquet`` and ``poses.csv``; with None, remove those of earlier tracks.

        Parameters
        ----------
        poses : of this recording's tracks.
        """
        for name in (FILE, TEXT):
            if poses is None:
                (self.folder / name).unlink(missing_ok=True)
            else:
                write_poses(poses, self.folder / name)
        self.forget("poses")

    @property
    def videos(self) -> dict[str, Path]:
        """Video of each camera that has one: a file, or the folder of its chapters."""
        listed = sorted((self.folder / "videos").glob("*"))
        found = {p.name: p for p in listed if p.is_dir() and not p.is_symlink()}
        found |= {p.stem: p for p in listed if p.is_file()}
        return {name: found[name] for name in self.rig.names if name in found}


def _watched(pieces: Iterable[C], seen: list[int], frames: Callable[[C], NDArray[np.int64]]) -> Iterator[C]:
    """Hand pieces on, and note the first and last of their frames."""
    for piece in pieces:
        if len(piece):
            here = frames(piece)
            seen += [int(here.min()), int(here.max())]
        yield piece


def _open_parquet(path: Path) -> pq.ParquetFile:
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    return pq.ParquetFile(path, pre_buffer=False)  # buffering ahead keeps what it has read: the whole file, in the end
