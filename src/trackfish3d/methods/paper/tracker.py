"""The published tracker: groups with embeddings to tracks, frame by frame, then stitched (inference appendix)."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field
from scipy.spatial import cKDTree

from ...core.settings import Settings
from ...maths.assignment import assign
from .settings import LinkSettings

Array = NDArray[np.float64]
Vectors = NDArray[np.float32]
Ints = NDArray[np.int64]
Predict = Callable[[Vectors], Vectors]
"""The temporal predictor: embeddings (M, D) to those of the next frame (M, D)."""


class TrackerSettings(Settings):
    """Life of a track and stitching of fragments, with the paper's values."""

    link: LinkSettings = Field(default_factory=LinkSettings)
    max_age: int = Field(15, ge=0, description="frames a track may go unobserved before it dies")
    velocity_smoothing: float = Field(0.7, ge=0, le=1, description="weight of the newest velocity")
    max_rollout: int = Field(5, ge=0, description="how often the predictor is applied at most")
    merge_distance: float = Field(2.0, gt=0, description="theta_merge, world units")
    merge_similarity: float = Field(0.45, description="cosine that two fragments need")


@dataclass(eq=False)
class Fragments:
    """Tracks before stitching, as columns: where, when and as what each was first and last seen.

    ``number``, ``first_frame``, ``last_frame`` (T,); ``position``, ``velocity``, ``first_position`` (T, 3) world, a
    frame; ``embedding``, ``first_embedding`` (T, D); ``rolled`` (T, D) the predictor applied ``rolls`` (T,) times to
    the embedding, kept so that each frame of a gap costs one application and not all of them again.
    """

    number: Ints
    first_frame: Ints
    last_frame: Ints
    position: Array
    velocity: Array
    first_position: Array
    embedding: Vectors
    first_embedding: Vectors
    rolled: Vectors
    rolls: Ints

    @classmethod
    def born(cls, number: Ints, frame: int, position: Array, embedding: Vectors) -> "Fragments":
        """Tracks seen for the first time."""
        n = len(number)
        now = np.full(n, frame, np.int64)
        return cls(
            number,
            now,
            now.copy(),
            position.copy(),
            np.zeros((n, 3)),
            position,
            embedding.copy(),
            embedding,
            embedding.copy(),
            np.zeros(n, np.int64),
        )

    def __len__(self) -> int:
        return len(self.number)

    def select(self, rows: ArrayLike) -> "Fragments":
        """Return these rows (mask or indices)."""
        return Fragments(*(getattr(self, f.name)[rows] for f in fields(self)))

    def __add__(self, other: "Fragments") -> "Fragments":
        return Fragments(*(np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self)))


def _unit(x: Vectors) -> Vectors:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12), np.float32)


