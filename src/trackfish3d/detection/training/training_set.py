"""A training set for a segmenter: tiles of pictures and the outlines in them, in the layout that YOLO reads."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...core.errors import InputError
from ...core.files import MARK as OURS
from ...core.files import atomic_path, read_json, renew_folder, write_json
from ...core.progress import Progress
from ..base import DetectorSettings
from ..masks import kernels as mask_kernels
from ..masks.blobs import Blob
from ..masks.outlines import blob_from_mask, outline

Bytes = NDArray[np.uint8]
MARK = "set.json"
_EMPTY_TILES = 0.1  # share of tiles that lie anywhere, with animals or without
_LEAST = 12.0  # px^2 of a label in the tile; less is not worth learning


class SetSettings(DetectorSettings):
    """How pictures become a training set."""

    images: int = Field(400, ge=4, description="pictures of the set")
    size: int = Field(640, ge=64, le=8192, description="longer side of a picture as the network will see it, px")
    tile: int | None = Field(320, ge=64, le=8192, description="side of the square cut out of it; none: whole pictures")
    val_share: float = Field(0.15, gt=0, lt=1, description="share of each video, its end, that is not learnt from")
    trust: float = Field(0.5, ge=0, le=1, description="score below which an animal is painted over, not labelled")
    seed: int = Field(0, ge=0, description="same seed, same set")


@dataclass(frozen=True, eq=False)
class Example:
    """A picture ``rgb`` (H, W, 3), the ``animals`` in it, and those that are ``doubtful``; ``late``: not to learn from.

    ``name`` is that of its files.
    """

    name: str
    rgb: Bytes
    animals: list[Blob]
    doubtful: list[Blob] = field(default_factory=list)
    late: bool = False


@dataclass
class SetReport:
    """What was written: ``images`` and ``labels`` to learn from (train) and to choose by (val)."""

    folder: Path
    images: dict[str, int] = field(default_factory=lambda: {"train": 0, "val": 0})
    labels: dict[str, int] = field(default_factory=lambda: {"train": 0, "val": 0})

    @property
    def data(self) -> Path:
        """The file that names the parts."""
        return self.folder / "data.yaml"


def write_set(
    folder: Path,
    examples: Callable[[], Iterable[Example]],
    settings: SetSettings,
    source: dict[str, Any],
    progress: Progress | None = None,
) -> SetReport:
    """Write ``images/``, ``labels/`` and ``data.yaml``; a set of the same source and settings is left as it is.

    ``source`` says in plain values where the examples come from. What else is in the folder stays, and a folder that
    holds somebody's own pictures, labels or model under these names is refused.
    """
    stamp = json.loads(json.dumps({"settings": settings.model_dump(mode="json"), "source": source}))
    done = _read_mark(folder)
    if done is not None and done.get("stamp") == stamp:
        return SetReport(folder, done["images"], done["labels"])
    if done is not None:
        raise InputError(
            f"{folder}: holds a training set of other recordings or settings; give another folder to --train"
        )
    _refuse_foreign(folder)
    for name in ("images", "labels"):
        renew_folder(folder / name)
    report = SetReport(folder)
    for k, example in enumerate(examples()):
        part = "val" if example.late else "train"
        rgb, lines = cut_example(example, settings, np.random.default_rng([settings.seed, k]))
        _write_picture(folder / "images" / part / f"{example.name}.jpg", rgb)
        with atomic_path(folder / "labels" / part / f"{example.name}.txt") as temporary:
            temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        report.images[part] += 1
        report.labels[part] += len(lines)
        if progress is not None:
            progress(k + 1, settings.images)
    if not report.labels["train"] or not report.labels["val"]:
        raise InputError(f"{folder}: no animals to learn from were found; look at 'trackfish3d detect' and its preview")
    with atomic_path(report.data) as temporary:
        # an absolute path: ultralytics looks for a relative one in a folder of its own
        temporary.write_text(
            f"path: {json.dumps(str(folder.resolve()))}\ntrain: images/train\nval: images/val\nnames:\n  0: animal\n",
            encoding="utf-8",
        )
    write_json(folder / MARK, {"stamp": stamp, "images": report.images, "labels": report.labels})
    return report


def _read_mark(folder: Path) -> dict[str, Any] | None:
    """Return what the set in a folder was made of; None where there is none, nothing where that cannot be read."""
    if not (folder / MARK).exists():
        return None
    found = read_json(folder / MARK)
    return found if isinstance(found, dict) else {}


def _refuse_foreign(folder: Path) -> None:
    """Refuse what would be overwritten and was not left by an interrupted set of ours."""
    for name in ("images", "labels"):
        path = folder / name
        if path.is_symlink() or (path.exists() and not (path / OURS).is_file()):
            raise InputError(f"{path}: was not made by 'detect --train'; give another folder to --train")
    begun = (folder / "images").exists()
    for name in ("data.yaml", "model.pt", "fit"):
        if not begun and (folder / name).exists():
            raise InputError(f"{folder / name}: was not made by 'detect --train'; give another folder to --train")


def cut_example(example: Example, settings: SetSettings, rng: np.random.Generator) -> tuple[Bytes, list[str]]:
    """Picture (h, w, 3) of a tile, mostly with an animal in it, and a line of YOLO's labels for each animal."""
    rgb = example.rgb
    for blob in example.doubtful:
        rgb = hide(rgb, blob)
    height, width = rgb.shape[:2]
    scale = settings.size / max(height, width)
    left, top, right, bottom = _tile((width, height), example.animals, settings, scale, rng)
    lines = []
    for blob in example.animals:
        h, w = blob.mask.shape
        x0, x1 = max(left, blob.left), min(right, blob.left + w)
        y0, y1 = max(top, blob.top), min(bottom, blob.top + h)
        if x1 <= x0 or y1 <= y0:
            continue
        inside = blob.mask[y0 - blob.top : y1 - blob.top, x0 - blob.left : x1 - blob.left]
        cut = blob_from_mask(inside, x0 - left, y0 - top)
        if cut is None or cut.area * scale**2 < _LEAST:
            continue
        ring = (outline(cut) + 0.5) / [right - left, bottom - top]
        lines.append(" ".join(["0", *(f"{v:.5f}" for v in np.clip(ring, 0, 1).ravel())]))
    size = max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale))
    return _resized(rgb[top:bottom, left:right], size), lines


