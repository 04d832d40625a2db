"""Pictures of boards, drawn by warping the board's face into the image of a camera without distortion."""

import cv2
import numpy as np

DOTS = 56  # px a square in the face: 6 for each cell of a 5X5 marker of three quarters of it


def face(board):
    """The printed board with a white rim of one square, and the (3, 3) matrix from board lengths to its pixels."""
    across, down = board.columns + 1, board.rows + 1
    if board.kind == "charuco":
        image = board._charuco(legacy=False).generateImage((across * DOTS, down * DOTS))
    else:
        y, x = np.indices((down * DOTS, across * DOTS)) // DOTS
        image = np.where((x + y) % 2 == 0, 20, 235).astype(np.uint8)
    image = cv2.copyMakeBorder(image, DOTS, DOTS, DOTS, DOTS, cv2.BORDER_CONSTANT, value=255)
    scale = DOTS / board.square
    shift = 2 * DOTS - 0.5  # the first inner corner is one square and the rim away; pixel centres are whole numbers
    return image, np.array([[scale, 0, shift], [0, scale, shift], [0, 0, 1]])


def render(board, camera, pose, seed=0):
    """Grey picture (H, W) of the board at `pose` (4, 4), board to world."""
    image, to_face = face(board)
    to_camera = np.eye(4)
    to_camera[:3, :3], to_camera[:3, 3] = camera.R, camera.t
    whole = (to_camera @ pose)[:3]
    H = camera.K @ whole[:, [0, 1, 3]] @ np.linalg.inv(to_face)
    big = 2  # drawn finer and averaged, as a sensor does
    up = np.array([[big, 0, (big - 1) / 2], [0, big, (big - 1) / 2], [0, 0, 1]])
    size = (camera.size[0] * big, camera.size[1] * big)
    drawn = cv2.warpPerspective(image, up @ H, size, flags=cv2.INTER_LINEAR, borderValue=110)
    drawn = cv2.resize(drawn, camera.size, interpolation=cv2.INTER_AREA).astype(float)
    drawn += 2.0 * np.random.default_rng(seed).standard_normal(drawn.shape)
    return np.clip(np.rint(drawn), 0, 255).astype(np.uint8)
