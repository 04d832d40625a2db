"""What all readers of calibration files share: checked values, one kind of error, and a guess of the image size."""

import json
import re
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ...core.errors import InputError, TrackFishError
from ...core.files import read_text
from ..interface import Interface
from ..rig import CameraRig

Array = NDArray[np.float64]
Size = tuple[int, int]
LARGEST_FILE = 64 * 2**20  # bytes; a calibration has some kilobytes
_P = ParamSpec("_P")
_MARK = re.compile(r'"|/\*')
_STRING_REST = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)

# Image sizes that cameras have, by which the principal point tells the size of a file that does not.
_SENSORS = (
    (320, 240), (640, 360), (640, 480), (640, 512), (720, 480), (720, 576), (800, 600), (848, 480), (1024, 768),
    (1024, 1024), (1280, 720), (1280, 960), (1280, 1024), (1440, 1080), (1600, 1200), (1920, 1080), (1920, 1200),
    (1936, 1216), (2048, 1088), (2048, 1536), (2048, 2048), (2448, 2048), (2560, 1440), (2592, 1944), (2704, 1520),
    (2704, 2028), (3840, 2160), (4000, 3000), (4096, 2160), (4096, 3000), (5312, 2988),
)  # fmt: skip


class CalibrationWarning(UserWarning):
    """Something a calibration file leaves open, and what was assumed instead."""


class SizeWarning(CalibrationWarning):
    """The image size is not in the file and was taken by the principal point."""


def note(message: str, kind: type[CalibrationWarning] = CalibrationWarning) -> None:
    """Tell the user of an assumption; the command line prints it as one line."""
    warnings.warn(message, kind, stacklevel=4)


def reader(what: str) -> Callable[[Callable[Concatenate[Path, _P], CameraRig]], Callable[..., CameraRig]]:
    """Turn every failure of a ``read`` on a broken file into an `InputError` that names the file.

    A foreign file can be wrong in more ways than a reader can list; whatever is missing or of the wrong kind
    surfaces as one of these exceptions.
    """

    def decorate(read: Callable[Concatenate[Path, _P], CameraRig]) -> Callable[..., CameraRig]:
        @wraps(read)
        def guarded(path: str | Path, *args: _P.args, **kwargs: _P.kwargs) -> CameraRig:
            try:
                return read(Path(path), *args, **kwargs)
            except InputError as error:
                message = str(error)
                raise InputError(message if str(path) in message else f"{path}: {message}") from None
            except TrackFishError:
                raise
            except (KeyError, IndexError) as error:
                raise InputError(f"{path}: is not complete as {what} (no {error})") from None
            except (
                ValueError,
                TypeError,
                AttributeError,
                ArithmeticError,
                RecursionError,
                MemoryError,
                OSError,
            ) as error:
                raise InputError(f"{path}: cannot be used as {what} ({_line(error)})") from None

        return guarded

    return decorate


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def load_text(path: Path) -> str:
    """Text of a file of sane size."""
    if path.is_file() and path.stat().st_size > LARGEST_FILE:
        raise InputError(f"{path}: has {path.stat().st_size / 2**20:.0f} MiB, too much for a calibration file")
    return read_text(path)


def load_json(path: Path) -> Any:
    """Parse JSON that may hold ``/* */`` comments, as 3D-ZeF's files do."""
    text = load_text(path)
    try:
        return json.loads(strip_comments(text))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON ({_line(error)})") from None


def strip_comments(text: str) -> str:
    """Replace ``/* */`` comments outside of strings by spaces."""
    pieces = []
    kept = at = 0
    while mark := _MARK.search(text, at):
        if mark[0] == '"':
            end = _STRING_REST.match(text, mark.end())
            if end is None:
                break
            at = end.end()
        else:
            close = text.find("*/", mark.end())
            if close < 0:
                break
            pieces.append(text[kept : mark.start()])
            kept = at = close + 2
    return " ".join([*pieces, text[kept:]])


def numbers(value: Any, what: str, shape: tuple[int, ...] | None = None) -> Array:
    """Numbers of a parsed file as an array, reshaped to `shape` if given."""
    try:
        array = np.asarray(value, dtype=np.float64)
        return array if shape is None else array.reshape(shape)
    except (ValueError, TypeError, OverflowError):
        wanted = "numbers" if shape is None else f"{' x '.join(map(str, shape))} numbers"
        raise InputError(f"{what} must hold {wanted}") from None


def rotation(value: Any, what: str) -> Array:
    """(3, 3) rotation from a matrix (9 numbers) or a Rodrigues vector (3 numbers)."""
    array = numbers(value, what)
    if array.size == 9:
        return array.reshape(3, 3)
    if array.size != 3 or not np.isfinite(array).all():
        raise InputError(f"{what} must be a 3 x 3 matrix or a Rodrigues vector of 3 finite numbers")
    return np.asarray(Rotation.from_rotvec(array.reshape(3)).as_matrix())


def need(table: Any, keys: Sequence[str], who: str) -> None:
    """Raise an `InputError` unless `table` is a mapping with all `keys`."""
    if not isinstance(table, dict):
        raise InputError(f"{who}: expected named values ({', '.join(keys)})")
    missing = [k for k in keys if k not in table]
    if missing:
        raise InputError(f"{who}: no {', '.join(missing)}")


def facing(point: Any, normal: Any, centre: Array, n_camera: float, n_animal: float) -> Interface:
    """Make an interface whose normal is turned towards a camera's `centre` (3,)."""
    plane = Interface(point, normal, n_camera, n_animal)
    above = float((centre - plane.point) @ plane.normal)
    return plane if above >= 0 else Interface(plane.point, -plane.normal, n_camera, n_animal)


def sizes_from_matrices(matrices: Sequence[Array], size: Size | None) -> tuple[list[Size], bool]:
    """Image sizes for cameras (3, 3) whose file does not say them, and whether they can be relied on.

    The principal point lies near the image's centre, and few image sizes are made: the nearest one is taken,
    reliable if its centre is within 3 % and no other is half as near.
    """
    if size is not None:
        return [size] * len(matrices), True
    centres = np.array([np.asarray(K, np.float64)[:2, 2] for K in matrices])
    if not np.isfinite(centres).all() or (centres <= 0.5).any() or (centres > 1e5).any():
        raise InputError("the image size is not in the file; give it (--size WIDTHxHEIGHT)")
    middle = np.median(centres, axis=0)
    if (np.abs(centres / middle - 1) < 0.15).all():  # one kind of camera
        centres = np.broadcast_to(middle, centres.shape)
    guesses = [_guess(c) for c in centres]
    found = sorted({f"{w} x {h}" for (w, h), _ in guesses})
    sizes = ", ".join(found)
    note(f"the image size is not in the file: {sizes} px taken by the principal point (--size sets it)", SizeWarning)
    return [s for s, _ in guesses], all(sure for _, sure in guesses)


def _guess(centre: Array) -> tuple[Size, bool]:
    off = np.abs(2 * centre / np.array(_SENSORS) - 1).max(axis=1)
    first, second = np.argsort(off)[:2]
    if off[first] > 0.08:
        width, height = (int(n) for n in np.round(2 * centre))
        return (max(width, 1), max(height, 1)), False
    return _SENSORS[first], bool(off[first] < 0.03 and off[second] > 2 * off[first])
