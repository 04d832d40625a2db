"""Detections with parts: skeletons, files, cameras that name parts otherwise, and the point that all views mean."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Detections, Poses, Recording, Skeleton, read_poses, write_poses
from trackfish3d.recordings.centres import centres
from trackfish3d.recordings.importers import read_detections
from trackfish3d.recordings.skeleton import left_and_right

from .pose_files import WRITERS
from .test_pose_importers import poses
from .worlds import NAMES, make_rig

RIG = make_rig()
HEAD = "frame,camera,instance,part,u,v,score\n"


def rows(camera: str, parts: list[str], shift: float = 0.0) -> str:
    return "".join(
        f"{f},{camera},{i},{p},{100 + 9 * k + 50 * i + shift},{120 + 5 * k},{0.9 + 0.1003 * (k == 0)}\n"
        for f in range(3)
        for i in range(2)
        for k, p in enumerate(parts)
    )


def test_left_and_right_are_known_by_their_names() -> None:
    names = ["Ear_R", "Ear_L", "left_eye", "right_eye", "eyeLeft", "eyeRight", "LPaw", "RPaw", "tail", "leftover", "lr"]
    pairs = {(names[a], names[b]) for a, b in left_and_right(names)}
    expected = {("Ear_L", "Ear_R"), ("left_eye", "right_eye"), ("eyeLeft", "eyeRight"), ("LPaw", "RPaw")}
    assert pairs == expected
    skeleton = Skeleton(tuple(names))
    assert skeleton.mirror[skeleton.index("Ear_R")] == skeleton.index("Ear_L")
    assert skeleton.mirror[skeleton.index("tail")] == skeleton.index("tail")
    assert Skeleton.from_json(skeleton.to_json(), "x") == skeleton


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ('{"parts": ["a", "a"], "edges": [], "pairs": []}', "'a' is there twice"),
        ('{"parts": ["a", "b"], "edges": [[0, 7]], "pairs": []}', "does not join two"),
    ],
)
def test_a_skeleton_that_is_none(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Skeleton.from_json(text, "file")


def test_other_parts_in_other_order_in_each_camera(tmp_path: Path) -> None:
    (tmp_path / "top.csv").write_text(HEAD + rows("top", ["snout", "tail"]))
    (tmp_path / "front.csv").write_text(HEAD + rows("front", ["fin", "tail", "snout"]))
    back = read_detections(tmp_path, RIG)
    assert back.skeleton is not None
    assert back.skeleton.parts == ("snout", "tail", "fin")
    assert back.parts is not None
    top, front = (back.parts[back.camera == NAMES.index(n)] for n in ("top", "front"))
    assert np.isnan(top[:, 2]).all()
    np.testing.assert_allclose(front[0, :, 0], [118, 109, 100])
    assert back.parts[..., 2].max(initial=0, where=np.isfinite(back.parts[..., 2])) == 1.0  # 1.003 is one


def test_one_table_of_all_cameras_and_what_is_wrong_with_it(tmp_path: Path) -> None:
    path = tmp_path / "poses.csv"
    path.write_text(HEAD + rows("top", ["a", "b"]) + rows("front", ["a", "b"]))
    assert len(read_detections(path, RIG)) == 12
    path.write_text(HEAD + rows("top", ["a", "b"]) + "2,top,1,b,5,5,1\n")
    with pytest.raises(InputError, match="part b is twice in an instance of frame 2 of camera top"):
        read_detections(path, RIG)
    path.write_text(HEAD + "0,top,0,a,5,5,1.5\n")
    with pytest.raises(InputError, match=r"score 1.5 is outside 0..1"):
        read_detections(path, RIG)
    path.write_text(HEAD + "0,top,0,,5,5,1\n")
    with pytest.raises(InputError, match="has no name of a part"):
        read_detections(path, RIG)
    path.write_text(HEAD + "0,top,0,a,5e7,5,1\n")
    with pytest.raises(InputError, match="far outside of the image of camera top"):
        read_detections(path, RIG)
    path.write_text(HEAD.replace(",part", ",kind") + "0,top,0,a,5,5,1\n")
    with pytest.raises(InputError):
        read_detections(path, RIG, "poses")


def test_parts_go_through_a_recording_and_its_clocks(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(HEAD + rows("top", ["a", "b"]) + rows("front", ["a", "b"], 3.0))
    found = read_detections(tmp_path / "p.csv", RIG)
    made = Recording.create(tmp_path / "rec", RIG, detections=found, time_offset_frames={"front": 2})
    back = Recording.open(made.folder).detections
    assert back.skeleton == found.skeleton
    expected = found.shifted([0 if n == "top" else 2 for n in NAMES])
    np.testing.assert_allclose(back.parts, expected.parts, rtol=1e-6)
    made.write_detections(iter([replace(found, parts=None, skeleton=None)]))
    assert not (made.folder / "parts.parquet").exists()
    assert Recording.open(made.folder).detections.parts is None


def test_parts_of_other_detections_are_refused(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(HEAD + rows("top", ["a", "b"]))
    found = read_detections({"top": tmp_path / "p.csv"}, RIG)
    made = Recording.create(tmp_path / "rec", RIG, detections=found)
    kept = (made.folder / "parts.parquet").read_bytes()
    made.write_detections(iter([found.select(found.frame < 2)]))
    (made.folder / "parts.parquet").write_bytes(kept)
    with pytest.raises(InputError, match="does not belong to the detections"):
        _ = Recording.open(made.folder).detections
    (made.folder / "parts.parquet").write_bytes(kept[:200])
    with pytest.raises(InputError, match="not a complete Parquet"):
        _ = Recording.open(made.folder).detections


def test_the_middle_of_a_body_does_not_move_when_parts_are_missing() -> None:
    rng = np.random.default_rng(0)
    n, shape = 400, np.array([[-30.0, 0], [-10, 2], [10, -2], [40, 0]])
    turn = rng.uniform(0, 2 * np.pi, n)
    spin = np.stack([np.stack([np.cos(turn), -np.sin(turn)], -1), np.stack([np.sin(turn), np.cos(turn)], -1)], -2)
    points = np.einsum("nij,kj->nki", spin, shape) + rng.uniform(200, 400, (n, 1, 2)) + rng.normal(0, 0.5, (n, 4, 2))
    whole = points.mean(1)
    parts = np.concatenate([points, np.ones((n, 4, 1))], -1)
    lost = rng.integers(0, 4, n)
    parts[np.arange(n), lost] = np.nan
    found = Detections.build(
        ["top"], np.arange(n), np.zeros(n, int), whole[:, 0], whole[:, 1], parts=parts, skeleton=Skeleton(tuple("abcd"))
    )
    plain = np.nanmean(parts[..., :2], axis=1)
    ours = np.linalg.norm(centres(found) - whole, axis=1)
    assert np.median(ours) < 0.25 * np.median(np.linalg.norm(plain - whole, axis=1))


def test_poses_in_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    position = rng.normal(size=(6, 3, 3))
    position[2, 1] = np.nan
    cov = np.einsum("nkij,nklj->nkil", *[rng.normal(size=(6, 3, 3, 3))] * 2)
    cov[2, 1] = np.nan
    poses = Poses.build(
        [3, 3, 1, 1, 2, 2], [0, 1, 0, 1, 1, 0], position, Skeleton(("a", "b, c", "d"), ((0, 1),)), covariance=cov,
        views=np.full((6, 3), 2),
    )  # fmt: skip
    write_poses(poses, tmp_path / "p.parquet")
    back = read_poses(tmp_path / "p.parquet")
    np.testing.assert_array_equal(back.position, poses.position)
    np.testing.assert_allclose(back.sigma, poses.sigma)
    assert back.skeleton == poses.skeleton
    write_poses(poses, tmp_path / "p.csv")
    text = read_poses(tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text().splitlines()[0].replace('"', "") == (
        "frame,track,part,x,y,z,sigma,views,observed"
    )
    for part in poses.skeleton.parts:
        np.testing.assert_allclose(text.part(part), poses.part(part))
    (tmp_path / "p.csv").write_text("frame,track,part,x,y,z\n0,0,a,1,2,3\n0,0,a,1,2,3\n")
    with pytest.raises(InputError, match="twice in a frame"):
        read_poses(tmp_path / "p.csv")
    (tmp_path / "p.csv").write_text("frame,track,x,y,z\n0,0,1,2,3\n")
    with pytest.raises(InputError, match="no column part"):
        read_poses(tmp_path / "p.csv")


@pytest.mark.parametrize("kind", list(WRITERS))
def test_every_tool_says_the_same(tmp_path: Path, kind: str) -> None:
    data = poses(2, seed=4, frames=5)
    data[..., 2] = np.where(np.isfinite(data[..., 2]), 0.05 + 0.9 * data[..., 2], np.nan)
    path = WRITERS[kind](tmp_path, data)
    back = read_detections({"top": path}, RIG, box_size=6)
    seen = np.isfinite(data).all(-1).any(-1)
    frame, _ = np.nonzero(seen)
    assert back.skeleton is not None
    assert back.parts is not None
    assert len(back.skeleton) == 3
    names = tuple(p for p in ("snout", "body", "tail")) if kind not in ("openpose", "ultralytics") else None
    place = [back.skeleton.index(p) for p in names] if names else [0, 1, 2]
    assert sorted(back.frame.tolist()) == frame.tolist()
    found, expected = back.parts[:, place], data[seen]
    for number in np.unique(frame):
        ours, theirs = found[back.frame == number], expected[frame == number]
        order = [np.lexsort(np.nan_to_num(x.reshape(len(x), -1)).T) for x in (ours, theirs)]
        np.testing.assert_allclose(ours[order[0]], theirs[order[1]], rtol=1e-6)
    if kind in ("sleap-analysis", "coco-keypoints"):
        assert back.skeleton.edges == ((0, 1), (1, 2))


def test_unique_parts_of_deeplabcut_belong_to_no_animal_and_variances_are_kept(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    header = [
        ("net", a, p, c)
        for a, p in (("m1", "nose"), ("m1", "tail"), ("single", "corner"))
        for c in ("x", "y", "likelihood")
    ]
    header += [("net", "m1", "nose", "x_posterior_var"), ("net", "m1", "nose", "y_posterior_var")]
    columns = pd.MultiIndex.from_tuples(header, names=["scorer", "individuals", "bodyparts", "coords"])
    row = [10, 20, 0.9, 30, 40, 0.8, 1, 2, 1.0, 0.25, 4.0]
    pd.DataFrame([row, row], columns=columns).to_csv(tmp_path / "d.csv")
    back = read_detections({"top": tmp_path / "d.csv"}, RIG)
    assert back.skeleton is not None
    assert back.skeleton.parts == ("nose", "tail")
    assert back.part_variance is not None
    assert back.part_variance[0, 0].tolist() == [0.25, 4.0]


@pytest.mark.parametrize("kind", ["sleap-analysis", "movement", "openpose", "coco-keypoints"])
def test_files_of_poses_that_are_cut_short_or_hold_something_else(tmp_path: Path, kind: str) -> None:
    path = WRITERS[kind](tmp_path, poses(2, frames=3))
    target = sorted(path.glob("*.json"))[1] if path.is_dir() else path
    target.write_bytes(target.read_bytes()[:-40])
    with pytest.raises(InputError, match=target.name if kind == "openpose" else path.name):
        read_detections({"top": path}, RIG)


@pytest.mark.parametrize(
    "text",
    [
        '{"people": [{"person_id": [1e300], "pose_keypoints_2d": [1, 2, 0.5]}]}',
        '[{"track_id": 9223372036854775808, "keypoints": {"x": [1], "y": [2], "visible": [0.5]}}]',
    ],
)
def test_a_2d_track_of_a_number_that_no_tool_counts_to(tmp_path: Path, text: str) -> None:
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / "frame_000001.json").write_text(text)
    with pytest.raises(InputError, match=r"frame_000001\.json: unusable .* 2D track is too large"):
        read_detections(tmp_path, RIG)
