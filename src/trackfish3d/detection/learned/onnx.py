"""The ``onnx`` detector: any exported detector, through onnxruntime."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...core.errors import InputError, MissingExtraError
from ...media.video import Picture, Video
from ..base import FrameDetections
from ..masks.outlines import Placing, cut_mask, distinct_boxes
from .common import LearnedDetector, WeightsSettings
from .onnx_outputs import LAYOUTS, Found, guess_layout, read_outputs

Floats = NDArray[np.float32]
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
_GREY = 114  # level of the border around a picture, as YOLO is trained


class OnnxSettings(WeightsSettings):
    """Settings of the ONNX detector. What is None is taken from the file."""

    weights: Path | None = Field(None, description="exported network, FILE.onnx; must be given")
    size: int | None = Field(None, ge=32, le=8192, description="longer side the network sees, where the file is open")
    layout: str | None = Field(None, pattern=f"^({'|'.join(LAYOUTS)})$", description=f"one of {', '.join(LAYOUTS)}")
    fit: str | None = Field(
        None, pattern="^(letterbox|stretch)$", description="keep the picture's shape, or stretch it (detr)"
    )
    mean: str | None = Field(None, description="level taken off each colour, 0..1: one number or three; 0")
    std: str | None = Field(None, description="what each colour is divided by then: one number or three; 1")
    max_overlap: float = Field(0.7, gt=0, le=1, description="overlap of two boxes above which the weaker goes")
    max_animals: int = Field(300, ge=1, description="detections in a picture at most")
    classes: str | None = Field(None, description="numbers or names of the classes to keep, with commas; all")


def require_onnxruntime() -> Any:
    """Return the onnxruntime module, or an error that says which extra brings it."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError("onnxruntime", "onnx", "detector onnx") from None
    return onnxruntime


@dataclass(frozen=True)
class Fit:
    """How a picture comes into a network's input of ``size`` (width, height): scaled to ``inner``, put at ``start``."""

    size: tuple[int, int]
    inner: tuple[int, int]
    start: tuple[int, int]

    @classmethod
    def of(cls, picture: tuple[int, int], size: tuple[int, int], stretch: bool) -> "Fit":
        """Fit a picture (width, height) into the input, its shape kept and in the middle, or stretched."""
        if stretch:
            return cls(size, size, (0, 0))
        gain = min(size[0] / picture[0], size[1] / picture[1])
        inner = max(1, round(picture[0] * gain)), max(1, round(picture[1] * gain))
        start = tuple(round((s - i) / 2 - 0.1) for s, i in zip(size, inner, strict=True))
        return cls(size, inner, (start[0], start[1]))

    def placing(self, picture: tuple[int, int]) -> Placing:
        """Where the input lies on the picture (width, height)."""
        ax, ay = self.inner[0] / picture[0], self.inner[1] / picture[1]
        return Placing(ax, 0.5 * ax - 0.5 + self.start[0], ay, 0.5 * ay - 0.5 + self.start[1])

    def bring(self, picture: Picture) -> NDArray[np.uint8]:
        """Return the input (h, w, 3) of a picture, grey around it."""
        frame = picture.frame
        if (frame.width, frame.height) != self.inner:
            frame = frame.reformat(width=self.inner[0], height=self.inner[1], format="rgb24", interpolation="BILINEAR")
        out = np.full((self.size[1], self.size[0], 3), _GREY, np.uint8)
        x, y = self.start
        out[y : y + self.inner[1], x : x + self.inner[0]] = frame.to_ndarray(format="rgb24")
        return out


