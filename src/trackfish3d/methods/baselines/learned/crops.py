"""Crops of detections: what the rivals that look at pictures see. One row a detection, in the recording's order."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....core.errors import InputError
from ....core.files import atomic_path
from ....recordings.detections import Detections

SIZE = 48  # side of a crop, px
ZOOM = 2.0  # side of the square that is cut out, in units of the box's longer side
LARGEST = 4_000_000_000  # bytes of pictures in one file

Crops = NDArray[np.uint8]


def cut(picture: NDArray[np.uint8], boxes: NDArray[np.float64]) -> Crops:
    """Cut squares about boxes out of a picture, nearest pixels, black outside of it.

    Parameters
    ----------
    picture : (H, W, 3) RGB.
    boxes : (N, 4) x1, y1, x2, y2, px.

    Returns
    -------
    (N, 3, SIZE, SIZE); the middle half of a crop is as large as the box's longer side.
    """
    height, width = picture.shape[:2]
    centre = 0.5 * (boxes[:, :2] + boxes[:, 2:])
    side = ZOOM * np.maximum((boxes[:, 2:] - boxes[:, :2]).max(1), 1.0)
    step = (np.arange(SIZE) + 0.5) / SIZE - 0.5
    x = np.floor(centre[:, :1] + side[:, None] * step).astype(np.int64)
    y = np.floor(centre[:, 1:] + side[:, None] * step).astype(np.int64)
    out = picture[np.clip(y, 0, height - 1)[:, :, None], np.clip(x, 0, width - 1)[:, None, :]]
    outside = ((y < 0) | (y >= height))[:, :, None] | ((x < 0) | (x >= width))[:, None, :]
    out[outside] = 0
    return np.ascontiguousarray(np.moveaxis(out, 3, 1))


def write_crops(path: str | Path, crops: Crops) -> None:
    """Write crops (N, 3, SIZE, SIZE) as a ``.npz``."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, crops=crops)


def read_crops(path: str | Path | None, detections: Detections, who: str) -> Crops:
    """Read the crops of a recording's detections.

    Parameters
    ----------
    path : file written by `write_crops`; None is refused with a line that says how to make one.
    detections : of the recording, whose rows the crops must be of.
    who : name of the method that asks.
    """
    if path is None:
        raise InputError(
            f"method {who} looks at pictures: make them with 'trackfish3d crops RECORDING --out FILE.npz' "
            "and give --set crops=FILE.npz"
        )
    wanted = (len(detections), 3, SIZE, SIZE)
    try:
        said, kind = _shape(Path(path))
        if said != wanted or kind != np.uint8:
            raise InputError(
                f"{path}: holds {kind} of shape {said}, the recording's {len(detections)} detections need "
                f"uint8 of {wanted}; make them anew with 'trackfish3d crops'"
            )
        with np.load(path, allow_pickle=False) as file:
            found = np.asarray(file["crops"])
    except InputError:
        raise
    except Exception as error:  # zip, deflate and NumPy each have errors of their own for damaged files
        raise InputError(f"{path}: cannot be read as crops ({type(error).__name__}); make them anew") from None
    if found.shape != wanted:
        raise InputError(f"{path}: holds {found.shape} numbers and says {wanted}; make them anew")
    return found


def _shape(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type that the file says its crops have, before they are unpacked."""
    with zipfile.ZipFile(path) as file, file.open("crops.npy") as array:
        version = np.lib.format.read_magic(array)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, kind = read(array)
    return tuple(shape), kind
