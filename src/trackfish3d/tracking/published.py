"""The published tracker: groups with embeddings to tracks, frame by frame, then stitched (inference appendix)."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from ..assignment import assign
from ..association.settings import LinkSettings

Array = NDArray[np.float64]
Predict = Callable[[Array], Array]
"""The temporal predictor: embeddings (M, D) to those of the next frame (M, D)."""


class TrackerSettings(BaseModel):
    """Life of a track and stitching of fragments, with the paper's values."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    link: LinkSettings = Field(default_factory=LinkSettings)
    max_age: int = Field(15, ge=0, description="frames a track may go unobserved before it dies")
    velocity_smoothing: float = Field(0.7, ge=0, le=1, description="weight of the newest velocity")
    max_rollout: int = Field(5, ge=0, description="how often the predictor is applied at most")
    merge_distance: float = Field(2.0, gt=0, description="theta_merge, world units")
    merge_similarity: float = Field(0.45, description="cosine that two fragments need")


@dataclass
class _Track:
    """One track: where, when and as what it was seen."""

    number: int
    position: Array
    embedding: Array
    velocity: Array
    first_frame: int
    last_frame: int
    first_position: Array
    first_embedding: Array
    rows: list[int] = field(default_factory=list)


def _unit(x: Array) -> Array:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12))


class PublishedTracker:
    """Link groups online: call `update` once a frame, then `finish` for the stitched numbers.

    Before stitching, the numbers `update` returned are final: online and offline runs agree.
    """

    def __init__(self, settings: TrackerSettings | None = None, predict: Predict | None = None) -> None:
        self.settings = settings or TrackerSettings()
        self.predict = predict
        self.alive: list[_Track] = []
        self.dead: list[_Track] = []
        self._count = 0

    def update(
        self, frame: int, position: Array, embedding: Array, rows: NDArray[np.integer] | None = None
    ) -> NDArray[np.int64]:
        """Take the groups of one frame and give each its track.

        Parameters
        ----------
        frame : its number, greater than that of the last call.
        position : (G, 3) world; embedding : (G, D) unit vectors; rows : (G,) what to remember each group by.

        Returns
        -------
        (G,) track numbers.
        """
        s = self.settings
        tired = [t for t in self.alive if frame - t.last_frame - 1 > s.max_age]
        self.dead += tired
        self.alive = [t for t in self.alive if frame - t.last_frame - 1 <= s.max_age]
        rows = np.arange(len(position)) if rows is None else rows
        number = np.full(len(position), -1, np.int64)
        for t, g in self._match(frame, position, embedding):
            track = self.alive[t]
            step = (position[g] - track.position) / (frame - track.last_frame)
            track.velocity = s.velocity_smoothing * step + (1 - s.velocity_smoothing) * track.velocity
            track.position, track.embedding, track.last_frame = position[g], embedding[g], frame
            track.rows.append(int(rows[g]))
            number[g] = track.number
        for g in np.flatnonzero(number < 0).tolist():
            born = _Track(self._count, position[g], embedding[g], np.zeros(3), frame, frame, position[g], embedding[g])
            born.rows.append(int(rows[g]))
            self.alive.append(born)
            number[g] = self._count
            self._count += 1
        return number

    def _match(self, frame: int, position: Array, embedding: Array) -> list[tuple[int, int]]:
        """Hungarian on the weighted cost of distance and similarity; gates, relaxed with the gap, after it."""
        if not (self.alive and len(position)):
            return []
        link = self.settings.link
        gap = np.array([frame - t.last_frame - 1 for t in self.alive], dtype=np.float64)
        where = np.stack([t.position + t.velocity * (frame - t.last_frame) for t in self.alive])
        what = self._rolled(np.stack([t.embedding for t in self.alive]), gap)
        far = link.max_distance * (1 + link.gap_distance_scale * gap)
        like = np.maximum(link.similarity_floor, link.min_similarity - link.gap_similarity_drop * gap)
        distance = np.linalg.norm(where[:, None] - position[None], axis=2)
        similarity = what @ _unit(embedding).T
        cost = link.weight_distance * distance / far[:, None] + link.weight_similarity * (1 - similarity)
        partner = assign(np.ascontiguousarray(cost, np.float64))
        ok = (distance <= far[:, None]) & (similarity >= like[:, None])
        return [(t, int(g)) for t, g in enumerate(partner) if g >= 0 and ok[t, g]]

    def _rolled(self, embedding: Array, gap: Array) -> Array:
        """Roll embeddings (T, D) forward by their gaps (T,) with the predictor, at most `max_rollout` times."""
        out = embedding.copy()
        if self.predict is not None:
            for k in range(self.settings.max_rollout):
                late = gap > k
                if not late.any():
                    break
                out[late] = self.predict(out[late])
        return _unit(out)

    def finish(self) -> dict[int, int]:
        """Stitch fragments; returns the final number of every track number given out."""
        tracks = sorted([*self.dead, *self.alive], key=lambda t: (t.first_frame, t.number))
        return stitch(tracks, self.settings, self._rolled)


def stitch(tracks: list[_Track], settings: TrackerSettings, rolled: Callable[[Array, Array], Array]) -> dict[int, int]:
    """Join each fragment to the best earlier one that ended before it began and is near and alike enough.

    The score of a candidate is ``similarity - 0.1 gap / 100 - 0.05 distance / theta_merge``. A fragment that has a
    successor is not offered again: its end is then that of the successor.
    """
    name = {t.number: t.number for t in tracks}
    ends = list(tracks)  # fragments whose end is free
    for b in tracks:
        best, chosen = -np.inf, None
        for a in ends:
            gap = b.first_frame - a.last_frame
            distance = float(np.linalg.norm(a.position - b.first_position))
            if gap <= 0 or distance > settings.merge_distance or a is b:
                continue
            last, first = _unit(a.embedding), _unit(b.first_embedding)
            ahead = rolled(a.embedding[None], np.array([float(gap - 1)]))[0]
            similarity = max(float(last @ first), float(ahead @ first))
            score = similarity - 0.1 * gap / 100 - 0.05 * distance / settings.merge_distance
            if similarity > settings.merge_similarity and score > best:
                best, chosen = score, a
        if chosen is not None:
            name[b.number] = name[chosen.number]
            ends.remove(chosen)
    return name
