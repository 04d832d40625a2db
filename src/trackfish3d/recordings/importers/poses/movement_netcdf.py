"""Poses of the package ``movement`` in netCDF: position (time, space, keypoint, individual) in px."""

import importlib.util
from pathlib import Path

import numpy as np

from ....core.errors import InputError, MissingExtraError
from ....core.reading.isolation import read_isolated
from ...detections import Detections
from .._file import DetectionFile
from ..keypoints import Poses, detections_from_poses, several

_DIMENSIONS = (("time",), ("space",), ("keypoint", "keypoints"), ("individual", "individuals"))


def read_movement(file: DetectionFile) -> Detections:
    """Read a poses dataset of one camera; time in seconds becomes frames by its ``fps``, whole numbers are frames."""
    if importlib.util.find_spec("xarray") is None or importlib.util.find_spec("netCDF4") is None:
        raise MissingExtraError("xarray and netCDF4", "netcdf", "reading netCDF")
    if not file.path.is_file():
        raise file.fail("no such file")
    camera = file.only_camera()
    backend = ("pandas", "dask.array", "netCDF4", "xarray.backends.netCDF4_")  # dask: xarray looks for it
    parts, time, position, score = read_isolated(load_movement, file.path, libraries=backend)
    if (np.abs(time - np.round(time)) > 0.05).any() or (np.abs(time) > 2**53).any():
        raise file.fail("its times are no whole numbers of frames")
    frames, animals = len(time), position.shape[3]
    points = position.transpose(3, 0, 2, 1).reshape(animals * frames, len(parts), 2)
    likelihood = score.transpose(2, 0, 1).reshape(animals * frames, len(parts))
    frame = np.tile(np.round(time).astype(np.int64), animals)
    cameras, tracklet = np.full(len(frame), camera, np.int64), several(animals, frames)
    return detections_from_poses(file, Poses(parts, frame, cameras, points, likelihood, tracklet=tracklet))


def load_movement(path: Path) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Parts, time (T,) in frames, position (T, 2, K, I) px and confidence (T, K, I); netCDF can crash."""
    import xarray as xr

    try:
        with xr.open_dataset(path, engine="netcdf4", decode_times=False) as data:
            names = [next(n for n in options if n in data["position"].dims) for options in _DIMENSIONS]
            position = np.asarray(data["position"].transpose(*names).values, dtype=np.float64)
            if position.shape[1] != 2:
                raise InputError(f"{path}: its space has {position.shape[1]} axes; poses in an image have 2")
            order = [names[0], names[2], names[3]]
            score = np.ones((position.shape[0], *position.shape[2:]))
            if "confidence" in data:
                score = np.asarray(data["confidence"].transpose(*order).values, dtype=np.float64)
            time = np.arange(len(position)) if names[0] not in data.coords else np.asarray(data[names[0]].values)
            fps = data.attrs.get("fps")
            frame = time.astype(np.float64) * (float(fps) if fps not in (None, "None") else 1.0)
            parts = [str(p) for p in np.asarray(data[names[2]].values)]
    except InputError:
        raise
    except Exception as error:  # xarray and netCDF meet damaged files with errors of every kind
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: is not a movement dataset of poses ({type(error).__name__}: {reason})") from None
    if not np.isfinite(frame).all():
        raise InputError(f"{path}: a time is not a number")
    return parts, frame, position, score
