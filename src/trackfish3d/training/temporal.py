"""Which groups of successive frames are one animal, for the temporal loss (paper, section 3.7 and its appendix)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..assignment import assign
from ..association.settings import LinkSettings

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FrameGroups:
    """Groups of one frame: rows (G,) into a table of embeddings, position (G, 3), embedding (G, D), confidence (G,)."""

    rows: NDArray[np.int64]
    position: Array
    embedding: Array
    confidence: Array


def _costs(a: FrameGroups, b: FrameGroups, link: LinkSettings, gap: int) -> tuple[Array, NDArray[np.bool_]]:
    """Cost of every link, and whether it passes the gates, relaxed by the gap as in fallback matching."""
    far = link.max_distance * (1 + link.gap_distance_scale * gap)
    like = max(link.similarity_floor, link.min_similarity - link.gap_similarity_drop * gap)
    distance = np.linalg.norm(a.position[:, None] - b.position[None], axis=2)
    similarity = a.embedding @ b.embedding.T
    cost = link.weight_distance * distance / far + link.weight_similarity * (1 - similarity)
    return cost, (distance < far) & (similarity > like)


def link_window(frames: list[FrameGroups], link: LinkSettings) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Links of a window: rows of the earlier and the later group (L,), and their weights (L,).

    Frame by frame: Hungarian with the frame before, then, for groups left over, the best partner in the newest of
    the earlier frames of the memory that has one.
    """
    early, late, weight = [], [], []
    for t in range(1, len(frames)):
        now = frames[t]
        free = np.ones(len(now.rows), bool)
        for gap in range(min(t, link.memory)):
            past = frames[t - 1 - gap]
            if not (len(past.rows) and free.any()):
                continue
            cost, ok = _costs(past, now, link, gap)
            if gap == 0:
                partner = assign(np.ascontiguousarray(cost, np.float64))
                pairs = [(i, int(j)) for i, j in enumerate(partner) if j >= 0 and ok[i, j]]
            else:
                cost = np.where(ok & free[None], cost, np.inf)
                best = cost.argmin(0)
                pairs = [(int(best[j]), j) for j in np.flatnonzero(np.isfinite(cost.min(0))).tolist()]
            for i, j in pairs:
                early.append(past.rows[i])
                late.append(now.rows[j])
                weight.append(min(past.confidence[i], now.confidence[j]))
                free[j] = False
    return np.array(early, np.int64), np.array(late, np.int64), np.array(weight, np.float64)
