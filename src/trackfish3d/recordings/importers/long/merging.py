"""Streams of detections, each in ascending frames, as one."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ....core.errors import InputError
from ...detections import Detections


def merged(streams: Sequence[Iterator[Detections]], sources: Sequence[Path]) -> Iterator[Detections]:
    """Give the detections of all streams in pieces of whole frames, in the order of all of them together.

    Parameters
    ----------
    streams : each in ascending frames, which may be split between its pieces.
    sources : file of each, for messages: no two files may have a frame of the same camera.
    """
    held: list[Detections | None] = [next(s, None) for s in streams]
    open_ = [h is not None for h in held]
    while any(open_):
        ends = [int(h.frame[-1]) if h is not None and len(h) else None for h in held]
        safe = min(e for e, more in zip(ends, open_, strict=True) if more and e is not None)
        yield from _before(held, safe, sources)
        for k, stream in enumerate(streams):
            if open_[k] and ends[k] == safe:  # its last frame may go on
                piece = next(stream, None)
                open_[k] = piece is not None
                if piece is not None:
                    held[k] = _joined(held[k], piece)
    yield from _before(held, None, sources)


def _joined(held: Detections | None, piece: Detections) -> Detections:
    return piece if held is None or not len(held) else Detections.concat([held, piece])


def _before(held: list[Detections | None], frame: int | None, sources: Sequence[Path]) -> Iterator[Detections]:
    """Take the rows before a frame out of what is held, and give them as one piece."""
    ready: list[Detections] = []
    whose: list[Path] = []
    for k, piece in enumerate(held):
        if piece is None:
            continue
        end = len(piece) if frame is None else int(np.searchsorted(piece.frame, frame))
        if end:
            ready.append(piece.select(np.arange(end)))
            whose.append(sources[k])
            held[k] = piece.select(np.arange(end, len(piece)))
    if ready:
        _refuse_doubles(ready, whose)
        yield ready[0] if len(ready) == 1 else Detections.concat(ready)


def _refuse_doubles(pieces: Sequence[Detections], sources: Sequence[Path]) -> None:
    """Refuse a frame of a camera that is in two files: its animals would count twice."""
    keys = [np.unique(p.frame * len(p.cameras) + p.camera) for p in pieces]
    for k, mine in enumerate(keys):
        for j in range(k):
            both = np.intersect1d(keys[j], mine)
            if both.size and sources[j] != sources[k]:
                frame, camera = divmod(int(both[0]), len(pieces[k].cameras))
                name = pieces[k].cameras[camera]
                raise InputError(f"{sources[k]}: frame {frame} of camera {name} is in {sources[j]} as well")
