"""Cameras recovered from boards: against OpenCV, against the truth, and within what the noise allows."""

import cv2
import numpy as np
import pytest

from trackfish3d.calibration import Plan, Surface, Tank, Views, calibrate, examine
from trackfish3d.calibration.boards import Board
from trackfish3d.cameras import CameraRig, Interface
from trackfish3d.core.errors import InputError

from .worlds import BOARD, angle_deg, camera, floating, handheld, relative, rig_above, scene

SURFACE = Surface(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))


def lenses_of(rig):
    return {c.name: c.without_water() for c in rig}


def by_picture(views, c):
    rows = [r for k, _, r in views.pictures() if k == c]
    return [BOARD.points[views.corner[r]].astype(np.float32) for r in rows], [
        views.pixel[r].astype(np.float32) for r in rows
    ]


def test_a_lens_is_opencvs_with_its_standard_deviations():
    rig = CameraRig((rig_above()["left"],))
    views = scene(rig, handheld(20))
    cal = calibrate(views, Plan(BOARD))
    points, pixels = by_picture(views, 0)
    flags = cv2.CALIB_FIX_K3
    rms, K, k, _, _, deviation, _, _ = cv2.calibrateCameraExtended(points, pixels, rig[0].size, None, None, flags=flags)
    deviation = deviation.ravel()[:8]
    theirs = np.array([K[0, 0], K[1, 1], K[0, 2], K[1, 2], *k.ravel()[:4]])
    mine = cal.rig[0]
    ours = np.array([mine.K[0, 0], mine.K[1, 1], mine.K[0, 2], mine.K[1, 2], *mine.distortion[:4]])
    assert np.abs((ours - theirs) / deviation).max() < 0.3  # Huber's loss weighs the same corners a little otherwise
    np.testing.assert_allclose(cal.adjusted.deviation[0, :8], deviation, rtol=0.15)
    assert cal.rms() == pytest.approx(rms, rel=0.02)


def test_two_cameras_stand_as_opencvs_stereo_calibration_puts_them():
    rig = rig_above().select(("left", "right"))
    views = scene(rig, handheld(12), noise=0.1)
    cal = calibrate(views, Plan(BOARD, known=lenses_of(rig)))
    shared = [m for m in range(len(views.moments)) if len(np.unique(views.camera[views.moment == m])) == 2]
    rows = [[np.flatnonzero((views.moment == m) & (views.camera == c)) for m in shared] for c in (0, 1)]
    points = [BOARD.points.astype(np.float32)] * len(shared)
    pixels = [[views.pixel[r].astype(np.float32) for r in side] for side in rows]
    _, _, _, _, _, R, T, _, _ = cv2.stereoCalibrate(
        points, *pixels, *(a.copy() for c in rig for a in (c.K, c.distortion)), rig[0].size,
        None, None, flags=cv2.CALIB_FIX_INTRINSIC,
    )  # fmt: skip
    pose = relative(cal.rig, 0, 1)
    assert angle_deg(pose, np.asarray(R)) < 0.005
    np.testing.assert_allclose(pose[:3, 3], np.ravel(T), atol=0.1)
    true = relative(rig, 0, 1)
    assert angle_deg(pose, true) < 0.05
    np.testing.assert_allclose(pose[:3, 3], true[:3, 3], atol=1.0)


def test_errors_of_lenses_are_as_large_as_their_standard_deviations_say():
    rig = rig_above()
    off = []
    for seed in range(2):
        cal = calibrate(scene(rig, handheld(10, seed=seed), noise=0.3, seed=seed), Plan(BOARD))
        for c, cam in enumerate(cal.rig):
            true = rig[c]
            ours = [cam.K[0, 0], cam.K[1, 1], cam.K[0, 2], cam.K[1, 2], *cam.distortion[:2]]
            truth = [true.K[0, 0], true.K[1, 1], true.K[0, 2], true.K[1, 2], *true.distortion[:2]]
            off.append((np.array(ours) - truth) / cal.adjusted.deviation[c, :6])
    off = np.concatenate(off)  # 36 of them, correlated
    assert 0.5 < np.sqrt((off**2).mean()) < 1.6
    assert np.abs(off).max() < 5
    assert cal.rms() == pytest.approx(0.3 * np.sqrt(2), rel=0.05)


