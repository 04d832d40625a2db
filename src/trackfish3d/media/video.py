"""Reading video: frame by frame in constant memory, every picture with the number of its moment."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError
from ..core.files import stamp
from .chapters import Piece, begin_frames, pieces_of
from .film_file import FilmFile

Bytes = NDArray[np.uint8]
_PLANAR = ("yuv420p", "yuvj420p")  # planes are taken as they lie
_SAME_RATE = 0.01  # frame rates further apart than this share are not the same
_LUMA_FIRST = ("nv12", "nv21", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p", "gray")


@dataclass(frozen=True, eq=False)
class Picture:
    """One frame of a video: ``number`` counted from the video's first frame, and FFmpeg's frame."""

    number: int
    frame: Any

    @property
    def grey(self) -> Bytes:
        """(H, W) brightness; the Y plane itself where there is one, a view that lives as long as the picture."""
        frame = self.frame
        if frame.format.name not in _PLANAR + _LUMA_FIRST:
            frame = frame.reformat(format="gray")
        return _plane(frame, 0, frame.width, frame.height)

    @property
    def chroma(self) -> tuple[Bytes, Bytes]:
        """Two planes (ceil(H / 2), ceil(W / 2)): blueness and redness, 128 for grey."""
        frame = self.frame if self.frame.format.name in _PLANAR else self.frame.reformat(format="yuv420p")
        width, height = (frame.width + 1) // 2, (frame.height + 1) // 2
        return _plane(frame, 1, width, height), _plane(frame, 2, width, height)

    @property
    def rgb(self) -> Bytes:
        """(H, W, 3) colours."""
        colours: Bytes = self.frame.to_ndarray(format="rgb24")
        return colours


def _plane(frame: Any, k: int, width: int, height: int) -> Bytes:
    plane = frame.planes[k]
    return np.frombuffer(plane, np.uint8)[: height * plane.line_size].reshape(height, plane.line_size)[:, :width]


@dataclass(eq=False)
class Video:
    """The film of one camera, its packets read once so that every frame's number is known before any is decoded.

    Attributes
    ----------
    path : the file; of a film in several, what was named: a folder, or the first of them.
    chapters : the files, in the order of time; nearly always one.
    begin : number of the first frame of each.
    notes : what a user should know, a line each.
    skipped : numbers of frames that could not be decoded so far.
    """

    path: Path
    chapters: tuple[FilmFile, ...]
    begin: tuple[int, ...] = (0,)
    notes: list[str] = field(default_factory=list)
    skipped: set[int] = field(default_factory=set)

    @classmethod
    def open(cls, path: Piece | Sequence[Piece]) -> "Video":
        """Read the packets of a film (nothing is decoded).

        Parameters
        ----------
        path : the file. Of a film in chapters: their folder, a pattern, the files in the order of time, or a text with
            ``+`` between them; a whole number between two files is the number of frames that are lost there.
        """
        pieces = pieces_of(path)
        opened = [p if isinstance(p, int) else FilmFile.open(p) for p in pieces]
        files = tuple(p for p in opened if isinstance(p, FilmFile))
        for other in files[1:]:
            _refuse_other(files[0], other)
        named = Path(path) if isinstance(path, str | Path) and Path(path).exists() else files[0].path
        begin, notes = begin_frames(opened)
        if len(files) == 1:
            return cls(named, files, notes=[*files[0].notes, *notes])
        told = [f"{f.path.name}: {note}" for f in files for note in f.notes]
        return cls(named, files, tuple(begin), [*told, *notes])

    @property
    def size(self) -> tuple[int, int]:
        """Of the pictures, (width, height) px."""
        return self.chapters[0].size

    @property
    def fps(self) -> float:
        """Frames a second, by the longest file."""
        return max(self.chapters, key=lambda c: c.count).fps

    @property
    def grey(self) -> bool:
        """Whether it holds no colour at all."""
        return all(c.grey for c in self.chapters)

    @property
    def count(self) -> int:
        """Frames from the first to the last, lost ones included."""
        return self.begin[-1] + self.chapters[-1].count

    @property
    def expected(self) -> int:
        """Frames by the containers' word, 0 where they say nothing."""
        return sum(c.expected for c in self.chapters)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files."""
        return tuple(c.path for c in self.chapters)

    @property
    def stamp(self) -> list[Any]:
        """What it is known by without reading it: place, size and time of every file, and where each begins."""
        known = [stamp(f) for f in self.files]
        return known[0] if len(known) == 1 else [known, list(self.begin)]

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """(P,) numbers of the frames that the files hold, ascending."""
        return np.concatenate(
            [c.timeline.number[c.timeline.number >= 0] + b for c, b in zip(self.chapters, self.begin, strict=True)]
        )

    @cached_property
    def key_numbers(self) -> NDArray[np.int64]:
        """(K,) frames at which decoding can begin, ascending; none where a file cannot be searched."""
        keys = [c.key_numbers for c in self.chapters]
        if not all(len(k) for k in keys):
            return np.zeros(0, np.int64)
        return np.concatenate([k + b for k, b in zip(keys, self.begin, strict=True)])

    def near(self, number: int, look_ahead: int | None = None) -> int:
        """Return the frame nearest to a number that the file holds.

        Parameters
        ----------
        number : of a frame, lost or not.
        look_ahead : frames to decode at most from where decoding can begin; a frame beyond is not reached.
        """
        held = self.numbers
        k = int(np.argmin(np.abs(held - number)))
        keys = self.key_numbers[self.key_numbers <= held[k]]
        if look_ahead is not None and len(keys):
            k = min(k, int(np.searchsorted(held, keys[-1])) + look_ahead)
        return int(held[k])

    def read(self, start: int = 0, stop: int | None = None, threads: int = 1) -> Iterator[Picture]:
        """Pictures with numbers ``start <= number < stop``, ascending.

        Frames that cannot be decoded, or only with errors, are left out and their numbers put into ``skipped``.

        Parameters
        ----------
        start : first number.
        stop : number after the last; the end by default.
        threads : of the decoder.
        """
        stop = self.count if stop is None else min(stop, self.count)
        last = start - 1
        for picture in self._decode(start, threads):
            if picture.number >= stop:
                break
            if picture.number <= last:
                continue
            if picture.frame.is_corrupt:
                continue  # concealed by the decoder: parts of it are of another moment
            self._lose(last + 1, picture.number)
            last = picture.number
            yield picture
        self._lose(last + 1, stop)

    def _lose(self, start: int, stop: int) -> None:
        """Note the frames of this range that the file holds: none of them could be decoded."""
        if stop > start:
            held = self.numbers
            self.skipped.update(held[(held >= start) & (held < stop)].tolist())

    def sample_numbers(self, count: int, length: int = 1) -> list[int]:
        """Return starts of about ``count`` stretches of ``length`` frames, evenly over the video.

        Where key frames are dense enough they are the starts: a long video is then not decoded through.

        Parameters
        ----------
        count : how many stretches.
        length : frames of each.
        """
        last = max(self.count - length, 0)
        wanted = np.unique(np.linspace(0, last, max(count, 1)).astype(np.int64))
        keys = self.key_numbers[self.key_numbers <= last]
        if len(keys) and last / max(count, 1) > 2 * length:
            near = keys[np.unique(np.abs(keys[:, None] - wanted[None]).argmin(0))]
            if len(near) >= 0.8 * len(wanted):
                wanted = near
        return [int(n) for n in wanted]

    def at(self, numbers: Iterable[int], threads: int = 1) -> Iterator[Picture]:
        """Pictures of some frames, ascending, broken ones left out; jumps ahead where a key frame shortens the way.

        Parameters
        ----------
        numbers : of the frames, in any order.
        threads : of the decoder.
        """
        wanted = sorted(set(numbers))
        keys = self.key_numbers
        source: Iterator[Picture] = iter(())
        reached = -1
        for number in wanted:
            if reached > number:
                continue  # the frame itself is broken
            if reached < 0 or ((keys > reached) & (keys <= number)).any():
                source = self._decode(number, threads)
            for picture in source:
                reached = picture.number
                if reached == number and not picture.frame.is_corrupt:
                    yield picture
                if reached >= number:
                    break

    def stretch(self, start: int, stop: int) -> "Video":
        """Return a part of the film as a film of its own, whose frames are counted from ``start``.

        Parameters
        ----------
        start : its first frame.
        stop : frame after its last.
        """
        return _Stretch(self.path, self.chapters, self.begin, self.notes, self.skipped, start, stop)

    def _decode(self, start: int, threads: int) -> Iterator[Picture]:
        """Every picture that decodes, with its number, from at or before ``start``."""
        first = max(int(np.searchsorted(self.begin, start, side="right")) - 1, 0)
        for file, begin in zip(self.chapters[first:], self.begin[first:], strict=True):
            for number, frame in file.decode(max(start - begin, 0), threads):
                yield Picture(number + begin, frame)


@dataclass(eq=False)
class _Stretch(Video):
    """Frames ``start`` to ``stop`` of a film, counted from the first of them."""

    start: int = 0
    stop: int = 0

    @property
    def count(self) -> int:
        """Frames of the stretch."""
        return self.stop - self.start

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """(P,) numbers of the frames that the files hold, ascending."""
        return self._within(super().numbers)

    @cached_property
    def key_numbers(self) -> NDArray[np.int64]:
        """(K,) frames at which decoding can begin, ascending."""
        return self._within(super().key_numbers)

    def _within(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return numbers[(numbers >= self.start) & (numbers < self.stop)] - self.start

    def _lose(self, start: int, stop: int) -> None:
        """Note lost frames by their numbers in the whole film."""
        held = self.numbers
        self.skipped.update((held[(held >= start) & (held < stop)] + self.start).tolist())

    def _decode(self, start: int, threads: int) -> Iterator[Picture]:
        for picture in super()._decode(start + self.start, threads):
            if picture.number >= self.start:
                yield Picture(picture.number - self.start, picture.frame)


def _refuse_other(first: FilmFile, other: FilmFile) -> None:
    """Refuse files that are no chapters of one film."""
    if first.size != other.size:
        raise InputError(
            f"{other.path}: has {other.size[0]} x {other.size[1]} px, {first.path.name} {first.size[0]} x "
            f"{first.size[1]}; they are not chapters of one film"
        )
    if min(first.count, other.count) > 1 and abs(other.fps / first.fps - 1) > _SAME_RATE:
        raise InputError(
            f"{other.path}: has {other.fps:g} frames a second, {first.path.name} {first.fps:g}; they are not chapters "
            "of one film"
        )
