"""COCO JSON: boxes, scores and masks."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.files import read_text
from ..detections import Detections
from ._file import DetectionFile, camera_in_path, last_number
from .moments import MaskMoments, decode_counts, polygon_moments, rle_moments
from .poses.coco_keypoints import keypoint_detections

_FRAME_KEYS = ("frame_id", "frame_index", "frame_number", "frame")


def read_coco(file: DetectionFile) -> Detections:
    """Read a COCO dataset (``images`` and ``annotations``) or a list of COCO results.

    An image's frame is its ``frame_id`` (or ``frame``, ...), else the last number in its file name; its camera is the
    one the file was given for, else its ``camera``, else the camera its file name or folder names. In a list of
    results, which has no images, ``image_id`` is the frame. A missing ``score`` is 1. Where there is a mask, its
    centroid replaces the middle of the box; its second moments are kept if every detection has one.
    """
    try:
        data = json.loads(read_text(file.path))
    except (ValueError, RecursionError) as error:
        raise file.fail(f"is not JSON ({str(error)[:200]})") from None
    try:
        return _read(file, data)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise file.fail(f"is not COCO: unusable value ({type(error).__name__}: {str(error)[:200]})") from None


def _read(file: DetectionFile, data: Any) -> Detections:
    if isinstance(data, dict) and isinstance(data.get("annotations"), list) and isinstance(data.get("images"), list):
        images = {image["id"]: _place(file, image) for image in data["images"]}
        annotations = data["annotations"]
    elif isinstance(data, list):
        only = file.only_camera()
        annotations = data
        images = {a["image_id"]: (int(a["image_id"]), only) for a in data}
    else:
        raise file.fail("is not COCO: expected images and annotations, or a list of results")
    kept = [a for a in annotations if not a.get("iscrowd")]
    file.drop(file.camera or "all", "crowd regions", len(annotations) - len(kept))
    for row, a in enumerate(kept):
        if a["image_id"] not in images:
            raise file.fail(f"annotation {row}: its image {str(a['image_id'])[:40]} is not among the images")
    frame = np.array([images[a["image_id"]][0] for a in kept], dtype=np.int64)
    camera = np.array([images[a["image_id"]][1] for a in kept], dtype=np.int64)
    if any(a.get("keypoints") for a in kept):
        return keypoint_detections(file, data, kept, frame, camera)
    box = np.array([a["bbox"] for a in kept], dtype=np.float64).reshape(-1, 4)
    score = file.score_of(np.array([float(a.get("score", 1.0)) for a in kept]))
    u, v = box[:, 0] + box[:, 2] / 2, box[:, 1] + box[:, 3] / 2
    moments: dict[str, Any] = {}
    raw = _masks([a.get("segmentation") for a in kept])
    if raw is not None:
        mask = MaskMoments.from_raw(raw)
        has = np.isfinite(mask.u)
        u, v = np.where(has, mask.u, u), np.where(has, mask.v, v)
        if has.all():
            moments = {k: getattr(mask, k) for k in ("area", "angle", "major", "minor")}
        else:
            file.drop(file.camera or "all", "mask shapes, because not every detection has one", int(has.sum()))
    corners = {"x1": box[:, 0], "y1": box[:, 1], "x2": box[:, 0] + box[:, 2], "y2": box[:, 1] + box[:, 3]}
    return file.build(frame, camera, u=u, v=v, **corners, score=score, **moments)


def _place(file: DetectionFile, image: dict[str, Any]) -> tuple[int, int]:
    """Frame number and camera index of an image."""
    name = str(image.get("file_name", ""))
    frame = next((int(image[k]) for k in _FRAME_KEYS if isinstance(image.get(k), int | float)), None)
    if frame is None:
        frame = last_number(name.rsplit(".", 1)[0])
    if frame is None:
        raise file.fail(f"image {str(image['id'])[:40]}: neither frame_id nor a number in its file name '{name[:80]}'")
    if file.camera is not None or len(file.rig) == 1:
        return frame, file.only_camera()
    camera = str(image["camera"]) if "camera" in image else camera_in_path(name, file.rig.names)
    if camera is None:
        raise file.fail(
            f"image '{name[:80]}' names none of the cameras {', '.join(file.rig.names)}; "
            f"give one file for each: --detections {file.rig.names[0]}={file.path}"
        )
    return frame, file.rig.index(camera)


def _masks(segmentations: list[Any]) -> NDArray[np.float64] | None:
    """Raw moments (N, 6), zero where there is no mask; None where no row has one."""
    polygons: list[NDArray[np.float64]] = []
    owner: list[int] = []
    runs: dict[int, NDArray[np.float64]] = {}
    for i, segmentation in enumerate(segmentations):
        if isinstance(segmentation, dict):
            runs[i] = _run_lengths(segmentation)
        elif segmentation:
            for part in segmentation:
                polygons.append(np.array(part, dtype=np.float64).reshape(-1, 2))
                owner.append(i)
    if not runs and not polygons:
        return None
    out = polygon_moments(polygons, owner, len(segmentations))
    for i, moments in runs.items():
        out[i] = moments
    return out


def _run_lengths(segmentation: dict[str, Any]) -> NDArray[np.float64]:
    height, width = (int(s) for s in segmentation["size"])
    counts = segmentation["counts"]
    runs = decode_counts(counts.encode("ascii")) if isinstance(counts, str) else np.array(counts, dtype=np.int64)
    if not 0 < height < 2**20 or not 0 < width < 2**20 or runs.ndim != 1:
        raise ValueError(f"mask of {height} x {width}")
    if runs.size and (runs.min() < 0 or runs.max() > height * width or runs.sum() > height * width):
        raise ValueError("run lengths are longer than the image")
    return np.asarray(rle_moments(runs, height))
