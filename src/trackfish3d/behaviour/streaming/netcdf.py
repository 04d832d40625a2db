"""Smoothed tracks and their kinematics as a netCDF that the package ``movement`` opens."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ... import __version__
from ...core.errors import InputError, MissingExtraError
from ...core.files import atomic_path
from .context import Context

MOST = 500_000_000
_SCALARS = ("speed", "turning", "acceleration", "depth", "nearest_neighbour", "sigma_position", "sigma_speed")


def write_netcdf(points: pa.Table, plan: Context, path: Path, source: str) -> None:
    """Write a poses dataset of ``movement``: position and velocity (time, space, keypoint, individual) and scalars.

    ``points`` is the table of that name of an analysis. Position is the smoothed one; ``observed`` is 0 where a point
    was interpolated; confidence is 1 / (1 + sigma of the position / median sigma), so that it can be filtered by.
    """
    try:
        import netCDF4  # noqa: F401
        import xarray as xr
    except ImportError:
        raise MissingExtraError("xarray and netCDF4", "netcdf", "writing netCDF") from None
    unit = plan.units
    frame, track = points["frame"].to_numpy(), points["track"].to_numpy()
    names = np.unique(track)
    first = int(frame.min())
    shape = int(frame.max()) - first + 1, len(names)
    if shape[0] * shape[1] * 14 > MOST:
        raise InputError(f"netCDF keeps every track at every frame: {shape[0]} x {shape[1]} are too many; use Parquet")
    at = frame - first, np.searchsorted(names, track)

    def dense(column: str) -> Any:
        out = np.full(shape, np.nan, np.float64 if column[0] in "xyz" and column[1] == "_" else np.float32)
        out[at] = points[column].to_numpy(zero_copy_only=False)
        return out

    def vector(columns: list[str]) -> Any:
        return np.stack([dense(c) for c in columns], axis=1)[:, :, None, :]

    full = ("time", "space", "keypoint", "individual")
    rate = f"{unit}/s"
    variables: dict[str, Any] = {
        "position": (full, vector([f"{a}_{unit}" for a in "xyz"]), {"units": unit}),
        "velocity": (full, vector([f"v{a}_{unit}_per_s" for a in "xyz"]), {"units": rate}),
    }
    units = {"speed": rate, "turning": "rad/s", "acceleration": f"{unit}/s^2", "sigma_speed": rate}
    for name in _SCALARS:
        column = next(c for c in points.column_names if c.startswith(f"{name}_"))
        variables[name] = (full[:1] + full[2:], dense(column)[:, None, :], {"units": units.get(name, unit)})
    sigma = variables["sigma_position"][1]
    with np.errstate(invalid="ignore", divide="ignore"):
        variables["confidence"] = (full[:1] + full[2:], 1 / (1 + sigma / np.nanmedian(sigma)))
    variables["observed"] = (full[:1] + full[2:], dense("observed")[:, None, :])
    dataset = xr.Dataset(
        variables,
        coords={
            "time": np.arange(first, first + shape[0]) / plan.fps,
            "space": ["x", "y", "z"],
            "keypoint": ["centroid"],
            "individual": [f"track_{t}" for t in names.tolist()],
        },
        attrs={
            "source_software": "TrackFish3D",
            "source_software_version": __version__,
            "source_file": source,
            "ds_type": "poses",
            "fps": float(plan.fps),
            "time_unit": "seconds",
            "first_frame": first,
            "space_unit": unit,
        },
    )
    packed = {name: {"zlib": True, "complevel": 4} for name in dataset.data_vars}
    with atomic_path(path) as temporary:
        dataset.to_netcdf(temporary, engine="netcdf4", encoding=packed)
