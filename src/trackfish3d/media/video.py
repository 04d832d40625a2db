"""Reading video: frame by frame in constant memory, every picture with the number of its moment."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError, MissingExtraError
from .timeline import Timeline, number_frames

Bytes = NDArray[np.uint8]
_PLANAR = ("yuv420p", "yuvj420p")  # planes are taken as they lie
_OPEN: dict[str, Any] = {"metadata_errors": "replace", "timeout": 30.0}  # a damaged file can hold up its reader
_MOST_HOLES, _SHORT = 1000, 10_000  # frames that a film may have for each picture, and those that any may have
_LUMA_FIRST = ("nv12", "nv21", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p", "gray")


def _av() -> Any:
    try:
        import av
    except ImportError:
        raise MissingExtraError("av", "video", "reading video") from None
    av.logging.set_level(None)  # FFmpeg's own lines would stand between a user and the one that counts
    return av


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
    """One video file, its packets read once so that every frame's number is known before any is decoded.

    Attributes
    ----------
    path : the file.
    size : of the pictures, (width, height) px.
    fps : frames a second.
    grey : whether it holds no colour at all.
    timeline : of the packets: the number of every frame.
    keys : presentation times of the key frames, ascending.
    expected : frames by the container's word, 0 where it says nothing.
    notes : what a user should know, a line each.
    skipped : numbers of frames that could not be decoded so far.
    """

    path: Path
    size: tuple[int, int]
    fps: float
    grey: bool
    timeline: Timeline
    keys: NDArray[np.int64]
    expected: int
    notes: list[str] = field(default_factory=list)
    skipped: set[int] = field(default_factory=set)

    @classmethod
    def open(cls, path: str | Path) -> "Video":
        """Read the packets of a video (nothing is decoded).

        Parameters
        ----------
        path : the file.
        """
        av = _av()
        path = Path(path)
        if not path.is_file():
            raise InputError(f"{path}: no such video")
        try:
            with av.open(str(path), **_OPEN) as container:
                stream = _stream(container, path)
                packets = _packets(container, stream, av)
                base = Fraction(stream.time_base or Fraction(1, 1000))
                rate = stream.average_rate or stream.guessed_rate
                expected = int(stream.frames or 0)
                if not expected and container.duration and rate:
                    expected = int(container.duration * rate / 1_000_000)
                size = int(stream.codec_context.width), int(stream.codec_context.height)
                grey = str(stream.codec_context.pix_fmt).startswith("gray")
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
        video = cls(path, size, fps, grey, timeline, np.zeros(0, np.int64) if ordinal else keys, expected)
        video.notes.extend(timeline.notes)
        if expected - video.count > max(2, 0.01 * expected):
            video.notes.append(f"ends after {video.count} of {expected} frames; the file is truncated")
        return video

    @property
    def count(self) -> int:
        """Frames from the first to the last, lost ones included."""
        return self.timeline.count

    @cached_property
    def key_numbers(self) -> NDArray[np.int64]:
        """(K,) frames at which decoding can begin, ascending; none where the file cannot be searched."""
        numbers = np.array([self.timeline.of(int(k)) for k in self.keys], np.int64)
        return numbers[numbers >= 0]

    def near(self, number: int, look_ahead: int | None = None) -> int:
        """Return the frame nearest to a number that the file holds.

        Parameters
        ----------
        number : of a frame, lost or not.
        look_ahead : frames to decode at most from where decoding can begin; a frame beyond is not reached.
        """
        held = self.timeline.number[self.timeline.number >= 0]
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
            held = self.timeline.number
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

    def _decode(self, start: int, threads: int) -> Iterator[Picture]:
        """Every picture that decodes, with its number, from at or before ``start``."""
        av = _av()
        ordinal = len(self.keys) == 0
        seen = 0
        try:
            with av.open(str(self.path), **_OPEN) as container:
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
                            yield Picture(number, frame)
        except av.error.FFmpegError as error:
            raise InputError(f"{self.path}: {_why(error)}") from None

    def _pts(self, number: int) -> int:
        """Time of the first picture numbered ``number`` or later."""
        at = self.timeline.pts[self.timeline.number >= number]
        return int(at[0]) if len(at) else int(self.timeline.pts[-1])


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
