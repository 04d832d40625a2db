"""The derivatives that the adjustment rests on, and its projection, against the cameras' own."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from trackfish3d.calibration.adjust import LENS_PLACES, Corners, Free, State, _Problem, predict
from trackfish3d.cameras import Camera, Interface

DISTORTION = (-0.2, 0.05, 0.001, -0.002, 0.01, 0.01, 0.002, 0.001)


def state_and_corners(glass, fisheye, wet=True, seed=0):
    rng = np.random.default_rng(seed)
    normal = Rotation.from_rotvec([0.05, 0.02, 0]).apply([0, 0, 1.0])
    point = np.array([3.0, 4.0, 10.0])
    faces = ()
    if wet and glass:
        faces = (Interface(point, normal, 1.0, 1.5), Interface(point - 5 * normal, normal, 1.5, 1.333))
    elif wet:
        faces = (Interface(point, normal),)
    R = Rotation.from_rotvec([0.3, 0.2, 0.1]).as_matrix() @ np.diag([1.0, -1.0, -1.0])
    K = np.array([[1500, 0.5, 950], [0, 1490, 550], [0, 0, 1]])
    cam = Camera("a", (1920, 1080), K, DISTORTION[: 4 if fisheye else 8], R, [10, 20, 600.0], fisheye, faces)
    world = rng.uniform([-150, -150, -150], [150, 150, -20], (40, 3))
    board_R, board_t = Rotation.from_rotvec([0.1, 0.2, 0.3]).as_matrix(), np.array([1.0, 2, 3])
    layers = np.array([[[5.0, 1.5]]]) if glass else np.zeros((1, 0, 2))
    state = State(
        np.array(cam.packed)[None], cam.R[None].copy(), cam.t[None].copy(), board_R[None], board_t[None],
        point[None], normal[None], np.array([0 if wet else -1]), layers, np.array([int(glass)]), 1.333,
    )  # fmt: skip
    n = len(world)
    corners = Corners(
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.arange(n), cam.project(world), np.ones(n),
        (world - board_t) @ board_R, np.zeros(n, bool), n,
    )  # fmt: skip
    return cam, state, corners


@pytest.mark.parametrize(("glass", "fisheye", "wet"), [(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 0)])
def test_projection_is_that_of_the_camera_and_every_derivative_that_of_its_differences(glass, fisheye, wet):
    _, state, corners = state_and_corners(bool(glass), bool(fisheye), bool(wet))
    pixel, row, seen = predict(state, corners)
    assert seen.all()
    np.testing.assert_allclose(pixel, corners.pixel, atol=1e-8)
    free = Free(
        np.ones((1, 12), bool), np.ones((1, 6), bool), np.ones((1, 6), bool), np.ones((1, 3), bool), True, True
    )  # fmt: skip
    problem = _Problem(free, corners, state.lens[:, LENS_PLACES])
    columns = {k: int(c) for k, c in enumerate(np.insert(problem.places(state)[0], 18, [-1] * 6))}
    for k in range(29):
        shifted = []
        for step in (1e-6, -1e-6):
            x, y = np.zeros(problem.size), np.zeros((1, 6))
            if 18 <= k < 24:
                y[0, k - 18] = step
            else:
                x[columns[k]] = step
            shifted.append(predict(problem.moved(state, x, y), corners)[0])
        difference = (shifted[0] - shifted[1]) / 2e-6
        np.testing.assert_allclose(row[:, :, k], difference, atol=1e-5 * max(np.abs(difference).max(), 1.0))


def test_a_corner_above_the_water_is_seen_straight():
    cam, state, corners = state_and_corners(False, False)
    above = np.array([[10.0, 20.0, 40.0], [-30.0, 5.0, 60.0]])
    lifted = Corners(
        corners.camera[:2], corners.board[:2], np.arange(2), corners.pixel[:2], np.ones(2),
        (above - state.board_t[0]) @ state.board_R[0], np.zeros(2, bool), 2,
    )  # fmt: skip
    np.testing.assert_allclose(predict(state, lifted)[0], cam.without_water().project(above), atol=1e-8)


def test_a_picture_without_the_water_ignores_the_plane():
    cam, state, corners = state_and_corners(False, False)
    dry = Corners(
        corners.camera, corners.board, corners.corner, corners.pixel, corners.sigma, corners.points,
        np.ones(len(corners.camera), bool), corners.n_board,
    )  # fmt: skip
    world = corners.points @ state.board_R[0].T + state.board_t[0]
    np.testing.assert_allclose(predict(state, dry)[0], cam.without_water().project(world), atol=1e-8)
