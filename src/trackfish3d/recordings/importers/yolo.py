"""YOLO text: a folder with one file for each frame, boxes or polygons in shares of the image."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.files import read_text
from ..detections import Detections
from ._file import DetectionFile, camera_in_path, last_number
from .moments import MaskMoments, polygon_moments

SLACK = 0.02


def read_yolo(file: DetectionFile) -> Detections:
    """Read a folder of ``*.txt``; a file's frame is the last number of its name.

    Lines are ``class cx cy w h [confidence [id]]`` or ``class x1 y1 x2 y2 x3 y3 ... [confidence [id]]``. The camera is
    the one the folder was given for, else the one that a file's folder or name names. Classes are not told apart.
    A frame without animals has an empty file, or none.
    """
    if not file.path.is_dir():
        raise file.fail("is not a folder of YOLO text files")
    paths = sorted(file.path.rglob("*.txt"))
    places: list[tuple[int, int]] = []
    lines: list[list[str]] = []
    names: list[str] = []
    for path in paths:
        rows = [line.split() for line in read_text(path).splitlines() if line.strip()]
        if not rows or (path.name == "classes.txt" and all(len(r) < 5 for r in rows)):
            continue
        place = _place(file, path)
        places += [place] * len(rows)
        names += [f"{path.relative_to(file.path)} line {k + 1}" for k in range(len(rows))]
        lines += rows
    if not paths:
        raise file.fail("holds no .txt file")
    frame = np.array([p[0] for p in places], dtype=np.int64)
    camera = np.array([p[1] for p in places], dtype=np.int64)
    size = np.array([file.rig[int(c)].size for c in camera], dtype=np.float64).reshape(-1, 2)
    return file.build(frame, camera, **_columns(file, lines, names, size))


def _place(file: DetectionFile, path: Path) -> tuple[int, int]:
    frame = last_number(path.stem)
    if frame is None:
        raise file.fail(f"{path.name} has no frame number in its name")
    if file.camera is not None or len(file.rig) == 1:
        return frame, file.only_camera()
    camera = camera_in_path(str(path.relative_to(file.path)), file.rig.names)
    if camera is None:
        raise file.fail(f"{path.name} names none of the cameras {', '.join(file.rig.names)}")
    return frame, file.rig.index(camera)


def _columns(
    file: DetectionFile, lines: list[list[str]], names: list[str], size: NDArray[np.float64]
) -> dict[str, Any]:
    """Columns of all lines, px. Whether lines end in a track number is decided for the whole folder."""
    odd = [line for line in lines if len(line) >= 7 and len(line) % 2 == 1]
    numbered = bool(odd) and all(line[-1].lstrip("-").isdigit() for line in odd)
    n = len(lines)
    box, score = np.zeros((n, 4)), np.ones(n)
    polygons: list[NDArray[np.float64]] = []
    owner: list[int] = []
    for i, line in enumerate(lines):
        try:
            values = np.array(
                line[:-1] if numbered and len(line) % 2 == 1 and len(line) >= 7 else line, dtype=np.float64
            )
        except ValueError:
            raise file.fail(f"{names[i]}: has values that are not numbers") from None
        if len(values) < 5:
            raise file.fail(f"{names[i]}: has {len(values)} values; a box needs class cx cy w h")
        shape = values[1:]
        if len(shape) % 2:
            shape, score[i] = shape[:-1], shape[-1]
        if not np.isfinite(shape).all() or shape.min() < -SLACK or shape.max() > 1 + SLACK:
            raise file.fail(f"{names[i]}: coordinates must be shares of the image, 0..1")
        if len(shape) == 4:
            box[i] = np.concatenate([shape[:2] - shape[2:] / 2, shape[:2] + shape[2:] / 2]) * np.tile(size[i], 2)
        else:
            points = shape.reshape(-1, 2) * size[i]
            box[i] = np.concatenate([points.min(0), points.max(0)])
            polygons.append(points)
            owner.append(i)
    u, v = (box[:, 0] + box[:, 2]) / 2, (box[:, 1] + box[:, 3]) / 2
    columns: dict[str, Any] = dict(zip(("x1", "y1", "x2", "y2"), box.T, strict=True))
    if polygons:
        mask = MaskMoments.from_raw(polygon_moments(polygons, owner, n))
        has = np.isfinite(mask.u)
        u, v = np.where(has, mask.u, u), np.where(has, mask.v, v)
        if has.all():
            columns |= {k: getattr(mask, k) for k in ("area", "angle", "major", "minor")}
        else:
            file.drop(file.camera or "all", "mask shapes, because not every detection has one", int(has.sum()))
    return columns | {"u": u, "v": v, "score": file.score_of(score)}
