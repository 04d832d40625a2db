"""Blobs of one picture explained by the animals that the tracks expect in it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..background import ellipse_kernels
from ..background.appearance import Appearance
from ..background.body_fit import complete
from ..background.split import divide_by_shape
from ..masks import kernels as mask_kernels
from ..masks.blobs import QUARTERS, Blob, split_labels
from . import share_kernels
from .expected import Expected

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]
_ROUNDS = 4
_HIDDEN = 0.15  # share of an animal that must be seen of it, or it is hidden
_FAINT, _FAINT_SHARE = 2.5, 0.1  # standard deviations, and share of the contrast, of a pixel of a faint animal
_COVERED = 0.4  # of a faint animal that must be seen
CANDIDATE = 0.6  # of its score, what a blob keeps that no track explains
_MARGIN = 2  # pixels around regions


@dataclass(frozen=True, eq=False)
class Explained:
    """What one picture shows: ``masks``, their scores (K,), the tracks they are of (K,), -1 of none.

    ``visible`` (K,) share of each animal that is not hidden, NaN where no track tells how large it is.
    """

    masks: list[Blob]
    score: Array
    track: NDArray[np.int64]
    visible: Array


def explain(blobs: list[Blob], level: Bytes, here: Expected, appearance: Appearance, clear: float) -> Explained:
    """Share what stands out in a picture among the animals that should be there.

    Parameters
    ----------
    blobs : what stands out, undivided.
    level : (H, W) deviations, quarters of a standard deviation.
    here : animals that are expected.
    appearance : what animals look like in this view.
    clear : level that a blob must reach which nobody expects.
    """
    touch = touching(blobs, here)
    found: list[tuple[Blob, int, float]] = []
    fresh: list[Blob] = []
    missing = set(range(len(here)))
    for region, bodies in groups(touch):
        if not bodies:
            fresh += [piece for b in region for piece in divide_by_shape(blobs[b], level, appearance)]
            continue
        shared, rest = share_region([blobs[b] for b in region], here.of(np.array(bodies)), level, appearance)
        for k, blob, visible in shared:
            found.append((blob, bodies[k], visible))
            missing.discard(bodies[k])
        fresh += rest
    own = np.array([k for _, k, _ in found], np.int64)
    masks = complete([b for b, *_ in found], level, appearance)
    shown = [v for *_, v in found]
    for k in sorted(missing):
        dim = _faint(here, k, level, masks, appearance)
        if dim is not None:
            masks.append(dim)
            own = np.append(own, k)
            shown.append(min(dim.area / here.area[k], 1.0))
    new = [b for b in fresh if b.level >= clear and appearance.believes(b)]
    score = appearance.score([*masks, *new])
    score[len(masks) :] *= CANDIDATE
    track = np.append(here.track[own], np.full(len(new), -1))
    return Explained([*masks, *new], score, track, np.append(shown, np.full(len(new), np.nan)))


def touching(blobs: list[Blob], here: Expected) -> NDArray[np.bool_]:
    """(B, N) whether a pixel of a blob lies in the ellipse of an animal."""
    out = np.zeros((len(blobs), len(here)), np.bool_)
    boxes = here.boxes
    for b, blob in enumerate(blobs):
        h, w = blob.mask.shape
        near = np.flatnonzero(
            (boxes[:, 0] < blob.left + w)
            & (boxes[:, 2] > blob.left)
            & (boxes[:, 1] < blob.top + h)
            & (boxes[:, 3] > blob.top)
        )
        if len(near):
            inside = ellipse_kernels.overlaps(blob.mask, blob.left, blob.top, here.mean[near], here.cov[near])
            out[b, near] = inside > 0.1 * np.minimum(here.area[near], blob.area)
    return out


def groups(touch: NDArray[np.bool_]) -> list[tuple[list[int], list[int]]]:
    """Blobs and animals that hang together; blobs alone, one by one."""
    out, left = [], set(range(touch.shape[0]))
    for first in range(touch.shape[0]):
        if first not in left:
            continue
        region, bodies, todo = {first}, set[int](), [first]
        while todo:
            b = todo.pop()
            for k in np.flatnonzero(touch[b]).tolist():
                if k not in bodies:
                    bodies.add(k)
                    more = [c for c in np.flatnonzero(touch[:, k]).tolist() if c not in region]
                    region.update(more)
                    todo += more
        left -= region
        out.append((sorted(region), sorted(bodies)))
    return out


def share_region(
    blobs: list[Blob], here: Expected, level: Bytes, appearance: Appearance
) -> tuple[list[tuple[int, Blob, float]], list[Blob]]:
    """Share a region among its animals; returns animal, mask and visible share of each, and what nobody explains."""
    order = np.argsort(here.depth, kind="stable")
    mask, left, top = _canvas(blobs, here, level.shape)
    alive = np.ones(len(here), np.bool_)
    owner = np.zeros(mask.shape, np.int32)
    while True:
        mean, cov = here.mean[order].copy(), here.cov[order].copy()
        slack = here.slack[order]
        count, _, full = share_kernels.share(mask, left, top, mean, cov, slack, alive, _ROUNDS, owner)
        least = np.maximum(_HIDDEN * full, 0.5 * appearance.smallest)
        hidden = np.flatnonzero(alive & (count < least))
        if not len(hidden) or alive.sum() == 1:
            break
        alive[hidden[np.argmin((count / np.maximum(full, 1))[hidden])]] = False
    out = []
    for k in np.flatnonzero(alive & (count >= appearance.smallest)).tolist():
        piece = split_labels((owner == k + 1).astype(np.int32), 1, left, top, level, 1)
        if piece:
            out.append((int(order[k]), piece[0], float(min(count[k] / max(full[k], 1.0), 1.0))))
    labels, parts = mask_kernels.label_mask(((mask > 0) & (owner == 0)).astype(np.uint8))
    rest = split_labels(labels, parts, left, top, level, appearance.smallest)
    return out, rest


def _canvas(blobs: list[Blob], here: Expected, shape: tuple[int, ...]) -> tuple[Bytes, int, int]:
    """Mask (h, w) of blobs on a canvas that holds the ellipses of the animals too; its first pixel's x and y."""
    boxes = [[b.left, b.top, b.left + b.mask.shape[1], b.top + b.mask.shape[0]] for b in blobs]
    every = np.concatenate([np.array(boxes, float).reshape(-1, 4), here.boxes])
    left, top = (max(int(v) - _MARGIN, 0) for v in np.floor(every[:, :2].min(0)))
    right, bottom = (int(v) + _MARGIN for v in np.ceil(every[:, 2:].max(0)))
    right, bottom = min(right, shape[1]), min(bottom, shape[0])
    mask = np.zeros((bottom - top, right - left), np.uint8)
    for b in blobs:
        h, w = b.mask.shape
        mask[b.top - top : b.top - top + h, b.left - left : b.left - left + w] |= b.mask
    return mask, left, top


