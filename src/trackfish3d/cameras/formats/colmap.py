"""COLMAP's text model: ``cameras.txt`` (lenses) and ``images.txt`` (poses) in one folder.

Every image is one camera of the rig: a rig is reconstructed from one picture per camera. COLMAP puts the centre of
the first pixel at (0.5, 0.5), OpenCV and this package at (0, 0): principal points move by half a pixel. The world
has no unit; set the scale by a known length.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

import numpy as np
from scipy.spatial.transform import Rotation

from ...core.errors import InputError
from ..camera import Camera
from ..rig import CameraRig
from .common import Array, Size, reader

PIXEL_CENTRE = 0.5
_LARGEST_LINE = 2**26


def _one_focal(p: Sequence[float]) -> tuple[list[float], list[float]]:
    return [p[0], p[0], p[1], p[2]], [*p[3:]]


def _two_focals(p: Sequence[float]) -> tuple[list[float], list[float]]:
    return [*p[:4]], [*p[4:]]


def _pad(radial: list[float]) -> list[float]:
    return (radial + [0.0] * 4)[:4]


# Model: how many parameters, how they split into (fx, fy, cx, cy) and coefficients, whether it is a fisheye.
_Split = Callable[[Sequence[float]], tuple[list[float], list[float]]]
MODELS: dict[str, tuple[int, _Split, bool]] = {
    "SIMPLE_PINHOLE": (3, _one_focal, False),
    "PINHOLE": (4, _two_focals, False),
    "SIMPLE_RADIAL": (4, _one_focal, False),
    "RADIAL": (5, _one_focal, False),
    "OPENCV": (8, _two_focals, False),
    "FULL_OPENCV": (12, _two_focals, False),
    "OPENCV_FISHEYE": (8, _two_focals, True),
    "SIMPLE_RADIAL_FISHEYE": (4, _one_focal, True),
    "RADIAL_FISHEYE": (5, _one_focal, True),
}


@reader("COLMAP text model")
def read(path: Path, *, size: Size | None = None) -> CameraRig:
    """Read the model of a folder, or of the folder that one of its two files lies in."""
    folder = path if path.is_dir() else path.parent
    if not (folder / "cameras.txt").is_file() and (folder / "cameras.bin").is_file():
        raise InputError("is a binary COLMAP model; write it as text: colmap model_converter --output_type TXT")
    lenses = dict(_lenses(folder / "cameras.txt"))
    images = sorted(_images(folder / "images.txt"), key=lambda i: i[0])
    if not images:
        raise InputError("images.txt holds no image")
    names = image_names([name for _, _, _, _, name in images])
    cameras = []
    for name, (_, R, t, lens, picture) in zip(names, images, strict=True):
        if lens not in lenses:
            raise InputError(f"images.txt: {picture} is of camera {lens}, which cameras.txt does not hold")
        image_size, K, distortion, fisheye = lenses[lens]
        cameras.append(Camera(name, size or image_size, K, distortion, R, t, fisheye))
    return CameraRig(tuple(cameras), "unit")


def image_names(pictures: list[str]) -> list[str]:
    """Call images by their file's stem, or by their folder, whichever tells them apart."""
    paths = [PurePosixPath(p.replace("\\", "/")) for p in pictures]
    for names in ([p.stem for p in paths], [p.parent.name for p in paths]):
        if all(names) and len(set(names)) == len(names):
            return names
    return pictures


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their number, without comments; line by line, because images.txt lists all points."""
    try:
        with path.open(encoding="utf-8") as file:
            number = 0
            while line := file.readline(_LARGEST_LINE):
                number += 1
                if not line.startswith("#"):
                    yield number, line.strip()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; a COLMAP text model has cameras.txt and images.txt") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not a text file") from None


def _lenses(path: Path) -> Iterator[tuple[int, tuple[Size, Array, Array, bool]]]:
    for number, line in _lines(path):
        if not line:
            continue
        where = f"{path}, line {number}"
        tokens = line.split()
        if len(tokens) < 4:
            raise InputError(f"{where}: expected CAMERA_ID MODEL WIDTH HEIGHT PARAMS")
        if tokens[1] not in MODELS:
            raise InputError(f"{where}: model {tokens[1][:40]} is not known; {', '.join(MODELS)} are")
        count, split, fisheye = MODELS[tokens[1]]
        try:
            parameters = [float(x) for x in tokens[4:]]
            camera, width, height = int(tokens[0]), int(tokens[2]), int(tokens[3])
        except ValueError:
            raise InputError(f"{where}: is not a row of numbers") from None
        if len(parameters) != count:
            raise InputError(f"{where}: {tokens[1]} has {count} parameters, not {len(parameters)}")
        (fx, fy, cx, cy), coefficients = split(parameters)
        K = np.array([[fx, 0, cx - PIXEL_CENTRE], [0, fy, cy - PIXEL_CENTRE], [0, 0, 1.0]])
        if fisheye or 0 < len(coefficients) < 4:
            coefficients = _pad(coefficients)  # k1 k2 p1 p2, or four radial ones
        yield camera, ((width, height), K, np.array(coefficients), fisheye)


def _images(path: Path) -> Iterator[tuple[int, Array, Array, int, str]]:
    """Image number, R, t, camera number and file name of every image; each has a second line, of its points."""
    expect_points = False
    for number, line in _lines(path):
        tokens = line.split(maxsplit=9)
        if expect_points and (len(tokens) < 10 or (_is_number(tokens[8]) and _is_number(tokens[9].split()[0]))):
            expect_points = False
            continue
        if not tokens:
            continue
        where = f"{path}, line {number}"
        if len(tokens) < 10:
            raise InputError(f"{where}: expected IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME")
        try:
            image, camera = int(tokens[0]), int(tokens[8])
            w, x, y, z, *t = (float(token) for token in tokens[1:8])
        except ValueError:
            raise InputError(f"{where}: is not an image's pose") from None
        length = float(np.linalg.norm([w, x, y, z]))
        if not abs(length - 1) < 1e-2 or not np.isfinite(t).all():
            raise InputError(f"{where}: the quaternion is not of unit length, or the translation not finite")
        yield image, Rotation.from_quat([x, y, z, w]).as_matrix(), np.array(t), camera, tokens[9].strip()
        expect_points = True


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True
