"""A section mended together with the frames around it, and what the next one must know of it."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ....recordings.tracks import Tracks
from ...postprocess import fill_gaps, remove_ghosts, renumber
from ...suspects import Suspect
from ..bodies.usual import explained
from ..live_tracks import FrameLog
from ..model import TrackingModel
from ..refinement.confidence import suspects, undo_doubtful_joins
from ..refinement.refine import Refined, fill, refine
from ..refinement.tracks_of import to_tracks
from ..refinement.trajectories import Trajectories
from ..settings import JointSettings
from .sections import MARGIN, Prepared

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(eq=False)
class Carried:
    """What a section hands on to the next.

    Attributes
    ----------
    tail : mended rows of its last frames, under their final names; members count all detections of the recording.
    heirs : final name by the engine's name, of tracks that go on in the next section.
    named : how many final names there are.
    """

    tail: Trajectories
    heirs: dict[int, int]
    named: int

    @classmethod
    def nothing(cls, views: int) -> "Carried":
        """Return what is known before the first section."""
        whole = np.zeros(0, np.int64)
        tail = Trajectories(whole, whole, np.zeros((0, views), np.int64), np.zeros((0, 6)), np.zeros((0, 6, 6)))
        return cls(tail, {}, 0)


@dataclass(frozen=True, eq=False)
class Piece:
    """Finished tracks of a section, what is doubtful in it, and beginnings and ends (inner, at a border, if open)."""

    tracks: Tracks
    suspects: tuple[Suspect, ...]
    borders: tuple[int, int]


def mend(
    window: Prepared,
    logs: list[FrameLog],
    confirmed: set[int],
    core: tuple[int, int],
    before: Carried,
    model: TrackingModel,
    settings: JointSettings,
) -> tuple[Piece, Carried]:
    """Exchange, join and smooth the tracks of a section as those around it say.

    Parameters
    ----------
    window : detections from `MARGIN` frames before the section to some frames after it.
    logs : of the engine, from the section's first frame to `MARGIN` frames after it.
    confirmed : names of the engine's tracks that count.
    core : first frame of the section, and of the next.
    before : what the section before handed on.
    model : of the recording.
    settings : of the method.
    """
    raw = Trajectories.collected(logs, confirmed)
    paths, old = _begun(raw, before)
    paths = fill(paths, settings.fill_gap).trimmed(logs[-1].frame)
    if not len(paths.name):
        empty = Tracks.build([], [], [], cameras=window.world.names)
        return Piece(empty, (), (0, 0)), replace(Carried.nothing(raw.members.shape[1]), named=before.named)
    paths.members = np.where(paths.members >= 0, paths.members - window.row, -1)
    window = replace(window, obs=explained(window.world.rig, window.obs, paths, model))
    refined = refine(window.world.rig, window.obs, paths, model, settings)
    refined = undo_doubtful_joins(window.world.rig, window.obs, refined, model, settings)
    tracks, names = _finished(window, refined, model, core, old, before.named, settings)
    found = _suspects(refined, core, names, window.world.first)
    ends = (refined.borders.inner, refined.borders.at_border) if refined.open else (0, 0)
    named = max([before.named - 1, *names.values()]) + 1
    return Piece(tracks, found, ends), _carried(window, refined, raw, core[1], names, named)


def _begun(raw: Trajectories, before: Carried) -> tuple[Trajectories, Ints]:
    """Tracks of a window under small names: those of the tail first, whose final names (T,) are the second answer."""
    old = np.unique(before.tail.name)
    place = {int(name): k for k, name in enumerate(old)}
    small, next_ = {}, len(old)
    for engine in np.unique(raw.name).tolist():
        known = place.get(before.heirs.get(engine, -1))
        if known is None:
            known, next_ = next_, next_ + 1
        small[engine] = known
    tail = before.tail.take(slice(None))
    tail.name = np.searchsorted(old, tail.name)
    now = raw.take(slice(None))
    now.name = np.array([small[n] for n in raw.name.tolist()], np.int64)
    both = tail.join(now)
    return both.renamed(both.name.astype(np.int64)), old


def _finished(
    window: Prepared,
    refined: Refined,
    model: TrackingModel,
    core: tuple[int, int],
    old: Ints,
    named: int,
    settings: JointSettings,
) -> tuple[Tracks, dict[int, int]]:
    """Tracks of the section under their final names, and these by the small ones."""
    whole = to_tracks(window.world, window.obs, refined, model, settings)
    known = {k: int(name) for k, name in enumerate(old)}
    fresh = remove_ghosts(whole, settings.min_obs)
    begin, end = core[0] + window.world.first, core[1] + window.world.first
    inside = (fresh.frame >= begin) & (fresh.frame < end)
    new = fresh.select(inside & ~np.isin(fresh.track, np.arange(len(old))))
    small, at = np.unique(new.track, return_index=True)
    for k in np.lexsort((small, new.frame[at])):
        known[int(small[k])] = named
        named += 1
    kept = whole.select(np.isin(whole.track, np.array(list(known), np.int64)))
    filled = fill_gaps(kept, settings.max_gap)
    mine = filled.select((filled.frame >= begin) & (filled.frame < end))
    return renumber(mine, known), known


def _suspects(refined: Refined, core: tuple[int, int], names: dict[int, int], first: int) -> tuple[Suspect, ...]:
    found = []
    for s in suspects(refined):
        if core[0] <= s.last < core[1] and s.track in names:
            moved = replace(
                s, first=s.first + first, last=s.last + first, other=s.other if s.other in names else s.track
            )
            found.append(moved.renamed(names))
    return tuple(found)


def _carried(
    window: Prepared, refined: Refined, raw: Trajectories, next_: int, names: dict[int, int], named: int
) -> Carried:
    """Return what the next section must know: the last mended rows, and whose tracks go on."""
    paths = refined.paths
    known = np.isin(paths.name, np.array(list(names), np.int64))
    rows = np.flatnonzero(known & (paths.frame >= next_ - MARGIN) & (paths.frame < next_))
    tail = paths.take(rows)
    tail.name = np.array([names[n] for n in tail.name.tolist()], np.int64)
    tail.members = np.where(tail.members >= 0, tail.members + window.row, -1)
    late = raw.take(raw.frame >= next_)
    row, view = np.nonzero(late.members >= 0)
    owner = dict(zip(late.members[row, view].tolist(), late.name[row].tolist(), strict=True))
    heirs: dict[int, int] = {}
    ahead = np.flatnonzero(known & (paths.frame >= next_) & (paths.members >= 0).any(1))
    before = set(tail.name.tolist())
    done: set[int] = set()
    for i in ahead.tolist():  # sorted by name and frame: the first of each name counts
        final = names[int(paths.name[i])]
        if final in done or final not in before:
            continue
        done.add(final)
        detection = int(paths.members[i].max()) + window.row
        if detection in owner:
            heirs.setdefault(owner[detection], final)
    return Carried(tail, heirs, named)
