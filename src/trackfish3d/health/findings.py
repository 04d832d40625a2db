"""What `check` can find, each with the words a user reads."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One verdict.

    ``kind``: clock, water missing, water wrong, swapped, twice, copied, duplicates, frozen, dead, no parallax,
    calibration, no common time, disagree, no detections, cannot tell.
    ``wrong``: whether something is wrong (exit code 1), or is only said.
    ``probability``: that the advice is right, None where it is a plain fact and not an inference.
    ``late_frames``: for a clock, by how many frames the first of ``cameras`` is late.
    """

    kind: str
    text: str
    cameras: tuple[str, ...] = ()
    wrong: bool = True
    probability: float | None = None
    late_frames: int = 0


def doubt(text: str, *cameras: str) -> Finding:
    """Something that cannot be told, and why."""
    return Finding("cannot tell", f"cannot tell {text}", cameras, wrong=False)


def percent(probability: float) -> str:
    """Say a probability without claiming more than was measured."""
    return f"{min(round(100 * probability), 99)} %"
