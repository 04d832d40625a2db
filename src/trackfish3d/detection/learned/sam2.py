"""The ``sam2`` detector: outlines by SAM 2, prompted by the background detector or by a grid of points."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...core.device import pick_device
from ...media.video import Picture, Video
from ..background.detector import BackgroundDetector
from ..background.settings import BackgroundSettings
from ..base import FrameDetections
from ..masks.blobs import Blob
from ..masks.outlines import Placing, cut_mask, keep_distinct
from .common import LearnedDetector, WeightsSettings
from .torch_glue import use_threads
from .transformers_glue import image_facts, load_pretrained, picture_tensor, require_transformers

Array = NDArray[np.float64]
_PROMPTS_AT_ONCE = 32
_STEADY = 1.0  # logits by which the threshold moves to see whether a mask is steady
IMAGENET_MEAN, IMAGENET_STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


class Sam2Settings(WeightsSettings):
    """Settings of the SAM 2 detector."""

    weights: Path | None = Field(None, description="folder with config.json and model.safetensors; must be given")
    min_score: float = Field(0.5, ge=0, le=1, description="overlap that the network expects its mask to have")
    prompts: str = Field("background", pattern="^(background|grid)$", description="background (boxes) or grid (points)")
    margin: float = Field(0.05, ge=0, le=1, description="share by which a prompted box is larger than the animal")
    grid: int = Field(32, ge=1, le=128, description="points along the longer side, for prompts=grid")
    min_steadiness: float = Field(0.8, ge=0, le=1, description="overlap of a mask with itself at other thresholds")
    max_overlap: float = Field(0.7, gt=0, le=1, description="overlap of two masks above which the weaker goes")
    max_share: float = Field(0.1, gt=0, le=1, description="share of the picture above which a mask is no animal")


class Sam2Detector(LearnedDetector):
    """SAM 2 on single pictures. It knows things, not animals: something else has to point at them."""

    name = "sam2"
    Settings = Sam2Settings
    kind = "folder"
    example = "FOLDER"

    def check_packages(self) -> None:
        """Raise where transformers is missing."""
        require_transformers("sam", "detector sam2")

    def load(self, video: Video, threads: int) -> list[str]:
        """Load the network, and let the background detector learn where it prompts."""
        from transformers import Sam2Model

        s: Sam2Settings = self.settings
        folder = Path(s.weights)  # type: ignore[arg-type]
        self._device = pick_device(s.device)
        use_threads(threads)
        self._model = load_pretrained(Sam2Model, folder).to(self._device)
        side = int(self._model.config.prompt_encoder_config.image_size)
        self._facts = image_facts(folder, side, IMAGENET_MEAN, IMAGENET_STD)
        self._facts["size"] = side, side
        self._size = video.size
        self._finder: BackgroundDetector | None = None
        if s.prompts == "background":
            self._finder = BackgroundDetector(BackgroundSettings(region=s.region))
            return self._finder.prepare(video, threads)
        return []

    def describe(self) -> dict[str, Any]:
        """Return what the weights are, and what the background detector has learnt."""
        learnt = {} if self._finder is None else self._finder.describe()
        return {"device": self._device, "size": self._facts["size"][0], **learnt}

    def state(self) -> dict[str, NDArray[Any]]:
        """State of the background detector, if it prompts."""
        return {} if self._finder is None else self._finder.state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up a `state`."""
        if self._finder is not None:
            self._finder.restore(state)

    def look(self, picture: Picture) -> FrameDetections:
        """Prompt the network, and keep steady, distinct masks of the size of animals."""
        prompts = self._prompts(picture)
        if not len(prompts):
            return FrameDetections.from_masks([], np.zeros(0))
        blobs, score = self._masks(picture, prompts)
        kept = keep_distinct(blobs, score, self.settings.max_overlap)
        return FrameDetections.from_masks([blobs[k] for k in kept], score[kept])

    def _prompts(self, picture: Picture) -> Array:
        """(P, 4) boxes or (P, 2) points, px of the picture."""
        s: Sam2Settings = self.settings
        if self._finder is not None:
            c = self._finder.see(picture).columns
            boxes = np.column_stack([c["x1"], c["y1"], c["x2"], c["y2"]])
            grow = s.margin * np.maximum(boxes[:, 2:] - boxes[:, :2], 1)
            return np.concatenate([boxes[:, :2] - grow, boxes[:, 2:] + grow], axis=1)
        width, height = self._size
        step = max(width, height) / s.grid
        x, y = (np.arange(step / 2, length, step) - 0.5 for length in (width, height))
        return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)

    def _masks(self, picture: Picture, prompts: Array) -> tuple[list[Blob], Array]:
        """Masks that the network draws for prompts, and the overlap with the truth that it expects of each."""
        import torch

        s: Sam2Settings = self.settings
        width, height = self._size
        side = self._facts["size"][0]
        boxed = prompts.shape[1] == 4
        scale = np.array([side / width, side / height] * (2 if boxed else 1))
        places = torch.as_tensor((prompts + 0.5) * scale, dtype=torch.float32, device=self._device)[None]
        blobs: list[Blob] = []
        scores: list[float] = []
        with torch.inference_mode():
            seen = self._model.get_image_embeddings(picture_tensor(picture.rgb, self._facts, self._device))
            for k in range(0, len(prompts), _PROMPTS_AT_ONCE):
                some = places[:, k : k + _PROMPTS_AT_ONCE]
                asked = {"input_boxes": some} if boxed else {"input_points": some[:, :, None]}
                out = self._model(image_embeddings=seen, multimask_output=not boxed, **asked)
                levels = out.pred_masks[0].flatten(0, 1).float().cpu().numpy()
                expected = out.iou_scores[0].flatten().float().cpu().numpy()
                for level, value in zip(levels, expected, strict=True):
                    if value < s.min_score or _steadiness(level) < s.min_steadiness:
                        continue
                    blob = cut_mask(level, Placing.stretched(level.shape, self._size), self._size)
                    if blob is not None and blob.area <= s.max_share * width * height:
                        blobs.append(blob)
                        scores.append(float(np.clip(value, 0, 1)))
        return blobs, np.array(scores)


def _steadiness(level: NDArray[np.float32]) -> float:
    """Overlap of the masks at a threshold a little higher and a little lower."""
    wide = int((level > -_STEADY).sum())
    return int((level > _STEADY).sum()) / wide if wide else 0.0
