"""netCDF as the package ``movement`` keeps poses (0.17 and later: singular names of dimensions)."""

from pathlib import Path

import numpy as np

from ...core.errors import MissingExtraError
from ...core.files import atomic_path
from ..dense import to_dataset
from ..recording import Recording
from ..tracks import Tracks


def write_netcdf(recording: Recording, tracks: Tracks, path: Path) -> list[str]:
    """Write a ``movement`` poses dataset: position (time, space, keypoint, individual) and confidence."""
    try:
        import netCDF4  # noqa: F401
    except ImportError:
        raise MissingExtraError("xarray and netCDF4", "netcdf", "writing netCDF") from None
    dataset = to_dataset(tracks, recording.fps, recording.units, recording.folder.name)
    packed = {name: {"zlib": True, "complevel": 4, "dtype": np.float64} for name in ("position", "confidence")}
    with atomic_path(path) as temporary:
        dataset.to_netcdf(temporary, engine="netcdf4", encoding=packed)
    return [] if recording.info.fps_known else ["the frame rate is not known: time is frame / 30"]
