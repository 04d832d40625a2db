"""The ``background`` detector: whatever differs from a static camera's background, divided into animals."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError
from ...media.video import Picture, Video
from ..base import Detector, FrameDetections
from ..masks.blobs import Blob
from .appearance import Appearance
from .body_fit import complete
from .body_tracker import BodyTracker
from .ellipse_tracker import EllipseTracker
from .estimate import learn_look
from .foreground import Foreground
from .region import inside_polygon
from .scene.model import Background
from .settings import BackgroundSettings
from .split import join_pieces

_WARM_UP, _WARM_UP_BYTES = 24, 100_000_000  # frames, and pixels of them at most
_SAMPLE_BYTES = 155_000_000  # pixels of the samples at most: learning takes about six times as many bytes


class BackgroundDetector(Detector):
    """Background subtraction for a static camera, learnt from the video itself."""

    name = "background"
    Settings = BackgroundSettings
    learns = True

    def prepare(self, video: Video, threads: int = 1) -> list[str]:
        """Learn the background, then what the animals look like."""
        s: BackgroundSettings = self.settings
        if not video.count:
            raise InputError(f"{video.path}: has no frames")
        few = int(np.clip(_SAMPLE_BYTES // (video.size[0] * video.size[1]), 16, 48))
        outside = None if s.region is None else ~inside_polygon(s.region, video.size)
        self.background = Background.learn(video, s.samples or few, threads)
        self._foreground = Foreground(self.background, s, video.fps, outside)
        self.appearance = self._chosen(learn_look(self._foreground, video, threads))
        forget = max(2, round(s.remember_seconds * video.fps))
        self.memory: EllipseTracker | BodyTracker = (
            BodyTracker(forget) if self.appearance.weak else EllipseTracker(forget)
        )
        self._last: int | None = None
        self._warm_up(video, threads)
        return list(self.appearance.notes)

    def _warm_up(self, video: Video, threads: int) -> None:
        """Watch the beginning backwards, so that the first picture finds background and animals already known."""
        w, h = video.size
        pictures = list(video.read(0, min(_WARM_UP, 1 + _WARM_UP_BYTES // (w * h)), threads))
        for picture in reversed(pictures):
            self.see(picture)
        self.memory.turn_back()

    def _chosen(self, appearance: Appearance) -> Appearance:
        """Put the user's word over what was learnt."""
        s: BackgroundSettings = self.settings
        given: dict[str, Any] = {
            "side": None if s.side is None else {"dark": -1, "bright": 1, "both": 0}[s.side],
            "gap": s.gap,
            "close": s.close,
            "smallest": s.min_area,
            "largest": s.max_area,
            "longest": None if s.max_length is None else s.max_length / 4,  # an ellipse is four of its deviations long
        }
        return replace(appearance, **{k: v for k, v in given.items() if v is not None})

    def describe(self) -> dict[str, Any]:
        """Return sizes, contrast and side of the animals as learnt or as set."""
        return {k: v for k, v in asdict(self.appearance).items() if k != "notes"} | {"ripple": self.background.memory}

    def see(self, picture: Picture) -> FrameDetections:
        """Find the animals in the next picture."""
        s: BackgroundSettings = self.settings
        appearance = self.appearance
        apart = 0 if self._last is None else abs(picture.number - self._last)
        blobs, level, clear = self.stands_out(picture, self.memory.boxes(apart) if s.split else None)
        found = blobs
        if s.split:
            pieces = self.divide(picture, blobs, level, apart)
            pieces = pieces if appearance.weak else join_pieces(pieces, level, appearance)
            found = self.memory.step(pieces, level, appearance, clear, apart)
            found = found if appearance.weak else complete(found, level, appearance)
        self.learn_from(picture, [b for b in blobs if b.level >= clear] + found)
        self._last = picture.number
        found = [b for b in found if appearance.believes(b)]
        return FrameDetections.from_masks(found, appearance.score(found))

    def divide(self, picture: Picture, blobs: list[Blob], level: NDArray[np.uint8], apart: int) -> list[Blob]:
        """Divide blobs by what can be seen in them, before they are divided by what was seen a moment ago: not at all.

        Parameters
        ----------
        picture : that they are of.
        blobs : what stands out.
        level : (H, W) deviations.
        apart : frames since the last picture.
        """
        return blobs

    def forget(self) -> None:
        """Forget what was followed: the next picture may be of any moment."""
        self.background.reset()
        self.memory = type(self.memory)(self.memory.forget_frames)
        self._last = None

    def stands_out(
        self, picture: Picture, near: NDArray[np.float64] | None
    ) -> tuple[list[Blob], NDArray[np.uint8], float]:
        """Blobs of a picture, undivided, the map (H, W) of deviations, and the level that makes a blob clear.

        Parameters
        ----------
        picture : the next one.
        near : (B, 4) boxes in which the map is wanted even if nothing stirs: left, top, right, bottom, px.
        """
        s: BackgroundSettings = self.settings
        share = min(s.dim, s.clear) if s.split else s.clear
        blobs, level = self._foreground.blobs(picture, self.appearance, share, near)
        return blobs, level, self._foreground.least(self.appearance, s.clear)

    def learn_from(self, picture: Picture, taken: list[Blob]) -> None:
        """Let the background follow what no animal covers.

        Parameters
        ----------
        picture : the one that was judged last.
        taken : its animals.
        """
        self._foreground.learn_from(picture, taken, self.appearance)

    def state(self) -> dict[str, NDArray[Any]]:
        """Background, its filter and the memory of animals, as arrays."""
        b = self.background
        arrays: dict[str, NDArray[Any]] = {
            "now": b.now,
            "variance": b.variance,
            "still": b.luma.still,
            "unrest": b.unrest,
            "small": b.small,
        }
        if b.blue is not None and b.red is not None:
            arrays |= {"blue": b.blue.still, "red": b.red.still}
        arrays |= {f"memory_{name}": getattr(self.memory, name) for name in self.memory.COLUMNS}
        return {**arrays, "last": np.array(-1 if self._last is None else self._last)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up a `state`; `prepare` has been called with the same video and settings."""
        b = self.background
        b.now, b.variance, b.luma.still = state["now"], state["variance"], state["still"]
        if b.blue is not None and b.red is not None:
            b.blue.still, b.red.still = state["blue"], state["red"]
        b.take_up(state["unrest"], state["small"])
        for name in self.memory.COLUMNS:
            setattr(self.memory, name, state[f"memory_{name}"])
        last = int(state["last"])
        self._last = None if last < 0 else last