def test_floating_boards_make_the_water_surface_z_0():
    rig = rig_above(1.333)
    cal = calibrate(
        scene(rig, floating(6), noise=0.1),
        Plan(BOARD, known=lenses_of(rig), floating=frozenset("012345"), tank=Tank(surfaces=[SURFACE])),
    )
    for mine, true in zip(cal.rig, rig, strict=True):
        assert mine.centre[2] == pytest.approx(true.centre[2], abs=1.5)
        assert mine.interfaces[0].n_animal == 1.333
        np.testing.assert_allclose(mine.interfaces[0].normal, [0, 0, 1])
        assert np.degrees(np.arccos(mine.R[2] @ [0, 0, 1])) == pytest.approx(
            np.degrees(np.arccos(true.R[2] @ [0, 0, 1])), abs=0.1
        )
    for a, b in ((0, 1), (0, 2)):
        mine, true = relative(cal.rig, a, b), relative(rig, a, b)
        assert angle_deg(mine, true) < 0.1
        np.testing.assert_allclose(mine[:3, 3], true[:3, 3], atol=2.0)


def test_a_thick_board_floats_above_the_water():
    rig = rig_above(1.333)
    poses = floating(6)
    for pose in poses:
        pose[2, 3] = 25.0
    plan = Plan(BOARD, known=lenses_of(rig), floating=frozenset("012345"), tank=Tank(surfaces=[SURFACE]))
    plan.board_height = 25.0
    cal = calibrate(scene(rig, poses), plan)
    np.testing.assert_allclose([c.centre[2] for c in cal.rig], [c.centre[2] for c in rig], atol=1.5)


def test_the_waters_index_is_found_from_boards_under_it():
    rig = rig_above(1.345)
    poses = floating(3) + handheld(9, depth=(-220.0, -60.0), tilt=25.0)
    tank = Tank(n_water=1.30, free_index=True, surfaces=[SURFACE])
    plan = Plan(BOARD, known=lenses_of(rig), floating=frozenset("012"), tank=tank, in_water=True)
    cal = calibrate(scene(rig, poses, noise=0.1), plan)
    deviation = cal.adjusted.index_deviation
    assert deviation < 0.003
    assert abs(cal.adjusted.state.n_water - 1.345) < 4 * deviation
    assert cal.rms() == pytest.approx(0.1 * np.sqrt(2), rel=0.1)
    assert examine(cal).square_mean == pytest.approx(1.0, abs=0.005)
    dry = calibrate(scene(rig, poses, noise=0.1), Plan(BOARD, known=lenses_of(rig), floating=frozenset("012")))
    assert dry.rms() > 3 * cal.rms()  # the same boards as if there were no water


def test_a_surface_that_is_only_roughly_known_is_found():
    """World: the first camera. The surface is given 60 mm too far and 3 degrees tilted."""
    rig = rig_above(1.333)
    first = np.eye(4)
    first[:3, :3], first[:3, 3] = rig[0].R, rig[0].t
    normal = first[:3, :3] @ [0.05, 0.0, 1.0]
    point = first[:3, :3] @ [0, 0, -60.0] + first[:3, 3]
    surface = Surface(point=tuple(point), normal=tuple(normal), free=["height", "tilt"])
    plan = Plan(BOARD, known=lenses_of(rig), tank=Tank(surfaces=[surface]), in_water=True)
    cal = calibrate(scene(rig, handheld(14, depth=(-260.0, -40.0), tilt=30.0), noise=0.2), plan)
    face = cal.rig[0].interfaces[0]
    assert np.degrees(np.arccos(face.normal @ (first[:3, :3] @ [0, 0, 1.0]))) < 0.7
    true_height = rig[0].centre[2]
    assert float((cal.rig[0].centre - face.point) @ face.normal) == pytest.approx(true_height, abs=8.0)
    assert cal.rms() == pytest.approx(0.2 * np.sqrt(2), rel=0.1)


