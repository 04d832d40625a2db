"""Films in several files: which belong to one film, in which order, and which frame each begins with.

Action cameras cut a film into chapters (GoPro: GX010001.MP4, GX020001.MP4, ...), recorders into hours. A film is then
a list of files in the order of time, with a whole number between two of them where so many frames are lost; a folder
of such files, which may hold ``chapters.json`` with that list; or a pattern.
"""

import glob
import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from ..core.errors import InputError
from ..core.files import plain_name, read_text
from ..core.reading.limits import LONGEST
from .film_file import FilmFile

SUFFIXES = {
    ".mp4",
    ".avi",
    ".mov",
    ".mkv",
    ".m4v",
    ".mpg",
    ".mpeg",
    ".webm",
    ".ts",
    ".mts",
    ".m2ts",
    ".wmv",
    ".h264",
    ".264",
    ".h265",
    ".hevc",
    ".flv",
    ".3gp",
    ".insv",
    ".lrv",
}
LIST = "chapters.json"
_GOPRO = re.compile(r"(?P<kind>G[HXLSP])(?P<chapter>\d{2})(?P<film>\d{4})", re.IGNORECASE)
_GOPRO_FIRST = re.compile(r"GOPR(?P<film>\d{4})", re.IGNORECASE)
_NUMBERS = re.compile(r"\d+")
_LATE_S = 2.0  # seconds between the end of one file and the beginning of the next, beyond which it is said

Piece = str | Path | int
"""A file, folder or pattern of a film, or how many frames are lost there."""


def pieces_of(film: Piece | Sequence[Piece]) -> list[Path | int]:
    """Return the files of a film in the order of time, and the numbers of frames lost between them.

    Parameters
    ----------
    film : a file; a folder of files; a pattern (``top_*.mp4``); several of these, or texts joined by ``+``.
    """
    if isinstance(film, str | Path | int):
        film = [film] if isinstance(film, int) or Path(film).exists() else list(str(film).split("+"))
    found: list[Path | int] = []
    if any(str(piece).strip() == "" for piece in film):
        raise InputError(f"{_shown(film)}: no such video")
    for piece in film:
        if isinstance(piece, int) or (str(piece).isdecimal() and not Path(piece).exists()):
            lost = int(str(piece))
            if lost > LONGEST:
                raise InputError(f"{piece} lost frames: no film is that long")
            found.append(lost)
        else:
            found += _expanded(Path(piece))
    if not found or isinstance(found[0], int) or isinstance(found[-1], int):
        raise InputError(f"{_shown(film)}: a film begins and ends with a file")
    _refuse_missing(found)
    return found


def _expanded(path: Path) -> list[Path | int]:
    if path.is_dir():
        if (path / LIST).is_file():
            return _listed(path)
        files = [p for p in path.iterdir() if p.is_file() and p.suffix.lower() in SUFFIXES]
        if not files:
            raise InputError(f"{path}: is a folder without a video")
        return [*in_order(files)]
    if not path.exists() and glob.escape(str(path)) != str(path):
        matches = [Path(p) for p in glob.glob(str(path), recursive=True) if Path(p).is_file()]
        if not matches:
            raise InputError(f"{path}: no file has such a name")
        return [*in_order(matches)]
    return [path]


def _listed(folder: Path) -> list[Path | int]:
    """Return the list of a folder's ``chapters.json``; its names are those of files of the folder, nothing else."""
    path = folder / LIST
    try:
        listed = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise InputError(f"{path}: is not JSON") from None
    if not isinstance(listed, list) or not listed:
        raise InputError(f"{path}: must be a list of file names, with numbers of lost frames between them")
    found: list[Path | int] = []
    for entry in listed:
        if isinstance(entry, str):
            try:
                found.append(folder / plain_name(entry, "file"))
            except InputError as error:
                raise InputError(f"{path}: {error}") from None
        elif isinstance(entry, int) and not isinstance(entry, bool) and 0 <= entry <= LONGEST:
            found.append(entry)
        else:
            raise InputError(f"{path}: {str(entry)[:40]!r} is neither a file name nor a number of frames")
    if isinstance(found[0], int) or isinstance(found[-1], int):
        raise InputError(f"{path}: a film begins and ends with a file")
    return found


def in_order(files: Sequence[Path]) -> list[Path]:
    """Return files of one film in the order of time, by the numbers in their names.

    Parameters
    ----------
    files : in any order; GoPro's must be of one film.
    """
    gopro = [_gopro(f) for f in files]
    films = sorted({g[0] for g in gopro if g is not None})
    if len(films) > 1:
        raise InputError(
            f"{files[0].parent}: holds chapters of {len(films)} films ({', '.join(films[:4])}); "
            f"name one of them, as in '*{films[0]}.*'"
        )
    if all(g is not None for g in gopro):
        return [f for _, f in sorted(zip([g[1] for g in gopro if g is not None], files, strict=True))]
    return sorted(files, key=lambda f: [int(p) if p.isdecimal() else p for p in re.split(r"(\d+)", f.name)])


