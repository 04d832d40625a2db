"""The examination of a recording and its plain words."""

from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..recordings import Recording
from .agreement import Matches, Sample, ViewErrors, pair_errors, typical
from .clock import SHIFTS, late_by, shift_table
from .water import WaterFit, guess_water, typical_error

_CHANCE_LAGS = (37, 61, 97)


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
    """Everything `trackfish3d check` says. ``problems`` is empty for a recording that is good to track."""

    cameras: tuple[CameraHealth, ...]
    typical_error_px: float
    chance_error_px: float
    other_water_px: float
    water: WaterFit | None
    problems: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers, for JSON."""
        return asdict(self) | {"shifts": SHIFTS.tolist(), "good": not self.problems}


def examine(recording: Recording, frames: int = 200) -> Health:
    """Examine a recording's cameras from its detections alone."""
    rig, detections = recording.rig, recording.detections
    sample = Sample.draw(detections, frames)
    if len(rig) < 2:
        alone = _camera(recording, sample, 0, {}, 0, np.zeros(len(SHIFTS)))
        return Health((alone,), np.nan, np.nan, np.nan, None, ("only one camera: 3D needs two or more",))
    views = [ViewErrors.of(sample, camera, c) for c, camera in enumerate(rig)]
    table = shift_table(sample, views)
    late = late_by(table, len(rig), sample.cap_px)
    pairs = {(a, b): pair_errors(sample, views[a], views[b]) for a, b in combinations(range(len(rig)), 2)}
    per_shift = [np.mean([_curve(table, c, b) for b in range(len(rig)) if b != c], axis=0) for c in range(len(rig))]
    cameras = tuple(_camera(recording, sample, c, pairs, int(late[c]), per_shift[c]) for c in range(len(rig)))
    error = typical_error(sample, views)
    chance = _chance(sample, views)
    water, other = None, np.nan
    if rig.refractive:
        other = typical_error(sample, [ViewErrors.of(sample, c.without_water(), i) for i, c in enumerate(rig)])
    elif np.isfinite(error) and not late.any():
        water = guess_water(Sample.draw(detections, 60), rig)
    offsets = recording.info.time_offset_frames
    problems = _problems(rig, cameras, pairs, error, chance, other, water, sample.cap_px, offsets)
    return Health(cameras, error, chance, other, water, tuple(problems))


def _curve(table: dict[tuple[int, int], NDArray[np.float64]], c: int, b: int) -> NDArray[np.float64]:
    """(S,) mean error of camera c against b if c were late by each of `SHIFTS`."""
    error = table[min(b, c), max(b, c)]
    known = np.isfinite(error)
    mean = np.where(known, error, 0.0).sum(1) / np.maximum(known.sum(1), 1)
    mean = np.where(known.any(1), mean, np.nan)
    return np.asarray(mean if c > b else mean[::-1])


def _chance(sample: Sample, views: list[ViewErrors]) -> float:
    """Typical error of matching views of different times: what no agreement at all looks like."""
    errors = [pair_errors(sample, views[0], views[b], lag).error for b in range(1, len(views)) for lag in _CHANCE_LAGS]
    return typical(np.concatenate(errors))


def _camera(
    recording: Recording,
    sample: Sample,
    c: int,
    pairs: dict[tuple[int, int], Matches],
    late: int,
    curve: NDArray[np.float64],
) -> CameraHealth:
    det = recording.detections
    frames = np.unique(det.frame[det.camera == c])
    step = np.diff(frames)
    mine = [m for (a, b), m in pairs.items() if c in (a, b)]
    medians = [float(np.median(m.error)) for m in mine if len(m.error)]
    residual = float(np.median(medians)) if medians else np.nan
    partners = set()
    for (a, b), m in pairs.items():
        if c in (a, b):
            good = m.error <= 3 * max(residual, 1.0)
            partners |= set((m.first if c == a else m.second)[good].tolist())
    n_sampled = sum(sample.rows(f, c).stop - sample.rows(f, c).start for f in sample.frames.tolist())
    return CameraHealth(
        name=recording.rig[c].name,
        frames=len(frames),
        detections=int((det.camera == c).sum()),
        gaps=int((step > 1).sum()),
        missing_frames=int((step - 1).sum()) if len(step) else 0,
        residual_px=residual,
        partner_share=len(partners) / n_sampled if n_sampled else 0.0,
        late_frames=late,
        shift_error_px=tuple(float(x) for x in curve),
    )


def _problems(
    rig: CameraRig,
    cameras: tuple[CameraHealth, ...],
    pairs: dict[tuple[int, int], Matches],
    error: float,
    chance: float,
    other_water: float,
    water: WaterFit | None,
    cap_px: float,
    offsets: dict[str, int],
) -> list[str]:
    problems = [f"camera {c.name}: no detections" for c in cameras if not c.detections]
    for c in cameras:
        if c.late_frames:
            unit = "frame" if abs(c.late_frames) == 1 else "frames"
            word = f"{unit} late" if c.late_frames > 0 else f"{unit} early"
            problems.append(
                f"camera {c.name}: {abs(c.late_frames)} {word}; "
                f"set time_offset_frames.{c.name} = {offsets.get(c.name, 0) - c.late_frames} in recording.toml"
            )
    if problems:
        return problems  # what follows would only be their consequence
    if water is not None and water.missing:
        return [
            f"water is missing: {water.without_px:.1f} px as calibrated, {water.with_px:.1f} px with a flat surface "
            f"({'; '.join(water.surfaces)}); add interfaces to cameras.toml"
        ]
    if np.isfinite(other_water) and other_water < 0.9 * error:
        problems.append(
            f"the water makes it worse: {error:.1f} px with, {other_water:.1f} px without; check its planes"
        )
    if not error < 0.9 * chance:
        return [
            *problems,
            f"the cameras do not agree at all ({error:.1f} px, {chance:.1f} px by chance); wrong calibration?",
        ]
    return problems + _blame(rig, cameras, pairs, cap_px)


def _blame(
    rig: CameraRig, cameras: tuple[CameraHealth, ...], pairs: dict[tuple[int, int], Matches], cap_px: float
) -> list[str]:
    """Name cameras whose residual is far above that of the pairs they are not in, or too large for the animals."""
    median = {k: float(np.median(m.error)) for k, m in pairs.items() if len(m.error)}
    found = []
    for c, camera in enumerate(cameras):
        others = [e for k, e in median.items() if c not in k]
        mine = [e for k, e in median.items() if c in k]
        if others and mine and np.median(mine) > max(1.6 * np.median(others), 1.5, 0.03 * cap_px):
            found.append(
                f"camera {camera.name}: {np.median(mine):.1f} px, recalibrate "
                f"(the others agree to {np.median(others):.1f} px)"
            )
    if not found:
        limit = max(3.0, 0.25 * cap_px)
        for (a, b), e in median.items():
            if e > limit:
                found.append(
                    f"cameras {rig[a].name} and {rig[b].name}: {e:.1f} px apart, recalibrate (boxes allow {limit:.1f})"
                )
    return found
