"""Faults that are plain facts of files: nothing is inferred about cameras, clocks or water."""

from itertools import combinations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..recordings import Detections
from .findings import Finding
from .intake import Activity, Intake

_STOPPED_SHARE = 0.15  # of the recording, and
_STOPPED_FRAMES = 12  # frames at least, without anything or without anything new
_LIVELY = 0.6  # share of frames in which a camera that is then said to have died saw something before
_SAME = 0.5  # share of common frames in which two cameras have the very same detections
_DOUBLE = 0.3  # share of detections that have a copy in their own view
_COPY_PX = 1.0
_COPY_SIZE = 0.03

Ints = NDArray[np.int64]


def plain_facts(rig: CameraRig, intake: Intake) -> list[Finding]:
    """Everything that counting alone shows, the cause of other things first."""
    silent = [
        Finding("no detections", f"camera {camera.name}: no detections", (camera.name,))
        for camera, a in zip(rig, intake.activity, strict=True)
        if not len(a.frame)
    ]
    if silent:
        return silent
    found = _twice(rig, intake.activity) or _copied(rig) or _doubled(intake.detections)
    return found or _never_together(rig, intake.activity) or _stopped(rig, intake)


def _twice(rig: CameraRig, activity: tuple[Activity, ...]) -> list[Finding]:
    """Two cameras with the same detections: one film, or one table, stands for both."""
    found = []
    for a, b in combinations(range(len(rig)), 2):
        one, other = activity[a], activity[b]
        common, i, j = np.intersect1d(one.frame, other.frame, assume_unique=True, return_indices=True)
        if len(common) < 3:
            continue
        same = (one.count[i] == other.count[j]) & np.isclose(one.mark[i], other.mark[j], rtol=1e-9, atol=1e-6)
        if same.mean() > _SAME:
            names = (rig[a].name, rig[b].name)
            found.append(
                Finding(
                    "twice",
                    f"cameras {names[0]} and {names[1]} have the same detections in {100 * same.mean():.0f} % of their "
                    "frames: one film was given for both; give each its own, or leave one out",
                    names,
                )
            )
    return found


def _copied(rig: CameraRig) -> list[Finding]:
    """Two cameras with the same calibration, number for number: that of one was written for both."""
    found = []
    for a, b in combinations(rig, 2):
        same = [(getattr(a, k), getattr(b, k)) for k in ("K", "R", "t", "distortion")]
        if all(x.shape == y.shape and np.allclose(x, y, rtol=1e-12, atol=1e-12) for x, y in same):
            text = f"cameras {a.name} and {b.name} have the same calibration, number for number: one is a copy"
            advice = "calibrate the camera that it is not from, or leave that one out"
            found.append(Finding("copied", f"{text}; {advice}", (a.name, b.name)))
    return found


