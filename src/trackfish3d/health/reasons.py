"""Which of the possible causes is to blame, and how that is said."""

from dataclasses import dataclass

import numpy as np

from .causes import (
    Explanation,
    angle_between_rays,
    calibration,
    clocks,
    swapped,
    water_missing,
    water_moved,
    water_off,
)
from .clock import Table
from .evidence import Evidence
from .findings import Finding, doubt, percent
from .water import WaterFit

_LEAST_FRAMES = 5
_LEAST_ANGLE = 1.0  # degrees between two rays below which they tell no depth
_LEAST_PLACES = 1.8  # of animals, a body apart, without which a wrong camera looks like wrong detections
_WORTH_DOUBT_PX = 3.0  # error of animals at one place that is worth a word
_WORTH_PX = 1.0  # error below which nobody asks for water
_ALONE = 0.97  # probability of an explanation without a rival
_ALIKE = 1.5  # times the error that is left: two causes fit alike
_EXPLAINS = 0.6  # of the error may be left when a cause is taken away
_HANDICAP = {"swapped": 0.6, "clock": 0.6, "water missing": 0.7, "water wrong": 1.1, "focal": 1.15, "pose": 1.35}


@dataclass(frozen=True)
class Causes:
    """What was found, and the guess at missing water if one was made."""

    findings: list[Finding]
    water: WaterFit | None = None


def find_causes(e: Evidence, table: Table, offsets: dict[str, int]) -> Causes:
    """Look for what makes the cameras disagree, if they do."""
    frames = len(e.sample.frames)
    if frames < _LEAST_FRAMES:
        return Causes([doubt(f"much, because two cameras saw something together in {frames} frames only")])
    angle = angle_between_rays(e)
    if angle < _LEAST_ANGLE:
        text = (
            f"no parallax: the cameras are at one place (rays meet at {angle:.1f} degrees), so that depth is not seen"
        )
        return Causes([Finding("no parallax", f"{text}; move them apart", e.rig.names)])
    suspicious = any(e.suspicious(p) for p in e.pairs)
    late = clocks(e, table)
    guess = water_missing(e) if suspicious or e.as_is > _WORTH_PX else None
    water = None if guess is None else guess.water
    explanations = [x for x in late if x.shift is not None and x.shift.sure]
    explanations += water_off(e)
    if suspicious:
        explanations += [x for x in (swapped(e), *water_moved(e), *calibration(e)) if x is not None]
    explanations += [guess] if guess is not None else []
    accepted = sorted((x for x in explanations if _explains(e, x) and not _by_chance(e, x)), key=_rank)
    if accepted and not _clock_instead(accepted[0], late):
        return Causes(_say(e, accepted, offsets), water)
    return Causes(_left_over(e, late, explanations), water)


def _clock_instead(best: Explanation, late: list[Explanation]) -> bool:
    """Whether a clock that was not shown would do what another calibration does: then neither is advised."""
    if best.kind != "calibration" or best.refit is None:
        return False
    return any(x.after_px < _ALIKE * best.refit.after_px for x in late)


def _key(x: Explanation) -> str:
    return x.also if x.kind == "calibration" else x.kind


def _rank(x: Explanation) -> float:
    return x.after_px * _HANDICAP[_key(x)]


def _explains(e: Evidence, x: Explanation) -> bool:
    if x.kind == "clock":
        return True
    before, after = e.as_is, x.after_px
    if x.kind == "calibration" and x.refit is not None:
        before, after = x.refit.before_px, x.refit.after_px
    if e.places < _LEAST_PLACES:
        return x.kind == "swapped" and after < 0.3 * before
    if x.kind == "water missing":
        return bool(after < 0.7 * before and before - after > 0.3)
    if x.also == "none" and len(e.rig) > 2:
        return bool(after < 0.75 * before and before - after > 0.25)
    if x.also == "none":  # with two cameras centroids that lean along few bodies could feign it
        return bool(after < 0.4 * before and before - after > 1.2 and e.places > 2.5)
    if x.kind == "swapped" and all(e.out_of_time(p) for p in e.pairs if set(p) & set(x.cameras)):
        return bool(after < _EXPLAINS * before)
    worth = max(3.5, 0.04 * e.sample.size_px, 0.0013 * e.sample.diagonal_px)  # good calibrations have so much
    others = [error for pair, error in e.error.items() if not set(pair) & set(x.cameras) and np.isfinite(error)]
    if x.kind == "calibration" and others and np.median(others) < 0.5 * before:
        worth *= 0.5
    handicap = max(_HANDICAP[_key(x)], 1.0)
    return bool(after * handicap < _EXPLAINS * before and before - after > 1.0 and before > worth)


def _by_chance(e: Evidence, x: Explanation) -> bool:
    """Whether what explains the views explains views of other times as well: then it explains nothing."""
    return bool(x.rig) and e.by_chance_with(list(x.rig), list(x.order) or None)


