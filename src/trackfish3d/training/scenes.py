"""What training sees of a recording: detections, calibration and geometric pseudo-labels. Never truth."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..association.features import raw_features
from ..association.pseudolabels import PseudoLabels
from ..cameras import CameraRig
from ..errors import InputError
from ..recordings import Detections, Recording


@dataclass(frozen=True)
class Scene:
    """One recording, ready to train on."""

    name: str
    rig: CameraRig
    detections: Detections
    raw: NDArray[np.float32]
    labels: PseudoLabels

    @classmethod
    def load(cls, folder: Path, cache: Path) -> "Scene":
        """Read a recording; pseudo-labels are cached in `cache`."""
        recording = Recording.open(folder)
        detections = recording.detections
        if len(recording.rig) < 2 or len(detections.frames) < 2:
            raise InputError(f"{folder}: training needs two cameras and two frames with detections")
        return cls(
            folder.name,
            recording.rig,
            detections,
            raw_features(recording.rig, detections),
            PseudoLabels.cached(recording.rig, detections, cache),
        )

    def windows(self, pairs: int) -> list[NDArray[np.int64]]:
        """Frames (indices) of consecutive windows of `pairs` pairs; neighbours share one frame.

        A pair is two frames whose numbers follow each other; a dropped frame ends a window.
        """
        found = []
        number = self.detections.frames
        breaks = np.flatnonzero(np.diff(number) != 1) + 1
        for run in np.split(np.arange(len(number)), breaks):
            found += [run[i : i + pairs + 1] for i in range(0, len(run) - 1, pairs)]
        return found


def dense_labels(
    scene: Scene, frames: NDArray[np.int64], keep: NDArray[np.bool_], width: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Labels G and confidences C (B, width, width) of frames; -1 on padding, pairs of one camera, dropped detections.

    `keep` (N,) tells which of the scene's detections take part.
    """
    det, labels = scene.detections, scene.labels
    label = np.full((len(frames), width, width), -1, np.int8)
    confidence = np.zeros((len(frames), width, width), np.float32)
    for b, frame in enumerate(frames.tolist()):
        rows = det.at(frame)
        camera = det.camera[rows]
        n = len(camera)
        known = keep[rows]
        label[b, :n, :n] = np.where((camera[:, None] != camera[None]) & known[:, None] & known[None], 0, -1)
        pairs = slice(labels.offsets[frame], labels.offsets[frame + 1])
        i, j = labels.first[pairs], labels.second[pairs]
        both = known[i] & known[j]
        label[b, i[both], j[both]] = 1
        confidence[b, i[both], j[both]] = labels.confidence[pairs][both]
    return label, confidence
