"""netCDF as the package ``movement`` keeps poses."""

from pathlib import Path

import numpy as np

from ... import __version__
from ...core.errors import MissingExtraError
from ...core.files import atomic_path
from ..dense import animal_name, dense
from ..recording import Recording
from ..tracks import Tracks


def write_netcdf(recording: Recording, tracks: Tracks, path: Path) -> list[str]:
    """Write a ``movement`` poses dataset: position (time, space, keypoints, individuals) and confidence.

    Time is frame / fps in seconds, so that frame numbers can be got back. The one keypoint is ``centroid``.
    """
    try:
        import netCDF4  # noqa: F401
        import xarray as xr
    except ImportError:
        raise MissingExtraError("xarray and netCDF4", "netcdf", "writing netCDF") from None
    grid = dense(tracks, "netCDF")
    position = grid.position.transpose(0, 2, 1)[:, :, None, :]
    dataset = xr.Dataset(
        {
            "position": (("time", "space", "keypoints", "individuals"), position, {"units": recording.units}),
            "confidence": (("time", "keypoints", "individuals"), grid.confidence[:, None, :]),
        },
        coords={
            "time": grid.frame / recording.fps,
            "space": ["x", "y", "z"],
            "keypoints": ["centroid"],
            "individuals": [animal_name(t) for t in grid.identity.tolist()],
        },
        attrs={
            "source_software": "TrackFish3D",
            "source_software_version": __version__,
            "source_file": recording.folder.name,
            "ds_type": "poses",
            "fps": float(recording.fps),
            "time_unit": "seconds",
            "first_frame": int(grid.frame[0]),
            "space_unit": recording.units,
        },
    )
    packed = {name: {"zlib": True, "complevel": 4, "dtype": np.float64} for name in ("position", "confidence")}
    with atomic_path(path) as temporary:
        dataset.to_netcdf(temporary, engine="netcdf4", encoding=packed)
    return []
