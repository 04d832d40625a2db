"""Frames of unequal size, padded into batches."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def pad(values: NDArray, offsets: NDArray[np.int64], frames: NDArray[np.integer], fill: float = 0) -> NDArray:
    """Rows (M, ...) of the chosen frames as one array (B, N, ...), N the largest frame."""
    count = offsets[frames + 1] - offsets[frames]
    n = int(count.max(initial=1))
    out = np.full((len(frames), n, *values.shape[1:]), fill, values.dtype)
    place = np.arange(n)[None] < count[:, None]
    rows = (offsets[frames][:, None] + np.arange(n)[None])[place]
    out[place] = values[rows]
    return out


def size_batches(
    offsets: NDArray[np.int64], frames: NDArray[np.integer], most_tokens: int = 4096
) -> Iterator[NDArray[np.int64]]:
    """Split frames into batches of similar size, each at most `most_tokens` padded detections."""
    count = (offsets[1:] - offsets[:-1])[frames]
    order = np.argsort(count, kind="stable")
    first = 0
    while first < len(order):
        last = first + 1
        while last < len(order) and (last - first + 1) * max(int(count[order[last]]), 1) <= most_tokens:
            last += 1
        yield np.asarray(frames)[order[first:last]].astype(np.int64)
        first = last
