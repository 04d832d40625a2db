"""What training sees of a recording: detections, calibration and geometric pseudo-labels. Never truth."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ....cameras import CameraRig
from ....cameras.kernels import ray_one
from ....cameras.perturb import perturb_rig
from ....core.errors import InputError
from ....recordings import Detections, Recording
from ..features import Raw, raw_features, read_features
from ..labels import PseudoLabels

F32 = NDArray[np.float32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class TrainingScene:
    """One recording, ready to train on."""

    name: str
    rig: CameraRig
    detections: Detections
    raw: NDArray[np.float32]
    labels: PseudoLabels

    @classmethod
    def load(
        cls,
        folder: Path,
        cache: Path | None = None,
        features: Path | None = None,
        calibration_noise: float = 0.0,
        seed: int = 0,
    ) -> "TrainingScene":
        """Read a recording, and a features file of its detections; pseudo-labels are cached in `cache`.

        With `calibration_noise` the poses of its cameras are disturbed first, as in the paper's training-time test:
        features and pseudo-labels then come from the wrong geometry.
        """
        recording = Recording.open(folder)
        rig = recording.rig
        if calibration_noise:
            rig = perturb_rig(rig, calibration_noise, seed)
        extra = None if features is None else read_features(features, recording.detections)
        return cls.of(folder.name, rig, recording.detections, cache, extra)

    @classmethod
    def of(
        cls, name: str, rig: CameraRig, detections: Detections, cache: Path | None = None, extra: F32 | None = None
    ) -> "TrainingScene":
        """Make a scene of detections in memory, with more features (N, D) if given."""
        if len(rig) < 2:
            raise InputError(f"{name}: training needs two cameras; it has {len(rig)}")
        if not (np.diff(detections.frames) == 1).any():
            raise InputError(f"{name}: training needs two successive frames with detections; it has none")
        if cache is None:
            labels = PseudoLabels.compute(rig, detections)
        else:
            labels = PseudoLabels.cached(rig, detections, cache)
        if not len(labels.first):
            raise InputError(f"{name}: no pair of detections of two cameras agrees; is the calibration the right one?")
        return cls(name, rig, detections, raw_features(rig, detections, extra), labels)

    def agreed(self) -> "TrainingScene":
        """Return the scene with labels that all views agree on, see `PseudoLabels.agreed`."""
        labels = self.labels.agreed(self.detections)
        if not (labels.confidence > 0).any():
            raise InputError(f"{self.name}: no three views agree on an animal; train with --set agreed_labels=false")
        return replace(self, labels=labels)

    def crowded(self, copies: int, rng: np.random.Generator) -> "TrainingScene":
        """Return the scene laid over itself at `copies` times, at least a tenth of its length apart where that fits.

        Pairs of detections of different times are two animals for certain, so a recording of few animals teaches like
        one of many. Labels within each time stay. Meant for recordings of minutes: where the times are so near that
        animals have not moved, the same animal would count as two.
        """
        det, labels = self.detections, self.labels
        first, length = int(det.frames[0]), int(det.frames[-1] - det.frames[0]) + 1
        apart = max(length // (10 * copies), 1)
        moves = np.cumsum(np.append(0, rng.integers(apart, 3 * apart + 1, copies - 1)))
        pieces = [
            np.flatnonzero((det.frame >= first + m) & (det.frame < first + m + length - moves[-1])) for m in moves
        ]
        source = np.concatenate(pieces)
        frame = np.concatenate([det.frame[rows] - m for rows, m in zip(pieces, moves, strict=True)])
        order = np.lexsort((det.camera[source], frame))
        copy = np.repeat(np.arange(copies), [len(rows) for rows in pieces])
        place = np.full((copies, len(det)), -1, np.int64)  # new row of each old one, in each copy
        place[copy[order], source[order]] = np.arange(len(order))
        crowd = replace(det.select(source[order]), frame=frame[order])
        rows = det.offsets[np.repeat(np.arange(len(det.frames)), np.diff(labels.offsets))]
        one, other = (np.concatenate([p[rows + x] for p in place]) for x in (labels.first, labels.second))
        kept = np.flatnonzero(one >= 0)
        kept = kept[np.argsort(one[kept], kind="stable")]
        start = crowd.offsets[np.searchsorted(crowd.offsets, one[kept], "right") - 1]
        there = PseudoLabels(
            np.searchsorted(one[kept], crowd.offsets).astype(np.int64),
            (one[kept] - start).astype(np.int32),
            (other[kept] - start).astype(np.int32),
            np.tile(labels.confidence, copies)[kept],
        )
        return replace(self, detections=crowd, raw=self.raw[source[order]], labels=there)

    def windows(self, pairs: int, stride: int = 1, shift: int = 0) -> list[NDArray[np.int64]]:
        """Frames (indices) of windows of `pairs` pairs, `stride` frames apart, from the `shift`-th frame on.

        A pair is two frames whose numbers are `stride` apart; a dropped frame ends a window. Neighbouring windows
        share one frame, so that no pair is lost.
        """
        found = []
        number = self.detections.frames
        breaks = np.flatnonzero(np.diff(number) != 1) + 1
        for run in np.split(np.arange(len(number)), breaks):
            for first in range(stride):
                mine = run[first::stride]
                starts = range(shift - pairs if shift else 0, len(mine) - 1, pairs)
                cut = (mine[max(i, 0) : i + pairs + 1] for i in starts)
                found += [frames for frames in cut if len(frames) > 1]
        return found

    def clock(self, frames: NDArray[np.int64]) -> NDArray[np.int64]:
        """Time (B,) of a window's frames in its own steps: 1 apart, more where the recording misses frames."""
        number = self.detections.frames[frames]
        step = int(np.diff(number).min()) if len(number) > 1 else 1
        return np.asarray(number // step)

    def tokens(self, frames: NDArray[np.int64]) -> tuple[F32, Bools]:
        """Raw features (B, N, 9) of frames (B,), padded, and which of them are detections (B, N)."""
        return _tokens(self.raw, self.detections.offsets, frames)  # type: ignore[no-any-return]

    def dense_labels(self, frames: NDArray[np.int64], keep: Bools) -> tuple[NDArray[np.int8], F32]:
        """Labels G and confidences C (B, N, N) of frames (B,).

        -1 on pairs of one camera, on undecided ones, and where a detection is not in `keep` (B, N).
        """
        labels, det = self.labels, self.detections
        return _dense(  # type: ignore[no-any-return]
            det.camera, det.offsets, labels.offsets, labels.first, labels.second, labels.confidence, frames, keep
        )

    def jitter(self, frames: NDArray[np.int64], tokens: F32, shift: NDArray[np.float64]) -> None:
        """Move centroids of `tokens` (B, N, 9) by `shift` (B, N, 2) box sizes, and their rays with them."""
        sizes = np.array([c.size for c in self.rig], np.float64)
        _jitter(self.rig.packed, sizes, self.detections.camera, self.detections.offsets, frames, tokens, shift)


@njit(cache=True, nogil=True)
def _tokens(raw, offsets, frames):  # type: ignore[no-untyped-def]
    n = 1
    for f in frames:
        n = max(n, offsets[f + 1] - offsets[f])
    out = np.zeros((len(frames), n, raw.shape[1]), np.float32)
    mask = np.zeros((len(frames), n), np.bool_)
    for b in range(len(frames)):
        begin, end = offsets[frames[b]], offsets[frames[b] + 1]
        out[b, : end - begin] = raw[begin:end]
        mask[b, : end - begin] = True
    return out, mask


@njit(cache=True, nogil=True)
def _dense(camera, offsets, starts, first, second, confidence, frames, keep):  # type: ignore[no-untyped-def]
    blocks, n = keep.shape
    label = np.full((blocks, n, n), -1, np.int8)
    weight = np.zeros((blocks, n, n), np.float32)
    for b in range(blocks):
        f = frames[b]
        begin = offsets[f]
        for i in range(offsets[f + 1] - begin):
            for j in range(offsets[f + 1] - begin):
                if keep[b, i] and keep[b, j] and camera[begin + i] != camera[begin + j]:
                    label[b, i, j] = 0
        for p in range(starts[f], starts[f + 1]):
            i, j = first[p], second[p]
            if keep[b, i] and keep[b, j]:
                label[b, i, j] = 1 if confidence[p] > 0 else -1
                weight[b, i, j] = max(confidence[p], np.float32(0))
    return label, weight


@njit(cache=True, nogil=True)
def _jitter(packed, sizes, camera, offsets, frames, tokens, shift):  # type: ignore[no-untyped-def]
    for b in range(len(frames)):
        begin = offsets[frames[b]]
        for i in range(offsets[frames[b] + 1] - begin):
            c = camera[begin + i]
            u = tokens[b, i, Raw.U] + shift[b, i, 0] * tokens[b, i, Raw.WIDTH]
            v = tokens[b, i, Raw.V] + shift[b, i, 1] * tokens[b, i, Raw.HEIGHT]
            _, _, _, dx, dy, dz, ok = ray_one(packed[c], u * sizes[c, 0], v * sizes[c, 1])
            if ok:
                tokens[b, i, Raw.U], tokens[b, i, Raw.V] = u, v
                tokens[b, i, Raw.RAY_X], tokens[b, i, Raw.RAY_Y], tokens[b, i, Raw.RAY_Z] = dx, dy, dz
