"""The examination of a recording and its plain words."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..recordings import Recording
from .agreement import Sample
from .clock import SHIFTS, Table, shift_table
from .evidence import Evidence
from .facts import plain_facts
from .findings import Finding, doubt
from .intake import Activity, Intake, take_in
from .reasons import find_causes
from .water import WaterFit


@dataclass(frozen=True)
class CameraHealth:
    """What one camera delivers.

    ``residual_px``: median error, in the two views of a pair, of its matched detections; ``partner_share``: share of
    its detections with a partner within three times that in some other view.
    """

    name: str
    frames: int
    detections: int
    gaps: int
    missing_frames: int
    residual_px: float
    partner_share: float
    late_frames: int
    shift_error_px: tuple[float, ...]


@dataclass(frozen=True)
class Health:
    """Everything `trackfish3d check` says.

    Attributes
    ----------
    cameras : what is known of each.
    typical_error_px : of detections matched between pairs of views: the mean of the best four fifths.
    chance_error_px : the same of views moved so far that nothing belongs together.
    other_water_px : the same as the first without the water that the calibration has; NaN where it has none.
    water : where the water would have to be, where some seems to be missing.
    frames : of the recording.
    frames_compared : those that were looked at.
    shifts : delays, in frames, of each camera's ``shift_error_px``.
    findings : what is wrong and what cannot be told, the most important first.
    """

    cameras: tuple[CameraHealth, ...]
    typical_error_px: float
    chance_error_px: float
    other_water_px: float
    water: WaterFit | None
    frames: int
    frames_compared: int
    shifts: tuple[int, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong; empty for a recording that is good to track."""
        return tuple(f.text for f in self.findings if f.wrong)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said without being wrong: that something cannot be told, and why."""
        return tuple(f.text for f in self.findings if not f.wrong)

    @property
    def summary(self) -> str:
        """One line: what is wrong, or that nothing is; and what cannot be told."""
        known = np.isfinite(self.typical_error_px)
        agree = f"the cameras agree to {self.typical_error_px:.1f} px" if known else "the cameras were not compared"
        fine = f"nothing wrong was found, {agree}" if self.notes or not known else f"good, {agree}"
        return "; ".join([*(self.problems or (fine,)), *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers, for JSON."""
        more = {"problems": self.problems, "notes": self.notes, "good": not self.problems}
        plain: dict[str, Any] = _plain(asdict(self) | more)
        return plain


def examine(recording: Recording, frames: int = 200) -> Health:
    """Examine a recording's cameras from its detections alone."""
    return judge(recording, take_in(recording), frames)


def judge(recording: Recording, intake: Intake, frames: int = 200) -> Health:
    """Examine what was read of a recording, comparing at most so many frames."""
    rig = recording.rig
    diagonal = float(np.mean([np.hypot(*c.size) for c in rig]))
    sample = Sample.draw(intake.detections, frames, diagonal_px=diagonal)
    evidence = Evidence(rig, sample)
    total = len(intake.frames)
    shifts = tuple((SHIFTS * sample.step).tolist())
    facts = plain_facts(rig, intake) if len(rig) > 1 else []
    if len(rig) < 2 or not len(sample.frames):
        if len(rig) < 2:
            facts = [doubt("anything about calibration or clocks, because there is only one camera: 3D needs two")]
        cameras = tuple(_camera(evidence, intake.activity[c], c, {}, 0) for c in range(len(rig)))
        return Health(cameras, np.nan, np.nan, np.nan, None, total, 0, shifts, tuple(facts))
    table = shift_table(sample, evidence.views)
    causes = find_causes(evidence, table, recording.info.time_offset_frames) if not facts else None
    findings = facts if causes is None else causes.findings
    late = {f.cameras[0]: f.late_frames for f in findings if f.kind == "clock" and f.wrong}
    cameras = tuple(_camera(evidence, intake.activity[c], c, table, late.get(rig[c].name, 0)) for c in range(len(rig)))
    water = None if causes is None else causes.water
    other = evidence.dry if rig.refractive else np.nan
    overall, chance = evidence.overall, evidence.overall_chance
    return Health(cameras, overall, chance, other, water, total, len(sample.frames), shifts, tuple(findings))


def _plain(value: Any) -> Any:
    """Return the same with None for numbers that are not known: JSON has no NaN."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _camera(evidence: Evidence, activity: Activity, c: int, table: Table, late: int) -> CameraHealth:
    step = np.diff(activity.frame)
    usual = int(np.median(step)) if len(step) else 1
    missing = step // max(usual, 1) - 1
    residual, share = _agreement(evidence, c) if table else (np.nan, 0.0)
    return CameraHealth(
        name=evidence.rig[c].name,
        frames=len(activity.frame),
        detections=int(activity.count.sum()),
        gaps=int((missing > 0).sum()),
        missing_frames=int(missing[missing > 0].sum()),
        residual_px=residual,
        partner_share=share,
        late_frames=late,
        shift_error_px=tuple(_curve(table, c, evidence.rig)),
    )


def _agreement(evidence: Evidence, c: int) -> tuple[float, float]:
    """Residual of a camera, px, and the share of its detections that have a partner."""
    mine = [(m, m.first if pair[0] == c else m.second) for pair, m in evidence.matches.items() if c in pair]
    medians = [float(np.median(m.error)) for m, _ in mine if len(m.error)]
    if not medians:
        return np.nan, 0.0
    residual = float(np.median(medians))
    partners = np.unique(np.concatenate([rows[m.error <= 3 * max(residual, 1.0)] for m, rows in mine]))
    view = evidence.views[c]
    sampled = int(np.isin(view.frame, evidence.sample.frames).sum())
    return residual, len(partners) / sampled if sampled else 0.0


def _curve(table: Table, c: int, rig: CameraRig) -> NDArray[np.float64]:
    """(S,) mean error of camera c against the others if it were late by each of `SHIFTS`."""
    curves = []
    for (a, b), error in table.items():
        if c in (a, b):
            known = np.isfinite(error)
            mean = np.where(known, error, 0.0).sum(1) / np.maximum(known.sum(1), 1)
            mean = np.where(known.any(1), mean, np.nan)
            curves.append(mean if c == b else mean[::-1])
    if not curves:
        return np.zeros(len(SHIFTS))
    known_curves = np.stack(curves)
    count = np.isfinite(known_curves).sum(0)
    return np.asarray(np.where(count > 0, np.nansum(known_curves, 0) / np.maximum(count, 1), np.nan))
