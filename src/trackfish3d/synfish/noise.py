"""The paper's noise protocols, on any recording: extrinsic noise of the cameras, and noise of the detections."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..cameras import CameraRig
from ..cameras.perturb import perturb_rig
from ..core.errors import InputError
from ..recordings import Detections, Recording, Truth
from ..recordings.detections import MOMENTS

# Scores of injected false positives: Beta with mean 0.85, narrow enough to look like a marginal detection.
_BETA = (17.0, 3.0)


def perturb_detections(
    detections: Detections, rig: CameraRig, sigma: float, seed: int
) -> tuple[Detections, np.ndarray]:
    """Drop detections and inject false ones.

    Each detection is dropped with probability ``sigma``; a view of a frame with n detections gets floor(sigma n)
    false ones, and one more with the remaining probability. A false one has the shape of a real one of the same
    camera, drawn at random, at a random place in the image, and a Beta score of mean 0.85.

    Returns
    -------
    noisy : Detections
    new_row : (N,) int64
        Where each old row went, -1 where it was dropped.
    """
    if not 0 <= sigma < 1:
        raise InputError(f"sigma {sigma} of the detection noise is a probability: give 0 <= sigma < 1")
    rng = np.random.default_rng(seed)
    keep = rng.random(len(detections)) >= sigma
    cells, counts = np.unique(
        np.stack([detections.frame, detections.camera.astype(np.int64)]), axis=1, return_counts=True
    )
    expected = sigma * counts
    extra = np.floor(expected).astype(np.int64) + (rng.random(len(counts)) < expected - np.floor(expected))
    frame, camera = np.repeat(cells[0], extra), np.repeat(cells[1], extra)
    model = np.zeros(len(frame), np.int64)
    for c in range(len(rig)):
        mine = np.flatnonzero(camera == c)
        model[mine] = rng.choice(np.flatnonzero(detections.camera == c), len(mine)) if len(mine) else 0
    names = ["u", "v", "x1", "y1", "x2", "y2", "score", *(MOMENTS if detections.has_moments else ())]
    fake = {name: getattr(detections, name)[model] for name in names}
    sizes = np.array([c.size for c in rig], float)[camera]
    for k, (pixel, low, high) in enumerate((("u", "x1", "x2"), ("v", "y1", "y2"))):
        half = np.minimum(0.5 * (fake[high] - fake[low]), 0.5 * sizes[:, k])
        shift = rng.uniform(half - 0.5, sizes[:, k] - 0.5 - half) - 0.5 * (fake[low] + fake[high])
        for name in (pixel, low, high):
            fake[name] = fake[name] + shift
    fake["score"] = rng.beta(*_BETA, len(frame))
    frames = np.concatenate([detections.frame[keep], frame])
    cameras = np.concatenate([detections.camera[keep].astype(np.int64), camera])
    columns: dict[str, Any] = {name: np.concatenate([getattr(detections, name)[keep], fake[name]]) for name in names}
    noisy = Detections.build(detections.cameras, frames, cameras, **columns)
    order = np.lexsort((cameras, frames))  # the order that `build` gives
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    new_row = np.full(len(detections), -1, np.int64)
    new_row[np.flatnonzero(keep)] = place[: int(keep.sum())]
    return noisy, new_row


def remap_truth(truth: Truth, new_row: np.ndarray) -> Truth:
    """Return the truth with its detection rows moved to where `perturb_detections` put them."""
    if truth.detection is None:
        return truth
    moved = np.where(truth.detection >= 0, new_row[np.maximum(truth.detection, 0)], -1)
    return replace(truth, detection=moved)


def _write(
    recording: Recording, folder: Path, rig: CameraRig, detections: Detections, truth: Truth | None, what: str
) -> Recording:
    if folder.resolve() == recording.folder.resolve():
        raise InputError(f"{folder}: is the recording itself; give another folder to --out")
    info = recording.info
    # Detections are on the common clock here, so the copy has no time offsets.
    return Recording.create(
        folder,
        rig,
        fps=info.fps,
        detections=detections,
        truth=truth,
        frames=(info.first_frame, info.frame_count),
        description=f"{info.description} + {what}".lstrip(" +"),
    )


def add_calibration_noise(recording: Recording, folder: Path, sigma: float, seed: int) -> Recording:
    """Write a copy of a recording (without videos) whose cameras are off by ``sigma`` degrees and world units."""
    rig = perturb_rig(recording.rig, sigma, seed)
    what = f"calibration noise {sigma:g}, seed {seed}"
    return _write(recording, folder, rig, recording.detections, recording.truth, what)


def add_detection_noise(recording: Recording, folder: Path, sigma: float, seed: int) -> Recording:
    """Write a copy of a recording (without videos) with dropped and false detections at level ``sigma``."""
    noisy, new_row = perturb_detections(recording.detections, recording.rig, sigma, seed)
    truth = None if recording.truth is None else remap_truth(recording.truth, new_row)
    return _write(recording, folder, recording.rig, noisy, truth, f"detection noise {sigma:g}, seed {seed}")
