"""From corners to cameras: lenses, a start, the world's frame, and the adjustment of everything at once."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..cameras import AIR, Camera, CameraRig, Interface
from ..cameras import layout as at
from ..core.errors import InputError
from .adjust import Corners, Free, State, adjust
from .boards import Board
from .lenses import MODELS, guess_lens
from .plan import FIXED, FLOATING, FREE, LENS, POINTS, Calibration, Plan
from .start import Sighting, place_boards, place_cameras, renumbered, sightings
from .views import Views
from .world import FACE_UP, by_points, laid, level, on_board

Array = NDArray[np.float64]
_SQUARE = 1e-4  # of the focal length: how equal fx and fy are where pixels are square


@dataclass
class _Board:
    """One board pose and its corners: name, kind, pose (4, 4) to the world, camera, corner (n,), pixel, sigma."""

    name: str
    kind: str
    pose: Array
    camera: NDArray[np.int64]
    corner: NDArray[np.int64]
    pixel: Array
    sigma: float | Array = 1.0


def calibrate(views: Views, plan: Plan) -> Calibration:
    """Calibrate all cameras together.

    Parameters
    ----------
    views : where each camera saw the corners of the board.
    plan : board, known lenses, tank, water, and what may be fitted.
    """
    plan.tank.check(views.cameras, "tank")
    lenses = [_lens(views, c, plan) for c in range(len(views.cameras))]
    cameras, boards = _start(views, lenses, plan)
    boards += _lens_boards(views, lenses, plan, cameras)
    points = np.zeros((0, 3)) if plan.board is None else plan.board.points
    if plan.tank.camera:
        camera = np.array([views.cameras.index(n) for n in plan.tank.camera])
        corner = len(points) + np.arange(len(camera))
        boards.append(_Board("tank", POINTS, np.eye(4), camera, corner, plan.tank.pixel, plan.tank.sigma))
    corners = _corners(boards, np.concatenate([points, plan.tank.world]), len(points))
    state = _state(lenses, cameras, boards, plan, views.cameras)
    free = _free(boards, plan, state, views.cameras)
    held = replace(free, lens=np.zeros_like(free.lens), plane=np.zeros_like(free.plane), index=False, aspect=False)
    adjusted = adjust(adjust(state, held, corners, 60).state, free, corners)
    rig = CameraRig(tuple(camera_of(adjusted.state, c, lens) for c, lens in enumerate(lenses)), plan.units)
    return Calibration(rig, plan, corners, tuple(b.name for b in boards), tuple(b.kind for b in boards), adjusted, free)


def _lens(views: Views, c: int, plan: Plan) -> Camera:
    """Return the lens of a camera: known, or fitted to its own pictures of the board in air."""
    name = views.cameras[c]
    if name in plan.known:
        return plan.known[name]
    if plan.board is None:
        raise InputError(f"camera {name}: its lens is not known; give --intrinsics, or pictures of a board")
    own, k = views, c
    if plan.lens_views is not None and name in plan.lens_views.cameras:
        own, k = plan.lens_views, plan.lens_views.cameras.index(name)
        if own.sizes[k] != views.sizes[c]:
            raise InputError(
                f"camera {name}: the pictures for its lens have {own.sizes[k][0]} x {own.sizes[k][1]} px, the others "
                f"{views.sizes[c][0]} x {views.sizes[c][1]}"
            )
    elif plan.in_water:
        raise InputError(
            f"camera {name}: its lens cannot be told from boards under water; give --intrinsics, or pictures of the "
            "board in air with --lens-pictures"
        )
    return fit_lens(own, k, plan.board, plan.model)


def fit_lens(views: Views, c: int, board: Board, model: str) -> Camera:
    """Fit a lens to one camera's pictures of the board in air."""
    lens = guess_lens(views, c, board, model)
    mine = views.select(views.camera == c)
    found = sightings(mine, [lens] * len(views.cameras), board)
    if not found:
        raise InputError(f"camera {views.cameras[c]}: no pose of the board fits its corners; is --board right?")
    boards = [_seen_alone(s, mine, "", np.eye(4), 0) for s in found]
    corners = _corners(boards, board.points, len(board.points))
    state = _state([lens], np.eye(4)[None], boards, Plan(board), (views.cameras[c],))
    columns = np.zeros((1, 12), bool)
    columns[0, :4] = True
    for coefficients in ((0,), MODELS[model]):  # the strongest first: all at once may run into a fold of the lens
        columns[0, [4 + k for k in coefficients if k in MODELS[model]]] = True
        free = Free(columns, np.zeros((1, 6), bool), np.ones((len(boards), 6), bool), np.zeros((0, 3), bool))
        free.prior = _loose(lens.K[0, 0])[None]
        state = adjust(state, free, corners).state
    return replace(camera_of(state, 0, lens), name=views.cameras[c])


