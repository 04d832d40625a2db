"""Mending tracks by hand: every edit is checked, kept, counted, and can be undone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...cameras.triangulation import triangulate_ml
from ...core.errors import InputError
from ...core.settings import input_errors
from ..tracks import Tracks
from .anchors import Anchors
from .edit_log import FILE, EditLog, append, read_log
from .kinds import Accept, AddPoint, AnyEdit, Cut, Delete, Edit, Fill, Join, Redo, Rename, Swap, Undo, describe
from .mending import Mending, TrackFile, errors_of
from .pieces import GONE, Pieces

if TYPE_CHECKING:
    from ..recording import Recording

_UPPER = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])


@dataclass(frozen=True)
class Change:
    """What an edit, an undo or a redo did.

    Attributes
    ----------
    edit : the edit.
    verb : "done", "undone" or "redone".
    frames : in how many frames a point changed its track, came or went.
    points : how many points did.
    views : in how many cameras these points were seen.
    """

    edit: AnyEdit
    verb: str
    frames: int
    points: int
    views: int

    def __str__(self) -> str:
        before = "" if self.verb == "done" else f"{self.verb}: "
        return f"{before}{describe(self.edit)}: {self.frames} frames, {self.points} points, {self.views} views"


class Editor:
    """Mends the tracks of a recording; nothing but ``edits.jsonl`` is written, and it is on the disk after each call.

    Parameters
    ----------
    recording : with tracks.
    """

    def __init__(self, recording: "Recording") -> None:
        self.recording = recording
        self.path = recording.folder / FILE
        path = recording.folder / "tracks.parquet"
        if not path.is_file():
            raise InputError(f"{recording.folder}: has no tracks yet; run 'trackfish3d track {recording.folder}'")
        self.file = TrackFile(path)
        self.again: int | None = None  # edit of older tracks that is being repeated
        self._known: tuple[tuple[int, ...], Mending] = ((), Mending(self.file.pieces))

    @property
    def log(self) -> EditLog:
        """What the log says now."""
        return read_log(self.path)

    @property
    def edits(self) -> tuple[AnyEdit, ...]:
        """Edits of these tracks that hold, in order."""
        return self.log.on(self.file.digest)

    @property
    def mending(self) -> Mending:
        """What the edits make of the tracks."""
        return self.state(self.edits)

    @property
    def tracks(self) -> Tracks:
        """The tracks as the edits leave them."""
        return self.mending.apply(self.recording.tracks)

    def state(self, edits: tuple[AnyEdit, ...]) -> Mending:
        """Return what these edits make of the tracks; the last answer is kept, and goes on where edits were added.

        Parameters
        ----------
        edits : in order.
        """
        known, state = self._known
        ids = tuple(e.id for e in edits)
        if ids[: len(known)] != known:
            known, state = (), Mending(self.file.pieces)
        with errors_of(self.path):
            for edit in edits[len(known) :]:
                state = state.after(edit)
        self._known = ids, state
        return state

    def swap(self, one: int, other: int, first: int, last: int | None = None) -> Change:
        """Exchange two tracks from a frame on.

        Parameters
        ----------
        one : number of a track.
        other : of the other.
        first : first frame in which they are exchanged.
        last : the last one; to the end without.
        """

        def make(pieces: Pieces, anchors: Anchors) -> dict[str, Any]:
            found = [pieces.of_track(n) for n in (one, other)]
            end = max(int(p.last.max()) for p in found)
            if not any(len(pieces.within(n, first, end if last is None else last)) for n in (one, other)):
                raise InputError(f"swap {one} {other}: neither has a point from frame {first} on; nothing to exchange")
            return {"pins": anchors.of_swap(one, other, first, last)}

        return self._do(Swap, make, one=one, other=other, first=first, last=last)

    def join(self, one: int, other: int) -> Change:
        """Make two tracks, which are never there at once, one.

        Parameters
        ----------
        one : number of a track, which the whole gets.
        other : of the other, which is no more.
        """

        def make(pieces: Pieces, anchors: Anchors) -> dict[str, Any]:
            mine, others = pieces.of_track(one), pieces.of_track(other)
            for a, b in zip(others.first.tolist(), others.last.tolist(), strict=True):
                both = pieces.within(one, a, b)
                if len(both):
                    raise InputError(
                        f"join {one} {other}: both are there in frame {int(both.first[0])}; cut or delete first"
                    )
            return {"pins": anchors.of_join(mine, others)}

        return self._do(Join, make, one=one, other=other)

    def cut(self, track: int, frame: int) -> Change:
        """Cut a track in two.

        Parameters
        ----------
        track : its number, which the part before keeps.
        frame : first frame of the other part, which gets a number of its own.
        """

        def make(pieces: Pieces, anchors: Anchors) -> dict[str, Any]:
            mine = pieces.of_track(track)
            if not mine.first[0] < frame <= mine.last.max():
                span = f"{int(mine.first[0])} to {int(mine.last.max())}"
                raise InputError(f"cut {track} at {frame}: it is there from {span}, so nothing is cut")
            return {"new": pieces.free_name, "pins": anchors.of_cut(track, frame)}

        return self._do(Cut, make, track=track, frame=frame)

    def delete(self, track: int, first: int | None = None, last: int | None = None) -> Change:
        """Leave out points of a track.

        Parameters
        ----------
        track : its number.
        first : first frame that is left out; from the beginning without.
        last : the last one; to the end without.
        """

        def make(pieces: Pieces, anchors: Anchors) -> dict[str, Any]:
            mine = pieces.of_track(track)
            a = int(mine.first[0]) if first is None else first
            b = int(mine.last.max()) if last is None else last
            if not len(pieces.within(track, a, b)):
                raise InputError(f"delete {track}: it has no point from frame {a} to {b}")
            return {"first": a, "last": b, "pins": anchors.of_stretch(track, a, b)}

        return self._do(Delete, make, track=track)

    def rename(self, track: int, new: int) -> Change:
        """Give a track another number.

        Parameters
        ----------
        track : its number.
        new : one that no track has.
        """

        def make(pieces: Pieces, anchors: Anchors) -> dict[str, Any]:
            mine = pieces.of_track(track)
            if (pieces.name == new).any():
                raise InputError(f"rename {track} {new}: {new} is there; 'join' makes them one, 'swap' exchanges")
            return {"pins": anchors.of_stretch(track, int(mine.first[0]), int(mine.last.max()))}

        return self._do(Rename, make, track=track, new=new)

    def add_point(self, track: int, frame: int, pixels: Mapping[str, ArrayLike], sigma_px: float = 2.0) -> Change:
        """Add the point of a track that was seen in two views or more, or put it in another place.

        Parameters
        ----------
        track : its number; a new one begins a track.
        frame : where it was seen.
        pixels : column and row of the animal's middle in each camera, px.
        sigma_px : how well a person clicks, px.
        """
        rig = self.recording.rig
        if len(pixels) < 2:
            raise InputError(f"point of {track}: click the animal in two views at least")
        camera = [rig.index(name) for name in pixels]
        places = np.array([np.asarray(p, np.float64).reshape(2) for p in pixels.values()])
        found = triangulate_ml(rig, places, camera, [0, len(camera)], sigma_px)
        if not found.valid[0] or not np.isfinite(found.points).all():
            raise InputError(f"point of {track}: the lines of sight of {', '.join(pixels)} meet nowhere; click again")
        values = {
            "track": track,
            "frame": frame,
            "at": tuple(found.points[0].tolist()),
            "covariance": tuple(found.covariance[0][_UPPER].tolist()) if np.isfinite(found.covariance).all() else None,
            "pixels": {k: tuple(p.tolist()) for k, p in zip(pixels, places, strict=True)},
            "error_px": float(found.error_px[0]),
        }
        return self._do(AddPoint, lambda pieces, anchors: {}, **values)

    def fill(self, track: int, frame: int | None = None) -> Change:
        """Fill a gap of a track on a straight line.

        Parameters
        ----------
        track : its number.
        frame : in the gap; the first gap without.
        """

        def make(pieces: Pieces, anchors: Anchors) -> dict[str, Any]:
            spans = list(pieces.of_track(track).spans())
            gaps = [(a[1] + 1, b[0] - 1) for a, b in pairwise(spans)]
            here = [g for g in gaps if frame is None or g[0] <= frame <= g[1]]
            if not here:
                where = "" if frame is None else f" at frame {frame}"
                raise InputError(f"fill {track}: it has no gap{where}")
            a, b = here[0]
            begin, end = anchors.at(track, a - 1), anchors.at(track, b + 1)
            return {"first": a, "last": b, "begin": begin.at, "end": end.at}

        return self._do(Fill, make, track=track)

    def accept(self, track: int, first: int, last: int, other: int | None = None, what: str = "") -> Change:
        """Say that a suspect moment is right as it is.

        Parameters
        ----------
        track : its number.
        first : first frame of the moment.
        last : its last frame.
        other : the other track of the moment, if there is one.
        what : kind of the suspect.
        """
        both = track if other is None else other

        def make(pieces: Pieces, anchors: Anchors) -> dict[str, Any]:
            for name in {track, both}:
                pieces.of_track(name)
            return {"pins": anchors.of_accepted(track, both, first, last, what)}

        return self._do(Accept, make, track=track, other=both, first=first, last=last, what=what)

    def undo(self) -> Change:
        """Undo the last edit that holds."""
        return self._back("undone")

    def redo(self) -> Change:
        """Do again what was undone last."""
        return self._back("redone")

    def _back(self, verb: str) -> Change:
        kept: dict[str, Any] = {}

        def make(log: EditLog, number: int, when: str) -> Undo | Redo:
            stack = log.active if verb == "undone" else log.undone
            if not stack:
                raise InputError(f"{self.path}: nothing can be {verb}")
            kept.update(edit=stack[-1], before=self.state(log.on(self.file.digest)).pieces)
            kind = Undo if verb == "undone" else Redo
            return kind(id=number, when=when, of=stack[-1].id)

        log, _ = append(self.path, self.file.digest, make)
        self.recording.forget("mended_tracks")
        after = self.state(log.on(self.file.digest)).pieces
        wide, narrow = (kept["before"], after) if verb == "undone" else (after, kept["before"])
        return self._count(kept["edit"], verb, wide.changed(narrow))

    def _do(self, kind: type[Edit], make: Callable[[Pieces, Anchors], dict[str, Any]], **values: Any) -> Change:
        """Check, write and count an edit."""
        kept: dict[str, Any] = {}

        def line(log: EditLog, number: int, when: str) -> AnyEdit:
            state = self.state(log.on(self.file.digest))
            with input_errors(f"{kind.__name__.lower()}: "):
                kind.model_validate({"id": number} | _dummies(kind) | values)
                found = values | make(state.pieces, Anchors(self.file, state))
                edit: Any = kind(id=number, when=when, again=self.again, **found)
            after = state.after(edit)
            change = self._count(edit, "done", after.pieces.changed(state.pieces))
            if isinstance(edit, Accept):
                looked = [state.pieces.within(n, edit.first, edit.last) for n in {edit.track, edit.other}]
                change = self._count(edit, "done", looked[0].plus(looked[-1]) if len(looked) > 1 else looked[0])
            edit = edit.model_copy(update={"frames": change.frames, "views": change.views})
            kept["change"] = Change(edit, "done", change.frames, change.points, change.views)
            return edit  # type: ignore[no-any-return]

        append(self.path, self.file.digest, line)
        self.recording.forget("mended_tracks")
        change: Change = kept["change"]
        return change

    def _count(self, edit: AnyEdit, verb: str, touched: Pieces) -> Change:
        seen = self._views(touched)
        if isinstance(edit, AddPoint):
            seen = max(seen, len(edit.pixels))
        return Change(edit, verb, touched.frames, touched.points, seen)

    def _views(self, touched: Pieces) -> int:
        """In how many cameras points of these stretches were seen."""
        if not len(touched) or not self.file.cameras:
            return 0
        raws = [int(r) for r in np.unique(touched.raw)]
        columns = ["frame", "track", *self.file.cameras]
        table = self.file.table(raws, int(touched.first.min()), int(touched.last.max()), columns)
        frame, raw = (np.asarray(table[k].to_numpy(), np.int64) for k in columns[:2])
        marked = Pieces(touched.raw, touched.first, touched.last, np.ones(len(touched), np.int64))
        mine: NDArray[np.bool_] = marked.name_of(raw, frame, missing=GONE) == 1
        return sum(bool((table[c].to_numpy()[mine] >= 0).any()) for c in self.file.cameras)


def _dummies(kind: type[Edit]) -> dict[str, Any]:
    """Values that an edit gets later, so that what the user said can be checked before."""
    usual = {"new": 0, "first": 0, "last": 0, "begin": (0, 0, 0), "end": (0, 0, 0)}
    return {k: v for k, v in usual.items() if k in kind.model_fields and kind.model_fields[k].is_required()}
