"""Pose of a camera from points of one plane (planar PnP)."""

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from ....core.errors import InputError
from ...camera import Camera
from ..common import Array

_FLAT = 1e-3  # share of the points' extent by which they may leave their plane


def planar_pose(lens: Camera, world: Array, pixels: Array) -> tuple[Array, Array]:
    """R (3, 3), t (3,) that put coplanar points `world` (N, 3) onto `pixels` (N, 2) with the least squared error.

    `lens` is a camera at the origin (R = 1, t = 0). The homography between the plane and the picture without
    distortion gives the start; Gauss-Newton steps on the pixel error follow, as in OpenCV's iterative solver, so
    that both end in the same pose. N >= 4.
    """
    origin = world.mean(axis=0)
    _, extent, axes = np.linalg.svd(world - origin)
    if len(world) < 4 or extent[1] < 1e-6 * max(extent[0], 1e-300):
        raise InputError("it takes four reference points or more, not all on one line")
    if extent[2] > _FLAT * extent[0]:
        raise InputError("the reference points do not lie in one plane")
    if np.linalg.det(axes) < 0:
        axes[2] *= -1
    rays = lens.rays(pixels)
    if not rays.valid.all():
        raise InputError("a reference pixel lies outside what the lens model can see")
    flat = (world - origin) @ axes[:2].T
    R, t = _pose_of_homography(_homography(flat, rays.direction[:, :2] / rays.direction[:, 2:]))
    R = R @ axes
    start = np.concatenate([Rotation.from_matrix(R).as_rotvec(), t])

    def error(pose: Array) -> Array:
        points = (world - origin) @ Rotation.from_rotvec(pose[:3]).as_matrix().T + pose[3:]
        off = lens.project(points) - pixels
        return np.asarray(np.where(np.isfinite(off), off, 1e4).ravel())

    pose = least_squares(error, start, method="lm", x_scale="jac", xtol=1e-12, ftol=1e-12, gtol=1e-12).x
    R = Rotation.from_rotvec(pose[:3]).as_matrix()
    return R, pose[3:] - R @ origin


def _homography(source: Array, target: Array) -> Array:
    """(3, 3) homography from `source` to `target`, both (N, 2), by normalised DLT."""
    (s, from_), (d, to) = _normalised(source), _normalised(target)
    rows = []
    for (x, y), (u, v) in zip(s, d, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y, -u], [0, 0, 0, x, y, 1, -v * x, -v * y, -v]]
    H = np.linalg.svd(np.array(rows))[2][-1].reshape(3, 3)
    return np.asarray(np.linalg.solve(to, H @ from_))


def _normalised(points: Array) -> tuple[Array, Array]:
    """Points moved and scaled to the unit circle, and the (3, 3) matrix that does so."""
    middle = points.mean(axis=0)
    scale = 1.0 / max(float(np.linalg.norm(points - middle, axis=1).mean()), 1e-300)
    return (points - middle) * scale, np.array(
        [[scale, 0, -scale * middle[0]], [0, scale, -scale * middle[1]], [0, 0, 1]]
    )


def _pose_of_homography(H: Array) -> tuple[Array, Array]:
    """Pose of the plane z = 0 whose points (x, y) the homography maps to the picture."""
    scale = 2.0 / (np.linalg.norm(H[:, 0]) + np.linalg.norm(H[:, 1]))
    H = H * (scale if H[2, 2] > 0 else -scale)  # the plane's origin is in front of the camera
    U, _, Vt = np.linalg.svd(np.column_stack([H[:, 0], H[:, 1], np.cross(H[:, 0], H[:, 1])]))
    R = U @ np.diag([1, 1, np.linalg.det(U @ Vt)]) @ Vt
    return R, H[:, 2]