def _faint(here: Expected, k: int, level: Bytes, others: list[Blob], appearance: Appearance) -> Blob | None:
    """Mask of an animal that hardly differs from the background where it should be; None where no pixel shows it."""
    empty, left, top = _canvas([], here.of(np.array([k])), level.shape)
    h, w = empty.shape
    if not h or not w:
        return None
    there = level[top : top + h, left : left + w]
    inside = _distances(here, k, empty.shape, left, top) < share_kernels.EDGE
    mask = inside & (there >= max(_FAINT * QUARTERS, _FAINT_SHARE * appearance.level))
    taken = np.zeros(mask.shape, np.bool_)
    for blob in others:
        mask_kernels.paint(blob.mask, blob.left - left, blob.top - top, 0, taken)
    mask &= ~taken
    if mask.sum() < max(_COVERED * inside.sum(), appearance.smallest):
        return None
    edge = appearance.close + 1
    closed = mask_kernels.close_mask(np.pad(mask.astype(np.uint8), edge), appearance.close)
    pieces = split_labels(closed.astype(np.int32), 1, left - edge, top - edge, level, 1)
    return pieces[0] if pieces else None


def _distances(here: Expected, k: int, shape: tuple[int, ...], left: int, top: int) -> Array:
    """Squared distance (h, w) of pixels from one animal, in deviations of its ellipse."""
    dx = (np.arange(left, left + shape[1]) - here.mean[k, 0])[None, :]
    dy = (np.arange(top, top + shape[0]) - here.mean[k, 1])[:, None]
    xx, xy, yy = here.cov[k]
    return np.asarray((yy * dx * dx - 2 * xy * dx * dy + xx * dy * dy) / max(xx * yy - xy * xy, 1e-6))
