"""A recording cut into sections, always at the same frames, however much of it is read at once."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....cameras.rig import CameraRig
from ....recordings.detections import Detections
from ....recordings.recording import FIRST
from ...doubles import MOSTLY, copies, same_camera
from ..fit.canonical import Canonical, camera_order, looks
from ..model import TrackingModel
from ..observations import Observations

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
WHOLE = 400_000  # detections of a recording up to which it is one section
SECTION = 200_000  # detections of a section
MARGIN = 240  # frames before and after a section that it is mended with: four times the longest gap that is bridged
LEAST_FRAMES = 2 * MARGIN  # of a section, so that a margin never needs more than the one that follows


@dataclass(frozen=True, eq=False)
class Section:
    """Detections of successive frames, as they were recorded; ``row``: how many came before."""

    detections: Detections
    row: int


def cut(pieces: Iterable[Detections], row: int = 0) -> Iterator[Section]:
    """Cut a recording into sections.

    A section ends with the frame in which it has `SECTION` detections and `LEAST_FRAMES` frames. So where it ends
    depends on the recording alone.

    Parameters
    ----------
    pieces : whole frames, ascending; of any size. They begin with the recording, or with a section of it.
    row : detections before them.
    """
    held: list[Detections] = []
    count = 0
    for piece in pieces:
        held.append(piece)
        count += len(piece)
        while count >= SECTION:
            whole = held[0] if len(held) == 1 else Detections.concat(held)
            enough = max(int(np.searchsorted(whole.offsets, SECTION)), LEAST_FRAMES)
            if enough >= len(whole.offsets):
                held = [whole]
                break
            end = int(whole.offsets[enough])
            yield Section(whole.select(np.arange(end)), row)
            row += end
            held, count = [whole.select(np.arange(end, len(whole)))], count - end
    if count:
        yield Section(Detections.concat(held), row)


@dataclass(frozen=True, eq=False)
class Survey:
    """What must be known of a whole recording before it is tracked; plain values, so that they can be kept.

    Attributes
    ----------
    camera : standing order of the cameras.
    frames : how many have detections.
    rows : how many detections there are.
    sections : of each, its first frame, and detections and frames with detections before it.
    twice : whether a camera or detections seem to be there twice.
    """

    camera: list[int]
    frames: int
    rows: int
    sections: list[list[int]]
    twice: bool


@dataclass
class Looked:
    """How far a look through a recording has come; plain values, so that they can be kept.

    Attributes
    ----------
    next : first frame of the section that comes next.
    sums : `canonical.looks` (3, C) of the sections before it.
    again : (C,) detections of each camera that another one has, too.
    rows, frames, sections : as of `Survey`.
    """

    next: int
    sums: list[list[float]]
    again: list[float]
    rows: int
    frames: int
    sections: list[list[int]]


def survey(
    rig: CameraRig,
    pieces: Callable[[int], Iterable[Detections]],
    so_far: Looked | None = None,
    keep: Callable[[Looked], None] | None = None,
) -> Survey:
    """Look through a recording once.

    Parameters
    ----------
    rig : its cameras.
    pieces : gives detections from a frame on, in whole frames, ascending.
    so_far : where a stopped look goes on.
    keep : is told before each section how far it is; what it is given changes afterwards.
    """
    at = so_far or Looked(FIRST, np.zeros((3, len(rig))).tolist(), [0.0] * len(rig), 0, 0, [])
    sums, again = np.array(at.sums), np.array(at.again)
    for section in cut(pieces(at.next), at.rows):
        found = section.detections
        at.next, at.sums, at.again = int(found.frame[0]), sums.tolist(), again.tolist()
        if keep is not None:
            keep(at)
        at.sections.append([at.next, at.rows, at.frames])
        sums += looks(rig, found)
        again += np.bincount(found.camera[copies(found)], minlength=len(rig))
        at.frames += len(found.frames)
        at.rows += len(found)
    alike = any(same_camera(rig, a, b) for b in range(len(rig)) for a in range(b))
    twice = alike or bool((again > 0.5 * MOSTLY * sums[0]).any())
    return Survey(camera_order(sums).tolist(), at.frames, at.rows, at.sections, twice)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A section in its standing order, as the kernels want it; ``row``: detections before it."""

    world: Canonical
    obs: Observations
    row: int

    @classmethod
    def of(cls, rig: CameraRig, section: Section, known: Survey, model: TrackingModel | None) -> "Prepared":
        """Put a section in order; without a model there are no observations yet.

        Pairs are left to sections that follow each other (`Observations.paired`).
        """
        world = Canonical.under(rig, section.detections, np.array(known.camera), known.sections[0][0], section.row)
        plain = (
            NOTHING
            if model is None
            else Observations.of(world.rig, world.detections, model.with_(shape=None, tracklets=False))
        )
        return cls(world, plain, section.row)

    @property
    def begin(self) -> int:
        """Number of the first frame, counted from the recording's first."""
        return int(self.world.detections.frame[0])

    def between(self, begin: int, end: int) -> "Prepared":
        """Return the frames from one to before another."""
        at, stop = np.searchsorted(self.world.detections.frame, [begin, end]).tolist()
        part = np.arange(at, stop)
        world = Canonical(
            self.world.rig,
            self.world.detections.select(part),
            self.world.camera,
            self.world.row[part],
            self.world.origin,
            self.world.first,
        )
        return Prepared(world, _part(self.obs, part), self.row + at)


def joined(parts: list[Prepared]) -> Prepared:
    """Return sections that follow each other as one; rows of its observations count from its own first."""
    first = parts[0]
    detections = Detections.concat([p.world.detections for p in parts])
    row = np.concatenate([p.world.row for p in parts])
    world = Canonical(first.world.rig, detections, first.world.camera, row, first.world.origin, first.world.first)
    columns: dict[str, Any] = {n: np.concatenate([getattr(p.obs, n) for p in parts]) for n in _COLUMNS}
    return Prepared(world, Observations(**columns, cut=max(p.obs.cut for p in parts)), first.row)


_COLUMNS = ("camera", "u", "v", "noise", "log_size", "axis", "origin", "direction", "outline", "box", "sides")
_NO = np.zeros(0)
NOTHING = Observations(np.zeros(0, np.int64), _NO, _NO, _NO, _NO, _NO, np.zeros((0, 3)), np.zeros((0, 3)), _NO)


def _part(obs: Observations, rows: Ints) -> Observations:
    columns: dict[str, Any] = {name: getattr(obs, name)[rows] for name in _COLUMNS}
    return Observations(**columns, cut=obs.cut)