def _say(e: Evidence, accepted: list[Explanation], offsets: dict[str, int]) -> list[Finding]:
    """Put the best explanation into words, with its probability and the best one of another kind."""
    best = accepted[0]
    rivals = [x for x in accepted[1:] if x.kind != best.kind]
    probability = _ALONE if not rivals else 1 / (1 + (_rank(best) / max(_rank(rivals[0]), 1e-9)) ** 4)
    rival = f"; less likely: {_in_short(e, rivals[0])}" if rivals else ""
    if best.kind == "clock":
        return [_late(e, x, offsets, probability, rival) for x in accepted if x.kind == "clock"]
    if best.kind == "calibration":
        return [_recalibrate(e, best, probability, rival)]
    names = tuple(e.rig[c].name for c in best.cameras)
    if best.kind == "swapped":
        text = (
            f"cameras {names[0]} and {names[1]} are swapped: {e.as_is:.1f} px as they are, {best.after_px:.1f} px "
            "exchanged; exchange their films or detections"
        )
    elif best.kind == "water missing" and best.water is not None:
        text = (
            f"water is missing: {best.water.without_px:.1f} px as calibrated, {best.water.with_px:.1f} px with a flat "
            f"surface ({'; '.join(best.water.surfaces)}); add interfaces to cameras.toml"
        )
    elif best.also == "none":
        text = f"the water makes it worse: {e.as_is:.1f} px with, {best.after_px:.1f} px without; check its planes"
    else:
        text = (
            f"the water is in the wrong place: {e.as_is:.1f} px as it is, {best.after_px:.1f} px elsewhere; check its "
            "planes"
        )
    return [Finding(best.kind, f"{text} ({percent(probability)} sure{rival})", names, True, probability)]


def _in_short(e: Evidence, x: Explanation) -> str:
    """Say an explanation in a few words, with the error that it would leave."""
    names = [e.rig[c].name for c in x.cameras]
    if x.shift is not None:
        words = f"camera {names[0]} {_frames_late(x.shift.late)}"
    elif x.kind == "calibration":
        words = f"the {x.also}{' of' if x.also == 'pose' else ' length of'} camera {names[0]}"
    else:
        words = {"swapped": f"{' and '.join(names)} swapped", "water wrong": "the place of the water"}.get(
            x.kind, x.kind
        )
    return f"{words}, {x.after_px:.1f} px"


def _late(e: Evidence, x: Explanation, offsets: dict[str, int], most: float, rival: str) -> Finding:
    assert x.shift is not None
    name, late = e.rig[x.cameras[0]].name, x.shift.late
    p = min(x.shift.probability, most)
    slack = round(2 * x.shift.delay.error) if np.isfinite(x.shift.delay.error) else 0
    about = f", give or take {slack}" if 0 < slack < abs(late) else ""
    text = (
        f"camera {name}: {_frames_late(late)}; set time_offset_frames.{name} = {offsets.get(name, 0) - late} "
        f"in recording.toml ({percent(p)} sure{about}{rival})"
    )
    return Finding("clock", text, (name,), True, p, late)


def _recalibrate(e: Evidence, x: Explanation, probability: float, rival: str) -> Finding:
    assert x.refit is not None
    name = e.rig[x.cameras[0]].name
    if len(e.rig) == 2:
        names = e.rig.names
        text = f"cameras {names[0]} and {names[1]}: {e.as_is:.1f} px apart, recalibrate"
    else:
        names = (name,)
        others = [err for p, err in e.error.items() if x.cameras[0] not in p and np.isfinite(err)]
        text = f"camera {name}: {x.refit.before_px:.1f} px, recalibrate"
        text += f" (the others agree to {np.median(others):.1f} px)" if others else ""
    if x.also == "focal":
        percent_off = 100 * (np.exp(-x.refit.change[0]) - 1)
        way = "long" if percent_off > 0 else "short"
        text += f"; a focal length of {name} that is {abs(percent_off):.0f} % too {way} would explain it"
    return Finding("calibration", f"{text} ({percent(probability)} sure{rival})", names, True, probability)


def _left_over(e: Evidence, late: list[Explanation], denied: list[Explanation]) -> list[Finding]:
    """Say what is left when no cause was found; `denied`: causes that did not pass."""
    known = [p for p in e.pairs if np.isfinite(e.error[p])]
    lost = [p for p in known if e.by_chance(p)]
    if known and len(lost) * 2 > len(known):
        return [
            Finding(
                "disagree",
                f"the cameras do not agree at all ({e.overall:.1f} px, {e.overall_chance:.1f} px by chance); other "
                "films, a clock too far off, or a wrong calibration",
            )
        ]
    notes = [_maybe_late(e, x) for x in late if x.shift is not None and x.shift.after_px < 0.9 * x.shift.before_px]
    notes = notes if e.places >= _LEAST_PLACES else []
    if e.places < _LEAST_PLACES and any(e.error[p] > 0.04 * e.sample.size_px + 3 for p in known):
        what = f"whether calibration or detections are off ({e.overall:.1f} px)"
        notes.append(doubt(f"{what}, because the animals are at one place"))
    elif e.places < _LEAST_PLACES and e.as_is > _WORTH_DOUBT_PX:
        would = [x for x in denied if x.kind.startswith("water") and x.after_px < 0.3 * e.as_is]
        if would:
            what = f"whether the water is right ({e.as_is:.1f} px as it is, {would[0].after_px:.1f} px otherwise)"
            notes.append(doubt(f"{what}, because the animals are at one place"))
    if not notes and 2 * sum(e.at_any_time(p) for p in known) > len(known):
        notes.append(doubt(f"whether the cameras agree ({e.overall:.1f} px), because at other times they do as well"))
    if not notes and e.rests:
        notes.append(doubt("whether the clocks agree, because the animals hardly move"))
    return notes


def _maybe_late(e: Evidence, x: Explanation) -> Finding:
    assert x.shift is not None
    name = e.rig[x.cameras[0]].name
    if x.shift.edge:
        why = "because the best shift is at the edge of what the recording lets be searched"
    elif not np.isfinite(x.shift.delay.frames):
        why = "because no animal could be followed from frame to frame"
    else:
        why = "or its centroids lean along the body, because that would look the same here"
    return doubt(f"whether camera {name} is {_frames_late(x.shift.late)}, {why}", name)


def _frames_late(late: int) -> str:
    return f"{abs(late)} {'frame' if abs(late) == 1 else 'frames'} {'late' if late > 0 else 'early'}"
