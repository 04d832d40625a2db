"""Where to start the adjustment: the pose of the board in every picture, and of all cameras to each other.

A flat board far away has two poses that fit nearly as well, and a chessboard may look the same turned around. Single
pictures cannot settle either, but the cameras do not move: the relative pose of two cameras that most moments agree on
is the true one.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.transform import Rotation

from ..cameras import Camera
from ..core.errors import InputError
from .boards import Board
from .opencv import opencv
from .views import Ints, Views

Array = NDArray[np.float64]
_AMBIGUOUS = 3.0  # a second pose whose error is below this many times that of the first is kept as well
_HYPOTHESES = 15  # moments tried as the origin of a relative pose
_FAR = 0.08  # of the image's width: boards missed by more are not where a relative pose says
_WITNESSES = 40  # moments asked whether they agree with it


@dataclass(frozen=True)
class Sighting:
    """The board in one picture: its possible poses, (4, 4) board to camera, best first, and their errors in px."""

    camera: int
    moment: int
    rows: Ints
    poses: tuple[Array, ...]
    errors: tuple[float, ...]


def sightings(views: Views, lenses: list[Camera], board: Board) -> list[Sighting]:
    """Poses of the board in every picture, as if there were no water."""
    found = []
    for camera, moment, rows in views.pictures():
        poses = board_poses(lenses[camera], board.points[views.corner[rows]], views.pixel[rows])
        if poses:
            found.append(Sighting(camera, moment, rows, tuple(p for p, _ in poses), tuple(e for _, e in poses)))
    return found


def board_poses(lens: Camera, points: Array, pixels: Array) -> list[tuple[Array, float]]:
    """Poses (4, 4) that put flat points (N, 3) onto pixels (N, 2), with the RMS error in px of each, best first."""
    cv2 = opencv()
    ideal = lens.undistort(pixels)
    usable = np.isfinite(ideal).all(1)
    if usable.sum() < 4:
        return []
    points, ideal = np.ascontiguousarray(points[usable]), np.ascontiguousarray(ideal[usable])
    centre = points.mean(0)
    try:
        answer = cv2.solvePnPGeneric(points - centre, ideal[:, None], lens.K, None, flags=cv2.SOLVEPNP_IPPE)
    except cv2.error:
        return []
    found: list[tuple[Array, float]] = []
    for turn, shift in zip(answer[1], answer[2], strict=True):
        turn, shift = cv2.solvePnPRefineLM(points - centre, ideal[:, None], lens.K, None, turn.copy(), shift.copy())
        pose = np.eye(4)
        pose[:3, :3] = Rotation.from_rotvec(np.ravel(turn)).as_matrix()
        pose[:3, 3] = np.ravel(shift) - pose[:3, :3] @ centre
        if not np.isfinite(pose).all() or (points @ pose[2, :3] + pose[2, 3]).min() <= 0:
            continue
        error = float(np.sqrt((_flat_error(lens, pose, points, ideal) ** 2).sum(1).mean()))
        if not any(np.abs(pose - p).max() < 1e-6 * np.abs(pose).max() for p, _ in found):
            found.append((pose, error))
    found.sort(key=lambda f: f[1])
    return [f for f in found if f[1] <= _AMBIGUOUS * max(found[0][1], 0.1)]


def _flat_error(lens: Camera, pose: Array, points: Array, ideal: Array) -> Array:
    x = points @ pose[:3, :3].T + pose[:3, 3]
    return np.asarray(x[:, :2] / x[:, 2:] @ lens.K[:2, :2].T + lens.K[:2, 2] - ideal)


@dataclass(frozen=True)
class Start:
    """Where all stand: cameras (C, 4, 4) world to camera, boards by moment (4, 4) board to world.

    ``turn`` gives the turn of the board (an index into ``Board.turns``) by which the corners of each sighting must be
    read to fit those of the other cameras.
    """

    cameras: Array
    boards: dict[int, Array]
    turn: dict[tuple[int, int], int]


def turned(board: Board, k: int) -> Array:
    """(4, 4) the k-th turn of the board about its centre."""
    out = np.eye(4)
    out[:3, :3] = board.turns[k]
    out[:3, 3] = board.centre - board.turns[k] @ board.centre
    return out


def place_cameras(views: Views, lenses: list[Camera], board: Board, seen: list[Sighting]) -> Array:
    """(C, 4, 4) poses of all cameras, the first at the origin, from boards that two of them saw at a moment."""
    count = len(views.cameras)
    poses = np.tile(np.eye(4), (count, 1, 1))
    if count == 1:
        return poses
    by_camera: list[dict[int, Sighting]] = [{} for _ in range(count)]
    for s in seen:
        by_camera[s.camera][s.moment] = s
    relative: dict[tuple[int, int], Array] = {}
    cost = np.zeros((count, count))
    doubts = {}
    for a, b in combinations(range(count), 2):
        shared = sorted(set(by_camera[a]) & set(by_camera[b]))
        if not shared:
            continue
        pose, support, doubt = _relative_pose(lenses, board, [(by_camera[a][m], by_camera[b][m]) for m in shared])
        relative[a, b] = pose
        cost[a, b] = 1.0 / (0.1 + support) + (1e3 if doubt else 0.0)
        doubts[a, b] = doubt
    tree = minimum_spanning_tree(cost).toarray()
    links = [(int(a), int(b)) for a, b in zip(*np.nonzero(tree), strict=True)]
    placed = {0}
    while True:
        step = next(((a, b) for a, b in links if (a in placed) != (b in placed)), None)
        if step is None:
            break
        a, b = step
        if doubts[step]:
            raise InputError(
                f"cameras {views.cameras[a]} and {views.cameras[b]}: the board looks the same turned around, and their "
                "common pictures do not tell which way it lay; move it more, or use one with odd x even corners"
            )
        if a in placed:
            poses[b] = relative[step] @ poses[a]
            placed.add(b)
        else:
            poses[a] = np.linalg.solve(relative[step], poses[b])
            placed.add(a)
    lost = [views.cameras[c] for c in range(count) if c not in placed]
    if lost:
        raise InputError(
            f"camera {lost[0]}: never saw the board at a moment when {views.cameras[0]} or a camera linked to it did; "
            "show the board to two cameras at once"
        )
    return poses


def _relative_pose(
    lenses: list[Camera], board: Board, pairs: list[tuple[Sighting, Sighting]]
) -> tuple[Array, float, bool]:
    """Pose (4, 4) of the second camera to the first that most moments agree on, how many do, and if it is in doubt."""
    turns = [turned(board, k) for k in range(len(board.turns))]
    pairs = _some(pairs, _WITNESSES)
    guesses = []
    for first, second in _some(pairs, _HYPOTHESES):
        for p in first.poses:
            for q in second.poses:
                guesses += [q @ turn @ np.linalg.inv(p) for turn in turns]
    corners = board.points[[0, board.columns - 1, -board.columns, -1]]
    miss = np.array([[_miss(lenses, board, corners, turns, guess, *pair) for pair in pairs] for guess in guesses])
    reach = _FAR * lenses[pairs[0][1].camera].size[0]
    score = np.minimum(miss / reach, 1.0).sum(axis=1)
    best = int(np.argmin(score))
    agreeing = miss[best] < reach
    pose = guesses[best]
    others = np.array([_turn_between(pose, g) > 0.7 for g in guesses])  # a quarter turn is 1.57
    rival = score[others].min() if others.any() else np.inf
    doubt = len(turns) > 1 and rival < score[best] + 0.3
    return pose, float(agreeing.sum()), bool(doubt)


def _some(items: list[Any], most: int) -> list[Any]:
    """Spread a choice of at most `most` over the list."""
    return [items[k] for k in np.unique(np.linspace(0, len(items) - 1, min(most, len(items))).round().astype(int))]


def _turn_between(a: Array, b: Array) -> float:
    """Angle between two relative poses, radians."""
    return float(np.linalg.norm(Rotation.from_matrix(a[:3, :3] @ b[:3, :3].T).as_rotvec()))


def _miss(
    lenses: list[Camera],
    board: Board,
    corners: Array,
    turns: list[Array],
    guess: Array,
    first: Sighting,
    second: Sighting,
) -> float:
    """How far, in px, the board of the first camera falls beside that of the second, with the turn that fits."""
    K = lenses[second.camera].K
    best = np.inf
    wide = np.column_stack([corners, np.ones(len(corners))])
    for q in second.poses:
        y = wide @ q[:3].T
        target = y[:, :2] / y[:, 2:] @ K[:2, :2].T
        for p in first.poses:
            moved = guess @ p
            for turn in turns:
                x = wide @ (moved @ turn)[:3].T
                if x[:, 2].min() <= 0:
                    continue
                off = x[:, :2] / x[:, 2:] @ K[:2, :2].T - target
                best = min(best, float(np.sqrt((off**2).sum(1).mean())))
    return best


def place_boards(views: Views, lenses: list[Camera], board: Board, seen: list[Sighting], cameras: Array) -> Start:
    """Poses of the boards in the world of the cameras, each from the sighting that fits its moment's cameras best."""
    turns = [turned(board, k) for k in range(len(board.turns))]
    corners = board.points[[0, board.columns - 1, -board.columns, -1]]
    by_moment: dict[int, list[Sighting]] = {}
    for s in seen:
        by_moment.setdefault(s.moment, []).append(s)
    boards: dict[int, Array] = {}
    turn: dict[tuple[int, int], int] = {}
    for moment, here in by_moment.items():
        best = np.inf
        for s in here:
            for pose in s.poses:
                guess = np.linalg.solve(cameras[s.camera], pose)
                fits = [_best_turn(lenses[o.camera], corners, turns, cameras[o.camera] @ guess, o) for o in here]
                total = sum(min(f[1], 100.0) for f in fits)
                if total < best:
                    best = total
                    boards[moment] = guess
                    turn.update({(o.camera, moment): f[0] for o, f in zip(here, fits, strict=True)})
    return Start(cameras, boards, turn)