def _gopro(path: Path) -> tuple[str, int] | None:
    """Return film and chapter of a GoPro file."""
    match = _GOPRO.fullmatch(path.stem)
    if match is not None:
        return match["film"], int(match["chapter"])
    first = _GOPRO_FIRST.fullmatch(path.stem)
    return None if first is None else (first["film"], 0)


def _refuse_missing(pieces: Sequence[Path | int]) -> None:
    """Refuse a film whose file names show that one between is missing: later frames would have wrong numbers."""
    files = [p for p in pieces if isinstance(p, Path)]
    steps = _steps(files)
    if not steps:
        return
    usual = min((s for s in steps if s > 0), default=1)
    if all(_gopro(f) is not None for f in files):
        usual = 1
    sure = usual == 1 or steps.count(usual) > 1
    after = {b for a, b in pairwise(pieces) if isinstance(a, int) and isinstance(b, Path)}
    for (before, here), step in zip(pairwise(files), steps, strict=True):
        if sure and step > usual and step % usual == 0 and here not in after:
            raise InputError(
                f"{here}: the file between {before.name} and it seems to be missing, and later frames would have wrong "
                f"numbers; give it, or write {before.name}+N+{here.name} where N frames are lost (0 if none are)"
            )


def _steps(files: Sequence[Path]) -> list[int]:
    """Differences of the one number that is not the same in all names; none where that cannot be told."""
    if len(files) < 2 or len({f.parent for f in files}) > 1:
        return []
    gopro = [_gopro(f) for f in files]
    if all(g is not None for g in gopro):
        return [b[1] - a[1] for a, b in pairwise([g for g in gopro if g is not None])]
    if len({_NUMBERS.sub("#", f.stem) for f in files}) > 1:
        return []
    numbers = list(zip(*([int(n) for n in _NUMBERS.findall(f.stem)] for f in files), strict=True))
    moving = [n for n in numbers if len(set(n)) > 1]
    return [b - a for a, b in pairwise(moving[0])] if len(moving) == 1 else []


def begin_frames(pieces: Sequence[FilmFile | int]) -> tuple[list[int], list[str]]:
    """Return the number of the first frame of each file, and what a user should know about the places between.

    Files that are cut from one stream often keep its clock; frames that are lost between two of them are then known.
    Otherwise a file goes on where the one before it has ended.

    Parameters
    ----------
    pieces : the files, with numbers of lost frames between them.
    """
    begin: list[int] = []
    notes = [n for p in pieces[:1] if isinstance(p, FilmFile) for n in _note_late(p.path)]
    before: FilmFile | None = None
    lost: int | None = None
    for here in pieces:
        if isinstance(here, int):
            lost = here + (lost or 0)
            continue
        if before is None:
            begin.append(0)
        else:
            gap = lost if lost is not None else _gap(before, here, notes)
            if gap:
                notes.append(f"{gap} frames are missing between {before.path.name} and {here.path.name}")
            begin.append(begin[-1] + before.length + gap)
        before, lost = here, None
    if begin[-1] > LONGEST:
        raise InputError(f"{pieces[-1].path if isinstance(pieces[-1], FilmFile) else ''}: the film is too long")
    return begin, notes


def _note_late(first: Path) -> list[str]:
    found = _gopro(first)
    if found is None or found[1] < 2:
        return []
    return [f"{first.name} is chapter {found[1]} of its film; frames are counted from its first (--time-offset)"]


def _gap(before: FilmFile, here: FilmFile, notes: list[str]) -> int:
    """Frames lost between two files, by the clock that they share, if they share one."""
    rate = before.fps
    if before.start_s is not None and here.start_s is not None:
        frames = (here.start_s - before.start_s) * rate - before.length
        if frames > -0.5 and here.start_s * rate > 0.5 and frames < LONGEST:
            return max(round(frames), 0)
    if before.created is not None and here.created is not None:
        late = (here.created - before.created).total_seconds() - before.length / rate
        if here.created != before.created and late > _LATE_S:
            notes.append(
                f"{here.path.name} was begun {late:.0f} s after the end of {before.path.name} by their clocks; frames "
                f"are counted as if none were lost there: write {before.path.name}+{round(late * rate)}+"
                f"{here.path.name} if they were"
            )
    return 0


def _shown(film: Sequence[Piece]) -> str:
    return "+".join(str(p) for p in film)[:120]
