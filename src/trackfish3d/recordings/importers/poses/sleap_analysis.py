"""SLEAP's analysis HDF5: one video's tracks as arrays."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from ....core.errors import InputError, MissingExtraError
from ....core.reading.isolation import read_isolated
from ...detections import Detections
from .._file import DetectionFile
from ..keypoints import Poses, detections_from_poses, several


def read_sleap_analysis(file: DetectionFile) -> Detections:
    """Read ``*.analysis.h5`` of one camera: tracks (animal, xy, part, frame), frames counted from 0."""
    if importlib.util.find_spec("h5py") is None:
        raise MissingExtraError("h5py", "sleap", "reading SLEAP's analysis files")
    if not file.path.is_file():
        raise file.fail("no such file")
    camera = file.only_camera()
    parts, edges, points, score = read_isolated(load_analysis, file.path, libraries=("h5py",))
    animals, frames = points.shape[:2]
    return detections_from_poses(
        file,
        Poses(
            parts,
            np.tile(np.arange(frames), animals),
            np.full(frames * animals, camera, np.int64),
            points.reshape(frames * animals, len(parts), 2),
            score.reshape(frames * animals, len(parts)),
            edges,
            tracklet=several(animals, frames),
        ),
    )


def load_analysis(path: Path) -> tuple[list[str], list[tuple[int, int]], np.ndarray, np.ndarray]:
    """Names, edges, points (animal, frame, part, 2) and scores (animal, frame, part) of a file; HDF5 can crash."""
    import h5py

    try:
        with h5py.File(path, "r") as data:
            tracks = np.asarray(data["tracks"], dtype=np.float64)
            parts = [_text(n) for n in data["node_names"][:]]
            animals, two, count, frames = tracks.shape
            if two != 2 or count != len(parts):
                raise InputError(f"{path}: tracks are {tracks.shape}; expected (animal, 2, {len(parts)} parts, frame)")
            score = np.ones((animals, count, frames))
            if "point_scores" in data:
                score = np.asarray(data["point_scores"], dtype=np.float64).reshape(score.shape)
            edges = [(int(a), int(b)) for a, b in data["edge_inds"][:]] if "edge_inds" in data else []
    except InputError:
        raise
    except Exception as error:  # HDF5 meets damaged files with errors of every kind
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: is not SLEAP's analysis file ({type(error).__name__}: {reason})") from None
    score = score.transpose(0, 2, 1)
    points = tracks.transpose(0, 3, 2, 1)
    score = np.where(np.isfinite(points).all(-1), np.clip(np.nan_to_num(score), 0, 1), np.nan)
    return parts, edges, points, score


def _text(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
