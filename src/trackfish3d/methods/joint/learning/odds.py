"""A trained pair network as a function of detections, for trackers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ....cameras import CameraRig
from ....core.errors import MissingExtraError
from ....recordings import Detections

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
SHIPPED = "shipped"  # in place of a path: the network that comes with the package
Odds = Callable[[CameraRig, Detections, Array, float], tuple[int, Ints, Ints, NDArray[np.float32]]]


def load_odds(path: Path | str) -> Odds:
    """Read a network, or the `SHIPPED` one: a function of rig, detections, noise (N,) px and body length to pairs.

    These are the number of detections, first and second detection (P,) of each plausible pair, and the log-likelihood
    ratio (P,) of one animal against two that shape and surroundings give beyond geometry. Pairs without masks are left
    out: size alone says little, and what one detector's boxes taught did harm with another's.
    """
    try:
        from .batches import score_pairs
        from .checkpoint import load_pairs, shipped_pairs
    except ImportError:
        raise MissingExtraError("PyTorch", "learn", "a pair network") from None
    from .kernels import Column
    from .pair_features import pair_frames

    net = load_pairs(shipped_pairs() if str(path) == SHIPPED else path)

    def odds(
        rig: CameraRig, detections: Detections, noise: Array, body_length: float
    ) -> tuple[int, Ints, Ints, NDArray[np.float32]]:
        frames = pair_frames(rig, detections, noise, body_length)
        seen = frames.columns[:, Column.MASKS] > 0
        return len(detections), frames.first[seen], frames.second[seen], score_pairs(net, frames)[1][seen]

    return odds
