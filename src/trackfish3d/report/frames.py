"""The frames a page can show: all of them, or every n-th of a long recording."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .packing import packed

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FrameAxis:
    """``numbers`` (F,) frame numbers, ascending; every ``stride``-th of them is shown.

    ``every``: where they are every n-th frame of a recording, n.
    """

    numbers: Ints
    stride: int = 1
    every: int = 1

    @classmethod
    def over(cls, *columns: ArrayLike) -> "FrameAxis":
        """Every frame from the first to the last of any of the frame columns.

        Frame numbers with wide holes (timestamps in their place) would make an axis of mostly nothing: there only
        the frames that occur are kept.
        """
        found = np.unique(np.concatenate([np.zeros(0, np.int64), *(np.asarray(c, dtype=np.int64) for c in columns)]))
        if len(found) and found[-1] - found[0] < 10 * len(found) + 1000:
            found = np.arange(found[0], found[-1] + 1)
        return cls(found if len(found) else np.zeros(1, np.int64))

    @cached_property
    def shown(self) -> Ints:
        """(S,) numbers of the frames that are shown."""
        return self.numbers[:: self.stride]

    def position(self, frame: ArrayLike) -> Ints:
        """Index into `numbers` of frames (N,) that are on the axis."""
        return np.searchsorted(self.numbers, np.asarray(frame, dtype=np.int64)).astype(np.int64)

    def to_json(self) -> dict[str, Any]:
        """For the page: first number and count where they are all there, else the numbers themselves."""
        whole = bool((np.diff(self.numbers) == 1).all())
        return {
            "count": len(self.numbers),
            "stride": self.stride,
            "every": self.every,
            "first": int(self.numbers[0]),
            "numbers": None if whole else packed(self.numbers, "f64"),
        }


def runs(group: Ints, position: Ints, state: Ints) -> Ints:
    """Stretches of equal `state` on consecutive positions within a group, (R, 4): group, first, last, state.

    Rows must be sorted by group and position (index on the axis).
    """
    n = len(group)
    if n == 0:
        return np.zeros((0, 4), np.int64)
    begins = np.ones(n, np.bool_)
    begins[1:] = (np.diff(group) != 0) | (np.diff(position) != 1) | (np.diff(state) != 0)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], n) - 1
    return np.column_stack([group[first], position[first], position[last], state[first]])
