"""One video file: its packets read once, so that every picture's number is known before any is decoded."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError, MissingExtraError
from ..core.reading.limits import FASTEST, SLOWEST
from .timeline import Timeline, number_frames

_TIMEOUT = 30.0  # s; a damaged file can hold up its reader
_MOST_HOLES, _SHORT = 1000, 10_000  # frames that a film may have for each picture, and those that any may have


def pyav() -> Any:
    """Return PyAV, silenced; an error that says how to install it where it is not there."""
    try:
        import av
    except ImportError:
        raise MissingExtraError("av", "video", "reading video") from None
    av.logging.set_level(None)  # FFmpeg's own lines would stand between a user and the one that counts
    return av


def _opened(path: Path) -> Any:
    """Open a container whose texts need not be UTF-8: newer PyAV reads them so in any case."""
    try:
        return pyav().open(str(path), timeout=_TIMEOUT, metadata_errors="replace")
    except TypeError:  # since PyAV 18 there is no such option
        return pyav().open(str(path), timeout=_TIMEOUT)


@dataclass(frozen=True, eq=False)
class FilmFile:
    """A video file: a whole film, or a chapter of one.

    Attributes
    ----------
    path : the file.
    size : of the pictures, (width, height) px.
    fps : frames a second.
    grey : whether it holds no colour at all.
    timeline : of the packets: the number of every frame, counted from the first of the file.
    keys : presentation times of the key frames, ascending.
    expected : frames by the container's word, 0 where it says nothing.
    start_s : when the first picture is shown, by the file's clock, seconds; None where it has no clock.
    created : when the file was begun, by its metadata, where they say.
    """

    path: Path
    size: tuple[int, int]
    fps: float
    grey: bool
    timeline: Timeline
    keys: NDArray[np.int64]
    expected: int
    start_s: float | None
    created: datetime | None

    @classmethod
    def open(cls, path: Path) -> "FilmFile":
        """Read the packets of a video (nothing is decoded).

        Parameters
        ----------
        path : the file.
        """
        av = pyav()
        if not path.is_file():
            raise InputError(f"{path}: no such video")
        try:
            with _opened(path) as container:
                stream = _stream(container, path)
                packets = _packets(container, stream, av)
                base = Fraction(stream.time_base or Fraction(1, 1000))
                rate = stream.average_rate or stream.guessed_rate
                expected = int(stream.frames or 0)
                if not expected and container.duration and rate:
                    expected = int(container.duration * rate / 1_000_000)
                size = int(stream.codec_context.width), int(stream.codec_context.height)
                grey = str(stream.codec_context.pix_fmt).startswith("gray")
                created = _moment(container.metadata.get("creation_time", ""))
        except av.error.FFmpegError as error:
            raise InputError(f"{path}: {_why(error)}") from None
        if not packets:
            raise InputError(f"{path}: holds no pictures; the file may be truncated")
        timed = [pts for pts, _ in packets if pts is not None]
        ordinal = len(timed) < len(packets)  # a raw stream without times: pictures are counted as they come
        step = float(1 / (rate * base)) if rate else None
        timeline = number_frames(np.arange(len(packets)) if ordinal else timed, 1.0 if ordinal else step)
        if timeline.count > _SHORT + _MOST_HOLES * len(packets):
            raise InputError(f"{path}: its clock is damaged: {len(packets)} pictures in {timeline.count} frames")
        keys = np.array(sorted(pts for pts, key in packets if key and pts is not None), np.int64)
        fps = float(rate or 30) if ordinal or len(timed) < 2 else round(1 / (timeline.step * float(base)), 6)
        if not SLOWEST <= fps <= FASTEST:
            raise InputError(f"{path}: its clock is damaged: {fps:g} frames a second")
        start = None if ordinal else float(int(timeline.pts[0]) * base)
        if ordinal:
            keys = np.zeros(0, np.int64)
        return cls(path, size, fps, grey, timeline, keys, expected, start, created)

    @property
    def count(self) -> int:
        """Frames from the first to the last, lost ones included."""
        return self.timeline.count

    @property
    def truncated(self) -> bool:
        """Whether it ends before the container says."""
        return self.expected - self.count > max(2, 0.01 * self.expected)

    @property
    def length(self) -> int:
        """Frames that it had when it was whole."""
        return self.expected if self.truncated else self.count

    @property
    def notes(self) -> list[str]:
        """What a user should know, a line each."""
        found = list(self.timeline.notes)
        if self.truncated:
            found.append(f"ends after {self.count} of {self.expected} frames; the file is truncated")
        return found

    @cached_property
    def key_numbers(self) -> NDArray[np.int64]:
        """(K,) frames at which decoding can begin, ascending; none where the file cannot be searched."""
        numbers = np.array([self.timeline.of(int(k)) for k in self.keys], np.int64)
        return numbers[numbers >= 0]

    def decode(self, start: int, threads: int) -> Iterator[tuple[int, Any]]:
        """Every picture that decodes, as its number and FFmpeg's frame, from at or before ``start``.

        Parameters
        ----------
        start : a number of this file.
        threads : of the decoder.
        """
        av = pyav()
        ordinal = len(self.keys) == 0
        seen = 0
        try:
            with _opened(self.path) as container:
                stream = _stream(container, self.path)
                stream.codec_context.thread_count = threads
                stream.thread_type = "AUTO" if threads > 1 else "NONE"
                if start > 0 and not ordinal:
                    container.seek(self._pts(start), stream=stream, backward=True)
                demuxer = container.demux(stream)
                while True:
                    try:
                        packet = next(demuxer)
                    except StopIteration:
                        return
                    try:
                        frames = packet.decode()
                    except av.error.EOFError:
                        return
                    except av.error.FFmpegError:
                        continue  # this packet is broken; its number stays empty
                    for frame in frames:
                        number = seen if ordinal or frame.pts is None else self.timeline.of(int(frame.pts))
                        seen += 1
                        if number >= 0:
                            yield number, frame
        except av.error.FFmpegError as error:
            raise InputError(f"{self.path}: {_why(error)}") from None

    def _pts(self, number: int) -> int:
        """Time of the first picture numbered ``number`` or later."""
        at = self.timeline.pts[self.timeline.number >= number]
        return int(at[0]) if len(at) else int(self.timeline.pts[-1])


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    return found.replace(tzinfo=None)


def _stream(container: Any, path: Path) -> Any:
    if not container.streams.video:
        raise InputError(f"{path}: holds no video")
    stream = container.streams.video[0]
    if stream.codec_context is None:
        raise InputError(f"{path}: its codec is not known; convert it, for instance to H.264")
    return stream


def _packets(container: Any, stream: Any, av: Any) -> list[tuple[int | None, bool]]:
    """Presentation time and key flag of every packet that can be read; a damaged end is not fatal."""
    packets: list[tuple[int | None, bool]] = []
    demuxer = container.demux(stream)
    while True:
        try:
            packet = next(demuxer)
        except (StopIteration, av.error.FFmpegError):
            return packets
        if packet.size:
            packets.append((packet.pts, bool(packet.is_keyframe)))


def _why(error: Exception) -> str:
    kind = type(error).__name__
    if kind == "DecoderNotFoundError":
        return "its codec is not known; convert it, for instance to H.264"
    if kind == "InvalidDataError":
        return "is not a video, or is truncated: its index is missing"
    text = str(error).split("]")[-1].strip()
    return f"cannot be read ({text or kind})"
