"""A camera: lens, pose and the flat interfaces between it and the animals."""

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import median_filter

from ..core.errors import InputError
from ..core.files import plain_name
from . import layout as at
from .interface import Interface
from .kernels import project_many, rays_many, undistort_many
from .limits import refuse_impossible

Array = NDArray[np.float64]
DISTORTION_LENGTHS = (0, 4, 5, 8, 12, 14)


@dataclass(frozen=True)
class Rays:
    """Half-lines in the animals' medium; NaN where the pixel has none.

    ``origin`` (N, 3) world, on the last interface or at the camera's centre; ``direction`` (N, 3) unit vectors;
    ``valid`` (N,) bool.
    """

    origin: Array
    direction: Array
    valid: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Camera:
    """A calibrated camera: ``x ~ K (R X + t)``, OpenCV distortion, then refraction at each interface.

    Parameters
    ----------
    name : how files and messages call this camera.
    size : image (width, height) in px.
    K : (3, 3) intrinsic matrix, px.
    distortion : 0, 4, 5, 8, 12 or 14 coefficients in OpenCV's order, or 4 of its fisheye model.
    R : (3, 3) rotation from world to camera.
    t : (3,) translation from world to camera, world units.
    fisheye : whether `distortion` is OpenCV's fisheye model.
    interfaces : refracting planes, ordered from the camera to the animals. None: a camera in the animals' medium.
    """

    name: str
    size: tuple[int, int]
    K: Array
    distortion: Array
    R: Array
    t: Array
    fisheye: bool = False
    interfaces: tuple[Interface, ...] = field(default=())

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        plain_name(self.name, "camera")
        set_(self, "size", _size(self.size, self.name))
        set_(self, "K", self._matrix(self.K, (3, 3), "K"))
        set_(self, "R", self._matrix(self.R, (3, 3), "R"))
        set_(self, "t", self._matrix(self.t, (3,), "t"))
        distortion = np.asarray(self.distortion, dtype=np.float64).ravel()
        set_(self, "distortion", self._matrix(distortion, distortion.shape, "distortion"))
        set_(self, "interfaces", tuple(self.interfaces))
        self._check()

    def _matrix(self, value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
        try:
            array = np.array(value, dtype=np.float64).reshape(shape)
        except (ValueError, TypeError):
            raise InputError(f"camera {self.name}: {what} must hold {shape} numbers") from None
        if not np.isfinite(array).all():
            raise InputError(f"camera {self.name}: {what} has values that are not finite")
        array.setflags(write=False)
        return array

    def _check(self) -> None:
        K, R = self.K, self.R
        if K[0, 0] <= 0 or K[1, 1] <= 0 or abs(np.linalg.det(K)) < 1e-9:
            raise InputError(f"camera {self.name}: K is singular or has a focal length that is not positive")
        if not np.allclose(K[[1, 2, 2], [0, 0, 1]], 0.0) or not np.isclose(K[2, 2], 1.0):
            raise InputError(f"camera {self.name}: K must be upper triangular with K[2][2] = 1")
        if np.abs(R).max() > 2 or not np.abs(R @ R.T - np.eye(3)).max() <= 2e-3 or np.linalg.det(R) < 0:
            raise InputError(f"camera {self.name}: R is not a rotation matrix (R R' must be the identity, det +1)")
        if len(self.distortion) not in DISTORTION_LENGTHS or (self.fisheye and len(self.distortion) != 4):
            raise InputError(
                f"camera {self.name}: {len(self.distortion)} distortion coefficients; "
                f"{'fisheye takes 4' if self.fisheye else 'OpenCV has 4, 5, 8, 12 or 14'}"
            )
        if len(self.interfaces) > at.MAX_INTERFACES:
            raise InputError(f"camera {self.name}: at most {at.MAX_INTERFACES} interfaces")
        refuse_impossible(self.name, self.size, K, self.distortion, self.fisheye, self.t, self.interfaces)
        u, _, vt = np.linalg.svd(R)  # printed matrices are rotations only to a few digits
        rotation = u @ vt
        rotation.setflags(write=False)
        object.__setattr__(self, "R", rotation)
        height = 0.0
        for i, interface in enumerate(self.interfaces):
            above = float((self.centre - interface.point) @ interface.normal)
            if above < 0:
                raise InputError(f"camera {self.name}: interface {i} has the camera behind it; turn its normal around")
            if i and self._parallel and above < height:
                raise InputError(f"camera {self.name}: interfaces must be listed from the camera to the animals")
            height = above

    @property
    def centre(self) -> Array:
        """(3,) position of the camera, world units."""
        return np.asarray(-self.R.T @ self.t)

    @property
    def matrix(self) -> Array:
        """(3, 4) projection matrix K [R | t] of the lens without distortion and water."""
        return self.K @ np.column_stack([self.R, self.t])

    @property
    def _parallel(self) -> bool:
        normals = [i.normal for i in self.interfaces]
        return all(float(n @ normals[0]) > 1.0 - 1e-14 for n in normals)

    @cached_property
    def packed(self) -> Array:
        """(P,) this camera as a row for Numba kernels; see `cameras.layout`."""
        row = np.zeros(at.PACKED_SIZE)
        K = self.K
        row[[at.FX, at.SKEW, at.CX, at.FY, at.CY]] = K[0, 0], K[0, 1], K[0, 2], K[1, 1], K[1, 2]
        row[at.FISHEYE] = self.fisheye
        row[at.DIST : at.DIST + len(self.distortion)] = self.distortion
        row[at.LENS_DISTORTED] = bool(self.fisheye or np.any(self.distortion != 0))
        row[at.LENS_LIMIT] = _lens_limit(tuple(self.distortion.tolist()), self.fisheye)
        tilt = _tilt(*row[at.DIST + 12 : at.DIST + 14]) if not self.fisheye else np.eye(3)
        row[at.TILT : at.TILT + 18] = np.concatenate([tilt.ravel(), np.linalg.inv(tilt).ravel()])
        row[at.ROT : at.ROT + 9] = self.R.ravel()
        row[at.TRANS : at.TRANS + 3] = self.t
        row[at.CENTRE : at.CENTRE + 3] = self.centre
        row[at.N_INTERFACES] = len(self.interfaces)
        row[at.PARALLEL] = self._parallel
        above = 0.0
        indices = []
        for i, face in enumerate(self.interfaces):
            b = at.INTERFACES + i * at.INTERFACE_SIZE
            row[b : b + 8] = [*face.point, *face.normal, face.n_camera, face.n_animal]
            height = float((self.centre - face.point) @ face.normal)
            row[at.LAYERS + 2 * i : at.LAYERS + 2 * i + 2] = height - above, face.n_camera**2
            row[at.LAYERS + 2 * i + 3] = face.n_animal**2
            above = height
            indices += [face.n_camera, face.n_animal]
        row[at.ABOVE] = above
        row[at.THINNEST] = min(indices, default=1.0)
        row.setflags(write=False)
        return row

    def rays(self, pixels: ArrayLike) -> Rays:
        """Pixels to rays in the animals' medium.

        A pixel whose light is totally reflected, leaves beside the water or lies outside the lens' one-to-one
        range has no ray: NaN and ``valid`` False.

        Parameters
        ----------
        pixels : (N, 2) px.
        """
        return Rays(*rays_many(self.packed, _points(pixels, 2)))

    def project(self, points: ArrayLike) -> Array:
        """World points to pixels (N, 2); NaN behind the camera, on its side of the water, or beyond the lens.

        Pixels outside the image are returned as they are: use `in_image` for the frame.

        Parameters
        ----------
        points : (N, 3) world units.
        """
        return np.asarray(project_many(self.packed, _points(points, 3)))

    def undistort(self, pixels: ArrayLike) -> Array:
        """Pixels to those of a lens with the same K and no distortion (N, 2).

        Parameters
        ----------
        pixels : (N, 2) px.
        """
        return np.asarray(undistort_many(self.packed, _points(pixels, 2)))

    def in_image(self, pixels: ArrayLike) -> NDArray[np.bool_]:
        """(N,) whether pixels lie within the image; False for NaN.

        Parameters
        ----------
        pixels : (N, 2) px.
        """
        p = np.asarray(pixels, dtype=np.float64)
        return np.asarray((p >= 0).all(-1) & (p[..., 0] <= self.size[0]) & (p[..., 1] <= self.size[1]))

    def without_water(self) -> "Camera":
        """Return the same camera with its interfaces taken away."""
        return replace(self, interfaces=())


def _points(value: ArrayLike, width: int) -> Array:
    array = np.ascontiguousarray(value, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != width:
        raise ValueError(f"expected an array of shape (N, {width}), got {array.shape}")
    return array


def _size(size: ArrayLike, name: str) -> tuple[int, int]:
    try:
        width, height = (int(s) for s in np.asarray(size).ravel())
    except (ValueError, TypeError, OverflowError):
        raise InputError(f"camera {name}: size must be width and height in px") from None
    if not (0 < width < 10**6 and 0 < height < 10**6):
        raise InputError(f"camera {name}: image size {width} x {height} is not possible")
    return width, height


def _tilt(tau_x: float, tau_y: float) -> Array:
    """OpenCV's matrix of a sensor tilted by tau_x, tau_y (radians), as in its documentation of the 14-term model."""
    cx, sx, cy, sy = np.cos(tau_x), np.sin(tau_x), np.cos(tau_y), np.sin(tau_y)
    turn = np.array([[cy, 0, -sy], [0, 1, 0], [sy, 0, cy]]) @ np.array([[1, 0, 0], [0, cx, sx], [0, -sx, cx]])
    shift = np.array([[turn[2, 2], 0, -turn[0, 2]], [0, turn[2, 2], -turn[1, 2]], [0, 0, 1]])
    return np.asarray(shift @ turn)


@lru_cache(maxsize=256)
def _lens_limit(distortion: tuple[float, ...], fisheye: bool) -> float:
    """Largest undistorted radius (fisheye: angle) up to which the distorted radius still grows.

    Beyond it the polynomial folds back, and a point far outside the field of view would land inside the image.
    """
    k = np.zeros(14)
    k[: len(distortion)] = distortion
    if fisheye:
        angle = np.linspace(0, np.pi / 2 - 1e-3, 20001)
        a2 = angle**2
        grows = 1 + a2 * (3 * k[0] + a2 * (5 * k[1] + a2 * (7 * k[2] + a2 * 9 * k[3]))) > 0
        return float(angle[np.argmin(grows)] if not grows.all() else angle[-1])
    r = np.linspace(0, 10, 100001)
    r2 = r**2
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = (1 + r2 * (k[0] + r2 * (k[1] + r2 * k[4]))) / (1 + r2 * (k[5] + r2 * (k[6] + r2 * k[7])))
    # A median over 0.05 passes over the poles that near-cancelling rational terms leave (see `at_pole`).
    step = 50
    grows = np.diff((r * median_filter(factor, size=501, mode="nearest"))[::step]) > 0
    return float(r[step * np.argmin(grows)] if not grows.all() else 1e4)
