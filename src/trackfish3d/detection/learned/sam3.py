"""The ``sam3`` detector: every animal that a word names, by SAM 3."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...core.device import pick_device
from ...core.errors import InputError
from ...media.video import Picture, Video
from ..base import FrameDetections
from ..masks.blobs import Blob
from ..masks.outlines import Placing, cut_mask, keep_distinct
from .common import LearnedDetector, WeightsSettings
from .torch_glue import use_threads
from .transformers_glue import image_facts, load_pretrained, picture_tensor, require_transformers

_VISUAL = "visual"  # the word with which the network was trained to take boxes alone


class Sam3Settings(WeightsSettings):
    """Settings of the SAM 3 detector."""

    weights: Path | None = Field(None, description="folder with config.json, model.safetensors and tokenizer; needed")
    text: str | None = Field("fish", description="what to find, in a word or two; none: only by boxes")
    boxes: str | None = Field(
        None, description="examples in the picture, 'x1,y1,x2,y2 x1,y1,x2,y2', px; everything alike is found"
    )
    min_score: float = Field(0.3, ge=0, le=1, description="score below which a detection is left out")
    max_overlap: float = Field(0.7, gt=0, le=1, description="overlap of two masks above which the weaker goes")


class Sam3Detector(LearnedDetector):
    """SAM 3 on single pictures, prompted by words, by boxes of examples, or by both."""

    name = "sam3"
    Settings = Sam3Settings
    kind = "folder"
    example = "FOLDER"

    def check_packages(self) -> None:
        """Raise where transformers is missing."""
        require_transformers("sam", "detector sam3")

    def load(self, video: Video, threads: int) -> list[str]:
        """Load network and tokenizer, and translate the prompt."""
        from transformers import Sam3Model

        s: Sam3Settings = self.settings
        folder = Path(s.weights)  # type: ignore[arg-type]
        self._size = video.size
        self._prompt: dict[str, Any] = {}
        if s.boxes is not None:
            self._prompt["input_boxes"] = parse_boxes(s.boxes, video.size)
        elif s.text is None:
            raise InputError("detector sam3: give --set text=fish, or boxes of examples with --set boxes=x1,y1,x2,y2")
        self._device = pick_device(s.device)
        use_threads(threads)
        self._model = load_pretrained(Sam3Model, folder).to(self._device)
        self._facts = image_facts(folder, int(self._model.config.image_size), 0.5, 0.5)
        side = int(self._model.config.image_size)
        self._facts["size"] = side, side
        self._prompt |= self._words(folder, s.text or _VISUAL)
        self._prompt = {k: _tensor(v, self._device) for k, v in self._prompt.items()}
        return []

    def _words(self, folder: Path, text: str) -> dict[str, Any]:
        from transformers import AutoTokenizer

        length = int(self._model.config.text_config.max_position_embeddings)
        if not any((folder / name).is_file() for name in ("tokenizer.json", "vocab.json")):
            # transformers would make an empty one, for which all words are the same
            raise InputError(f"{folder}: has no tokenizer.json; words need the tokenizer that came with the weights")
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
            tokens = tokenizer(text, padding="max_length", max_length=length, truncation=True, return_tensors="np")
        except Exception as error:  # whatever missing and damaged files make tokenizers raise
            text = " ".join(str(error).split())[:160] or type(error).__name__
            raise InputError(f"{folder}: its tokenizer cannot be loaded ({text})") from None
        return {name: np.asarray(tokens[name]) for name in ("input_ids", "attention_mask")}

    def describe(self) -> dict[str, Any]:
        """Return what the weights are."""
        return {"device": self._device, "size": self._facts["size"][0]}

    def look(self, picture: Picture) -> FrameDetections:
        """Ask for everything that the prompt means, and keep distinct masks."""
        import torch

        s: Sam3Settings = self.settings
        with torch.inference_mode():
            out = self._model(pixel_values=picture_tensor(picture.rgb, self._facts, self._device), **self._prompt)
            score = out.pred_logits[0].sigmoid()
            if out.presence_logits is not None:
                score = score * out.presence_logits[0].sigmoid()
            score = score.flatten().double().cpu().numpy()
            wanted = np.flatnonzero(score >= s.min_score)
            levels = out.pred_masks[0, wanted].float().sigmoid().cpu().numpy()
        blobs: list[Blob] = []
        scores = []
        for level, value in zip(levels, score[wanted], strict=True):
            blob = cut_mask(level, Placing.stretched(level.shape, self._size), self._size, threshold=0.5)
            if blob is not None:
                blobs.append(blob)
                scores.append(min(float(value), 1.0))
        kept = keep_distinct(blobs, np.array(scores), s.max_overlap)
        return FrameDetections.from_masks([blobs[k] for k in kept], np.array(scores)[kept])


def _tensor(values: NDArray[Any], device: str) -> Any:
    import torch

    kind = torch.float32 if values.dtype.kind == "f" else torch.int64
    return torch.as_tensor(values, dtype=kind, device=device)


def parse_boxes(text: str, size: tuple[int, int]) -> NDArray[np.float64]:
    """(1, B, 4) middle and size of boxes written as ``x1,y1,x2,y2 ...`` (px), in shares of the picture."""
    try:
        boxes = np.array([[float(n) for n in box.split(",")] for box in text.split()])
        if boxes.ndim != 2 or boxes.shape[1] != 4 or not np.isfinite(boxes).all():
            raise ValueError
    except ValueError:
        raise InputError(f"boxes '{text}': write each as x1,y1,x2,y2 with spaces between them") from None
    low, high = boxes[:, :2] + 0.5, boxes[:, 2:] + 0.5
    if (high <= low).any() or (low < 0).any() or (high > np.array(size) + 0.5).any():
        raise InputError(f"boxes '{text}': a box is empty or outside the {size[0]}x{size[1]} picture")
    return np.concatenate([(low + high) / 2 / size, (high - low) / size], axis=1)[None]
