"""The world's frame: a water surface under floating boards, a board that lies somewhere, or reference points."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ..cameras import Camera
from ..core.errors import InputError
from .boards import Board
from .opencv import opencv
from .start import board_poses
from .tank import Tank

Array = NDArray[np.float64]
FACE_UP = np.diag([1.0, -1.0, -1.0])  # a board's z points away from who looks at it, the world's z up


def level(boards: Array, board: Board, height: float) -> Array:
    """(4, 4) motion to the frame in which boards (F, 4, 4) that float lie `height` above z = 0, facing up.

    The plane is the one nearest to all their corners; the first board's first corner is above the origin, and its
    rows run along x.
    """
    wide = np.column_stack([board.points, np.ones(len(board.points))])
    corners = np.concatenate([wide @ b[:3].T for b in boards])
    middle = corners.mean(0)
    up = np.linalg.svd(corners - middle, full_matrices=False)[2][2]
    facing = -boards[:, :3, 2].mean(0)
    if abs(up @ facing) < 0.9 * np.linalg.norm(facing):  # few boards on a line do not make a plane: they face up anyway
        up = facing / np.linalg.norm(facing)
    up = up if up @ facing > 0 else -up
    along = boards[0][:3, 0] - (boards[0][:3, 0] @ up) * up
    along /= np.linalg.norm(along)
    first = corners[0] - ((corners[0] - middle) @ up) * up
    motion = np.eye(4)
    motion[:3, :3] = np.stack([along, np.cross(up, along), up])
    motion[:3, 3] = np.array([0, 0, height]) - motion[:3, :3] @ first
    return motion


def laid(pose: Array, height: float) -> Array:
    """Pose (4, 4) of a floating board, board to world, made to lie flat."""
    angle = np.arctan2(pose[1, 0], pose[0, 0])
    flat = np.eye(4)
    flat[:3, :3] = Rotation.from_rotvec([0, 0, angle]).as_matrix() @ FACE_UP
    flat[:3, 3] = pose[0, 3], pose[1, 3], height
    return flat


def on_board(pose: Array) -> Array:
    """(4, 4) motion to the frame of a board (4, 4): origin at its first corner, x along its rows, z out of its face."""
    target = np.eye(4)
    target[:3, :3] = FACE_UP
    return np.asarray(target @ np.linalg.inv(pose))


def by_points(lenses: list[Camera], names: tuple[str, ...], tank: Tank) -> dict[str, Array]:
    """Poses (4, 4) world to camera of the cameras that see four reference points or more, as if there were no water."""
    found = {}
    for lens, name in zip(lenses, names, strict=True):
        mine = np.array([n == name for n in tank.camera], bool)
        if mine.sum() >= 4:
            found[name] = _pose(lens, name, tank.world[mine], tank.pixel[mine])
    return found


def _pose(lens: Camera, name: str, world: Array, pixel: Array) -> Array:
    cv2 = opencv()
    outside = ~((pixel >= 0).all(1) & (pixel <= np.array(lens.size)).all(1))
    if outside.any():
        raise InputError(f"camera {name}: reference point {np.flatnonzero(outside)[0] + 1} lies outside its image")
    middle = world.mean(0)
    axes = np.linalg.svd(world - middle)
    if axes[1][1] < 1e-6 * axes[1][0]:
        raise InputError(f"camera {name}: its reference points lie on one line")
    frame = axes[2] * (1.0 if np.linalg.det(axes[2]) > 0 else -1.0)
    local = (world - middle) @ frame.T
    flat = np.abs(local[:, 2]).max() < 1e-3 * axes[1][0]
    if flat:
        poses = board_poses(lens, local * [1, 1, 0], pixel)
        pose = poses[0][0] if poses else None
    else:
        ideal = np.ascontiguousarray(lens.undistort(pixel))[:, None]
        ok, turn, shift = cv2.solvePnP(np.ascontiguousarray(local), ideal, lens.K, None, flags=cv2.SOLVEPNP_SQPNP)
        pose = np.eye(4)
        pose[:3, :3] = Rotation.from_rotvec(np.ravel(turn)).as_matrix()
        pose[:3, 3] = np.ravel(shift)
        pose = pose if ok and np.isfinite(pose).all() else None
    if pose is None:
        raise InputError(f"camera {name}: no pose fits its reference points; are their order and its lens right?")
    to_local = np.eye(4)
    to_local[:3, :3] = frame
    to_local[:3, 3] = -frame @ middle
    return np.asarray(pose @ to_local)
