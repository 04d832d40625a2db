"""Lens and pose against OpenCV, refraction against Snell's law."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trackfish3d.cameras import Camera, CameraRig, Interface
from trackfish3d.core.errors import InputError

K = np.array([[1800.0, 0, 960], [0, 1700, 540], [0, 0, 1]])
SIZE = (1920, 1080)


def rotation(*vector):
    return cv2.Rodrigues(np.array(vector, dtype=float))[0]


def camera(distortion=(), interfaces=(), fisheye=False, R=None, t=(0.1, -0.2, 5.0)):
    R = rotation(0.2, -0.3, 0.1) if R is None else R
    return Camera("a", SIZE, K, distortion, R, t, fisheye=fisheye, interfaces=interfaces)


DISTORTIONS = {
    0: [],
    4: [-0.12, 0.05, 0.001, -0.002],
    5: [-0.12, 0.05, 0.001, -0.002, 0.01],
    8: [0.4, 0.05, 0.001, -0.002, 0.01, 0.5, 0.08, 0.02],
    12: [0.4, 0.05, 0.001, -0.002, 0.01, 0.5, 0.08, 0.02, 0.003, -0.001, 0.002, 0.001],
    14: [0.4, 0.05, 0.001, -0.002, 0.01, 0.5, 0.08, 0.02, 0.003, -0.001, 0.002, 0.001, 0.02, -0.03],
}


@pytest.mark.parametrize("distortion", DISTORTIONS.values(), ids=DISTORTIONS)
def test_projection_is_opencvs(distortion):
    cam = camera(distortion)
    points = np.random.default_rng(1).normal(size=(500, 3)) * [1.2, 0.8, 1.0]
    expected = cv2.projectPoints(points, cv2.Rodrigues(cam.R)[0], cam.t, K, np.array(distortion or [0.0] * 5))[0][:, 0]
    np.testing.assert_allclose(cam.project(points), expected, atol=1e-6)


@pytest.mark.parametrize("distortion", DISTORTIONS.values(), ids=DISTORTIONS)
def test_undistortion_is_opencvs(distortion):
    cam = camera(distortion)
    pixels = np.random.default_rng(2).uniform([0, 0], SIZE, (500, 2))
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 400, 1e-14)
    expected = cv2.undistortPoints(pixels[:, None], K, np.array(distortion or [0.0] * 5), P=K, criteria=criteria)
    np.testing.assert_allclose(cam.undistort(pixels), expected[:, 0], atol=1e-6)


def test_fisheye_is_opencvs():
    distortion = [0.05, -0.01, 0.002, -0.0005]
    cam = camera(distortion, fisheye=True)
    points = np.random.default_rng(3).normal(size=(500, 3)) * 2
    points = points[(points @ cam.R.T + cam.t)[:, 2] > 0.2]
    expected = cv2.fisheye.projectPoints(points[:, None], cv2.Rodrigues(cam.R)[0], cam.t, K, np.array(distortion))[0]
    np.testing.assert_allclose(cam.project(points), expected[:, 0], atol=1e-6)
    rays = cam.rays(cam.project(points))
    np.testing.assert_allclose(cam.project(rays.origin + 3 * rays.direction), cam.project(points), atol=1e-6)


def face(z, tilt=(0.0, 0.0), before=1.0, behind=1.333):
    return Interface([0, 0, z], [tilt[0], tilt[1], -1.0], before, behind)


FACES = {
    "none": (),
    "water": (face(1.0),),
    "tilted water": (face(1.0, (0.2, -0.1)),),
    "glass and water": (face(1.0, (0.1, 0.0), 1.0, 1.52), face(1.1, (0.1, 0.0), 1.52, 1.333)),
    "wedge of glass": (face(1.0, (0.1, 0.0), 1.0, 1.52), face(1.3, (0.05, 0.04), 1.52, 1.333)),
    "out of water": (face(1.0, (0.0, 0.0), 1.333, 1.0),),
    "three layers": tuple(face(z, (0, 0.05), *n) for z, n in [(0.5, (1, 1.52)), (0.7, (1.52, 1)), (0.9, (1, 1.333))]),
}


@pytest.mark.parametrize("faces", FACES.values(), ids=FACES)
@pytest.mark.parametrize("distortion", [[], DISTORTIONS[8]], ids=["ideal", "distorted"])
def test_a_pixels_ray_comes_back_to_the_pixel(faces, distortion):
    cam = camera(distortion, faces, R=rotation(0.05, -0.04, 0.3), t=(0, 0, 1.0))
    rng = np.random.default_rng(4)
    pixels = rng.uniform([300, 200], [1620, 880], (2000, 2))
    rays = cam.rays(pixels)
    assert rays.valid.mean() > 0.9
    np.testing.assert_allclose(np.linalg.norm(rays.direction[rays.valid], axis=1), 1.0, atol=1e-12)
    reach = rng.uniform(0.01, 20, (rays.valid.sum(), 1))
    back = cam.project(rays.origin[rays.valid] + reach * rays.direction[rays.valid])
    np.testing.assert_allclose(back, pixels[rays.valid], atol=1e-6)


def test_snells_law_in_closed_form():
    # One ray at 30 degrees onto flat water 2 units away: sin(refracted) = sin(30) / 1.333.
    cam = Camera("a", SIZE, K, [], np.eye(3), [0, 0, 0], interfaces=(face(2.0),))
    pixel = [[960 + 1800 * np.tan(np.pi / 6), 540.0]]
    rays = cam.rays(pixel)
    np.testing.assert_allclose(rays.origin[0], [2 * np.tan(np.pi / 6), 0, 2.0], atol=1e-12)
    sine = 0.5 / 1.333
    np.testing.assert_allclose(rays.direction[0], [sine, 0, np.sqrt(1 - sine**2)], atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    before=st.floats(1.0, 1.6),
    behind=st.floats(1.0, 1.6),
    tilt=st.tuples(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3)),
    pixel=st.tuples(st.floats(0, 1920), st.floats(0, 1080)),
)
def test_refraction_keeps_the_plane_and_the_invariant(before, behind, tilt, pixel):
    interface = face(1.5, tilt, before, behind)
    cam = Camera("a", SIZE, K, [], np.eye(3), [0, 0, 0], interfaces=(interface,))
    air, water = cam.without_water().rays([pixel]).direction[0], cam.rays([pixel])
    sine = np.linalg.norm(np.cross(air, interface.normal))
    if before * sine > behind * (1 + 1e-9):
        assert not water.valid[0]  # total internal reflection
        assert np.isnan(water.direction).all()
    elif before * sine < behind * (1 - 1e-9):
        np.testing.assert_allclose(
            behind * np.cross(water.direction[0], interface.normal),
            before * np.cross(air, interface.normal),
            atol=1e-12,
        )


def test_what_cannot_be_seen_is_nan():
    water = (face(1.0),)
    cam = Camera("a", SIZE, K, [], np.eye(3), [0, 0, 0], interfaces=water)
    behind, on_the_cameras_side, seen = [0, 0, -1.0], [0, 0, 0.5], [0.1, 0.1, 2.0]
    pixels = cam.project([behind, on_the_cameras_side, seen, [np.nan, 0, 2]])
    assert np.isnan(pixels[[0, 1, 3]]).all()
    assert np.isfinite(pixels[2]).all()
    assert not cam.rays([[np.nan, 10.0]]).valid[0]
    parallel_to_water = Camera("b", SIZE, K, [], rotation(np.pi / 2, 0, 0), [0, 0, 0], interfaces=water)
    assert not parallel_to_water.rays([[960.0, 540.0]]).valid[0]


def test_a_point_beyond_the_lens_does_not_fold_into_the_image():
    # With k1 = -0.3 the distorted radius peaks at r = 1.05; OpenCV maps r = 2.5 back into the image.
    cam = Camera("a", SIZE, K, [-0.3, 0, 0, 0, 0], np.eye(3), [0, 0, 0])
    folded = cv2.projectPoints(np.array([[1.8, 0, 1.0]]), np.zeros(3), np.zeros(3), K, cam.distortion)[0][0, 0]
    assert 0 < folded[0] < 1920
    assert np.isnan(cam.project([[1.8, 0, 1.0]])).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K": np.zeros((3, 3))}, "singular"),
        ({"K": K * np.nan}, "not finite"),
        ({"R": np.diag([1, 1, -1])}, "rotation"),
        ({"R": np.eye(3) * 1.1}, "rotation"),
        ({"distortion": [0.1] * 7}, "7 distortion"),
        ({"size": (0, 5)}, "image size"),
        ({"t": [1, 2]}, "t must hold"),
        ({"interfaces": (Interface([0, 0, 1], [0, 0, 1]),)}, "turn its normal"),
        ({"interfaces": (face(2.0), face(1.0))}, "listed from the camera"),
        ({"fisheye": True, "distortion": [0.1] * 5}, "fisheye takes 4"),
    ],
)
def test_an_impossible_camera_is_refused_with_its_name(change, message):
    good = {"name": "left", "size": SIZE, "K": K, "distortion": [], "R": np.eye(3), "t": [0, 0, 0]}
    with pytest.raises(InputError, match=f"(?s)left.*{message}"):
        Camera(**{**good, **change})


def test_a_rig_finds_cameras_by_name():
    cams = [Camera(f"cam_{i}", SIZE, K, [], np.eye(3), [0, 0, i]) for i in range(12)]
    rig = CameraRig(cams)
    assert rig["cam_10"].t[2] == 10
    assert rig.index("cam_2") == 2
    with pytest.raises(InputError, match="unknown camera 'side'"):
        rig["side"]
    with pytest.raises(InputError, match="used twice"):
        CameraRig([cams[0], cams[0]])
