"""What detectors with trained weights have in common: where the weights are, where they run, what is believed."""

from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...core.errors import InputError
from ...media.video import Picture, Video
from ..background.region import inside_polygon
from ..base import Detector, DetectorSettings, FrameDetections


class WeightsSettings(DetectorSettings):
    """Settings that all detectors with weights have."""

    weights: Path | None = Field(None, description="trained weights on this computer; must be given")
    device: str | None = Field(None, description="cpu, cuda, cuda:1, mps; the GPU, where there is one")
    min_score: float = Field(0.25, ge=0, le=1, description="score below which a detection is left out")
    min_area: float = Field(4.0, ge=0, description="area of a mask, or of a box, below which it is left out, px^2")
    region: str | None = Field(None, description="polygon to look in: 'x,y x,y x,y', px")


class LearnedDetector(Detector):
    """A detector with trained weights; a subclass loads them and looks at one picture."""

    Settings = WeightsSettings
    kind: ClassVar[str] = "file"
    """What the weights are: a file or a folder."""
    example: ClassVar[str] = "FILE"
    """How a user would write them."""
    described: ClassVar[tuple[str, ...]] = ()
    """Endings of descriptions that a package knows by name, with no file here."""

    def ready(self) -> None:
        """Raise what would make `prepare` fail, before any video is opened: weights or packages that are missing."""
        weights = self.settings.weights
        if weights is None:
            raise InputError(
                f"detector {self.name}: has no weights; give a {self.kind} with --set weights={self.example}"
            )
        if self.kind == "folder" and not weights.is_dir():
            raise InputError(f"{weights}: is not a folder; give the one that holds config.json and model.safetensors")
        if self.kind == "file" and not weights.is_file() and weights.suffix not in self.described:
            raise InputError(f"{weights}: no such file; weights are not downloaded, give a file on this computer")
        self.check_packages()

    @abstractmethod
    def check_packages(self) -> None:
        """Raise a `MissingExtraError` where a package is missing."""

    @abstractmethod
    def load(self, video: Video, threads: int) -> list[str]:
        """Load the weights; returns notes for the user."""

    @abstractmethod
    def look(self, picture: Picture) -> FrameDetections:
        """Find the animals in a picture."""

    def stamp(self) -> dict[str, Any]:
        """Size and time of the weights' files: other weights under the same name are another detector."""
        path: Path | None = self.settings.weights
        if path is None or not path.exists():
            return {}
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        return {"weights": [[p.name, p.stat().st_size, p.stat().st_mtime] for p in files]}

    def prepare(self, video: Video, threads: int = 1) -> list[str]:
        """Load the weights."""
        self.ready()
        self._inside: NDArray[np.bool_] | None = None
        if self.settings.region is not None:
            self._inside = inside_polygon(self.settings.region, video.size)
        return self.load(video, threads)

    def see(self, picture: Picture) -> FrameDetections:
        """Find the animals in the next picture, and keep what is believed."""
        seen = self.look(picture)
        c = seen.columns
        area = c["area"] if "area" in c else (c["x2"] - c["x1"]) * (c["y2"] - c["y1"])
        keep = (c["score"] >= self.settings.min_score) & (area >= self.settings.min_area)
        if self._inside is not None:
            height, width = self._inside.shape
            u, v = np.clip(np.rint(c["u"]), 0, width - 1), np.clip(np.rint(c["v"]), 0, height - 1)
            keep &= self._inside[v.astype(np.int64), u.astype(np.int64)]
        return seen if keep.all() else seen.select(keep)
