"""What the network learns from: cut-outs of pictures whose animals a second look has told apart."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...media.video import Picture, Video
from ..again.look import SecondLook
from ..background.detector import BackgroundDetector
from ..base import FrameDetections
from ..masks import kernels as mask_kernels
from ..masks.blobs import Blob
from .cells import CHANNELS, Floats, owners, show

Bytes = NDArray[np.uint8]
SIDE = 96
"""Cells of a cut-out's side."""
DOUBTFUL, NAMED = 255, 250
"""Owner of cells of which nobody knows, and the first number that no animal of a cut-out has."""
_WARM, _TAKEN, _APART = 6, 4, 2  # frames of a stretch that are watched, taken, and from one taken to the next
STRETCH = _WARM + _TAKEN * _APART
"""Frames of a stretch."""
_BEFORE = 24  # frames before a stretch that a detector by itself watches: it tells animals apart by where they were
_MARGIN = 10  # cells by which animals are off the middle of their cut-out, at most
_INSIDE = 0.5  # share of a cell's pixels that make it an animal's
_WHOLE = 0.85  # visible share from which an animal may be laid over others


@dataclass(frozen=True, eq=False)
class Lessons:
    """Cut-outs of one view.

    Attributes
    ----------
    cells : (N, 2, S, S) float16 what the network sees.
    owner : (N, S, S) uint8 whose each cell is, 0 of nobody, `DOUBTFUL` where unknown.
    single : (N,) the animal in the middle, 1.., if it is whole and apart from others; 0 of none.
    usual : area of an animal, cells.
    """

    cells: NDArray[np.float16]
    owner: Bytes
    single: Bytes
    usual: float

    @classmethod
    def concat(cls, parts: "list[Lessons]") -> "Lessons":
        """Return the lessons of several views together."""
        usual = float(np.mean([p.usual for p in parts]))
        cells, owner, single = (np.concatenate([getattr(p, n) for p in parts]) for n in ("cells", "owner", "single"))
        return cls(cells, owner, single, usual)

    def __len__(self) -> int:
        return len(self.single)


def stretches_for(video: Video, pictures: int, share: float) -> tuple[list[int], list[int]]:
    """Return first frames of stretches to learn from, and of those of the film's end that are held back.

    Parameters
    ----------
    video : the film.
    pictures : to take, in all.
    share : of the film's end to hold back.
    """
    border = max(round((1 - share) * video.count), 0)
    early, late = (
        video.stretch(a, b).sample_numbers(
            min(max(1, round(pictures * part / _TAKEN)), max(1, (b - a) // STRETCH)), STRETCH
        )
        for a, b, part in ((0, border, 1 - share), (border, video.count, share))
    )
    return early, [border + n for n in late]


def taken_frames(video: Video, start: int) -> list[int]:
    """Numbers of the frames of a stretch that are taken."""
    return [n for n in range(start + _WARM, start + STRETCH, _APART) if n < video.count]


def watch(video: Video, look: SecondLook, start: int) -> "list[tuple[Picture, Floats, Bytes, FrameDetections]]":
    """Look at a stretch; returns picture, background, deviations and what was seen, of the frames taken.

    Parameters
    ----------
    video : the film.
    look : prepared for it, of the background detector.
    start : first frame of the stretch.
    """
    inner = look.inner
    assert isinstance(inner, BackgroundDetector)
    inner.forget()
    wanted = set(taken_frames(video, start))
    out = []
    for picture in video.at(range(start, min(start + STRETCH, video.count))):
        if picture.number not in wanted:
            look.see(picture)
            continue
        here = look.expected.at(picture.number + look.shift)
        level = inner.stands_out(picture, here.boxes)[1]
        before = inner.background.now.copy()
        out.append((picture, before, level, look.see(picture)))
    return out


def lessons_of(video: Video, look: SecondLook, starts: list[int], factor: int, seed: list[int]) -> Lessons:
    """Cut out every animal of the frames taken of stretches.

    Parameters
    ----------
    video : the film.
    look : prepared for it, of the background detector.
    starts : first frames of the stretches.
    factor : pixels of a cell's side.
    seed : of where the cut-outs lie.
    """
    inner = look.inner
    assert isinstance(inner, BackgroundDetector)
    rng = np.random.default_rng(seed)
    cells, owner, single = [], [], []
    for start in starts:
        for picture, background, level, seen in watch(video, look, start):
            masks = list(seen.masks or ())
            visible = seen.columns["visible"]
            painted = _painted(masks, visible, level.shape)
            for k in np.flatnonzero(np.isfinite(visible)).tolist():
                box = _box_around(masks[k], factor, rng)
                whose = np.zeros((SIDE, SIDE), np.uint8)
                owners(painted, box[0], box[1], factor, _INSIDE, whose)
                cells.append(show(picture.grey, background, level, box, factor).astype(np.float16))
                owner.append(whose)
                alone = visible[k] >= _WHOLE and not _touches(whose, k + 1)
                single.append(k + 1 if alone and k + 1 < NAMED else 0)
    n = len(single)
    return Lessons(
        np.array(cells, np.float16).reshape(n, CHANNELS, SIDE, SIDE),
        np.array(owner, np.uint8).reshape(n, SIDE, SIDE),
        np.array(single, np.uint8),
        inner.appearance.typical / factor**2,
    )


def _painted(masks: list[Blob], visible: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Whose each pixel (H, W) is, 1.. by row; `DOUBTFUL` of masks that no track explains."""
    out = np.zeros(shape, np.int32)
    for k, blob in enumerate(masks):
        h, w = blob.mask.shape
        there = out[blob.top : blob.top + h, blob.left : blob.left + w]
        there[blob.mask > 0] = k + 1 if np.isfinite(visible[k]) and k + 1 < NAMED else DOUBTFUL
    return out


def _box_around(blob: Blob, factor: int, rng: np.random.Generator) -> tuple[int, int, int, int]:
    """Box of cells around an animal, somewhat off its middle."""
    h, w = blob.mask.shape
    left, top = ((p + s // 2) // factor - SIDE // 2 for p, s in ((blob.left, w), (blob.top, h)))
    off = rng.integers(-_MARGIN, _MARGIN + 1, 2).tolist()
    return left + off[0], top + off[1], SIDE, SIDE


def _touches(owner: Bytes, k: int) -> bool:
    """Whether an animal has another's cells beside it, or none."""
    mine = (owner == k).astype(np.uint8)
    near = mask_kernels.grow_mask(np.pad(mine, 2), 2)[2:-2, 2:-2]
    return not mine.any() or bool(((owner > 0) & (owner != k) & (near > 0)).any())


def first_look(detector: BackgroundDetector, video: Video, start: int) -> dict[int, FrameDetections]:
    """Return what a detector by itself sees in the frames taken of a stretch, by number.

    Parameters
    ----------
    detector : prepared for the film.
    video : the film.
    start : first frame of the stretch.
    """
    detector.forget()
    stretch = range(max(start - _BEFORE, 0), min(start + STRETCH, video.count))
    seen = {p.number: detector.see(p) for p in video.at(stretch)}
    return {n: seen[n] for n in taken_frames(video, start) if n in seen}