def _tile(
    size: tuple[int, int], animals: list[Blob], settings: SetSettings, scale: float, rng: np.random.Generator
) -> tuple[int, int, int, int]:
    """Rectangle of the picture, ends exclusive: the whole of it, or a square around some place in it."""
    if settings.tile is None:
        return 0, 0, *size
    spans = [min(round(settings.tile / scale), length) for length in size]
    if animals and rng.random() > _EMPTY_TILES:
        blob = animals[int(rng.integers(len(animals)))]
        middle = np.array([blob.left + blob.mask.shape[1] / 2, blob.top + blob.mask.shape[0] / 2])
        middle += rng.uniform(-0.35, 0.35, 2) * spans
    else:
        middle = rng.uniform(0, 1, 2) * size
    x, y = (int(np.clip(m - s / 2, 0, n - s)) for m, s, n in zip(middle, spans, size, strict=True))
    return x, y, x + spans[0], y + spans[1]


def hide(rgb: Bytes, blob: Blob, rim: int = 4) -> Bytes:
    """Return the picture with an animal painted over in the colour around it: neither to be learnt nor unlearnt."""
    height, width = rgb.shape[:2]
    padded = np.pad(blob.mask, 2 * rim)
    covered = mask_kernels.grow_mask(padded, rim) > 0
    ring = (mask_kernels.grow_mask(padded, 2 * rim) > 0) & ~covered
    out = rgb.copy()
    y, x = (a + o - 2 * rim for a, o in zip(np.nonzero(ring), (blob.top, blob.left), strict=True))
    inside = (y >= 0) & (x >= 0) & (y < height) & (x < width)
    colour = np.median(rgb[y[inside], x[inside]], axis=0) if inside.any() else np.full(3, 114)
    y, x = (a + o - 2 * rim for a, o in zip(np.nonzero(covered), (blob.top, blob.left), strict=True))
    inside = (y >= 0) & (x >= 0) & (y < height) & (x < width)
    out[y[inside], x[inside]] = colour.astype(np.uint8)
    return out


def _resized(rgb: Bytes, size: tuple[int, int]) -> Bytes:
    from PIL import Image

    if (rgb.shape[1], rgb.shape[0]) == size:
        return rgb
    return np.asarray(Image.fromarray(np.ascontiguousarray(rgb)).resize(size, Image.Resampling.BILINEAR))


def _write_picture(path: Path, rgb: Bytes) -> None:
    from PIL import Image

    with atomic_path(path) as temporary:
        Image.fromarray(np.ascontiguousarray(rgb)).save(temporary, quality=92, subsampling=0)


def read_labels(path: Path) -> Iterator[NDArray[np.float64]]:
    """Outlines (P, 2), in shares of the picture, of a label file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        yield np.array([float(v) for v in line.split()[1:]]).reshape(-1, 2)
