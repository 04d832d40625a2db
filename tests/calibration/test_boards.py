"""Boards found in drawn pictures, where every corner is known."""

import numpy as np
import pytest

from trackfish3d.calibration import Board
from trackfish3d.calibration.boards import other_size
from trackfish3d.core.errors import InputError

from .pictures import render
from .worlds import board_pose, camera


def plain_camera(angle=0.0):
    place = (300 * np.sin(angle), -300 * np.cos(angle), 600)
    return camera("a", place, focal=1500.0, k=(0, 0, 0, 0, 0), size=(800, 600))


def truth(board, cam, pose):
    return cam.project(board.points @ pose[:3, :3].T + pose[:3, 3])


@pytest.mark.parametrize("text", ["chessboard:8x5:20", "charuco:9x6:20:15:5X5_100"])
def test_a_board_is_found_to_a_tenth_of_a_pixel_and_numbered_as_printed_however_it_is_turned(text):
    board = Board.parse(text)
    for k in range(4):
        rng = np.random.default_rng(k)
        cam, pose = plain_camera(), board_pose((0, 0, 0), 20, rng)
        corner, pixel = board.find(render(board, cam, pose))
        assert len(corner) == 40 or (board.kind == "charuco" and len(corner) > 25)
        assert np.abs(pixel - truth(board, cam, pose)[corner]).max() < 0.2
        assert np.sqrt(((pixel - truth(board, cam, pose)[corner]) ** 2).sum(1).mean()) < 0.1


@pytest.mark.parametrize(("columns", "rows", "alike"), [(7, 5, 2), (6, 6, 4), (7, 7, 2), (8, 5, 1)])
def test_a_board_that_looks_alike_when_turned_is_numbered_as_in_one_of_its_turns(columns, rows, alike):
    board = Board("chessboard", columns, rows, 20.0)
    assert len(board.turns) == alike
    for k in range(3):
        cam, pose = plain_camera(), board_pose((0, 0, 0), 20, np.random.default_rng(k))
        corner, pixel = board.find(render(board, cam, pose))
        places = [(board.points - board.centre) @ turn.T + board.centre for turn in board.turns]
        worst = [np.abs(cam.project(p @ pose[:3, :3].T + pose[:3, 3])[corner] - pixel).max() for p in places]
        assert min(worst) < 0.3


def test_part_of_a_charuco_board_is_enough():
    board = Board.parse("charuco:9x6:20:15:5X5_100")
    cam, pose = plain_camera(), board_pose((0, 0, 0), 10, np.random.default_rng(1))
    picture = render(board, cam, pose)
    picture[:, : picture.shape[1] // 2] = 90
    corner, pixel = board.find(picture)
    assert 6 <= len(corner) < 40
    assert np.abs(pixel - truth(board, cam, pose)[corner]).max() < 0.3


def test_no_board_no_corners():
    picture = np.random.default_rng(0).integers(0, 255, (300, 400)).astype(np.uint8)
    for text in ("chessboard:8x5:20", "charuco:9x6:20:15:5X5_100"):
        corner, pixel = Board.parse(text).find(picture)
        assert len(corner) == 0
        assert pixel.shape == (0, 2)


def test_squares_counted_in_place_of_corners_are_noticed():
    cam, pose = plain_camera(), board_pose((0, 0, 0), 10, np.random.default_rng(1))
    picture = render(Board("chessboard", 8, 5, 20.0), cam, pose)
    assert other_size(Board("chessboard", 9, 6, 20.0), picture) == (8, 5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("chess:8x5:20", "write chessboard"),
        ("chessboard:8x5", "write chessboard"),
        ("chessboard:8by5:20", "write chessboard"),
        ("chessboard:8x5:wide", "not a number"),
        ("chessboard:8x5:-1", "above 0"),
        ("chessboard:2x5:20", "at least 3 x 3"),
        ("charuco:9x6:20:25:5X5_100", "marker is smaller"),
        ("charuco:9x6:20:15:5X5_101", "no marker dictionary"),
        ("charuco:19x16:20:15:4X4_50", "need 152 markers, 4X4_50 has 50"),
    ],
)
def test_a_board_that_cannot_be_is_refused(text, said):
    with pytest.raises(InputError, match=said):
        Board.parse(text)
