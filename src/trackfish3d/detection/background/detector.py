"""The ``background`` detector: whatever differs from a static camera's background, divided into animals."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...core.errors import InputError
from ...media.video import Picture, Video
from ..base import Detector, DetectorSettings, FrameDetections
from ..masks import kernels as mask_kernels
from ..masks.blobs import QUARTERS, Blob, Thresholds, find_blobs
from .appearance import Appearance
from .body_fit import complete
from .body_tracker import BodyTracker
from .ellipse_tracker import EllipseTracker
from .estimate import learn_look
from .model import Background
from .region import inside_polygon
from .split import join_pieces

_MARGIN = 3  # pixels around an animal from which the background learns nothing
_WARM_UP, _WARM_UP_BYTES = 24, 100_000_000  # frames, and pixels of them at most
_SAMPLE_BYTES = 155_000_000  # pixels of the samples at most: learning takes about six times as many bytes
_HOLE = 0.1  # of an animal's area, the largest hole in one
_DRIFT_EVERY = 8  # frames between two steps of the still background


class BackgroundSettings(DetectorSettings):
    """Settings of the background detector. What is None is learnt from the video."""

    samples: int | None = Field(None, ge=5, le=250, description="pictures over the video that make the background")
    low: float = Field(3.0, gt=0, le=30, description="standard deviations off the background of a blob's pixels")
    high: float = Field(6.0, gt=0, le=60, description="standard deviations of the brightest fifth of a blob's pixels")
    faint: float = Field(0.2, ge=0, lt=1, description="share of the animals' contrast below which pixels are shadow")
    clear: float = Field(0.45, ge=0, lt=1, description="share of the animals' contrast below which blobs are shadow")
    dim: float = Field(0.3, ge=0, lt=1, description="the same for blobs where an animal was a moment ago")
    outline: float = Field(0.35, ge=0, lt=1, description="share of the contrast nearby at which the outline is drawn")
    side: str | None = Field(None, pattern="^(dark|bright|both)$", description="animals are dark, bright or both")
    gap: int | None = Field(None, ge=0, le=30, description="pixels that may part two pieces of one animal")
    close: int | None = Field(None, ge=0, le=30, description="half of the width of cracks to be closed, px")
    min_area: float | None = Field(None, ge=1, description="smallest animal, px^2")
    max_area: float | None = Field(None, ge=1, description="largest single animal, px^2")
    max_length: float | None = Field(None, ge=1, description="longest single animal, px")
    split: bool = Field(True, description="divide blobs of touching animals and join pieces of one")
    remember_seconds: float = Field(0.4, ge=0, description="how long a hidden animal is remembered")
    drift_seconds: float = Field(30.0, gt=0, description="time in which the background follows a change of light")
    absorb_seconds: float = Field(300.0, gt=0, description="time in which a thing that stays becomes background")
    region: str | None = Field(None, description="polygon to look in: 'x,y x,y x,y', px")


class BackgroundDetector(Detector):
    """Background subtraction for a static camera, learnt from the video itself."""

    Settings = BackgroundSettings

    def prepare(self, video: Video, threads: int = 1) -> list[str]:
        """Learn the background, then what the animals look like."""
        s: BackgroundSettings = self.settings
        if not video.count:
            raise InputError(f"{video.path}: has no frames")
        few = int(np.clip(_SAMPLE_BYTES // (video.size[0] * video.size[1]), 16, 48))
        self.background = Background.learn(video, s.samples or few, threads)
        self._outside = None if s.region is None else ~inside_polygon(s.region, video.size)
        self.fps = video.fps
        self.appearance = self._chosen(learn_look(self, video, threads))
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

    def blobs(self, picture: Picture, appearance: Appearance, share: float) -> tuple[list[Blob], NDArray[np.uint8]]:
        """Blobs of a picture as they are, before anything is divided, and the map (H, W) of deviations.

        ``share`` of the animals' contrast is the least that a blob has.
        """
        s: BackgroundSettings = self.settings
        level = self.background.deviation(picture, appearance.side)
        if self._outside is not None:
            level[self._outside] = 0
        thresholds = Thresholds(
            low=round(max(QUARTERS * s.low, s.faint * appearance.level)),
            high=self._least(appearance, share),
            reach=max(4, round(3 * appearance.minor)), outline=s.outline, gap=appearance.gap, close=appearance.close,
            smallest=0.5 * appearance.smallest, hole=_HOLE * appearance.typical,
        )  # fmt: skip
        return find_blobs(level, thresholds), level

    def _least(self, appearance: Appearance, share: float) -> int:
        """Level that a blob must reach which has this share of the animals' contrast."""
        s: BackgroundSettings = self.settings
        return round(max(QUARTERS * s.high, share * appearance.level))

    def learn_from(self, picture: Picture, blobs: list[Blob], appearance: Appearance) -> None:
        """Let the background follow what is not an animal."""
        taken = np.zeros(self.background.luma.still.shape, np.bool_)
        margin = max(_MARGIN, appearance.close + 2)
        for blob in blobs:
            mask_kernels.paint(blob.mask, blob.left, blob.top, margin, taken)
        self.background.follow(picture, taken)
        if picture.number % _DRIFT_EVERY == _DRIFT_EVERY - 1:
            s: BackgroundSettings = self.settings
            rate, slow = (_DRIFT_EVERY / (t * self.fps) for t in (s.drift_seconds, s.absorb_seconds))
            self.background.drift(picture, taken, min(rate, 1.0), min(slow, 1.0))

    def describe(self) -> dict[str, Any]:
        """Return sizes, contrast and side of the animals as learnt or as set."""
        return {k: v for k, v in asdict(self.appearance).items() if k != "notes"} | {"ripple": self.background.memory}

    def see(self, picture: Picture) -> FrameDetections:
        """Find the animals in the next picture."""
        s: BackgroundSettings = self.settings
        appearance = self.appearance
        blobs, level = self.blobs(picture, appearance, min(s.dim, s.clear) if s.split else s.clear)
        clear = self._least(appearance, s.clear)
        found = blobs
        if s.split:
            pieces = blobs if appearance.weak else join_pieces(blobs, level, appearance)
            apart = 0 if self._last is None else abs(picture.number - self._last)
            found = self.memory.step(pieces, level, appearance, clear, apart)
            found = found if appearance.weak else complete(found, level, appearance)
        self.learn_from(picture, [b for b in blobs if b.level >= clear] + found, appearance)
        self._last = picture.number
        found = [b for b in found if appearance.believes(b)]
        return FrameDetections.from_masks(found, appearance.score(found))

    def state(self) -> dict[str, NDArray[Any]]:
        """Background, its filter and the memory of animals, as arrays."""
        b = self.background
        arrays: dict[str, NDArray[Any]] = {"now": b.now, "variance": b.variance, "still": b.luma.still}
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
        for name in self.memory.COLUMNS:
            setattr(self.memory, name, state[f"memory_{name}"])
        last = int(state["last"])
        self._last = None if last < 0 else last