class OnnxDetector(LearnedDetector):
    """An exported detector, with or without masks; see `onnx_outputs` for the layouts that are understood."""

    name = "onnx"
    Settings = OnnxSettings
    example = "FILE.onnx"

    def check_packages(self) -> None:
        """Raise where onnxruntime is missing."""
        require_onnxruntime()

    def load(self, video: Video, threads: int) -> list[str]:
        """Load the network and find out how it wants its picture and what it answers."""
        s: OnnxSettings = self.settings
        self._session = open_session(Path(s.weights), s.device, threads)  # type: ignore[arg-type]
        facts = self._session.get_modelmeta().custom_metadata_map
        self._names = _names(facts.get("names", ""))
        self._input = self._session.get_inputs()[0]
        self._channels_last, size = self._input_size(video.size, facts)
        outputs = [(o.name, _shape(o.shape)) for o in self._session.get_outputs()]
        self._layout = s.layout
        if self._layout is None and all(all(n > 0 for n in shape) for _, shape in outputs):
            self._layout = guess_layout(outputs, len(self._names) or None)
        stretch = s.fit == "stretch" if s.fit else self._layout == "detr"
        self._fit = Fit.of(video.size, size, stretch)
        self._placing = self._fit.placing(video.size)
        self._mean, self._std = _colours(s.mean, 0.0), _colours(s.std, 1.0)
        self._size = video.size
        self._wanted: NDArray[np.int64] | None = None
        if s.classes is not None:
            self._wanted = np.array([self._class(p.strip()) for p in s.classes.split(",")])
        answer = self._run(np.zeros((size[1], size[0], 3), np.uint8))
        if self._layout is None:  # shapes that were open are known now
            self._layout = guess_layout([(n, v.shape) for n, v in answer], len(self._names) or None)
        self._masked = self._read(answer).masked
        return []

    def _input_size(self, picture: tuple[int, int], facts: dict[str, str]) -> tuple[bool, tuple[int, int]]:
        """Whether colours come last, and width and height of the network's input."""
        s: OnnxSettings = self.settings
        shape = _shape(self._input.shape)
        if len(shape) != 4 or self._input.type not in _TYPES or 3 not in (shape[1], shape[3]) or shape[0] > 1:
            raise InputError(
                f"{s.weights}: its input '{self._input.name}' is {self._input.type} {self._input.shape}; one "
                "picture of three colours, (1, 3, height, width), as float, half or byte is needed"
            )
        last = shape[1] != 3
        height, width = shape[1:3] if last else shape[2:]
        if s.size is not None or min(height, width) <= 0:
            side = s.size or max(_numbers(facts.get("imgsz", "")), default=640)
            height, width = (n if n > 0 else side for n in (height, width))
            if s.size is not None and max(height, width) != s.size:
                raise InputError(f"{s.weights}: was exported for {width}x{height} px; leave out the setting size")
        return last, (width, height)

    def _class(self, text: str) -> int:
        for number, name in self._names.items():
            if text in (name, str(number)):
                return number
        if text.isdigit() and not self._names:
            return int(text)
        known = ", ".join(f"{k} {n}" for k, n in list(self._names.items())[:12])
        raise InputError(f"{self.settings.weights}: has no class '{text}'; it has {known or 'numbers only'}")

    def describe(self) -> dict[str, Any]:
        """Return how the network is fed and read."""
        return {"layout": self._layout, "input": list(self._fit.size), "masks": self._masked}

    def _run(self, rgb: NDArray[np.uint8]) -> list[tuple[str, Floats]]:
        """Run the network on an input (h, w, 3)."""
        kind = _TYPES[self._input.type]
        values: NDArray[Any] = rgb
        if kind is not np.uint8:
            values = ((rgb.astype(np.float32) / 255 - self._mean) / self._std).astype(kind)
        if not self._channels_last:
            values = values.transpose(2, 0, 1)
        try:
            out = self._session.run(None, {self._input.name: np.ascontiguousarray(values[None])})
        except Exception as error:  # onnxruntime's errors have no common base
            text = " ".join(str(error).split())[:200]
            raise InputError(f"{self.settings.weights}: does not run ({text})") from None
        named = [o.name for o in self._session.get_outputs()]
        arrays = [v.astype(np.float32, copy=False) if v.dtype.kind == "f" else v for v in map(np.asarray, out)]
        return list(zip(named, arrays, strict=True))

    def _read(self, answer: list[tuple[str, Floats]]) -> Found:
        shapes = ", ".join(f"{n} {tuple(v.shape)}" for n, v in answer)
        if self._layout is None:
            raise InputError(
                f"{self.settings.weights}: its outputs are not understood ({shapes}); export it as one of the layouts "
                f"{', '.join(LAYOUTS)} of docs/detect.md, or name its layout with --set layout=NAME"
            )
        try:
            return read_outputs(self._layout, answer, self._fit.size, len(self._names) or None)
        except (ValueError, IndexError, StopIteration) as error:
            why = str(error) or "shapes differ"
            raise InputError(
                f"{self.settings.weights}: outputs {shapes} are not of layout {self._layout}: {why}"
            ) from None

    def look(self, picture: Picture) -> FrameDetections:
        """Run the network on a picture."""
        s: OnnxSettings = self.settings
        found = self._read(self._run(self._fit.bring(picture)))
        keep = (found.score >= max(s.min_score, 1e-6)) & np.isfinite(found.boxes).all(1)
        if self._wanted is not None:
            keep &= np.isin(found.kind, self._wanted)
        rows = np.flatnonzero(keep)
        rows = rows[np.argsort(-found.score[rows], kind="stable")]
        found = found.select(rows)
        if found.doubles and len(rows):
            found = found.select(np.flatnonzero(distinct_boxes(found.boxes.astype(np.float64), s.max_overlap)))
        found = found.select(np.arange(min(len(found.score), s.max_animals)))
        return self._seen(found)

    def _seen(self, found: Found) -> FrameDetections:
        """Boxes, or masks inside boxes, in pixels of the picture."""
        width, height = self._size
        boxes = self._placing.boxes_in_picture(found.boxes.astype(np.float64))
        boxes = np.clip(boxes, -0.5, np.array([width, height] * 2) - 0.5)
        score = np.clip(found.score.astype(np.float64), 0, 1)
        real = np.flatnonzero((boxes[:, 2:] > boxes[:, :2]).all(1))
        if not self._masked:
            return FrameDetections.from_boxes(boxes[real], score[real])
        blobs, kept = [], []
        for k in real.tolist():
            level = found.map_of(k)
            if level is None:
                continue
            factor = self._fit.size[0] / level.shape[1], self._fit.size[1] / level.shape[0]
            blob = cut_mask(level, self._placing.coarser(*factor), self._size, within=boxes[k])
            if blob is not None:
                blobs.append(blob)
                kept.append(k)
        return FrameDetections.from_masks(blobs, score[kept])