def test_reference_points_of_a_tank_place_a_top_and_a_front_camera():
    """As 3D-ZeF: four corners of the water before each camera; world cm, z down."""
    top_face, front_face = Interface([0, 0, 0], [0, 0, -1], 1.0, 1.33), Interface([0, 29, 0], [0, 1, 0], 1.0, 1.33)
    top = camera("top", (14, 15, -60), (14.5, 14.5, 0), interfaces=(top_face,))
    front = camera("front", (14, 95, 8), (14.5, 29, 7.5), interfaces=(front_face,))
    corners = {
        "top": np.array([[0, 0, 0], [29, 0, 0], [29, 29, 0], [0, 29, 0.0]]),
        "front": np.array([[0, 29, 0], [29, 29, 0], [29, 29, 15], [0, 29, 15.0]]),
    }
    rng = np.random.default_rng(0)
    names, world, pixel = [], [], []
    for cam in (top, front):
        pixel.append(cam.without_water().project(corners[cam.name]) + 0.3 * rng.standard_normal((4, 2)))
        world.append(corners[cam.name])
        names += [cam.name] * 4
    tank = Tank(
        1.33, False,
        [
            Surface(cameras=["top"], point=(0, 0, 0), normal=(0, 0, 1)),
            Surface(cameras=["front"], point=(0, 29, 0), normal=(0, 1, 0)),
        ],
        names, np.concatenate(world), np.concatenate(pixel), np.ones(8), "cm",
    )  # fmt: skip
    views = Views.build(("top", "front"), (top.size, front.size), [])
    plan = Plan(None, known={c.name: c.without_water() for c in (top, front)}, tank=tank)
    cal = calibrate(views, plan)
    for mine, true in zip(cal.rig, (top, front), strict=True):
        np.testing.assert_allclose(mine.centre, true.centre, atol=0.4)
        fish = np.array([[10.0, 12.0, 6.0], [20.0, 20.0, 10.0]])
        np.testing.assert_allclose(mine.project(fish), true.project(fish), atol=1.5)
        R, t = cv2.solvePnP(corners[mine.name], tank.pixel[np.array(names) == mine.name], true.K, true.distortion)[1:]
        centre = -cv2.Rodrigues(R)[0].T @ t.ravel()
        np.testing.assert_allclose(mine.centre, centre, atol=0.02)


@pytest.mark.parametrize(("columns", "rows"), [(9, 5), (6, 6)])
def test_boards_that_look_the_same_turned_around_are_told_by_the_cameras_together(columns, rows):
    board = Board("chessboard", columns, rows, 20.0)
    rig = rig_above()
    views = scene(rig, handheld(8), board=board, flips=True)
    cal = calibrate(views, Plan(board, known=lenses_of(rig)))
    assert cal.rms() < 0.6
    assert angle_deg(relative(cal.rig, 0, 2), relative(rig, 0, 2)) < 0.1


def test_a_board_that_the_printer_stretched_is_noticed_and_fitted():
    """Real boards do this: squares 2 % lower than wide; lenses calibrated with such a board are as wrong."""
    rig = rig_above()
    views = scene(rig, handheld(12), noise=0.1, board=_stretched(1.0, 0.98))
    asked = Plan(BOARD, known=lenses_of(rig))
    quality = examine(calibrate(views, asked))
    assert quality.verdict == "doubtful"
    assert "98.0 % as high as wide" in " ".join(quality.reasons)
    fitted = calibrate(views, Plan(BOARD, known=lenses_of(rig), fit_board=True))
    assert fitted.adjusted.state.aspect == pytest.approx(0.98, abs=4 * fitted.adjusted.aspect_deviation)
    assert fitted.rms() == pytest.approx(0.1 * np.sqrt(2), rel=0.1)
    assert not any("as high as wide" in reason for reason in examine(fitted).reasons)


def _stretched(x, y):
    board = Board(BOARD.kind, BOARD.columns, BOARD.rows, BOARD.square)
    board.__dict__["points"] = BOARD.points * [x, y, 1.0]  # a cached property
    return board


def test_pixels_can_be_held_square():
    rig = CameraRig((camera("top", (0, -300, 700), (1, 2, 0)),))
    free = calibrate(scene(rig, handheld(8)), Plan(BOARD)).rig[0].K
    held = calibrate(scene(rig, handheld(8)), Plan(BOARD, square_pixels=True)).rig[0].K
    assert abs(held[0, 0] - held[1, 1]) < 0.3
    assert abs(free[0, 0] - free[1, 1]) > 1.0  # the camera's are 2 per mille apart