class PaperTracker:
    """Link groups online: call `update` once a frame, then `finish` for the stitched numbers.

    Before stitching, the numbers `update` returned are final: online and offline runs agree.

    Parameters
    ----------
    settings : the paper's by default.
    predict : the temporal predictor; without one, embeddings of lost tracks stay what they were.
    """

    def __init__(self, settings: TrackerSettings | None = None, predict: Predict | None = None) -> None:
        self.settings = settings or TrackerSettings()
        self.predict = predict
        self._alive: Fragments | None = None  # None until the first group tells the length of embeddings
        self._dead: list[Fragments] = []
        self._count = 0

    def update(self, frame: int, position: ArrayLike, embedding: ArrayLike) -> Ints:
        """Take the groups of one frame and give each its track.

        Parameters
        ----------
        frame : its number, greater than that of the last call.
        position : (G, 3) of the groups, world units.
        embedding : (G, D) unit vectors.

        Returns
        -------
        (G,) track numbers.
        """
        points, vectors = np.asarray(position, np.float64), np.asarray(embedding, np.float32)
        number = np.full(len(points), -1, np.int64)
        self._bury(frame)
        alive = self._alive
        if alive is not None and len(alive) and len(points):
            track, group = self._match(alive, frame, points, vectors)
            new = self.settings.velocity_smoothing
            step = (points[group] - alive.position[track]) / (frame - alive.last_frame[track])[:, None]
            alive.velocity[track] = new * step + (1 - new) * alive.velocity[track]
            alive.position[track], alive.last_frame[track] = points[group], frame
            alive.embedding[track] = alive.rolled[track] = vectors[group]
            alive.rolls[track] = 0
            number[group] = alive.number[track]
        fresh = np.flatnonzero(number < 0)
        if len(fresh):
            number[fresh] = self._count + np.arange(len(fresh))
            self._count += len(fresh)
            born = Fragments.born(number[fresh], frame, points[fresh], vectors[fresh])
            self._alive = born if alive is None else alive + born
        return number

    def lost(self, frame: int) -> tuple[Ints, Array]:
        """Tracks that live but were not seen in the frame just given: numbers (L,) and predicted positions (L, 3)."""
        alive = self._alive
        if alive is None:
            return np.zeros(0, np.int64), np.zeros((0, 3))
        since = frame - alive.last_frame
        out = (since > 0) & (since <= self.settings.max_age)
        return alive.number[out], alive.position[out] + alive.velocity[out] * since[out, None]

    def finish(self) -> Ints:
        """Stitch fragments; returns (T,) the final number of every track number given out."""
        parts = [*self._dead, *([] if self._alive is None else [self._alive])]
        if not parts:
            return np.zeros(0, np.int64)
        every = parts[0]
        for part in parts[1:]:
            every = every + part
        order = np.lexsort((every.number, every.first_frame))
        return stitch(every.select(order), self.settings, self.predict)

    def _bury(self, frame: int) -> None:
        """Part with tracks that went unobserved for longer than `max_age`."""
        if self._alive is not None:
            tired = frame - self._alive.last_frame - 1 > self.settings.max_age
            if tired.any():
                self._dead.append(self._alive.select(tired))
                self._alive = self._alive.select(~tired)

    def _match(self, alive: Fragments, frame: int, position: Array, embedding: Vectors) -> tuple[Ints, Ints]:
        """Hungarian on the weighted cost of distance and similarity; gates, relaxed with the gap, after it."""
        link = self.settings.link
        since = frame - alive.last_frame
        gap = since - 1
        where = alive.position + alive.velocity * since[:, None]
        what = self._rolled(alive, gap)
        far = link.max_distance * (1 + link.gap_distance_scale * gap)
        like = np.maximum(link.similarity_floor, link.min_similarity - link.gap_similarity_drop * gap)
        distance = np.linalg.norm(where[:, None] - position[None], axis=2)
        similarity = what @ _unit(embedding).T
        cost = link.weight_distance * distance / far[:, None] + link.weight_similarity * (1 - similarity)
        partner = assign(np.ascontiguousarray(cost, np.float64))
        track = np.flatnonzero(partner >= 0)
        group = partner[track]
        ok = (distance[track, group] <= far[track]) & (similarity[track, group] >= like[track])
        return track[ok], group[ok]

    def _rolled(self, alive: Fragments, gap: Ints) -> Vectors:
        """Roll embeddings forward by their gaps (T,) with the predictor, at most `max_rollout` times; unit length."""
        if self.predict is not None:
            wanted = np.minimum(gap, self.settings.max_rollout)
            while (late := alive.rolls < wanted).any():
                alive.rolled[late] = self.predict(alive.rolled[late])
                alive.rolls[late] += 1
        return _unit(alive.rolled)


def stitch(tracks: Fragments, settings: TrackerSettings, predict: Predict | None = None) -> Ints:
    """Join each fragment to the best earlier one that ended before it began and is near and alike enough.

    ``tracks`` are sorted by their first frame and hold every number from 0. Returns (T,) the final number of each
    number.

    The score of a candidate is ``similarity - 0.1 gap / 100 - 0.05 distance / theta_merge``; similarity is the better
    of the raw one and that after rolling the earlier embedding across the gap. A fragment that has a successor is not
    offered again: its end is then that of the successor.
    """
    last = [tracks.embedding]  # by number of applications of the predictor
    if predict is not None:
        for _ in range(settings.max_rollout):
            last.append(predict(last[-1]))
    ahead = np.stack([_unit(x) for x in last])
    first = _unit(tracks.first_embedding)
    near = cKDTree(tracks.position).query_ball_point(tracks.first_position, settings.merge_distance, return_sorted=True)
    root = np.arange(len(tracks))
    free = np.ones(len(tracks), bool)  # fragments whose end is free
    for b, around in enumerate(near):
        a = np.array(around, np.int64)
        gap = tracks.first_frame[b] - tracks.last_frame[a]
        fits = (gap > 0) & free[a]
        a, gap = a[fits], gap[fits]
        if not len(a):
            continue
        distance = np.linalg.norm(tracks.position[a] - tracks.first_position[b], axis=1)
        rolled = ahead[np.minimum(gap - 1, len(ahead) - 1), a]
        similarity = np.maximum(ahead[0, a] @ first[b], rolled @ first[b])
        score = similarity - 0.1 * gap / 100 - 0.05 * distance / settings.merge_distance
        score[similarity <= settings.merge_similarity] = -np.inf
        best = int(np.argmax(score))
        if np.isfinite(score[best]):
            root[b] = root[a[best]]
            free[a[best]] = False
    final = np.empty(len(tracks), np.int64)
    final[tracks.number] = tracks.number[root]
    return final
