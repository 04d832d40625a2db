"""Edits that outlive the tracks they were made on: pins for the next solve, and what became of each."""

from dataclasses import dataclass

import numpy as np

from ..core.errors import InputError
from ..methods.result import Result
from ..recordings import Recording, Tracks
from ..recordings.edits import AnyEdit, Editor, Pin, describe, read_log
from ..recordings.edits.edit_log import FILE, solved
from ..recordings.edits.kinds import Accept, AddPoint, Anchor, Delete, Fill, Rename

_SLACK = 3  # frames about an anchor in which its animal is looked for


def pins_of(recording: Recording) -> tuple[Pin, ...]:
    """Return what all edits that hold say of identities, whichever tracks they were made on.

    Parameters
    ----------
    recording : with edits, or without.
    """
    return tuple(p for e in _solved_under(recording) for p in e.pins)


def _solved_under(recording: Recording) -> list[AnyEdit]:
    """Edits that speak of identities; the others are done again on the new tracks."""
    return [e for e in _standing(recording) if not isinstance(e, Delete | Rename | AddPoint | Fill)]


def _standing(recording: Recording) -> list[AnyEdit]:
    """Edits that hold, each once: not those that were repeated on later tracks."""
    active = read_log(recording.folder / FILE).active
    repeated = {e.again for e in active}
    return [e for e in active if e.id not in repeated]


@dataclass(frozen=True)
class Kept:
    """What became of edits: ``kept`` by the solve, ``again`` done on the new tracks, ``lost`` because they fit no more.

    Each is a line of text.
    """

    kept: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """What a user should know."""
        found = []
        if self.kept or self.again:
            found.append(f"{len(self.kept)} edits are kept by the solve, {len(self.again)} were done again on it")
        return found + [f"an edit fits no more: {text}" for text in self.lost]


def keep_edits(recording: Recording, result: Result) -> Kept:
    """Compare new tracks with the edits they were solved under, and do those again that no solve can keep.

    Parameters
    ----------
    recording : into which the result was saved.
    result : of a method that was told the pins of `pins_of`.
    """
    reach = result.body_length or 0.0
    kept: list[str] = []
    again: list[str] = []
    lost: list[str] = []
    editor = Editor(recording)
    here = {e.id for e in editor.edits}  # the same tracks came out again
    standing = _standing(recording)
    held = {e.id: all(_holds(result.tracks, p, reach) for p in e.pins) for e in _solved_under(recording)}
    solved(editor.path, editor.file.digest, tuple(n for n, fits in held.items() if fits))
    for edit in standing:
        editor.again = edit.id
        if edit.id in here:
            kept.append(describe(edit))
        elif edit.id in held:
            (kept if held[edit.id] else lost).append(describe(edit))
            if isinstance(edit, Accept) and held[edit.id]:
                _accept(editor, edit, reach)
        else:
            told = _redo(editor, edit, reach)
            (lost if told is None else again).append(describe(edit) if told is None else told)
    return Kept(tuple(kept), tuple(again), tuple(lost))


def track_at(tracks: Tracks, anchor: Anchor, reach: float) -> int | None:
    """Return the track that is meant by an anchor; None where none is near enough.

    Parameters
    ----------
    tracks : any.
    anchor : place of an animal in a frame.
    reach : how far the track may be, world units.
    """
    low, high = np.searchsorted(tracks.frame, [anchor.frame - _SLACK, anchor.frame + _SLACK + 1])
    if low == high:
        return None
    late = np.abs(tracks.frame[low:high] - anchor.frame)
    far = np.linalg.norm(tracks.position[low:high] - np.array(anchor.at), axis=1)
    best = int(np.argmin(np.where(far <= reach, late * reach + far, np.inf)))
    return int(tracks.track[low + best]) if far[best] <= reach else None


def _holds(tracks: Tracks, pin: Pin, reach: float) -> bool:
    one, other = (track_at(tracks, a, reach) for a in (pin.one, pin.other))
    return one is not None and other is not None and (one == other) == pin.same


def _redo(editor: Editor, edit: AnyEdit, reach: float) -> str | None:
    """Do an edit again under the names of the new tracks; None where that is not possible."""
    tracks = editor.tracks
    pin = edit.pins[0] if edit.pins else None
    name = None if pin is None else track_at(tracks, pin.one, reach)
    try:
        if isinstance(edit, AddPoint):
            near = name if name is not None else track_at(tracks, Anchor(frame=edit.frame, at=edit.at), reach)
            return None if near is None else str(editor.add_point(near, edit.frame, edit.pixels))
        if isinstance(edit, Fill):
            near = track_at(tracks, Anchor(frame=edit.first - 1, at=edit.begin), reach)
            return None if near is None else str(editor.fill(near, edit.first))
        if name is None:
            return None
        if isinstance(edit, Delete):
            return str(editor.delete(name, edit.first, edit.last))
        if isinstance(edit, Rename):
            return str(editor.rename(name, edit.new)) if name != edit.new else describe(edit)
    except InputError:
        pass
    return None


def _accept(editor: Editor, edit: Accept, reach: float) -> None:
    """Accept under the new names, so that the moment stays looked at."""
    names = [track_at(editor.tracks, p.one, reach) for p in edit.pins]
    known = [n for n in names if n is not None]
    if known:
        editor.accept(known[0], edit.first, edit.last, known[-1], edit.what)
