"""MATLAB ``.mat`` files."""

from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...core.files import atomic_path
from ..dense import dense
from ..recording import Recording
from ..tracks import Tracks

_HEADER = f"MATLAB 5.0 MAT-file, written by TrackFish3D {__version__}".encode().ljust(116)


def write_mat(recording: Recording, tracks: Tracks, path: Path) -> list[str]:
    """Write arrays over frames and tracks, NaN where a track is not, for MATLAB and Octave.

    ``frame`` (T, 1), ``time_s`` (T, 1), ``track`` (1, I), ``xyz`` (T, I, 3), ``sigma``, ``confidence``, ``views`` and
    ``observed`` (T, I), ``fps`` and ``units``.
    """
    from scipy.io import savemat

    grid = dense(tracks, "MATLAB file")
    at = tracks.frame - grid.frame[0], np.searchsorted(grid.identity, tracks.track)

    def spread(values: Any) -> Any:
        out = np.full(grid.confidence.shape, np.nan)
        out[at] = values
        return out

    known = recording.info.fps_known
    content = {
        "frame": grid.frame.astype(np.float64)[:, None],
        "time_s": (grid.frame / recording.fps if known else np.full(len(grid.frame), np.nan))[:, None],
        "track": grid.identity.astype(np.float64)[None],
        "xyz": grid.position,
        "sigma": spread(np.sqrt(np.trace(tracks.covariance, axis1=1, axis2=2) / 3)),
        "confidence": grid.confidence,
        "views": spread(tracks.views),
        "observed": spread(tracks.observed),
        "fps": recording.fps if known else np.nan,
        "units": recording.units,
    }
    with atomic_path(path) as temporary:
        savemat(str(temporary), content, appendmat=False, do_compression=True)
        with temporary.open("r+b") as file:
            file.write(_HEADER)  # SciPy writes the time of day into it: same tracks, same bytes
    return [] if known else ["the frame rate is not known: time_s is NaN"]