def test_one_common_picture_of_a_symmetric_board_is_refused():
    board = Board("chessboard", 9, 5, 20.0)
    rig = rig_above()
    with pytest.raises(InputError, match=r"left and right.*looks the same turned around"):
        calibrate(scene(rig, handheld(1), board=board), Plan(board, known=lenses_of(rig)))


def test_corners_that_lie_are_weighed_down():
    rig = rig_above()
    views = scene(rig, handheld(12))
    wrong = np.random.default_rng(5).choice(len(views), len(views) // 40, replace=False)
    views.pixel[wrong] += 60.0
    cal = calibrate(views, Plan(BOARD, known=lenses_of(rig)))
    assert np.abs(relative(cal.rig, 0, 1)[:3, 3] - relative(rig, 0, 1)[:3, 3]).max() < 2.0
    assert set(np.flatnonzero(cal.adjusted.weight < 0.1)) == set(wrong)


def test_a_camera_that_shares_no_moment_is_named():
    rig = rig_above()
    views = scene(rig, handheld(12))
    alone = (views.camera != 2) | (views.moment % 2 == 0)
    views = views.select(alone & ((views.camera == 2) | (views.moment % 2 == 1)))
    with pytest.raises(InputError, match="camera back: never saw the board at a moment when left"):
        calibrate(views, Plan(BOARD, known=lenses_of(rig)))


def test_a_lens_needs_pictures():
    rig = rig_above()
    with pytest.raises(InputError, match=r"camera left: board found in 2 pictures"):
        calibrate(scene(rig, handheld(2)), Plan(BOARD))


def test_pictures_for_the_lens_need_no_partner():
    rig = rig_above(1.333)
    alone = scene(rig_above(), handheld(12, seed=9), noise=0.1)
    moved = [(int(c), f"{rig.names[c]} {m}", alone.corner[r], alone.pixel[r]) for c, m, r in alone.pictures()]
    lens_views = Views.build(alone.cameras, alone.sizes, moved)
    plan = Plan(BOARD, lens_views=lens_views, floating=frozenset("01234"), tank=Tank(surfaces=[SURFACE]))
    cal = calibrate(scene(rig, floating(5), noise=0.1), plan)
    for mine, true, deviation in zip(cal.rig, rig, cal.adjusted.deviation, strict=True):
        assert abs(mine.K[0, 0] - true.K[0, 0]) < 4 * deviation[0]
        assert deviation[0] < 8.0
        assert mine.centre[2] == pytest.approx(true.centre[2], rel=4 * deviation[0] / true.K[0, 0])


def test_other_lens_models_are_recovered():
    fish = camera("wide", (0, -200, 450), focal=500.0, k=(0.05, -0.01, 0.003, 0.0))
    fish = type(fish)(fish.name, fish.size, fish.K, fish.distortion, fish.R, fish.t, fisheye=True)
    views = scene(CameraRig((fish,)), handheld(24, tilt=50, spread=220), noise=0.1)
    cal = calibrate(views, Plan(BOARD, "fisheye"))
    mine, deviation = cal.rig[0], cal.adjusted.deviation[0]
    assert mine.fisheye
    off = [mine.K[0, 0] - fish.K[0, 0], mine.K[0, 2] - fish.K[0, 2], mine.distortion[0] - fish.distortion[0]]
    assert (np.abs(off) < 4 * deviation[[0, 2, 4]]).all()
    assert deviation[0] < 1.0
    assert cal.rms() == pytest.approx(0.1 * np.sqrt(2), rel=0.05)


def test_parallel_boards_are_found_out_by_the_verdict():
    rig = CameraRig((camera("top", (0, 0, 800), (1, 2, 0)),))
    rng = np.random.default_rng(3)
    poses = floating(8)
    for pose in poses:
        pose[2, 3] = rng.uniform(0, 5)
    quality = examine(calibrate(scene(rig, poses), Plan(BOARD)))
    assert quality.verdict == "bad"
    assert "nearly parallel" in quality.reasons[0]


def test_a_fair_calibration_is_good_and_measures_its_own_board():
    rig = rig_above()
    quality = examine(calibrate(scene(rig, handheld(24, spread=330.0)), Plan(BOARD)))
    assert quality.verdict == "good", quality.reasons
    assert quality.square_mean == pytest.approx(1.0, abs=0.003)
    assert 0.005 < quality.square_deviation < 0.03  # 0.3 px at some 850 mm and f 1100: 0.3 mm of 20
