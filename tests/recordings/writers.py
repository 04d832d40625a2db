"""The same detections in every format that is read, written as the tools themselves write them."""

import json
from pathlib import Path

import numpy as np

from trackfish3d.recordings import Detections


def write_csv(found: Detections, path: Path) -> Path:
    rows = ["frame,camera,u,v,x1,y1,x2,y2,score"]
    for i in range(len(found)):
        numbers = [found.u, found.v, found.x1, found.y1, found.x2, found.y2, found.score]
        rows.append(
            f"{found.frame[i]},{found.cameras[found.camera[i]]}," + ",".join(repr(float(c[i])) for c in numbers)
        )
    path.write_text("\n".join(rows) + "\n")
    return path


def write_mot(found: Detections, camera: str, path: Path) -> Path:
    k = found.cameras.index(camera)
    rows = []
    for i in np.flatnonzero(found.camera == k):
        left, top = float(found.x1[i]) + 1, float(found.y1[i]) + 1
        w, h = float(found.x2[i] - found.x1[i]), float(found.y2[i] - found.y1[i])
        rows.append(f"{found.frame[i]},-1,{left!r},{top!r},{w!r},{h!r},{float(found.score[i])!r},-1,-1,-1")
    path.write_text("\n".join(rows) + "\n")
    return path


def write_coco(found: Detections, path: Path, segmentation: list | None = None) -> Path:
    places = sorted(set(zip(found.frame.tolist(), found.camera.tolist(), strict=True)))
    images = [
        {"id": i, "file_name": f"{found.cameras[c]}/img_{f:06d}.png", "width": 640, "height": 480}
        for i, (f, c) in enumerate(places)
    ]
    annotations = []
    for i in range(len(found)):
        box = [found.x1[i], found.y1[i], found.x2[i] - found.x1[i], found.y2[i] - found.y1[i]]
        annotations.append(
            {
                "id": i,
                "image_id": places.index((int(found.frame[i]), int(found.camera[i]))),
                "category_id": 1,
                "bbox": [float(b) for b in box],
                "score": float(found.score[i]),
                "iscrowd": 0,
                **({} if segmentation is None else {"segmentation": segmentation[i]}),
            }
        )
    path.write_text(
        json.dumps({"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "fish"}]})
    )
    return path


def write_yolo(found: Detections, folder: Path) -> Path:
    for c, name in enumerate(found.cameras):
        (folder / name).mkdir(parents=True)
        for frame in np.unique(found.frame):
            lines = []
            for i in np.flatnonzero((found.camera == c) & (found.frame == frame)):
                x, y = (found.x1[i] + found.x2[i]) / 2 / 640, (found.y1[i] + found.y2[i]) / 2 / 480
                w, h = (found.x2[i] - found.x1[i]) / 640, (found.y2[i] - found.y1[i]) / 480
                lines.append(f"0 {float(x)!r} {float(y)!r} {float(w)!r} {float(h)!r} {float(found.score[i])!r}")
            (folder / name / f"clip_{frame:05d}.txt").write_text("\n".join(lines))
    return folder
