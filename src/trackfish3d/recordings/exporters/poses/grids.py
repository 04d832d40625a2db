"""Poses as arrays over every frame: ``movement``'s netCDF, sleap-anipose's points3d.h5, C3D."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .... import __version__
from ....core.errors import InputError, MissingExtraError
from ....core.files import atomic_path
from ...dense import MAX_VALUES, animal_name
from ...poses import Poses
from ...recording import Recording


@dataclass(frozen=True)
class Grid:
    """``frame`` (T,) every frame from first to last, ``identity`` (I,), ``position`` (T, I, K, 3), ``sigma`` and
    ``views`` (T, I, K); NaN where there is nothing.
    """

    frame: NDArray[np.int64]
    identity: NDArray[np.int64]
    position: NDArray[np.float64]
    sigma: NDArray[np.float64]
    views: NDArray[np.float64]

    @classmethod
    def of(cls, poses: Poses, purpose: str) -> "Grid":
        """Spread poses over a full grid, or say that it would not fit."""
        identity = poses.identities
        first, last = int(poses.frame[0]), int(poses.frame[-1])
        shape = (last - first + 1, len(identity), len(poses.skeleton))
        if 5 * int(np.prod(shape)) > MAX_VALUES:
            raise InputError(f"{purpose} keeps every part at every frame: {shape[0]} frames are too many; use parquet")
        at = poses.frame - first, np.searchsorted(identity, poses.track)
        position, sigma, views = np.full((*shape, 3), np.nan), np.full(shape, np.nan), np.full(shape, np.nan)
        position[at], sigma[at], views[at] = poses.position, poses.sigma, poses.views
        return cls(np.arange(first, last + 1), identity, position, sigma, views)


def confidence(grid: Grid) -> NDArray[np.float64]:
    """How sure a part is, (T, I, K) of 0 to 1: near 1 where sigma is far below the usual, a half where it is usual."""
    known = grid.sigma[np.isfinite(grid.sigma)]
    usual = float(np.median(known)) if len(known) else 1.0
    out: NDArray[np.float64] = 1.0 / (1.0 + (grid.sigma / max(usual, 1e-300)) ** 2)
    return out


def write_movement(recording: Recording, poses: Poses, path: Path, about: Mapping[str, Any]) -> list[str]:
    """Write a 3D poses dataset of ``movement``: position (time, space, keypoint, individual), confidence and sigma."""
    try:
        import netCDF4  # noqa: F401
        import xarray as xr
    except ImportError:
        raise MissingExtraError("xarray and netCDF4", "netcdf", "writing netCDF") from None
    grid = Grid.of(poses, "netCDF")
    dims = ("time", "space", "keypoint", "individual")
    dataset = xr.Dataset(
        {
            "position": (dims, grid.position.transpose(0, 3, 2, 1), {"units": recording.units}),
            "confidence": (("time", "keypoint", "individual"), confidence(grid).transpose(0, 2, 1)),
            "sigma": (("time", "keypoint", "individual"), grid.sigma.transpose(0, 2, 1), {"units": recording.units}),
        },
        coords={
            "time": grid.frame / recording.fps,
            "space": ["x", "y", "z"],
            "keypoint": list(poses.skeleton.parts),
            "individual": [animal_name(t) for t in grid.identity.tolist()],
        },
        attrs={
            "source_software": "TrackFish3D",
            "source_software_version": __version__,
            "source_file": recording.folder.name,
            "ds_type": "poses",
            "time_unit": "seconds",
            "fps": float(recording.fps),
            "first_frame": int(grid.frame[0]),
            "space_unit": recording.units,
        },
    )
    packed = {name: {"zlib": True, "complevel": 4} for name in ("position", "confidence", "sigma")}
    with atomic_path(path) as temporary:
        dataset.to_netcdf(temporary, engine="netcdf4", encoding=packed)
    return [] if recording.info.fps_known else ["the frame rate is not known: time is frame / 30"]


def write_points3d(recording: Recording, poses: Poses, path: Path, about: Mapping[str, Any]) -> list[str]:
    """Write ``points3d.h5`` as sleap-anipose does: tracks (frame, animal, part, 3), and names beside them."""
    try:
        import h5py
    except ImportError:
        raise MissingExtraError("h5py", "sleap", "writing points3d.h5") from None
    grid = Grid.of(poses, "points3d.h5")
    with atomic_path(path) as temporary, h5py.File(temporary, "w") as file:
        file.create_dataset("tracks", data=grid.position, compression="gzip", compression_opts=4)
        file.create_dataset("frames", data=grid.frame)
        file["node_names"] = np.array([p.encode() for p in poses.skeleton.parts])
        file["track_names"] = np.array([animal_name(t).encode() for t in grid.identity.tolist()])
    return []


def write_c3d(recording: Recording, poses: Poses, path: Path, about: Mapping[str, Any]) -> list[str]:
    """Write C3D: a point for each part of each animal, called ``track_0:snout``; residual -1 where there is none."""
    try:
        import ezc3d
    except ImportError:
        raise MissingExtraError("ezc3d", "c3d", "writing C3D") from None
    grid = Grid.of(poses, "C3D")
    frames, animals, parts = grid.sigma.shape
    if frames > 65535 or animals * parts > 65535:
        raise InputError(f"C3D holds 65535 frames and points at most; here are {frames} and {animals * parts}")
    labels = [f"{animal_name(t)}:{p}" for t in grid.identity.tolist() for p in poses.skeleton.parts]
    points = grid.position.reshape(frames, -1, 3).transpose(2, 1, 0)
    sigma = grid.sigma.reshape(1, frames, -1).transpose(0, 2, 1)
    file = ezc3d.c3d()
    file["parameters"]["POINT"]["RATE"]["value"] = [float(recording.fps)]
    file["parameters"]["POINT"]["UNITS"]["value"] = [recording.units]
    file["parameters"]["POINT"]["LABELS"]["value"] = labels
    file["header"]["points"]["first_frame"] = int(max(grid.frame[0], 0))
    file["data"]["points"] = np.concatenate([points, np.ones_like(points[:1])])
    there = np.isfinite(points).all(0, keepdims=True)
    file["data"]["meta_points"]["residuals"] = np.where(there, np.nan_to_num(sigma), -1.0)
    with atomic_path(path) as temporary:
        file.write(str(temporary))
    return [] if recording.info.fps_known else ["the frame rate is not known: 30 is written"]