def _seen_alone(s: Sighting, views: Views, name: str, camera: Array, c: int) -> _Board:
    """Make a board of a picture for the lens of camera `c`, which stands at `camera` (4, 4)."""
    pose = np.asarray(np.linalg.solve(camera, s.poses[0]), np.float64)
    return _Board(name, LENS, pose, np.full(len(s.rows), c), views.corner[s.rows], views.pixel[s.rows])


def _lens_boards(views: Views, lenses: list[Camera], plan: Plan, cameras: Array) -> list[_Board]:
    extra = plan.lens_views
    if extra is None or plan.board is None:
        return []
    used = [n for n in extra.cameras if n in views.cameras and (n not in plan.known or plan.refine)]
    place = {extra.cameras.index(n): views.cameras.index(n) for n in used}
    by_camera = [lenses[place[k]] if k in place else lenses[0] for k in range(len(extra.cameras))]
    mine = extra.select(np.isin(extra.camera, list(place)))
    found = sightings(mine, by_camera, plan.board)
    return [_seen_alone(s, mine, extra.moments[s.moment], cameras[place[s.camera]], place[s.camera]) for s in found]


def _start(views: Views, lenses: list[Camera], plan: Plan) -> tuple[Array, list[_Board]]:
    """Cameras (C, 4, 4) and boards in the world's frame, before any adjustment."""
    known = by_points(lenses, views.cameras, plan.tank)
    lost = [n for n in views.cameras if n not in known]
    if plan.board is None or not len(views):
        if lost:
            raise InputError(f"camera {lost[0]}: needs four reference points or more, or a board that it sees")
        return np.stack([known[n] for n in views.cameras]), []
    board = plan.board
    seen = sightings(views, lenses, board)
    cameras = _linked(views, lenses, plan, seen) if lost else np.stack([known[n] for n in views.cameras])
    start = place_boards(views, lenses, board, seen, cameras)
    moments = sorted(start.boards)
    poses = np.stack([start.boards[m] for m in moments])
    names = [views.moments[m] for m in moments]
    move = _motion(views, plan, known, cameras, poses, names)
    cameras, poses = cameras @ np.linalg.inv(move), move @ poses
    corner = renumbered(views, board, start)
    origin = next((n for n in names if n in plan.floating), plan.world_board)
    boards = []
    for m, name, pose in zip(moments, names, poses, strict=True):
        kind = FIXED if name == origin and not known else FLOATING if name in plan.floating else FREE
        if name in plan.floating:
            pose = laid(pose, plan.board_height)
        elif kind == FIXED:
            pose = np.diag([*np.diag(FACE_UP), 1.0])
        rows = views.moment == m
        boards.append(_Board(name, kind, pose, views.camera[rows], corner[rows], views.pixel[rows]))
    return cameras, boards


def _linked(views: Views, lenses: list[Camera], plan: Plan, seen: list[Sighting]) -> Array:
    """Cameras placed by boards that are seen straight, where these link them all; else by all boards."""
    assert plan.board is not None
    straight = [s for s in seen if not plan.in_water or views.moments[s.moment] in plan.floating]
    if straight and len(straight) < len(seen):
        try:
            return place_cameras(views, lenses, plan.board, straight)
        except InputError:
            pass
    return place_cameras(views, lenses, plan.board, seen)


def _motion(views: Views, plan: Plan, known: dict[str, Array], cameras: Array, poses: Array, names: list[str]) -> Array:
    """(4, 4) motion from the frame of the start to the world."""
    assert plan.board is not None
    if known:
        c = next(k for k, n in enumerate(views.cameras) if n in known)
        return np.asarray(np.linalg.solve(known[views.cameras[c]], cameras[c]))
    if plan.floating:
        lying = np.array([n in plan.floating for n in names])
        if not lying.any():
            raise InputError(f"--floating: no board was found in any of these pictures; there are {_list(names)}")
        return level(poses[lying], plan.board, plan.board_height)
    if plan.world_board is not None:
        if plan.world_board not in names:
            raise InputError(f"--world-board {plan.world_board}: no board was found there; there are {_list(names)}")
        return on_board(poses[names.index(plan.world_board)])
    return np.eye(4)


def _list(names: list[str]) -> str:
    return ", ".join(names[:12]) + (" ..." if len(names) > 12 else "")


def _corners(boards: list[_Board], points: Array, n_board: int) -> Corners:
    counts = [len(b.camera) for b in boards]
    return Corners(
        np.concatenate([b.camera for b in boards]).astype(np.int64),
        np.repeat(np.arange(len(boards)), counts),
        np.concatenate([b.corner for b in boards]).astype(np.int64),
        np.concatenate([b.pixel for b in boards]),
        np.concatenate([np.broadcast_to(b.sigma, len(b.camera)) for b in boards]).astype(np.float64),
        np.ascontiguousarray(points),
        np.repeat([b.kind == LENS for b in boards], counts),
        n_board,
    )


