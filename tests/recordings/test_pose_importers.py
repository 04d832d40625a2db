"""Poses become detections: DeepLabCut's and SLEAP's files, written by pandas and sleap-io themselves."""

import json
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Detections
from trackfish3d.recordings.importers import read_detections

from .pose_files import WRITERS
from .worlds import NAMES, make_rig

RIG = make_rig()
PARTS = ["snout", "body", "tail"]


def poses(animals: int, seed: int = 0, frames: int = 15) -> np.ndarray:
    """(T, animals, 3 parts, x y likelihood), with some parts not seen."""
    rng = np.random.default_rng(seed)
    out = rng.uniform(50, 400, (frames, animals, 3, 3))
    out[..., 2] = rng.uniform(0, 1, out.shape[:3])
    out[rng.uniform(size=out.shape[:3]) < 0.2] = np.nan
    return out


def deeplabcut_frame(data: np.ndarray, many: bool, likelihood: bool = True):
    pd = pytest.importorskip("pandas")
    coords = ["x", "y", "likelihood"] if likelihood else ["x", "y"]
    levels = [["DLC_net"], *([[f"ind{i}" for i in range(data.shape[1])]] if many else []), PARTS, coords]
    names = ["scorer", *(["individuals"] if many else []), "bodyparts", "coords"]
    columns = pd.MultiIndex.from_product(levels, names=names)
    return pd.DataFrame(
        data[..., : len(coords)].reshape(len(data), -1), columns=columns, index=np.arange(3, 3 + len(data))
    )


def check(back: Detections, data: np.ndarray, part: int, first: int = 3) -> None:
    seen = np.isfinite(data[:, :, part]).all(-1)
    frame, animal = np.nonzero(seen)
    assert len(back) == seen.sum()
    expected = np.column_stack([frame + first, data[frame, animal, part]])
    found = np.column_stack([back.frame, back.u, back.v, back.score])
    np.testing.assert_allclose(found[np.lexsort(found.T[::-1])], expected[np.lexsort(expected.T[::-1])], rtol=1e-6)


@pytest.mark.parametrize("many", [True, False])
@pytest.mark.parametrize("kind", ["csv", "h5"])
def test_deeplabcut(tmp_path: Path, many: bool, kind: str) -> None:
    data = poses(3 if many else 1)
    table = deeplabcut_frame(data, many)
    path = tmp_path / f"top_DLC.{kind}"
    if kind == "csv":
        table.to_csv(path)
    else:
        pytest.importorskip("tables")
        table.to_hdf(path, key="df_with_missing", format="table", mode="w")
    for part, name in enumerate(PARTS):
        check(read_detections({"top": path}, RIG, keypoint=name, box_size=10), data, part)


def test_without_a_choice_all_parts_are_kept(tmp_path: Path) -> None:
    path, data = tmp_path / "d.csv", poses(2)
    deeplabcut_frame(data, True).to_csv(path)
    back = read_detections({"front": path}, RIG)
    seen = np.isfinite(data).all(-1)
    assert back.skeleton is not None
    assert back.skeleton.parts == tuple(PARTS)
    assert len(back) == seen.any(-1).sum()
    expected = data[seen.any(-1)]  # frames in order, animals in order
    np.testing.assert_allclose(back.parts[np.isfinite(back.parts)], expected[seen[seen.any(-1)]].ravel(), rtol=1e-9)
    with pytest.raises(InputError, match="has no body part 'fin'"):
        read_detections({"front": path}, RIG, keypoint="fin")


def test_boxes_hold_the_parts_that_can_be_trusted(tmp_path: Path) -> None:
    data = np.array(
        [[[[100, 100, 0.9], [120, 110, 0.8], [600, 400, 0.01]]], [[[10, 20, 0.9], [300, 300, 0.1], [5, 5, 0.2]]]]
    )
    path = tmp_path / "d.csv"
    deeplabcut_frame(data.astype(float), False).to_csv(path)
    back = read_detections({"top": path}, RIG, keypoint="snout", box_size=8)
    assert back.boxes.tolist() == [[100, 100, 120, 110], [6, 16, 14, 24]]
    mean = read_detections({"top": path}, RIG, keypoint="mean", box_size=8)
    weights = data[0, 0, :, 2] / data[0, 0, :, 2].sum()
    np.testing.assert_allclose([mean.u[0], mean.v[0]], weights @ data[0, 0, :, :2])


def test_labels_of_deeplabcut_have_no_likelihood(tmp_path: Path) -> None:
    data = poses(2)
    data[..., 2] = np.where(np.isnan(data[..., 0]), np.nan, 1.0)
    table = deeplabcut_frame(data, True, likelihood=False)
    table.index = [f"labeled-data/top/img{i:04d}.png" for i in range(3, 3 + len(data))]
    table.to_csv(tmp_path / "d.csv")
    check(read_detections({"top": tmp_path / "d.csv"}, RIG, keypoint="tail", box_size=5), data, 2)


def sleap_labels(data: dict[str, np.ndarray], names: list[str]):
    sio = pytest.importorskip("sleap_io")
    skeleton = sio.Skeleton(nodes=list(PARTS))
    videos, labelled = [], []
    tracks = [sio.Track(f"fish {k}") for k in range(next(iter(data.values())).shape[1])]
    for name, values in zip(names, data.values(), strict=True):
        videos.append(sio.Video(filename=name, open_backend=False))
        for t, frame in enumerate(values):
            instances = [
                sio.PredictedInstance.from_numpy(
                    a[:, :2], skeleton=skeleton, point_scores=np.nan_to_num(a[:, 2]), score=0.5, track=tracks[k]
                )
                for k, a in enumerate(frame)
            ]
            labelled.append(sio.LabeledFrame(video=videos[-1], frame_idx=t + 3, instances=instances))
    return sio.Labels(labeled_frames=labelled, videos=videos, skeletons=[skeleton], tracks=tracks)