def _best_turn(lens: Camera, corners: Array, turns: list[Array], expected: Array, seen: Sighting) -> tuple[int, float]:
    """Turn k for which the sighting's pose is `expected` times that turn, and the miss in px."""
    wide = np.column_stack([corners, np.ones(len(corners))])
    best = (0, np.inf)
    for k, turn in enumerate(turns):
        x = wide @ (expected @ turn)[:3].T
        if x[:, 2].min() <= 0:
            continue
        for pose in seen.poses:
            y = wide @ pose[:3].T
            off = (x[:, :2] / x[:, 2:] - y[:, :2] / y[:, 2:]) @ lens.K[:2, :2].T
            miss = float(np.sqrt((off**2).sum(1).mean()))
            if miss < best[1]:
                best = (k, miss)
    return best


def renumbered(views: Views, board: Board, start: Start) -> Ints:
    """(N,) corner numbers after every picture's turn is undone."""
    corner = views.corner.copy()
    for camera, moment, rows in views.pictures():
        k = start.turn.get((camera, moment), 0)
        if k:
            places = (board.points - board.centre) @ board.turns[k].T + board.centre
            column = np.rint(places[:, 0] / board.square).astype(int)
            row = np.rint(places[:, 1] / board.square).astype(int)
            corner[rows] = (row * board.columns + column)[views.corner[rows]]
    return corner
