"""Small valid files of poses, written as the tools write them."""

import json
from pathlib import Path

import numpy as np
import pytest

PARTS = ["snout", "body", "tail"]


def write_pose_table(folder: Path, data: np.ndarray, camera: str = "top") -> Path:
    """Poses (T, animals, parts, x y score) as a row for each part."""
    lines = ["frame,camera,instance,part,u,v,score,track"]
    for t, a, k in np.argwhere(np.isfinite(data).all(-1)).tolist():
        lines.append(f"{t},{camera},{a},{PARTS[k]}," + ",".join(repr(float(x)) for x in data[t, a, k]) + f",fish{a}")
    path = folder / "poses.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def write_analysis(folder: Path, data: np.ndarray) -> Path:
    """As SLEAP's export of an analysis."""
    h5py = pytest.importorskip("h5py")
    path = folder / "top.analysis.h5"
    with h5py.File(path, "w") as file:
        file["tracks"] = data[..., :2].transpose(1, 3, 2, 0)
        file["point_scores"] = data[..., 2].transpose(1, 2, 0)
        file["node_names"] = np.array(PARTS, dtype="S")
        file["edge_inds"] = np.array([[0, 1], [1, 2]])
    return path


def write_openpose(folder: Path, data: np.ndarray) -> Path:
    """As OpenPose writes a frame; unseen parts are zeros."""
    home = folder / "openpose"
    home.mkdir()
    for t, frame in enumerate(np.nan_to_num(data)):
        people = [{"person_id": [k], "pose_keypoints_2d": a.ravel().tolist()} for k, a in enumerate(frame)]
        (home / f"film_{t:012d}_keypoints.json").write_text(json.dumps({"version": 1.3, "people": people}))
    return home


def write_ultralytics(folder: Path, data: np.ndarray) -> Path:
    """As results of a pose model turn themselves into JSON."""
    home = folder / "ultralytics"
    home.mkdir()
    for t, frame in enumerate(np.nan_to_num(data)):
        found = [
            {
                "name": "fish", "track_id": k,
                "keypoints": {"x": a[:, 0].tolist(), "y": a[:, 1].tolist(), "visible": a[:, 2].tolist()},
            }
            for k, a in enumerate(frame)
        ]  # fmt: skip
        (home / f"frame_{t}.json").write_text(json.dumps(found))
    return home


def write_movement(folder: Path, data: np.ndarray) -> Path:
    """As ``movement`` keeps poses."""
    xr = pytest.importorskip("xarray")
    pytest.importorskip("netCDF4")
    dims = ("time", "space", "keypoint", "individual")
    dataset = xr.Dataset(
        {
            "position": (dims, data[..., :2].transpose(0, 3, 2, 1)),
            "confidence": (dims[:1] + dims[2:], data[..., 2].transpose(0, 2, 1)),
        },
        coords={
            "time": np.arange(len(data)) / 30.0, "space": ["x", "y"], "keypoint": PARTS,
            "individual": [f"a{i}" for i in range(data.shape[1])],
        },
        attrs={"fps": 30.0, "ds_type": "poses"},
    )  # fmt: skip
    path = folder / "top.nc"
    dataset.to_netcdf(path, engine="netcdf4")
    return path


def write_coco_keypoints(folder: Path, data: np.ndarray) -> Path:
    """A COCO dataset with keypoints and scores."""
    images = [{"id": t, "file_name": f"top/{t:06d}.png", "frame_id": t} for t in range(len(data))]
    rows = [
        {
            "id": n, "image_id": t, "category_id": 1, "bbox": [0, 0, 1, 1], "score": 0.9, "track_id": a,
            "keypoints": np.nan_to_num(data[t, a]).ravel().tolist(),
        }
        for n, (t, a) in enumerate(np.ndindex(*data.shape[:2]))
    ]  # fmt: skip
    kinds = [{"id": 1, "name": "fish", "keypoints": PARTS, "skeleton": [[1, 2], [2, 3]]}]
    path = folder / "keypoints.json"
    path.write_text(json.dumps({"images": images, "annotations": rows, "categories": kinds}))
    return path


WRITERS = {
    "poses": write_pose_table,
    "sleap-analysis": write_analysis,
    "openpose": write_openpose,
    "ultralytics": write_ultralytics,
    "movement": write_movement,
    "coco-keypoints": write_coco_keypoints,
}
