"""Which recordings a batch is about, and what differs between them."""

import csv
import glob
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...core.errors import InputError
from ...core.files import read_text
from ...core.reading.dialect import dialect_of
from ...core.reading.limits import FASTEST, SLOWEST


class Row(BaseModel):
    """What a manifest can say of a recording, by the name of its column."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    recording: str = Field(min_length=1, description="its folder; made where films and a calibration are named")
    videos: str = Field("", description="films, with semicolons between: CAMERA=FILE;CAMERA=FILE")
    calibration: str = Field("", description="of films: a file in any format that is read")
    group: str = Field("", max_length=60, description="control, treated, ...: groups are compared in the summary")
    animals: int | None = Field(None, ge=1, description="how many there are, where that is known")
    scene: Literal["open", "closed"] | None = Field(None, description="whether animals come and go")
    fps: float | None = Field(None, ge=SLOWEST, le=FASTEST, description="frames a second, where films are wrong")
    units: str | None = Field(None, description="of the calibration's world, where it does not say")
    water_plane: str | None = Field(None, description="where the calibration lacks it: z=0 or x,y,z,nx,ny,nz")
    truth: str = Field("", description="true positions of films, for scores only")


@dataclass(frozen=True)
class Job:
    """One recording of a batch.

    Attributes
    ----------
    folder : of the recording.
    videos : films of one that is to be made; empty where it is there already.
    calibration : of the films.
    group : to which it belongs in the summary.
    animals : how many there are, or None.
    scene : "open", "closed" or None.
    fps : frames a second, or None.
    units : of the calibration's world, or None.
    water_plane : as text, or None.
    truth : true positions, or None.
    more : further columns of the manifest, by name.
    """

    folder: Path
    videos: tuple[str, ...] = ()
    calibration: Path | None = None
    group: str = ""
    animals: int | None = None
    scene: Literal["open", "closed"] | None = None
    fps: float | None = None
    units: str | None = None
    water_plane: str | None = None
    truth: Path | None = None
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The folder, as it was given, without anything that a terminal would obey."""
        return "".join(c if c.isprintable() else "?" for c in str(self.folder))


def find_jobs(recordings: Sequence[str | Path], manifest: str | Path | None = None) -> list[Job]:
    """Return all recordings of a batch, each once, in the order in which they are named.

    Parameters
    ----------
    recordings : folders, or patterns of folders such as ``recordings/*``; of a pattern only recordings are taken. None
        means all of the manifest.
    manifest : CSV that says what differs between recordings, or None.
    """
    rows = {} if manifest is None else {job.folder.resolve(): job for job in read_manifest(manifest)}
    jobs: dict[Path, Job] = {} if recordings else dict(rows)
    for given in recordings:
        for folder in _folders(str(given)):
            jobs.setdefault(folder.resolve(), rows.get(folder.resolve(), Job(folder)))
    if not jobs:
        raise InputError("batch: no recordings; name folders, a pattern as in 'recordings/*', or a --manifest")
    return list(jobs.values())


def _folders(given: str) -> list[Path]:
    path = Path(given)
    if path.is_dir() or not glob.has_magic(given):
        return [path]  # where it is no recording, its first step says so
    found = sorted(Path(p) for p in glob.glob(given) if (Path(p) / "recording.toml").is_file())
    if not found:
        raise InputError(f"{given}: no folder there is a recording (none has a recording.toml)")
    return found


def read_manifest(path: str | Path) -> list[Job]:
    """Read a manifest: a row for each recording; paths in it are relative to it.

    Columns are the fields of `Row`; others are kept and stand in the summary. An empty cell is one that says nothing.

    Parameters
    ----------
    path : CSV file.
    """
    path = Path(path)
    text = read_text(path)
    if "\0" in text:
        raise InputError(f"{path}: holds a zero byte, which no name of a file has")
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=dialect_of(text).separator))
    except csv.Error as error:
        raise InputError(f"{path}: is not a table in text ({error})") from None
    rows = [[cell.strip() for cell in row] for row in rows]
    if not rows or "recording" not in rows[0]:
        raise InputError(f"{path}: the first row must name the columns, 'recording' among them")
    head = rows[0]
    if len(set(head)) < len(head) or not all(head):
        raise InputError(f"{path}: a column has no name, or a name is there twice: {', '.join(head)}")
    jobs: list[Job] = []
    lines: dict[Path, int] = {}
    for number, cells in enumerate(rows[1:], start=2):
        if not any(cells):
            continue
        if not all(cell.isprintable() for cell in cells):
            raise InputError(f"{path}: row {number} has a character that cannot be printed; remove it")
        if len(cells) != len(head):
            raise InputError(f"{path}: row {number} has {len(cells)} cells, the first row {len(head)}")
        job = _job(path, number, {name: cell for name, cell in zip(head, cells, strict=True) if cell})
        twice = lines.setdefault(job.folder.resolve(), number)
        if twice != number:
            raise InputError(f"{path}: row {number} names {job.name}, which is in row {twice} already")
        jobs.append(job)
    if not jobs:
        raise InputError(f"{path}: names no recording")
    return jobs


def _job(path: Path, number: int, cells: dict[str, str]) -> Job:
    known: dict[str, Any] = {k: v for k, v in cells.items() if k in Row.model_fields}
    try:
        row = Row(**known)
    except ValidationError as error:
        wrong = error.errors()[0]
        column = str(wrong["loc"][0])
        what = f"'{cells[column]}': {wrong['msg']}" if column in cells else "is empty"
        raise InputError(f"{path}: row {number}, column {column}: {what}") from None
    videos = tuple(v.strip() for v in row.videos.split(";") if v.strip())
    if bool(videos) != bool(row.calibration):
        raise InputError(f"{path}: row {number}: films and a calibration belong together; one of them is missing")
    home = path.parent
    return Job(
        folder=home / row.recording,
        videos=tuple(_beside(home, v) for v in videos),
        calibration=home / row.calibration if row.calibration else None,
        group=row.group,
        animals=row.animals,
        scene=row.scene,
        fps=row.fps,
        units=row.units,
        water_plane=row.water_plane,
        truth=home / row.truth if row.truth else None,
        more={k: v for k, v in cells.items() if k not in Row.model_fields},
    )


def _beside(home: Path, film: str) -> str:
    """Return a film, or its chapters with ``+`` between, relative to the manifest."""
    camera, equals, files = film.rpartition("=")
    return camera + equals + "+".join(str(home / file.strip()) for file in files.split("+"))


def shard_of(jobs: Sequence[Job], shard: str) -> list[Job]:
    """Return the recordings of one part of an array job; all parts together have each recording once.

    Parameters
    ----------
    jobs : of the whole batch.
    shard : ``i/n``, from ``1/n`` to ``n/n``.
    """
    part, slash, whole = shard.partition("/")
    if not slash or not part.isdecimal() or not whole.isdecimal() or not 1 <= int(part) <= int(whole):
        raise InputError(f"--shard {shard}: write i/n, as in 1/4 to 4/4")
    return list(jobs[int(part) - 1 :: int(whole)])
