"""What is the same for all blocks of an analysis."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..measures.smoothing import SwimNoise
from ..settings import AnalysisSettings

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

QUANTITIES = ("speed", "turning", "nearest_neighbour", "depth")  # whose distributions are kept


@dataclass(frozen=True, eq=False)
class Context:
    """What is the same for all blocks.

    ``up`` (3,) unit vector, ``surface_world`` along it; ``noise`` of the tracks; ``main`` (K,) the tracks whose pairs
    are looked at; ``slow_per_s`` a speed below which an animal stands; ``edges`` of the histograms of `QUANTITIES`;
    ``pair_edges`` of the pair correlation; ``reach_world`` of the neighbour maps; ``low``, ``high`` (3,) and ``cells``
    of the tank; frames: ``bin_frames`` of the averages, ``every`` how many frames lie between those used for pairs,
    ``first_frame`` and ``last_frame`` of all; ``fast`` a speed that nobody cruises at, world a frame.
    """

    fps: float
    units: str
    up: Array
    surface_world: float
    noise: SwimNoise
    settings: AnalysisSettings
    main: Ints
    slow_per_s: float
    edges: dict[str, Array]
    pair_edges: Array
    reach_world: float
    low: Array
    high: Array
    cells: tuple[int, int, int]
    bin_frames: int
    every: int
    first_frame: int
    last_frame: int
    fast: float

    @property
    def window_bins(self) -> int:
        """Bins of a window that is judged: bins are whole frames, so they may be longer than was asked for."""
        return max(1, round(self.settings.anomaly.window_s * self.fps / self.bin_frames))

    def bin_of(self, frame: Ints) -> Ints:
        """Return the bin of frames: the first begins with the recording, whatever its frames are counted from."""
        return np.asarray((frame - self.first_frame) // self.bin_frames)

    def frames_of(self, first_bin: Ints, last_bin: Ints) -> tuple[Ints, Ints]:
        """Return first and last frames of stretches of bins, within the frames that there are."""
        first = self.first_frame + first_bin * self.bin_frames
        last = self.first_frame + (last_bin + 1) * self.bin_frames - 1
        return np.maximum(first, self.first_frame), np.minimum(last, self.last_frame)
