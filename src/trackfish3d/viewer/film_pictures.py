"""Exact pictures of films for whoever looks at them: one decode at a time, the newest request first."""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from ..core.errors import TrackFishError
from ..media.video import Picture, Video
from ..media.writer import encode_jpeg

MOST_BYTES = 96 * 2**20  # of JPEG kept
AHEAD = 6  # pictures decoded in advance when nobody waits
_NEAR = 60  # frames that are decoded through rather than sought


class Superseded(Exception):
    """The same window asked for a newer picture of the same camera."""


@dataclass
class _Player:
    """A film that is being decoded, and how far it is."""

    path: Path
    video: Video | None = None
    source: Iterator[Picture] = field(default_factory=lambda: iter(()))
    reached: int = -1

    def picture(self, number: int) -> Picture | None:
        """Return the picture of a number; None where the film has none."""
        if self.video is None:
            self.video = Video.open(self.path)
        video = self.video
        if not 0 <= number < video.count:
            return None
        keys = video.key_numbers
        shorter = ((keys > self.reached) & (keys <= number)).any() and number - self.reached > _NEAR
        if self.reached < 0 or number <= self.reached or shorter:
            self.source, self.reached = video.read(number), number - 1
        for found in self.source:
            self.reached = found.number
            if found.number == number:
                return found
            if found.number > number:
                self.reached = -1  # it was read past: begin anew
                return None
        self.reached = -1
        return None


@dataclass(frozen=True)
class _Wanted:
    who: Hashable
    camera: str
    number: int
    width: int
    answer: "Future[bytes | None]"


class FilmPictures:
    """Pictures as JPEG, decoded by one thread that ends with its owner.

    Parameters
    ----------
    films : path of each camera's film.
    """

    def __init__(self, films: dict[str, Path]) -> None:
        self._players = {name: _Player(path) for name, path in films.items()}
        self._kept: OrderedDict[tuple[str, int, int], bytes | None] = OrderedDict()
        self._bytes = 0
        self._waiting: list[_Wanted] = []
        self._more = threading.Condition()
        self._closed = False
        self.decoded = 0
        self._thread: threading.Thread | None = None

    def ask(self, who: Hashable, camera: str, number: int, width: int) -> "Future[bytes | None]":
        """Ask for a picture; what the same window asked of the same camera before is answered with `Superseded`.

        Parameters
        ----------
        who : the window that asks.
        camera : name of a camera with a film.
        number : of the picture, counted from the film's first.
        width : px that it has at most.
        """
        answer: Future[bytes | None] = Future()
        with self._more:
            key = (camera, number, width)
            if key in self._kept:
                self._kept.move_to_end(key)
                answer.set_result(self._kept[key])
                return answer
            for old in [w for w in self._waiting if (w.who, w.camera) == (who, camera)]:
                self._waiting.remove(old)
                old.answer.set_exception(Superseded())
            self._waiting.append(_Wanted(who, camera, number, width, answer))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="films", daemon=True)
                self._thread.start()
            self._more.notify()
        return answer

    def close(self) -> None:
        """Decode no more."""
        with self._more:
            self._closed = True
            for w in self._waiting:
                w.answer.set_exception(Superseded())
            self._waiting = []
            self._more.notify()

    def _work(self) -> None:
        ahead: list[tuple[str, int, int]] = []
        while True:
            with self._more:
                while not self._waiting and not ahead and not self._closed:
                    self._more.wait()
                if self._closed:
                    return
                wanted = self._waiting.pop() if self._waiting else None
            if wanted is None:
                key = ahead.pop(0)
                if key not in self._kept:
                    try:
                        self._keep(key, self._decode(*key))
                    except (TrackFishError, OSError, ValueError):
                        ahead = []
                continue
            key = (wanted.camera, wanted.number, wanted.width)
            try:
                found = self._kept[key] if key in self._kept else self._keep(key, self._decode(*key))
                wanted.answer.set_result(found)
                following = [(wanted.camera, wanted.number + k, wanted.width) for k in range(1, AHEAD + 1)]
                ahead = [a for a in ahead if a[0] != wanted.camera] + following
            except Exception as error:
                wanted.answer.set_exception(error)

    def _decode(self, camera: str, number: int, width: int) -> bytes | None:
        self.decoded += 1
        picture = self._players[camera].picture(number)
        return None if picture is None else encode_jpeg(picture, width)

    def _keep(self, key: tuple[str, int, int], jpeg: bytes | None) -> bytes | None:
        with self._more:
            self._kept[key] = jpeg
            self._bytes += len(jpeg or b"")
            while self._bytes > MOST_BYTES and len(self._kept) > 1:
                self._bytes -= len(self._kept.popitem(last=False)[1] or b"")
        return jpeg
