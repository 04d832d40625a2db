"""Lenses: models, known ones from files, and a first guess from pictures of the board in air."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras import Camera
from ..cameras.formats import read_calibration
from ..cameras.formats.common import load_json, sizes_from_matrices
from ..core.errors import InputError
from .boards import Board
from .opencv import opencv
from .views import Ints, Views

Array = NDArray[np.float64]
# Which of OpenCV's coefficients a model has; k3 and the rational ones need corners right into the image's corners.
MODELS: dict[str, tuple[int, ...]] = {
    "pinhole": (),
    "standard": (0, 1, 2, 3),
    "k3": (0, 1, 2, 3, 4),
    "rational": (0, 1, 2, 3, 4, 5, 6, 7),
    "fisheye": (0, 1, 2, 3),
}
LEAST_PICTURES = 4
UNKNOWN_SIZE = (1, 1)
_START_PICTURES = 15


def blank_lens(name: str, size: tuple[int, int], model: str) -> Camera:
    """Return a camera at the origin with no distortion and a field of view of some 55 degrees."""
    width, height = size
    K = np.array([[width, 0, (width - 1) / 2], [0, width, (height - 1) / 2], [0, 0, 1.0]])
    length = {"pinhole": 0, "standard": 5, "k3": 5, "rational": 8, "fisheye": 4}[model]
    return Camera(name, size, K, np.zeros(length), np.eye(3), np.zeros(3), model == "fisheye")


def read_lenses(path: str | Path, views: Views) -> dict[str, Camera]:
    """Lenses of the cameras from any calibration file, or from a JSON list of ``K`` and ``dist`` without poses.

    A camera of `UNKNOWN_SIZE` gets the size of its lens. Cameras are found by name; where no name fits and there are
    as many lenses as cameras, they go by order.
    """
    lenses = _bare(Path(path)) or [
        replace(c, R=np.eye(3), t=np.zeros(3), interfaces=()) for c in read_calibration(path)
    ]
    by_name = {c.name: c for c in lenses}
    names = list(views.cameras)
    if not set(names) & set(by_name):
        if len(lenses) != len(names):
            raise InputError(
                f"{path}: has lenses of {', '.join(by_name)}, none of which is one of {', '.join(names)}; rename them"
            )
        by_name = dict(zip(names, lenses, strict=True))
    found = {}
    for name, size in zip(names, views.sizes, strict=True):
        if name not in by_name:
            continue
        lens = by_name[name]
        if size == UNKNOWN_SIZE:
            size = sizes_from_matrices([lens.K], None)[0][0] if lens.size == UNKNOWN_SIZE else lens.size
        if lens.size not in (UNKNOWN_SIZE, size):
            raise InputError(
                f"{path}: camera {name} has {lens.size[0]} x {lens.size[1]} px, its pictures {size[0]} x {size[1]}"
            )
        off = np.abs(lens.K[:2, 2] / np.array(size) - 0.5)
        if off.max() > 0.35:
            raise InputError(
                f"{path}: camera {name}: principal point {lens.K[0, 2]:.0f}, {lens.K[1, 2]:.0f} is far from the middle "
                f"of {size[0]} x {size[1]} px; are these the lenses of other pictures?"
            )
        found[name] = replace(lens, name=name, size=size)
    return found


def _bare(path: Path) -> list[Camera]:
    """Lenses of a JSON list, or mapping by name, of K and dist with no poses; none if it is something else."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return []
    data = load_json(path)
    if isinstance(data, dict):
        data = [{"name": k, **v} for k, v in data.items() if isinstance(v, dict)]
    entries = [e for e in data if isinstance(e, dict) and "K" in e and "R" not in e] if isinstance(data, list) else []
    out = []
    for i, entry in enumerate(entries):
        name = str(entry.get("name", f"cam-{i + 1}"))
        try:
            K = np.asarray(entry["K"], np.float64).reshape(3, 3)
            distortion = np.asarray(entry.get("dist", entry.get("distortion", [])), np.float64).ravel()
        except (ValueError, TypeError):
            raise InputError(f"{path}: camera {name}: K and dist must be numbers, K 3 x 3") from None
        try:
            fisheye = bool(entry.get("fisheye", False))
            out.append(Camera(name, UNKNOWN_SIZE, K, distortion, np.eye(3), np.zeros(3), fisheye))
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    return out


def guess_lens(views: Views, camera: int, board: Board, model: str) -> Camera:
    """First guess of a lens from pictures of the board in air, by OpenCV; the adjustment refines it with all."""
    name, size = views.cameras[camera], views.sizes[camera]
    pictures = [rows for c, _, rows in views.pictures() if c == camera]
    if len(pictures) < LEAST_PICTURES:
        raise InputError(
            f"camera {name}: board found in {len(pictures)} pictures, its lens needs {LEAST_PICTURES} or better 15 at "
            "different angles; take more, or give the lens with --intrinsics"
        )
    chosen = _varied(views, pictures)
    objects = [board.points[views.corner[r]].astype(np.float32) for r in chosen]
    pixels = [views.pixel[r].astype(np.float32) for r in chosen]
    blank = blank_lens(name, size, model)
    K = _calibrated(objects, pixels, blank)
    if not np.isfinite(K).all() or not 0.2 < K[0, 0] / size[0] < 20:
        K = blank.K  # parallel boards leave the focal length open; the verdict will say so
    return replace(blank, K=K)


def _calibrated(objects: list[Any], pixels: list[Any], blank: Camera) -> Array:
    """K (3, 3) with little distortion: the adjustment starts from there, and a poor start of k1, k2 misleads it."""
    cv2 = opencv()
    flags = cv2.CALIB_FIX_PRINCIPAL_POINT | cv2.CALIB_FIX_ASPECT_RATIO | cv2.CALIB_USE_INTRINSIC_GUESS
    flags |= cv2.CALIB_ZERO_TANGENT_DIST | cv2.CALIB_FIX_K2 | cv2.CALIB_FIX_K3
    best, lowest = blank.K, np.inf
    for factor in (1.0, 2.0, 0.6):
        K = np.diag([factor, factor, 1.0]) @ np.diag([blank.K[0, 0], blank.K[0, 0], 1.0])
        K[:2, 2] = blank.K[:2, 2]
        try:
            rms, K, *_ = cv2.calibrateCamera(objects, pixels, blank.size, K, np.zeros(5), flags=flags)
        except cv2.error:
            continue
        if np.isfinite(rms) and rms < lowest:
            best, lowest = np.asarray(K), float(rms)
    return best


def _varied(views: Views, pictures: list[Ints]) -> list[Ints]:
    """Pick pictures that differ most in where and how large the board is."""
    traits = np.array(
        [
            np.concatenate([views.pixel[r].mean(0), 2 * views.pixel[r].std(0), 100 * _shape(views.pixel[r])])
            for r in pictures
        ]
    )
    chosen = [int(np.argmax([len(r) for r in pictures]))]
    distance = np.linalg.norm(traits - traits[chosen[0]], axis=1)
    while len(chosen) < min(_START_PICTURES, len(pictures)):
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.linalg.norm(traits - traits[chosen[-1]], axis=1))
    return [pictures[k] for k in chosen]


def _shape(pixel: Array) -> Array:
    """(2,) how far the board looks slanted, and to which side: the correlation and the ratio of its two spreads."""
    covariance = np.cov(pixel.T) + 1e-9 * np.eye(2)
    spread = np.sqrt(np.diag(covariance))
    return np.array([covariance[0, 1] / spread.prod(), np.log(spread[0] / spread[1])])
