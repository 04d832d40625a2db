"""Boards before cameras whose every parameter is known."""

import numpy as np
from scipy.spatial.transform import Rotation

from trackfish3d.calibration import Board, Views
from trackfish3d.cameras import Camera, CameraRig, Interface

BOARD = Board("chessboard", 8, 5, 20.0)
SIZE = (1280, 960)


def look_at(place, target, up=(0.0, 0.0, 1.0)):
    """Rotation and translation of a camera at `place` that looks at `target`."""
    place, target = np.asarray(place, float), np.asarray(target, float)
    z = (target - place) / np.linalg.norm(target - place)
    x = np.cross(z, up)
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z])
    return R, -R @ place


def camera(
    name, place, target=(0.0, 0.0, 0.0), focal=1100.0, k=(-0.12, 0.05, 0.001, -0.0005, 0.0), interfaces=(), size=SIZE
):
    R, t = look_at(place, target)
    K = np.array([[focal, 0, 0.508 * size[0]], [0, focal * 1.002, 0.49 * size[1]], [0, 0, 1]])
    return Camera(name, size, K, np.array(k), R, t, interfaces=interfaces)


def rig_above(water=None):
    """Three cameras 70 to 90 cm above z = 0, the water's surface if there is an index."""
    faces = () if water is None else (Interface([0, 0, 0], [0, 0, 1], 1.0, water),)
    places = {"left": (-500, -150, 800), "right": (450, -250, 760), "back": (60, 520, 880)}
    return CameraRig(tuple(camera(n, p, (0, 0, -60), interfaces=faces) for n, p in places.items()), "mm")


def board_pose(place, tilt_deg, rng):
    """(4, 4) board to world: the middle at `place`, face up, turned about z, tilted by up to `tilt_deg`."""
    R = Rotation.from_rotvec([0, 0, rng.uniform(0, 2 * np.pi)]).as_matrix() @ np.diag([1.0, -1.0, -1.0])
    axis = rng.standard_normal(2)
    tilt = np.radians(tilt_deg) * rng.uniform(0.3, 1.0) * axis / np.linalg.norm(axis)
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec([*tilt, 0]).as_matrix() @ R
    pose[:3, 3] = np.asarray(place, float) - pose[:3, :3] @ BOARD.centre
    return pose


def scene(rig, poses, noise=0.3, seed=0, board=BOARD, flips=False, lens=None):
    """Views of boards at `poses` (moments "0", "1", ...), with Gaussian noise per pixel coordinate.

    A corner in front of the water is seen straight. `flips` numbers the corners of each picture in any of the orders
    in which the board looks alike. `lens` names cameras whose pictures count, None all.
    """
    rng = np.random.default_rng(seed)
    found = []
    for m, pose in enumerate(poses):
        world = board.points @ pose[:3, :3].T + pose[:3, 3]
        for c, cam in enumerate(rig):
            above = world[:, 2] >= 0 if cam.interfaces else np.ones(len(world), bool)
            pixel = cam.project(world)
            pixel[above] = cam.without_water().project(world[above])
            inside = np.isfinite(pixel).all(1) & cam.in_image(pixel)
            if not inside.all():
                continue
            corner = np.arange(len(world))
            if flips:
                turn = board.turns[rng.integers(len(board.turns))]
                place = np.rint(((board.points - board.centre) @ turn.T + board.centre) / board.square).astype(int)
                corner = place[:, 1] * board.columns + place[:, 0]
            found.append((c, str(m), corner, pixel + noise * rng.standard_normal(pixel.shape)))
    return Views.build(rig.names, tuple(c.size for c in rig), found)


def handheld(count=14, seed=1, tilt=40.0, depth=(-40.0, 260.0), spread=130.0):
    """Poses of a board waved about in the middle."""
    rng = np.random.default_rng(seed)
    return [board_pose([*rng.uniform(-spread, spread, 2), rng.uniform(*depth)], tilt, rng) for _ in range(count)]


def floating(count=6, seed=2, spread=170.0):
    """Poses of a board that floats flat on z = 0."""
    rng = np.random.default_rng(seed)
    poses = []
    for _ in range(count):
        pose = board_pose([*rng.uniform(-spread, spread, 2), 0.0], 0.0, rng)
        pose[2, 3] = 0.0
        poses.append(pose)
    return poses


def relative(rig, a, b):
    """(4, 4) pose of camera b to camera a."""
    poses = []
    for cam in (rig[a], rig[b]):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = cam.R, cam.t
        poses.append(pose)
    return poses[1] @ np.linalg.inv(poses[0])


def angle_deg(A, B):
    return np.degrees(np.linalg.norm(Rotation.from_matrix(A[:3, :3] @ B[:3, :3].T).as_rotvec()))
