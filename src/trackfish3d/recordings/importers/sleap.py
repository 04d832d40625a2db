"""SLEAP ``.slp`` files."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError, MissingExtraError
from ...core.reading.isolation import read_isolated
from ..detections import Detections
from ._file import DetectionFile, camera_in_path
from .keypoints import Poses, detections_from_poses


@dataclass(frozen=True)
class Labels:
    """What is taken from a SLEAP file: ``parts`` (K) names; for each of N instances ``frame`` (N,), ``video`` (N,),
    ``points`` (N, K, 2) px, ``scores`` (N, K) and ``track`` (N,), -1 for none; ``edges`` between parts; of each
    video its path, and its camera's name in a session, or "".
    """

    parts: list[str]
    frame: NDArray[np.int64]
    video: NDArray[np.int64]
    points: NDArray[np.float64]
    scores: NDArray[np.float64]
    track: NDArray[np.int64]
    edges: list[tuple[int, int]]
    paths: list[str]
    linked: list[str]


def read_sleap(file: DetectionFile) -> Detections:
    """Read the instances of a SLEAP file: of one video, or of several that name their cameras.

    A video's camera is the one the file was given for, else the camera it is linked to in a recording session, else
    the one its file name or folder names. Peaks of confidence maps can pass 1 by a little: scores are clipped there.
    """
    if importlib.util.find_spec("sleap_io") is None:
        raise MissingExtraError("sleap-io", "sleap", "reading SLEAP files")
    if not file.path.is_file():
        raise file.fail("no such file")
    labels = read_isolated(load_labels, file.path, libraries=("shapely", "sleap_io.io.main", "sleap_io.io.slp"))
    cameras = np.array([_camera(file, labels, k) for k in range(len(labels.paths))], dtype=np.int64)
    tracklet = labels.track if (labels.track >= 0).any() else None
    return detections_from_poses(
        file,
        Poses(
            labels.parts,
            labels.frame,
            cameras[labels.video],
            labels.points,
            labels.scores,
            labels.edges,
            tracklet=tracklet,
        ),
    )


def load_labels(path: Path) -> Labels:
    """Read a SLEAP file as arrays; HDF5 can crash on damaged files."""
    import sleap_io

    try:
        return _arrays(path, sleap_io.load_slp(str(path), open_videos=False))
    except InputError:
        raise
    except Exception as error:  # sleap-io and HDF5 meet damaged files with errors of every kind
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: is not a SLEAP file ({type(error).__name__}: {reason})") from None


def _arrays(path: Path, labels: Any) -> Labels:
    parts = [str(n) for n in labels.skeletons[0].node_names] if labels.skeletons else []
    number = {id(video): k for k, video in enumerate(labels.videos)}
    tracks = {id(track): k for k, track in enumerate(labels.tracks)}
    frames, videos, points, scores, own = [], [], [], [], []
    for labelled in labels.labeled_frames:
        for instance in labelled.instances:
            if [str(n) for n in instance.skeleton.node_names] != parts:
                raise InputError(f"{path}: has more than one skeleton; keep one")
            frames.append(int(labelled.frame_idx))
            videos.append(number[id(labelled.video)])
            points.append(np.asarray(instance.numpy(), dtype=np.float64))
            known = "score" in (instance.points.dtype.names or ())
            own.append(-1 if instance.track is None else tracks.get(id(instance.track), -1))
            scores.append(np.clip(instance.points["score"], 0, 1) if known else np.ones(len(parts)))
    return Labels(
        parts,
        np.array(frames, dtype=np.int64),
        np.array(videos, dtype=np.int64),
        np.array(points, dtype=np.float64).reshape(len(frames), len(parts), 2),
        np.array(scores, dtype=np.float64).reshape(len(frames), len(parts)),
        np.array(own, dtype=np.int64),
        [(int(a), int(b)) for a, b in labels.skeletons[0].edge_inds] if labels.skeletons else [],
        [str(v.filename[0]) if isinstance(v.filename, list) else str(v.filename) for v in labels.videos],
        [_linked(labels, video) for video in labels.videos],
    )


def _linked(labels: Any, video: Any) -> str:
    for session in labels.sessions:
        camera = session.get_camera(video)
        if camera is not None:
            return str(camera.name)
    return ""


def _camera(file: DetectionFile, labels: Labels, k: int) -> int:
    """Index of the camera of the k-th video."""
    if (file.camera is not None or len(file.rig) == 1) and len(labels.paths) == 1:
        return file.only_camera()
    if labels.linked[k] in file.rig.names:
        return file.rig.index(labels.linked[k])
    name = labels.paths[k]
    camera = camera_in_path(name, file.rig.names)
    if camera is None:
        raise file.fail(
            f"video '{name[-80:]}' names none of the cameras {', '.join(file.rig.names)}; "
            "give one file with one video for each camera"
        )
    return file.rig.index(camera)
