"""Pictures, lenses and tanks as users give them, and what is said when they cannot be used."""

import json

import cv2
import numpy as np
import pytest

from trackfish3d.calibration import Board, Views, find_boards, parse_sources, read_lenses, read_tank
from trackfish3d.calibration.pictures import moments
from trackfish3d.cameras.native import write_cameras
from trackfish3d.core.errors import InputError
from trackfish3d.media.writer import write_video

from .pictures import render
from .worlds import board_pose, camera, rig_above

BOARD = Board("chessboard", 8, 5, 20.0)


def touch(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        cv2.imwrite(str(folder / name), np.full((60, 80), 128, np.uint8))
    return folder


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (["a.png", "b.png"], ["b.png", "c.png"], [["a", "b"], ["b", "c"]]),
        (["cam_1-1.png", "cam_1-3.png"], ["cam_2-1.png", "cam_2-2.png"], [["1", "3"], ["1", "2"]]),
        (["001_left.png", "002_left.png"], ["002_right.png", "1_right.png"], [["1", "2"], ["2", "1"]]),
        (["img5_cam1.png", "img6_cam1.png"], ["img5_cam2.png", "img6_cam2.png"], [["5", "6"], ["5", "6"]]),
        (["x.png", "y.png"], ["p.png", "q.png"], [["1", "2"], ["1", "2"]]),
    ],
)
def test_pictures_of_one_moment_are_found_by_name_number_or_order(tmp_path, left, right, expected):
    sources = parse_sources([f"l={touch(tmp_path / 'l', *left)}", f"r={touch(tmp_path / 'r', *right)}"])
    assert moments(sources) == expected


def test_pictures_that_cannot_be_matched_are_refused(tmp_path):
    sources = parse_sources([f"l={touch(tmp_path / 'l', 'x.png')}", f"r={touch(tmp_path / 'r', 'p.png', 'q.png')}"])
    with pytest.raises(InputError, match="cannot tell which pictures were taken together"):
        moments(sources)


def test_a_camera_is_called_like_its_folder_or_video(tmp_path):
    (tmp_path / "side.mp4").write_bytes(b"")
    sources = parse_sources([str(touch(tmp_path / "top", "1.png")), str(tmp_path / "side.mp4")])
    assert [s.camera for s in sources] == ["top", "side"]


def test_what_is_no_source_is_said(tmp_path):
    folder = touch(tmp_path / "top", "1.png", "2.png")
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "1.png").write_bytes(b"not a picture")
    cv2.imwrite(str(tmp_path / "bad" / "0.png"), np.zeros((60, 80), np.uint8))
    (tmp_path / "a.mp4").write_bytes(b"not a film")
    cases = {
        f"x={tmp_path / 'nothing'}": "no such file, folder or pattern",
        f"x={tmp_path / 'empty'}": "holds no image",
        f"{folder}/*.png": "so that the camera has a name",
    }
    for text, said in cases.items():
        with pytest.raises(InputError, match=said):
            parse_sources([text])
    with pytest.raises(InputError, match="named twice"):
        parse_sources([f"a={folder}", f"a={folder}"])
    with pytest.raises(InputError, match=r"1\.png: is not an image"):
        find_boards(parse_sources([f"a={tmp_path / 'bad'}"]), BOARD)
    with pytest.raises(InputError, match=r"a\.mp4: is not a video"):
        find_boards(parse_sources([str(tmp_path / "a.mp4")]), BOARD)
    with pytest.raises(InputError, match="camera top: no chessboard of 8 x 5 inner corners found in 2 pictures"):
        find_boards(parse_sources([str(folder)]), BOARD)
    cv2.imwrite(str(folder / "3.png"), np.zeros((70, 80), np.uint8))
    with pytest.raises(InputError, match="picture 3 has 80 x 70 px, those before 80 x 60"):
        find_boards(parse_sources([str(folder)]), BOARD)


def blank_views(names=("left", "right", "back"), size=(1280, 960)):
    return Views.build(tuple(names), (size,) * len(names), [])


def test_lenses_are_taken_by_name_from_any_calibration_and_by_order_from_a_list(tmp_path):
    rig = rig_above()
    write_cameras(rig, tmp_path / "cameras.toml")
    found = read_lenses(tmp_path / "cameras.toml", blank_views(("back", "left")))
    assert set(found) == {"back", "left"}
    np.testing.assert_allclose(found["back"].K, rig["back"].K)
    np.testing.assert_array_equal(found["back"].R, np.eye(3))
    bare = [{"K": c.K.tolist(), "dist": c.distortion.tolist()} for c in rig]
    (tmp_path / "bare.json").write_text(json.dumps(bare))
    found = read_lenses(tmp_path / "bare.json", blank_views(("x", "y", "z")))
    np.testing.assert_allclose(found["y"].K, rig["right"].K)
    assert found["y"].size == (1280, 960)


def test_lenses_of_other_cameras_or_pictures_are_refused(tmp_path):
    write_cameras(rig_above(), tmp_path / "cameras.toml")
    with pytest.raises(InputError, match="none of which is one of x, y"):
        read_lenses(tmp_path / "cameras.toml", blank_views(("x", "y")))
    with pytest.raises(InputError, match="1280 x 960 px, its pictures 640 x 480"):
        read_lenses(tmp_path / "cameras.toml", blank_views(size=(640, 480)))
    (tmp_path / "bare.json").write_text(json.dumps([{"K": [[900, 0, 900], [0, 900, 600], [0, 0, 1]]}]))
    with pytest.raises(InputError, match="far from the middle"):
        read_lenses(tmp_path / "bare.json", blank_views(("x",), (640, 480)))
    (tmp_path / "bare.json").write_text(json.dumps([{"K": "wide"}]))
    with pytest.raises(InputError, match="must be numbers"):
        read_lenses(tmp_path / "bare.json", blank_views(("x",)))