def _doubled(detections: Detections) -> list[Finding]:
    """Every detection there twice, as when two runs of a detector were put together."""
    step = max(len(detections.frames) // 500, 1)
    some = detections.select(np.isin(detections.frame, detections.frames[::step]))
    size = np.hypot(some.x2 - some.x1, some.y2 - some.y1)
    near = _has_copy(some.frame, some.camera, some.u, some.v, np.maximum(_COPY_SIZE * size, _COPY_PX))
    share = float(near.mean()) if len(near) else 0.0
    if share <= _DOUBLE:
        return []
    return [
        Finding(
            "duplicates",
            f"{100 * share:.0f} % of the detections have a copy in the same view, within a pixel or so: "
            "the same animals were written twice; remove the copies",
        )
    ]


@njit(cache=True)
def _has_copy(frame, camera, u, v, reach):  # type: ignore[no-untyped-def]
    """(N,) whether another row of the same frame and camera is within `reach`; rows are sorted."""
    n = len(frame)
    found = np.zeros(n, np.bool_)
    for i in range(n):
        k = i + 1
        while k < n and frame[k] == frame[i] and camera[k] == camera[i]:
            if (u[k] - u[i]) ** 2 + (v[k] - v[i]) ** 2 <= min(reach[i], reach[k]) ** 2:
                found[i] = found[k] = True
            k += 1
    return found


def _never_together(rig: CameraRig, activity: tuple[Activity, ...]) -> list[Finding]:
    """Cameras that share no frame with any other."""
    alone = []
    for c in range(len(rig)):
        others = np.concatenate([a.frame for k, a in enumerate(activity) if k != c])
        if not np.isin(activity[c].frame, others).any():
            alone.append(c)
    if not alone:
        return []
    spans = "; ".join(f"{rig[c].name}: {_numbers(activity[c].frame)}" for c in range(len(rig)))
    who = "the cameras" if len(alone) == len(rig) else f"camera {', '.join(rig[c].name for c in alone)}"
    verb = "never film" if len(alone) == len(rig) or len(alone) > 1 else "never films"
    return [
        Finding(
            "no common time",
            f"{who} {verb} at the same moment as another ({spans}); number the frames of all cameras by one clock, "
            "or set time_offset_frames in recording.toml",
            tuple(rig[c].name for c in alone),
        )
    ]


def _numbers(frame: Ints) -> str:
    head = ", ".join(str(f) for f in frame[:3])
    return f"frames {head}, ... {frame[-1]}" if len(frame) > 3 else f"frames {head}"


def _stopped(rig: CameraRig, intake: Intake) -> list[Finding]:
    """Cameras that see nothing, or the same again and again, from somewhere on while the others go on."""
    found = []
    for c, mine in enumerate(intake.activity):
        rest = [a for k, a in enumerate(intake.activity) if k != c]
        seen, views = np.unique(np.concatenate([a.frame for a in rest]), return_counts=True)
        others = seen[2 * views > len(rest)]  # a single late camera is not `the others`
        found += _dead(rig[c].name, mine, others) or _frozen(rig[c].name, mine, rest)
    return found


def _dead(name: str, mine: Activity, others: Ints) -> list[Finding]:
    """Nothing at the end or the beginning of the recording, of a camera that saw something nearly always before."""
    first, last = mine.frame[0], mine.frame[-1]
    if not len(others):
        return []
    after, before = others[others > last], others[others < first]
    during = others[(others >= first) & (others <= last)]
    lively = len(during) and np.isin(during, mine.frame).mean() > _LIVELY
    enough = max(_STOPPED_SHARE * len(others), _STOPPED_FRAMES)
    if not lively:
        return []
    beyond = max(others[0] - first, last - others[-1], 0)  # numbers that go on at the other end: a clock, not a stop
    if beyond > 0.3 * enough:
        return []
    if len(after) > enough:
        text = f"camera {name}: nothing after frame {last}, while others see animals up to frame {others[-1]}"
        return [Finding("dead", f"{text}; did it stop, or is its film cut short?", (name,))]
    if len(before) > enough:
        text = f"camera {name}: nothing before frame {first}, while others see animals from frame {others[0]} on"
        return [Finding("dead", f"{text}; did it start later, or is the beginning of its film missing?", (name,))]
    return []


def _frozen(name: str, mine: Activity, rest: list[Activity]) -> list[Finding]:
    """Find the very same detections in frame after frame, while the others' change."""
    begin, end = _longest_run(_unchanged(mine))
    if end - begin < max(_STOPPED_SHARE * len(mine.frame), _STOPPED_FRAMES):
        return []
    first, last = mine.frame[begin], mine.frame[end - 1]
    for other in rest:
        inside = (other.frame >= first) & (other.frame <= last)
        if inside.sum() >= 5 and _unchanged(other)[inside].mean() < 0.2:
            text = f"camera {name}: the same picture from frame {first} to {last}, while others see animals move"
            return [Finding("frozen", f"{text}; its film is frozen there", (name,))]
    return []


def _unchanged(a: Activity) -> NDArray[np.bool_]:
    """(T,) whether a frame has the same detections as the one before."""
    same = (np.diff(a.count) == 0) & (np.abs(np.diff(a.mark)) < 1e-6 * np.maximum(np.abs(a.mark[1:]), 1.0))
    return np.concatenate([[False], same])


def _longest_run(flags: NDArray[np.bool_]) -> tuple[int, int]:
    """Begin and end of the longest run of True."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    if not len(begins):
        return 0, 0
    k = int(np.argmax(ends - begins))
    return int(begins[k]), int(ends[k])