def test_sleap_one_file_a_camera(tmp_path: Path) -> None:
    data = poses(3)
    sleap_labels({"top": data}, ["clip.mp4"]).save(str(tmp_path / "d.slp"), verbose=False)
    check(read_detections({"top": tmp_path / "d.slp"}, RIG, keypoint="body", box_size=5), data, 1)


def test_sleap_one_file_with_the_videos_of_all_cameras(tmp_path: Path) -> None:
    data = {name: poses(2, seed=i) for i, name in enumerate(NAMES)}
    sleap_labels(data, ["run1/top/v.mp4", "run1/exp_front.mp4"]).save(str(tmp_path / "d.slp"), verbose=False)
    back = read_detections(tmp_path / "d.slp", RIG, keypoint="tail", box_size=5)
    for camera, values in enumerate(data.values()):
        check(back.select(back.camera == camera), values, 2)
    sleap_labels(data, ["a.mp4", "b.mp4"]).save(str(tmp_path / "e.slp"), verbose=False)
    with pytest.raises(InputError, match=r"video 'a\.mp4' names none of the cameras top, front"):
        read_detections(tmp_path / "e.slp", RIG, keypoint="tail")


def test_scores_above_one_of_confidence_maps_are_clipped(tmp_path: Path) -> None:
    data = poses(1)
    data[..., 2] = np.where(np.isnan(data[..., 2]), np.nan, 1.05)
    sleap_labels({"top": data}, ["clip.mp4"]).save(str(tmp_path / "d.slp"), verbose=False)
    assert (read_detections({"top": tmp_path / "d.slp"}, RIG, keypoint="body", box_size=5).score == 1).all()


def write_deeplabcut(folder: Path, data: np.ndarray) -> Path:
    path = folder / "top_DLC.csv"
    deeplabcut_frame(data, many=True).to_csv(path)
    return path


def write_sleap(folder: Path, data: np.ndarray) -> Path:
    path = folder / "top.slp"
    sleap_labels({"top": data}, ["clip.mp4"]).save(str(path), verbose=False)
    return path


@pytest.mark.parametrize("kind", [*WRITERS, "deeplabcut", "sleap"])
def test_the_tools_own_tracks_come_along(kind: str, tmp_path: Path) -> None:
    data = poses(3)
    writer = {**WRITERS, "deeplabcut": write_deeplabcut, "sleap": write_sleap}[kind]
    back = read_detections({"top": writer(tmp_path, data)}, RIG)
    assert back.parts is not None
    assert back.tracklet is not None
    left = np.nanmin(data[..., 0].transpose(1, 0, 2), axis=2)  # (animals, frames): no two parts are at one place
    animal = [int(np.argmin(np.nanmin(np.abs(left - u), axis=1))) for u in np.nanmin(back.parts[..., 0], axis=1)]
    pairs = set(zip(animal, back.tracklet.tolist(), strict=True))
    assert len(pairs) == 3, "each animal has one name"


def test_tracks_of_two_files_are_never_one(tmp_path: Path) -> None:
    files = {}
    for k, name in enumerate(NAMES):
        (tmp_path / name).mkdir()
        files[name] = write_deeplabcut(tmp_path / name, poses(2, seed=k))
    back = read_detections(files, RIG)
    assert back.tracklet is not None
    one, other = (set(back.tracklet[back.camera == c].tolist()) for c in range(2))
    assert len(one) == len(other) == 2
    assert not one & other
    again = Detections.from_table(back.to_table(), back.cameras)
    np.testing.assert_array_equal(again.tracklet, back.tracklet)


def test_results_of_a_whole_film_in_one_file(tmp_path: Path) -> None:
    """``[json.loads(r.to_json()) for r in results]``: a list for each frame, an empty one where nothing was found."""
    data = poses(2)
    data[4] = np.nan
    columns = ("x", "y", "visible")
    frames = [
        [
            {"name": "fish", "confidence": 0.9, "keypoints": {k: a[:, j].tolist() for j, k in enumerate(columns)}}
            for a in np.nan_to_num(frame)
            if a.any()
        ]
        for frame in data
    ]
    path = tmp_path / "top.json"
    path.write_text(json.dumps(frames))
    back = read_detections({"top": path}, RIG)
    assert back.parts is not None
    assert sorted(set(back.frame.tolist())) == [f for f in range(len(data)) if f != 4]
    check(read_detections({"top": path}, RIG, keypoint="part_1", box_size=5), data, 1, first=0)


def test_visibility_of_coco_annotations_that_have_a_score_of_their_own(tmp_path: Path) -> None:
    data = poses(1)
    seen = np.isfinite(data).all(-1)
    data[..., 2] = np.where(seen, 1.0, np.nan)
    flags = np.where(seen, np.where(np.arange(3) == 1, 1.0, 2.0), 0.0)
    annotations = [
        {
            "id": f + 1, "image_id": f + 3, "category_id": 1, "score": 0.9, "bbox": [10, 10, 50, 50],
            "keypoints": np.column_stack([np.nan_to_num(data[f, 0, :, :2]), flags[f, 0]]).ravel().tolist(),
        }
        for f in range(len(data))
    ]  # fmt: skip
    images = [{"id": f + 3, "file_name": f"top_{f + 3}.png"} for f in range(len(data))]
    categories = [{"id": 1, "name": "fish", "keypoints": PARTS, "skeleton": []}]
    whole = {"images": images, "annotations": annotations, "categories": categories}
    (tmp_path / "top.json").write_text(json.dumps(whole))
    check(read_detections({"top": tmp_path / "top.json"}, RIG, keypoint="body", box_size=5), data, 1)