TANK = """
units = "cm"
water_index = 1.34
free = ["index"]
[[surface]]
cameras = ["top"]
point = [0, 0, 0]
normal = [0, 0, 2]
glass = [{thickness = 0.5}]
free = ["height"]
[[point]]
world = [1, 2, 3]
pixel.top = [10, 20]
pixel.front = [30, 40]
"""


def test_a_tank_is_read(tmp_path):
    (tmp_path / "tank.toml").write_text(TANK)
    tank = read_tank(tmp_path / "tank.toml")
    assert (tank.units, tank.n_water, tank.free_index) == ("cm", 1.34, True)
    assert tank.camera == ["top", "front"]
    np.testing.assert_array_equal(tank.pixel, [[10, 20], [30, 40]])
    np.testing.assert_array_equal(tank.world, [[1, 2, 3], [1, 2, 3]])
    assert tank.surfaces[0].glass[0].index == 1.5
    (tmp_path / "points.csv").write_text("camera,u,v,x,y,z\ntop,10,20,1,2,3\n")
    assert read_tank(tmp_path / "points.csv").camera == ["top"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("water_index = 1.34", "water_index = 3", "water_index"),
        ("units", "unit", "unit: Extra inputs"),
        ('["index"]', '["depth"]', "'depth' is not one of index"),
        ('["height"]', '["index"]', "'index' is not one of height, tilt"),
        ("[0, 0, 2]", "[0, 0, 0]", "normal has no length"),
        ("[1, 2, 3]", "[1, 2]", "point.0.world"),
        ("[10, 20]", "[nan, 20]", "not finite"),
    ],
)
def test_a_tank_that_cannot_be_is_refused(tmp_path, old, new, said):
    (tmp_path / "tank.toml").write_text(TANK.replace(old, new))
    with pytest.raises(InputError, match=said):
        read_tank(tmp_path / "tank.toml")


def test_a_tank_of_other_cameras_is_refused(tmp_path):
    (tmp_path / "tank.toml").write_text(TANK)
    with pytest.raises(InputError, match="names camera 'front'; the cameras are top, side"):
        read_tank(tmp_path / "tank.toml").check(("top", "side"), "tank.toml")
    for text, said in (("camera,u,v,x,y\n", "no column z"), ("camera,u,v,x,y,z\ntop,a,2,3,4,5\n", "line 2")):
        (tmp_path / "points.csv").write_text(text)
        with pytest.raises(InputError, match=said):
            read_tank(tmp_path / "points.csv")


def test_boards_in_videos_are_found_at_common_frames_and_once_where_nothing_moved(tmp_path):
    cam = camera("a", (0, -200, 500), focal=700.0, k=(0, 0, 0, 0, 0), size=(640, 480))
    poses = [board_pose((x, 0, 0), 15, np.random.default_rng(4)) for x in (-30, -30, 0, 30)]
    frames = [render(BOARD, cam, pose) for pose in poses]
    for name, shown in (("left", frames), ("right", frames[:2] + [np.full((480, 640), 90, np.uint8)] + frames[3:])):
        write_video(tmp_path / f"{name}.mp4", [np.repeat(f[:, :, None], 3, axis=2) for f in shown], cam.size, 30.0)
    views = find_boards(parse_sources([str(tmp_path / "left.mp4"), str(tmp_path / "right.mp4")]), BOARD)
    seen = [(views.cameras[c], views.moments[m]) for c, m, _ in views.pictures()]
    assert seen == [("left", "0"), ("right", "0"), ("left", "2"), ("left", "3"), ("right", "3")]
    other = find_boards(parse_sources([str(tmp_path / "left.mp4")]), BOARD, every=2)
    assert {views.moments[m] for m in np.unique(views.moment)} == {"0", "2", "3"}
    assert {other.moments[m] for m in np.unique(other.moment)} == {"0", "2"}


@pytest.mark.parametrize(
    ("names", "cameras"),
    [
        (["top_01.png", "top_02.png", "front_01.png", "front_02.png", "side_01.png", "side_02.png"], "front side top"),
        (["cam1_007.png", "cam1_008.png", "cam2_007.png", "cam2_008.png", "cam3_007.png", "cam3_008.png"],
         "cam1 cam2 cam3"),
        (["1_left.png", "2_left.png", "1_right.png", "2_right.png"], "left right"),
        (["a/1.png", "a/2.png", "b/1.png", "b/2.png", "c/1.png"], "a b c"),
        (["img_01.png", "img_02.png", "img_10.png", "img_11.png"], "folder"),
        (["2024-05-01_12-30-05.png", "2024-05-01_12-30-09.png", "2024-05-01_12-31-02.png"], "folder"),
        (["x.png", "y.png"], "folder"),
    ],
)  # fmt: skip
def test_a_folder_with_the_pictures_of_all_cameras_is_not_taken_for_one(tmp_path, names, cameras):
    folder = touch(tmp_path / "folder")
    for name in names:
        touch((folder / name).parent, (folder / name).name)
    found = parse_sources([str(folder)])
    assert " ".join(sorted(s.camera for s in found)) == cameras
    assert sorted(f for s in found for f in s.files) == sorted(folder / n for n in names)
    if cameras.startswith("front"):
        assert moments(found)[0] == ["1", "2"]


def test_a_board_film_in_chapters_is_one_film(tmp_path):
    for name in ("GX010003.MP4", "GX020003.MP4"):
        write_video(tmp_path / name, [np.zeros((48, 64, 3), np.uint8)] * 5, (64, 48), 25.0)
    (source,) = parse_sources([f"top={tmp_path}/GX*0003.MP4"])
    assert source.film.count == 10
