"""How hard a recording is, beside the published numbers: OccScore, %Overlap, audit of pseudo-labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.errors import InputError
from ..evaluation.difficulty import occlusion, pseudo_label_audit
from ..recordings import Recording


@dataclass(frozen=True)
class Difficulty:
    """Percentages, but for ``occ_score`` (0..1); NaN where the truth does not say enough."""

    fish: int
    frames: int
    cameras: int
    occ_score: float
    overlap: float
    audit_precision: float
    audit_recall: float
    detected: float
    visible: float


def difficulty(recording: Recording) -> Difficulty:
    """Measure a recording that has truth."""
    truth = recording.truth
    if truth is None:
        raise InputError(f"{recording.folder}: has no truth.parquet, and difficulty is measured against the truth")
    occ_score = overlap = precision = recall = detected = visible = np.nan
    if truth.x1 is not None and truth.y1 is not None and truth.x2 is not None and truth.y2 is not None:
        found = occlusion(truth.frame, np.stack([truth.x1, truth.y1, truth.x2, truth.y2], axis=-1))
        occ_score, overlap = found.occ_score, 100 * found.overlap
    if truth.detection is not None:
        detections = recording.detections
        audit = pseudo_label_audit(recording.rig, detections, truth.identities_of_detections(len(detections)))
        precision, recall = 100 * audit.precision, 100 * audit.recall
        detected = 100 * float((truth.detection >= 0).mean())
    if truth.visible is not None:
        visible = 100 * float(truth.visible.mean())
    return Difficulty(
        len(np.unique(truth.identity)),
        len(np.unique(truth.frame)),
        len(recording.rig),
        occ_score,
        overlap,
        precision,
        recall,
        detected,
        visible,
    )
