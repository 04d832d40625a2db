"""The ``taught`` detector: what stands out from the background, divided by a network that was taught on such films."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...core.errors import InputError
from ...media.video import Picture, Video
from ..background.appearance import Appearance
from ..background.detector import BackgroundDetector
from ..background.ellipse_tracker import EllipseTracker
from ..background.settings import BackgroundSettings
from ..background.split import looks_single
from ..learned.onnx import open_session, require_onnxruntime
from ..masks.blobs import Blob, split_labels
from .cells import LARGEST, MULTIPLE, Floats, show
from .decode import animals, label_pixels

MADE_BY = "trackfish3d.taught"
_MARGIN = 4  # cells around a blob that the network sees too
_FEW = 0.35  # typical areas below which a piece is nobody's


class TaughtSettings(BackgroundSettings):
    """Settings of the taught detector."""

    weights: Path | None = Field(
        None, description="network taught on this recording or another of the same tank, FILE.onnx; taught if not given"
    )
    pictures: int = Field(160, ge=8, description="pictures of each film that teaching looks at")
    held_out: float = Field(0.2, gt=0, lt=1, description="share of each film, its end, that judges what was taught")
    steps: int = Field(1200, ge=1, description="steps of teaching, of 16 examples each")
    seed: int = Field(0, ge=0, description="of teaching: same seed and lessons, same weights")


class TaughtDetector(BackgroundDetector):
    """The background detector, whose blobs a network divides before they are followed."""

    name = "taught"
    Settings = TaughtSettings

    def ready(self) -> None:
        """Raise where there are no weights, or nothing to run them."""
        weights: Path | None = self.settings.weights
        if weights is None:
            raise InputError(
                "detector taught: has no weights; 'trackfish3d detect REC --detector taught' teaches them, "
                "and --weights FILE.onnx takes those of another recording of the same tank"
            )
        require_onnxruntime()
        if not weights.is_file():
            raise InputError(f"{weights}: no such file; give the weights that another recording was taught")

    def stamp(self) -> dict[str, Any]:
        """Size and time of the weights."""
        path: Path | None = self.settings.weights
        if path is None or not path.is_file():
            return {}
        return {"weights": [path.name, path.stat().st_size, path.stat().st_mtime]}

    def prepare(self, video: Video, threads: int = 1) -> list[str]:
        """Load the network, and learn background and animals."""
        self.ready()
        weights: Path = self.settings.weights
        self._network = Network(weights, threads)
        notes = super().prepare(video, threads)
        if self.appearance.weak:
            notes.append(f"{video.path.name}: animals hardly differ from the background; the network is not asked")
        return notes

    @classmethod
    def like(cls, prepared: BackgroundDetector, network: "Network") -> "TaughtDetector":
        """Return one that shares what a background detector has learnt of a film.

        Parameters
        ----------
        prepared : for the film.
        network : that divides.
        """
        out = cls.__new__(cls)
        vars(out).update(vars(prepared))
        out._network = network
        return out

    def divide(self, picture: Picture, blobs: list[Blob], level: NDArray[np.uint8], apart: int) -> list[Blob]:
        """Divide blobs that do not look like one animal, as the network says.

        Where several animals were a moment ago, what they looked like then tells more than the network. Bodies that
        are laid over animals which hardly differ from the background divide blobs by themselves.

        Parameters
        ----------
        picture : that they are of.
        blobs : what stands out.
        level : (H, W) deviations.
        apart : frames since the last picture.
        """
        appearance = self.appearance
        if not isinstance(self.memory, EllipseTracker):
            return blobs
        out: list[Blob] = []
        for blob, known in zip(blobs, self.memory.claims(blobs, apart).tolist(), strict=True):
            if known > 1 or looks_single(blob, appearance):
                out.append(blob)
            else:
                out += self._network.divide(picture.grey, self.background.now, level, blob, appearance)
        return out


class Network:
    """A taught network, ready to look at parts of pictures.

    Parameters
    ----------
    path : its file.
    threads : it may use.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        self._session = open_session(path, "cpu", threads)
        facts = self._session.get_modelmeta().custom_metadata_map
        try:
            ours = facts.get("made_by") == MADE_BY
            self.reach, self.factor = (float(facts["reach"]), int(facts["factor"])) if ours else (0.0, 0)
        except (KeyError, ValueError):
            ours = False
        if not ours or not 1 <= self.factor <= LARGEST or [p.name for p in self._session.get_inputs()] != ["cells"]:
            raise InputError(f"{path}: was not taught by 'trackfish3d detect --detector taught'")

    def tell(self, cells: Floats) -> Floats:
        """Return logit of an animal and the way to its middle, cells, (3, h, w) of what cells show (2, h, w)."""
        told: Floats = self._session.run(None, {"cells": cells[None]})[0][0]
        told[1:] *= self.reach
        return told

    def divide(
        self,
        grey: NDArray[np.uint8],
        background: Floats,
        level: NDArray[np.uint8],
        blob: Blob,
        appearance: Appearance,
    ) -> list[Blob]:
        """Return the animals of a blob, or itself where the network knows none.

        Parameters
        ----------
        grey : (H, W) the picture.
        background : (H, W) what it would show without animals.
        level : (H, W) deviations.
        blob : what stands out.
        appearance : what animals look like.
        """
        factor = self.factor
        box = _box(blob, factor)
        owner, count = animals(self.tell(show(grey, background, level, box, factor)), appearance.typical / factor**2)
        if not count:
            return [blob]
        labels = np.zeros(blob.mask.shape, np.int32)
        label_pixels(owner, box[0], box[1], factor, blob.mask, blob.left, blob.top, labels)
        least = max(appearance.smallest, _FEW * appearance.typical)
        return split_labels(labels, count, blob.left, blob.top, level, least) or [blob]


def _box(blob: Blob, factor: int) -> tuple[int, int, int, int]:
    """Box of cells around a blob: left, top, width, height."""
    h, w = blob.mask.shape
    left, top = blob.left // factor - _MARGIN, blob.top // factor - _MARGIN
    right, bottom = (blob.left + w - 1) // factor + _MARGIN + 1, (blob.top + h - 1) // factor + _MARGIN + 1
    wide, high = (-(-n // MULTIPLE) * MULTIPLE for n in (right - left, bottom - top))
    return left, top, wide, high
