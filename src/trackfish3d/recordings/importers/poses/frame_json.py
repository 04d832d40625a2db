"""JSON files, one for each frame: OpenPose's people, or Ultralytics' pose results, which may also be in one file."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ....core.files import read_text
from ...detections import Detections
from ...skeleton import COCO_PARTS
from .._file import DetectionFile, camera_in_path, last_number
from ..keypoints import Poses, detections_from_poses

_BODY_25 = (
    "nose",
    "neck",
    "right_shoulder",
    "right_elbow",
    "right_wrist",
    "left_shoulder",
    "left_elbow",
    "left_wrist",
    "mid_hip",
    "right_hip",
    "right_knee",
    "right_ankle",
    "left_hip",
    "left_knee",
    "left_ankle",
    "right_eye",
    "left_eye",
    "right_ear",
    "left_ear",
    "left_toe",
    "left_small_toe",
    "left_heel",
    "right_toe",
    "right_small_toe",
    "right_heel",
)


def read_frame_json(file: DetectionFile) -> Detections:
    """Read a folder of ``*.json``; a file's frame is the last number of its name, unless it holds a list of frames.

    A file holds ``{"people": [{"pose_keypoints_2d": [x, y, c, ...]}]}`` (OpenPose) or a list of results with
    ``{"keypoints": {"x": [...], "y": [...], "visible": [...]}}`` (Ultralytics), or a list of such lists, one for each
    frame from 0 on. 25 parts are OpenPose's BODY_25, 17 are COCO's; others are called ``part_0`` and so on. A point at
    (0, 0) with a score of 0 was not seen.
    """
    paths = sorted(file.path.rglob("*.json")) if file.path.is_dir() else [file.path]
    if not paths:
        raise file.fail("holds no .json file")
    frames: list[int] = []
    cameras: list[int] = []
    points: list[np.ndarray] = []
    tracks: list[int] = []
    for path in paths:
        for frame, found in _frames(file, path):
            camera = _camera(file, path)
            frames += [frame] * len(found)
            cameras += [camera] * len(found)
            points += [parts for parts, _ in found]
            tracks += [track for _, track in found]
    if not points:
        raise file.fail("shows nobody in any frame")
    count = len(points[0])
    odd = next((k for k, p in enumerate(points) if len(p) != count), None)
    if odd is not None:
        raise file.fail(f"frame {frames[odd]} has an instance of {len(points[odd])} parts, the first has {count}")
    names = {25: _BODY_25, 17: COCO_PARTS}.get(count, tuple(f"part_{k}" for k in range(count)))
    cube = np.stack(points)
    cube[(cube[..., 2] <= 0) & (cube[..., :2] == 0).all(-1)] = np.nan
    where = np.array(frames, dtype=np.int64), np.array(cameras, dtype=np.int64)
    tracklet = np.array(tracks, dtype=np.int64) if max(tracks) >= 0 else None
    return detections_from_poses(file, Poses(names, *where, cube[..., :2], cube[..., 2], tracklet=tracklet))


_Instance = tuple[np.ndarray, int]


def _frames(file: DetectionFile, path: Path) -> list[tuple[int, list[_Instance]]]:
    """Frames of a file that show somebody, with the instances of each."""
    try:
        data = json.loads(read_text(path))
        if isinstance(data, list) and data and all(isinstance(results, list) for results in data):
            whole = list(enumerate(_instances(results) for results in data))
        else:
            whole = [(-1, _instances(data))]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError, OverflowError) as error:
        raise file.fail(f"{path.name}: unusable ({type(error).__name__}: {str(error)[:100]})") from None
    if whole[0][0] < 0:
        number = last_number(path.stem.removesuffix("_keypoints"))
        if number is None:
            raise file.fail(f"{path.name} has no frame number in its name")
        whole = [(number, whole[0][1])]
    return [(frame, found) for frame, found in whole if found]


def _instances(data: Any) -> list[_Instance]:
    """Parts (K, 3) x, y, score of each instance of a frame, and the number of its 2D track, -1 for none."""
    if isinstance(data, dict) and isinstance(data.get("people"), list):
        return [(_flat(p["pose_keypoints_2d"]), _track(np.ravel(p.get("person_id") or -1)[0])) for p in data["people"]]
    if isinstance(data, list):
        return [(_columns(result["keypoints"]), _track(result.get("track_id", -1))) for result in data]
    raise ValueError("neither OpenPose's people nor a list of results with keypoints")


def _track(number: Any) -> int:
    """Return the number of a 2D track; one that no tool counts up to is refused."""
    if abs(int(number)) > 2**53:
        raise ValueError(f"number {str(number)[:30]} of a 2D track is too large")
    return int(number)


def _flat(values: Any) -> np.ndarray:
    return np.array(values, dtype=np.float64).reshape(-1, 3)


def _columns(keypoints: Any) -> np.ndarray:
    x, y = (np.array(keypoints[k], dtype=np.float64) for k in ("x", "y"))
    score = np.array(keypoints.get("visible", keypoints.get("confidence", np.ones(len(x)))), dtype=np.float64)
    return np.column_stack([x, y, score])


def _camera(file: DetectionFile, path: Path) -> int:
    if file.camera is not None or len(file.rig) == 1:
        return file.only_camera()
    camera = camera_in_path(str(path.relative_to(file.path)) if file.path.is_dir() else path.name, file.rig.names)
    if camera is None:
        raise file.fail(f"{path.name} names none of the cameras {', '.join(file.rig.names)}")
    return file.rig.index(camera)
