"""Edits as the page asks for them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..core.errors import InputError
from ..recordings.edits import Change
from .store import Store

Number = int | None
Pixel = Annotated[list[float], Field(min_length=2, max_length=2)]


class Asked(BaseModel):
    """An edit that a window asks for; ``seen`` is the version of the tracks that it shows."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["swap", "join", "cut", "delete", "rename", "point", "fill", "accept", "undo", "redo"]
    track: Number = None
    other: Number = None
    first: Number = None
    last: Number = None
    frame: Number = None
    new: Number = None
    what: str = Field(default="", max_length=20)
    pixels: dict[str, Pixel] = Field(default_factory=dict, max_length=100)
    seen: str = Field(default="", max_length=80)

    def need(self, *names: str) -> list[int]:
        """Return values that this kind of edit cannot do without."""
        values = [getattr(self, n) for n in names]
        if None in values:
            raise InputError(f"{self.kind}: {names[values.index(None)]} is missing")
        return values


def do_edit(store: Store, asked: Asked) -> Change:
    """Do what a window asks for, unless it shows other tracks than there are.

    An edit of another window since then is no hindrance where it was about other tracks.

    Parameters
    ----------
    store : the recording.
    asked : the edit.
    """
    with store.lock:
        if store.editor is None:
            raise InputError("there are no tracks to edit yet")
        _refuse_stale(store, asked)
        e, a = store.editor, asked
        if a.kind == "swap":
            track, other, first = a.need("track", "other", "first")
            return e.swap(track, other, first, a.last)
        if a.kind == "join":
            return e.join(*a.need("track", "other"))
        if a.kind == "cut":
            return e.cut(*a.need("track", "frame"))
        if a.kind == "delete":
            return e.delete(a.need("track")[0], a.first, a.last)
        if a.kind == "rename":
            return e.rename(*a.need("track", "new"))
        if a.kind == "point":
            track, frame = a.need("track", "frame")
            return e.add_point(track, frame, a.pixels)
        if a.kind == "fill":
            return e.fill(a.need("track")[0], a.frame)
        if a.kind == "accept":
            track, first, last = a.need("track", "first", "last")
            return e.accept(track, first, last, a.other, a.what)
        return e.undo() if a.kind == "undo" else e.redo()


def _refuse_stale(store: Store, asked: Asked) -> None:
    if not asked.seen or asked.seen == store.version:
        return
    tracks, _, line = asked.seen.partition(".")
    now = store.version.partition(".")[0]
    assert store.editor is not None
    mine = {asked.track, asked.other} - {None}
    log, since = store.editor.log, int(line) if line.isdecimal() else 0
    newer = [e for e in log.active if e.id > since]
    if tracks != now or log.turned > since or not mine or any(mine & set(e.names) for e in newer):
        raise InputError("another window or program has edited these tracks since; look again, then repeat it")
