"""What the page shows of a recording, read by stretches of frames, so that a long one needs no more memory."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..core.errors import InputError
from ..core.files import read_json
from ..evaluation.gate import default_gate
from ..health.kept import kept_problems
from ..methods.review import Moment, review
from ..methods.suspects import SUSPECTS, read_suspects
from ..recordings import Recording, Skeleton, Tracks, parts_file, poses
from ..recordings.edits import Editor, Mending
from ..recordings.edits.pieces import GONE
from ..report.packing import rounded
from ..report.palette import PALETTES
from ..report.space import space_of
from .chunk_bytes import packed_detections, packed_poses, packed_tracks, sigma_of
from .headings import REACH, headings
from .seen import SeenRows

_POINTS = 20_000  # of a chunk
_KEPT = 40 * 2**20  # bytes of chunks
_SAMPLES = 6  # row groups from which the size of the tank is told


class Store:
    """One recording; calls may come from several threads.

    Parameters
    ----------
    recording : with tracks.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.editor = Editor(recording) if (recording.folder / "tracks.parquet").is_file() else None
        self.lock = threading.RLock()
        self._kept: OrderedDict[Any, bytes] = OrderedDict()
        self._bytes = 0
        self.seen = SeenRows(recording)

    @cached_property
    def span(self) -> tuple[int, int]:
        """First and last frame of anything."""
        info = self.recording.info
        bounds = [_bounds(self.recording.folder / f"{n}.parquet") for n in ("tracks", "detections")]
        if info.frame_count:
            bounds.append((info.first_frame, info.first_frame + info.frame_count - 1))
        known = [b for b in bounds if b is not None]
        return (min(a for a, _ in known), max(b for _, b in known)) if known else (0, 0)

    @property
    def version(self) -> str:
        """What changes whenever tracks or edits do."""
        if self.editor is None:
            return "none"
        path = self.recording.folder / "tracks.parquet"
        return f"{path.stat().st_mtime_ns:x}.{self.editor.log.last}"

    def renew(self) -> None:
        """Look at the tracks anew, which were written by another program."""
        with self.lock:
            self.recording.forget()
            self.editor = Editor(self.recording)
            self._kept.clear()
            self._bytes = 0
            self.__dict__.pop("chunk_frames", None)

    @cached_property
    def chunk_frames(self) -> int:
        """Frames of a chunk: about `_POINTS` points."""
        path = self.recording.folder / "tracks.parquet"
        rows = pq.read_metadata(path).num_rows if path.is_file() else 0
        skeleton = self._skeleton(poses.FILE)
        a_frame = max(rows / (self.span[1] - self.span[0] + 1), 1.0) * (1 + len((skeleton or {}).get("parts", ())) / 2)
        return int(2 ** np.clip(np.round(np.log2(_POINTS / a_frame)), 4, 12))

    def _skeleton(self, name: str) -> dict[str, Any] | None:
        """Names and edges of the parts in a file of the recording."""
        found = Skeleton.of_file(self.recording.folder / name)
        return None if found is None else {"parts": found.parts, "edges": found.edges}

    def meta(self) -> dict[str, Any]:
        """Everything that stands still."""
        rec, rig = self.recording, self.recording.rig
        space = space_of(rig, self._some_positions())
        return {
            "name": rec.folder.resolve().name,
            "fps": rounded(float(rec.fps)),
            "fpsKnown": rec.info.fps_known,
            "units": rec.units,
            "span": self.span,
            "chunk": self.chunk_frames,
            "version": self.version,
            "tracked": self.editor is not None,
            "detected": (rec.folder / "detections.parquet").is_file(),
            "space": space.to_json(rig),
            "bodyLength": rounded(self.body_length),
            "cameras": [{"name": c.name, "size": list(c.size), "film": c.name in rec.videos} for c in rig],
            "skeleton": self._skeleton(poses.FILE),
            "partsSeen": self._skeleton(parts_file.FILE),
            "palettes": PALETTES,
            "problems": kept_problems(rec.folder),
        }

    @property
    def body_length(self) -> float:
        """Length of an animal that the tracker estimated, world units; where it did not, a 40th of the tank."""
        said = read_json(self.recording.folder / "tracks.settings.json")
        length = said.get("body_length") if isinstance(said, dict) else None
        if isinstance(length, int | float) and 0 < length < 1e12:
            return float(length)
        low, high = (np.asarray(self._space[k], float) for k in ("low", "high"))
        return float(np.linalg.norm(high - low)) / 40

    def _some_positions(self) -> NDArray[np.float64]:
        path = self.recording.folder / "tracks.parquet"
        if not path.is_file():
            return np.zeros((0, 3))
        with pq.ParquetFile(path, pre_buffer=False) as file:
            groups = np.unique(np.linspace(0, max(file.num_row_groups - 1, 0), _SAMPLES).astype(int)).tolist()
            if not file.num_row_groups:
                return np.zeros((0, 3))
            parts = []
            for g in groups:
                table = file.read_row_group(g, columns=["x", "y", "z"])
                step = max(1, table.num_rows // 20_000)
                parts.append(np.column_stack([table[a].to_numpy()[::step] for a in "xyz"]))
        return np.concatenate(parts).astype(np.float64)

    def mending(self) -> Mending | None:
        """Return what the edits make of the tracks now."""
        with self.lock:
            return None if self.editor is None else self.editor.mending

    def tracks_between(self, first: int, last: int) -> Tracks:
        """Return mended tracks of a stretch of frames."""
        assert self.editor is not None
        with self.lock:
            raw = Tracks.from_table(self.editor.file.table(None, first, last), "tracks.parquet")
            return self.editor.mending.apply(raw, first, last) if self.editor.edits else raw

    def chunk(self, first: int) -> bytes:
        """Return tracks of one chunk (`chunk_bytes.packed_tracks`).

        Parameters
        ----------
        first : a frame in the chunk.
        """
        return self._chunked("tracks", first, self._tracks)

    def _tracks(self, begin: int, end: int) -> bytes:
        if self.editor is None:
            none = Tracks.build([], [], np.zeros((0, 3)), cameras=self.recording.rig.names)
            return packed_tracks(self.recording.rig, none, np.zeros((0, 3)))
        around = self.tracks_between(begin - REACH, end + REACH)
        ways = headings(around.frame, around.track, around.position, sigma_of(around), self.body_length)
        if around.heading is not None:  # of bodies, where the tracks know it
            ways = np.where(np.isfinite(around.heading), around.heading, ways)
        here = (around.frame >= begin) & (around.frame <= end)
        return packed_tracks(self.recording.rig, around.select(here), ways[here])

    def detections(self, first: int) -> bytes:
        """Return detections of one chunk (`chunk_bytes.packed_detections`).

        Parameters
        ----------
        first : a frame in the chunk.
        """
        return self._chunked("detections", first, self._detections)

    def _detections(self, begin: int, end: int) -> bytes:
        rows, found = self.seen.between(begin, end)
        owner = np.full(len(found), np.nan)
        if self.editor is not None and len(found):
            tracks = self.tracks_between(begin, end)
            for k in range(tracks.detection.shape[1]):
                used = np.flatnonzero(tracks.detection[:, k] >= 0)
                place = np.searchsorted(rows, tracks.detection[used, k])
                fits = (place < len(rows)) & (rows[np.minimum(place, len(rows) - 1)] == tracks.detection[used, k])
                owner[place[fits]] = tracks.track[used[fits]]
        return packed_detections(found, rows, owner)

    def poses(self, first: int) -> bytes:
        """Return poses of one chunk, each under the present name of its track (`chunk_bytes.packed_poses`).

        Parameters
        ----------
        first : a frame in the chunk.
        """
        return self._chunked("poses", first, self._poses)

    def _poses(self, begin: int, end: int) -> bytes:
        found, state = self.seen.poses(begin, end), self.mending()
        if found is None or state is None:
            return packed_poses(self.recording.rig, None, np.zeros(0, np.int64))
        name = state.pieces.name_of(found.track, found.frame, GONE)
        return packed_poses(self.recording.rig, found.select(name != GONE), name[name != GONE])

    def _chunked(self, kind: str, first: int, make: Callable[[int, int], bytes]) -> bytes:
        """Return the chunk with a frame, made once for each version of the tracks."""
        size = self.chunk_frames
        at = (first - self.span[0]) // size
        begin = self.span[0] + at * size
        with self.lock:
            key = (kind, at, self.version)
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            return self._keep(key, make(begin, begin + size - 1))

    def _keep(self, key: Any, content: bytes) -> bytes:
        self._kept[key] = content
        self._bytes += len(content)
        while self._bytes > _KEPT and len(self._kept) > 1:
            self._bytes -= len(self._kept.popitem(last=False)[1])
        pa.default_memory_pool().release_unused()  # Arrow keeps what it has read by otherwise
        return content

    def timeline(self, first: int, last: int, bins: int) -> dict[str, Any]:
        """Share of frames in which each track is there, in bins; whatever the length of the recording."""
        state = self.mending()
        if state is None:
            return {"first": first, "last": last, "bins": bins, "names": [], "share": ""}
        pieces = state.pieces
        names = pieces.names
        edges = np.linspace(first, last + 1, bins + 1)
        share = np.zeros((len(names), bins))
        keep = (pieces.name != GONE) & (pieces.last >= first) & (pieces.first <= last)
        mine = pieces.take(keep)
        row = np.searchsorted(names, mine.name)
        width = (last + 1 - first) / bins
        # Coverage of [a, b) is the difference of two ramps: summed once over all stretches, then differenced.
        total = np.zeros((len(names), bins + 1))
        for sign, at in ((1.0, mine.first), (-1.0, mine.last + 1)):
            ramp = np.clip(at.astype(float), first, last + 1)
            k = np.clip(((ramp - first) / width).astype(int), 0, bins)
            inside = np.where(k < bins, (edges[np.minimum(k + 1, bins)] - ramp) / width, 0.0)
            np.add.at(total, (row, k), sign * inside)
            np.add.at(total, (row, np.minimum(k + 1, bins)), sign * (1.0 - inside) * (k < bins))
        share = np.clip(np.cumsum(total, axis=1)[:, :bins], 0, 1)
        levels = np.ceil(share * 15 - 1e-9).astype(np.uint8)
        text = "".join("0123456789abcdef"[v] for v in levels.ravel().tolist())
        return {"first": first, "last": last, "bins": bins, "names": names.tolist(), "share": text}

    def moments(self) -> list[Moment]:
        """Suspects as the edits leave them."""
        state = self.mending()
        if state is None:
            return []
        return review(read_suspects(self.recording.folder / SUSPECTS), state)

    def epipolar(self, camera: int, u: float, v: float) -> list[Any]:
        """Curves of a pixel in the other views, through the water: what lies on its line of sight within the tank."""
        rig = self.recording.rig
        if not 0 <= camera < len(rig):
            raise InputError(f"camera {camera}: there are {len(rig)}")
        ray = rig[camera].rays(np.array([[u, v]]))
        if not ray.valid[0]:
            return [[] for _ in rig]
        low, high = (np.asarray(self._space[k], float) for k in ("low", "high"))
        far = float(np.linalg.norm((low + high) / 2 - ray.origin[0]) + np.linalg.norm(high - low))
        points = ray.origin + ray.direction * np.linspace(0, far, 400)[:, None]
        margin = 0.1 * (high - low)
        inside = ((points >= low - margin) & (points <= high + margin)).all(1)
        curves: list[Any] = []
        for k, other in enumerate(rig):
            pixels = other.project(points[inside]) if k != camera and inside.any() else np.zeros((0, 2))
            curves.append(rounded(pixels[np.isfinite(pixels).all(1)], 6))
        return curves

    @cached_property
    def _space(self) -> dict[str, Any]:
        return space_of(self.recording.rig, self._some_positions()).to_json(self.recording.rig)

    def summary(self) -> dict[str, Any]:
        """Return a row of the start page."""
        rec = self.recording
        moments = self.moments()
        scores: dict[str, float] = {}
        if self.editor is not None and rec.truth is not None and self.editor.file.pieces.points <= 400_000:
            from ..evaluation import evaluate

            t, m = rec.truth, rec.mended_tracks
            found = evaluate(t.frame, t.identity, t.position, m.frame, m.track, m.position, default_gate(rec).distance)
            scores = {"mota": float(found.clear.mota), "idf1": float(found.identity.idf1)}
        checked = (rec.folder / "check.json").is_file()
        return {
            "name": rec.folder.resolve().name,
            "frames": self.span[1] - self.span[0] + 1,
            "cameras": len(rec.rig),
            "tracks": 0 if self.editor is None else len(self.editor.mending.pieces.names),
            "edits": 0 if self.editor is None else len(self.editor.edits),
            "open": sum(m.state == "open" for m in moments),
            "suspects": len(moments),
            "problems": kept_problems(rec.folder),
            "checked": checked,
            "scores": rounded(scores.get("mota", float("nan"))),
            "idf1": rounded(scores.get("idf1", float("nan"))),
        }


def _bounds(path: Path) -> tuple[int, int] | None:
    """First and last frame of a table, by the statistics of its row groups, or by its ends."""
    if not path.is_file():
        return None
    with pq.ParquetFile(path, pre_buffer=False) as file:
        if not file.metadata.num_rows:
            return None
        first = file.read_row_group(0, columns=["frame"])["frame"][0].as_py()
        last = file.read_row_group(file.num_row_groups - 1, columns=["frame"])["frame"][-1].as_py()
    return int(first), int(last)