def _state(lenses: list[Camera], cameras: Array, boards: list[_Board], plan: Plan, names: tuple[str, ...]) -> State:
    """Where the adjustment starts."""
    poses = np.stack([b.pose for b in boards])
    rows = np.stack([lens.packed for lens in lenses])
    rows[:, at.LENS_DISTORTED] = 1.0
    state = State(
        rows,
        cameras[:, :3, :3].copy(),
        cameras[:, :3, 3].copy(),
        poses[:, :3, :3].copy(),
        poses[:, :3, 3].copy(),
        n_water=plan.tank.n_water,
    )
    state.layers = np.zeros((len(names), max((len(s.glass) for s in plan.tank.surfaces), default=0), 2))
    for c, name in enumerate(names):
        surface = next((s for s in plan.tank.surfaces if not s.cameras or name in s.cameras), None)
        if surface is None:
            continue
        normal = np.array(surface.normal) / np.linalg.norm(surface.normal)
        above = float((-state.R[c].T @ state.t[c] - surface.point) @ normal)
        normal *= np.sign(above) or 1.0
        same = (state.point == surface.point).all(1) & (state.normal == normal).all(1)
        if not same.any():
            state.point, state.normal = np.vstack([state.point, surface.point]), np.vstack([state.normal, normal])
        state.plane[c] = int(np.argmax(same)) if same.any() else len(state.point) - 1
        state.n_layers[c] = len(surface.glass)
        for k, pane in enumerate(surface.glass):
            state.layers[c, k] = pane.thickness, pane.index
    return state


def _free(boards: list[_Board], plan: Plan, state: State, names: tuple[str, ...]) -> Free:
    """Say what the adjustment may move."""
    lens = np.zeros((len(names), 12), bool)
    prior = np.full((len(names), 12), np.inf)
    for c, name in enumerate(names):
        known = plan.known.get(name)
        if known is None:
            lens[c, [0, 1, 2, 3, *(4 + k for k in MODELS[plan.model])]] = True
            prior[c] = _loose(state.lens[c, at.FX])
        elif plan.refine:
            used = [4 + k for k in range(min(8, len(known.distortion))) if k < 4 or known.distortion[k] != 0]
            lens[c, [0, 1, 2, 3, *used]] = True
            prior[c] = plan.trust * _loose(state.lens[c, at.FX])
    board = np.zeros((len(boards), 6), bool)
    for k, b in enumerate(boards):
        if b.kind in (FREE, LENS):
            board[k] = True
        elif b.kind == FLOATING:
            board[k, [2, 3, 4]] = True
    pose = np.ones((len(names), 6), bool)
    if not plan.tank.camera and not any(b.kind == FIXED for b in boards):
        pose[0] = False
    plane = np.zeros((len(state.point), 3), bool)
    for surface in plan.tank.surfaces:
        used = [state.plane[c] for c, n in enumerate(names) if not surface.cameras or n in surface.cameras]
        plane[used, 0] = "height" in surface.free
        plane[used, 1:] = "tilt" in surface.free
    square = _SQUARE * state.lens[:, at.FX] if plan.square_pixels else None
    return Free(lens, pose, board, plane, plan.tank.free_index, plan.fit_board, prior, square)


def _loose(focal: float) -> Array:
    """(12,) how far lenses differ from the guess as a rule: without it a few boards would bend them at will."""
    return np.array([0.5 * focal, 0.5 * focal, 0.1 * focal, 0.1 * focal, 0.5, 0.5, 0.05, 0.05, *[0.5] * 4])


def camera_of(state: State, c: int, lens: Camera) -> Camera:
    """Make the camera as adjusted, with its water."""
    row = state.lens[c]
    K = np.array([[row[at.FX], row[at.SKEW], row[at.CX]], [0, row[at.FY], row[at.CY]], [0, 0, 1]])
    faces = []
    if state.plane[c] >= 0:
        point, normal = state.point[state.plane[c]], state.normal[state.plane[c]]
        before = AIR
        for thickness, index in state.layers[c, : state.n_layers[c]]:
            faces.append(Interface(point, normal, before, float(index)))
            point, before = point - thickness * normal, float(index)
        faces.append(Interface(point, normal, before, float(state.n_water)))
    distortion = row[at.DIST : at.DIST + len(lens.distortion)]
    return Camera(lens.name, lens.size, K, distortion, state.R[c], state.t[c], lens.fisheye, tuple(faces))