def open_session(path: Path, device: str | None, threads: int) -> Any:
    """Open an onnxruntime session of a file, on a GPU where there is one for it."""
    ort = require_onnxruntime()
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    there = ort.get_available_providers()
    wanted = [p for p in ("CUDAExecutionProvider", "CoreMLExecutionProvider") if p in there]
    if device is not None and device.startswith("cuda") and "CUDAExecutionProvider" not in there:
        raise InputError(f"device {device}: this onnxruntime has no CUDA; install onnxruntime-gpu instead")
    providers = ["CPUExecutionProvider"] if device == "cpu" else [*wanted, "CPUExecutionProvider"]
    try:
        return ort.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # onnxruntime's errors have no common base
        text = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: cannot be loaded as an ONNX network ({text})") from None


def _shape(shape: list[Any]) -> tuple[int, ...]:
    """Sizes of axes; -1 where they are open."""
    return tuple(n if isinstance(n, int) else -1 for n in shape)


def _names(text: str) -> dict[int, str]:
    """Classes that an exporter wrote into the file, as the text of a dict or list."""
    try:
        said = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return {}
    pairs = said.items() if isinstance(said, dict) else enumerate(said) if isinstance(said, list | tuple) else ()
    return {int(k): str(n) for k, n in pairs if str(k).isdigit()}


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.strip("[]() ").replace(",", " ").split() if word.isdigit()]


def _colours(text: str | None, default: float) -> Floats:
    """One number, or one a colour."""
    if text is None:
        return np.full(3, default, np.float32)
    try:
        values = np.array([float(v) for v in text.split(",")], np.float32)
        if len(values) not in (1, 3) or not np.isfinite(values).all() or (default == 1.0 and not values.all()):
            raise ValueError
    except ValueError:
        raise InputError(f"detector onnx: '{text}' is not one number or three with commas between") from None
    return np.broadcast_to(values, (3,)).astype(np.float32)
