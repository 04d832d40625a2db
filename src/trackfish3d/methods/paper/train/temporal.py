"""Which groups of successive frames are one animal, for the temporal loss (paper, section 3.7 and its appendix)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ....maths.assignment import assign
from ..settings import LinkSettings

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GroupTable:
    """Groups of frames in the order of time: offsets (F + 1,) of `frame` (F,), the number of each frame.

    position (G, 3) world; embedding (G, D) unit; confidence (G,).
    """

    frame: NDArray[np.int64]
    offsets: NDArray[np.int64]
    position: Array
    embedding: NDArray[np.float32]
    confidence: Array

    @classmethod
    def empty(cls, width: int) -> "GroupTable":
        """No frame, no group."""
        none = np.zeros(0, np.int64)
        return cls(none, np.zeros(1, np.int64), np.zeros((0, 3)), np.zeros((0, width), np.float32), np.zeros(0))

    def join(self, later: "GroupTable") -> "GroupTable":
        """Append later frames."""
        return GroupTable(
            np.concatenate([self.frame, later.frame]),
            np.concatenate([self.offsets, self.offsets[-1] + later.offsets[1:]]),
            np.concatenate([self.position, later.position]),
            np.concatenate([self.embedding, later.embedding]),
            np.concatenate([self.confidence, later.confidence]),
        )

    def cut(self, first: int, last: int) -> "GroupTable":
        """Frames `first` (included) to `last` (excluded), as places in `frame`."""
        rows = slice(self.offsets[first], self.offsets[last])
        return GroupTable(
            self.frame[first:last],
            self.offsets[first : last + 1] - self.offsets[first],
            self.position[rows],
            self.embedding[rows],
            self.confidence[rows],
        )


class _Gates(NamedTuple):
    """What two groups of one animal may differ by, and how it is weighed: see `LinkSettings`."""

    weight_distance: float
    weight_similarity: float
    max_distance: float
    min_similarity: float
    gap_distance_scale: float
    gap_similarity_drop: float
    similarity_floor: float


def link_groups(
    table: GroupTable, begin: int, link: LinkSettings
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Links that end in the frames from place `begin` on: rows of the earlier and later group, and weights (L,).

    Frame by frame: Hungarian with the frame before, then, for groups left over, the cheapest partner in the newest of
    the earlier frames of the memory that has one within the gates, relaxed by the gap.
    """
    gates = _Gates(*(float(getattr(link, name)) for name in _Gates._fields))
    return _links(  # type: ignore[no-any-return]
        table.frame, table.offsets, table.position, table.embedding, table.confidence, begin, link.memory, gates
    )


@njit(cache=True, nogil=True)
def _links(  # type: ignore[no-untyped-def]
    frame, offsets, position, embedding, confidence, begin, memory, gates: _Gates
):
    total = offsets[-1]
    early = np.empty(total, np.int64)
    late = np.empty(total, np.int64)
    weight = np.empty(total, np.float32)
    count = 0
    free = np.ones(total, np.bool_)
    for t in range(max(begin, 1), len(frame)):
        b0, b1 = offsets[t], offsets[t + 1]
        for s in range(t - 1, -1, -1):
            gap = frame[t] - frame[s] - 1
            a0, a1 = offsets[s], offsets[s + 1]
            if gap >= memory or b1 == b0:
                break
            if a1 == a0:
                continue
            far = gates.max_distance * (1 + gates.gap_distance_scale * gap)
            like = max(gates.similarity_floor, gates.min_similarity - gates.gap_similarity_drop * gap)
            cost = np.empty((a1 - a0, b1 - b0))
            good = np.zeros((a1 - a0, b1 - b0), np.bool_)
            for i in range(a1 - a0):
                for j in range(b1 - b0):
                    if gap > 0 and not free[b0 + j]:
                        continue
                    square = 0.0
                    for k in range(3):
                        square += (position[a0 + i, k] - position[b0 + j, k]) ** 2
                    dot = np.float32(0)
                    for k in range(embedding.shape[1]):
                        dot += embedding[a0 + i, k] * embedding[b0 + j, k]
                    distance = np.sqrt(square)
                    cost[i, j] = gates.weight_distance * distance / far + gates.weight_similarity * (1 - dot)
                    good[i, j] = distance < far and dot > like
            if gap == 0:
                partner = assign(cost)
                for i in range(a1 - a0):
                    j = partner[i]
                    if j >= 0 and good[i, j]:
                        early[count], late[count] = a0 + i, b0 + j
                        weight[count] = min(confidence[a0 + i], confidence[b0 + j])
                        free[b0 + j] = False
                        count += 1
                continue
            for j in range(b1 - b0):
                best = -1
                for i in range(a1 - a0):
                    if free[b0 + j] and good[i, j] and (best < 0 or cost[i, j] < cost[best, j]):
                        best = i
                if best >= 0:
                    early[count], late[count] = a0 + best, b0 + j
                    weight[count] = min(confidence[a0 + best], confidence[b0 + j])
                    free[b0 + j] = False
                    count += 1
    return early[:count], late[:count], weight[:count]
