"""SLEAP ``.slp`` files."""

from typing import Any

import numpy as np

from ...core.errors import InputError, MissingExtraError
from ..detections import Detections
from ._file import DetectionFile, camera_in_path
from .keypoints import Poses, detections_from_poses


def read_sleap(file: DetectionFile) -> Detections:
    """Read the instances of a SLEAP file: of one video, or of several that name their cameras.

    A video's camera is the one the file was given for, else the camera it is linked to in a recording session, else
    the one its file name or folder names. Peaks of confidence maps can pass 1 by a little: scores are clipped there.
    """
    try:
        import sleap_io
    except ImportError:
        raise MissingExtraError("sleap-io", "sleap", "reading SLEAP files") from None
    if not file.path.is_file():
        raise file.fail("no such file")
    try:
        labels = sleap_io.load_slp(str(file.path), open_videos=False)
        return _read(file, labels)
    except InputError:
        raise
    except Exception as error:  # sleap-io and HDF5 meet damaged files with errors of every kind
        raise file.fail(f"is not a SLEAP file ({type(error).__name__}: {str(error)[:200]})") from None


def _read(file: DetectionFile, labels: Any) -> Detections:
    cameras = {id(video): _camera(file, labels, video) for video in labels.videos}
    parts = [str(n) for n in labels.skeletons[0].node_names] if labels.skeletons else []
    frames, owners, points, scores = [], [], [], []
    for labelled in labels.labeled_frames:
        for instance in labelled.instances:
            if [str(n) for n in instance.skeleton.node_names] != parts:
                raise file.fail("has more than one skeleton; keep one")
            frames.append(int(labelled.frame_idx))
            owners.append(cameras[id(labelled.video)])
            points.append(np.asarray(instance.numpy(), dtype=np.float64))
            known = "score" in (instance.points.dtype.names or ())
            scores.append(np.clip(instance.points["score"], 0, 1) if known else np.ones(len(parts)))
    poses = Poses(
        parts,
        np.array(frames, dtype=np.int64),
        np.array(owners, dtype=np.int64),
        np.array(points, dtype=np.float64).reshape(-1, len(parts), 2),
        np.array(scores, dtype=np.float64).reshape(-1, len(parts)),
    )
    return detections_from_poses(file, poses)


def _camera(file: DetectionFile, labels: Any, video: Any) -> int:
    if (file.camera is not None or len(file.rig) == 1) and len(labels.videos) == 1:
        return file.only_camera()
    for session in labels.sessions:
        linked = session.get_camera(video)
        if linked is not None and linked.name in file.rig.names:
            return file.rig.index(linked.name)
    name = video.filename[0] if isinstance(video.filename, list) else str(video.filename)
    camera = camera_in_path(name, file.rig.names)
    if camera is None:
        raise file.fail(
            f"video '{name[-80:]}' names none of the cameras {', '.join(file.rig.names)}; "
            "give one file with one video for each camera"
        )
    return file.rig.index(camera)
