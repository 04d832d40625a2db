"""Where one camera saw the moving thing: files of frame, x and y."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...calibration.lenses import blank_lens
from ...cameras import Camera
from ...core.errors import InputError
from ...core.files import plain_name
from ...core.reading.limits import LARGEST_FRAME

Array = NDArray[np.float64]
_FARTHEST_PX = 1e6
_LEAST = 20  # sights


@dataclass(frozen=True)
class Sighting2D:
    """What one camera saw of it: its own frame numbers (N,), ascending, and pixels (N, 2)."""

    frame: Array
    pixel: Array


def read_sightings(path: str | Path) -> list[Sighting2D]:
    """Read a text file of rows ``frame x y``, by blanks, tabs, commas or semicolons; ``0 0`` and NaN are "not seen".

    A fourth number says which animal it is, in this view: numbers need not agree between views.

    Parameters
    ----------
    path : the file; a first row of words is passed over.

    Returns
    -------
    One entry an animal, the one that was seen most often first; animals seen fewer than 20 times are left out.
    """
    path = Path(path)
    table = _rows(path)
    seen = np.isfinite(table).all(1) & (table[:, 1:3] != 0).any(1)
    table = table[seen]
    if np.abs(table[:, 0]).max(initial=0) > LARGEST_FRAME or np.abs(table[:, 1:3]).max(initial=0) > _FARTHEST_PX:
        raise InputError(f"{path}: has frames or pixels that no film has")
    table = table[np.lexsort((table[:, 0], table[:, 3]))]
    twice = (np.diff(table[:, 0]) == 0) & (np.diff(table[:, 3]) == 0)
    if twice.any():
        frame = int(table[1:, 0][twice][0])
        raise InputError(f"{path}: frame {frame} is there twice; name several animals by a fourth number")
    animals = [table[table[:, 3] == k] for k in np.unique(table[:, 3])]
    animals.sort(key=len, reverse=True)
    if not animals or len(animals[0]) < _LEAST:
        most = len(animals[0]) if animals else 0
        raise InputError(f"{path}: the thing was seen {most} times; {_LEAST} are the least")
    return [Sighting2D(t[:, 0].copy(), np.ascontiguousarray(t[:, 1:3])) for t in animals if len(t) >= _LEAST]


def _rows(path: Path) -> Array:
    """Numbers (N, 4) of a file: frame, x, y, and the animal, 0 where nobody says which."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text; rows of 'frame x y' are expected") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        parts = line.replace(",", " ").replace(";", " ").split()
        if not parts:
            continue
        try:
            row = [float(p) for p in parts[:4]]
        except ValueError:
            if rows or number > 1:
                raise InputError(f"{path}: row {number}: '{line[:40]}' is not three numbers: frame x y") from None
            continue
        if len(row) < 3:
            raise InputError(f"{path}: row {number}: has {len(parts)} numbers; frame, x and y are needed")
        rows.append([*row, 0.0][:4])
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


def read_selfcal(folder: str | Path) -> tuple[dict[str, Sighting2D], dict[str, Camera], bool]:
    """Read a folder of MultiCamSelfCal: ``points.dat``, ``Res.dat``, and lenses ``basenameN.rad`` where they are.

    Parameters
    ----------
    folder : with these files; ``camera_order.txt`` names the cameras.

    Returns
    -------
    seen : by camera; a moment is a frame.
    lenses : by camera; guessed from the size of the picture where there is no file.
    guessed : whether they are guesses.
    """
    folder = Path(folder)
    points, sizes = _matrix(folder / "points.dat"), _matrix(folder / "Res.dat")
    count = len(sizes)
    if points.shape[0] != 3 * count or sizes.shape[1] != 2:
        raise InputError(
            f"{folder / 'points.dat'}: has {points.shape[0]} rows; three for each of {count} cameras are due"
        )
    order = folder / "camera_order.txt"
    text = order.read_text(encoding="utf-8", errors="replace").split() if order.is_file() else []
    names = [plain_name(n, "camera") for n in text] if len(text) == count else [f"cam{k}" for k in range(count)]
    files = [folder / f"basename{k + 1}.rad" for k in range(count)]
    known = all(f.is_file() for f in files)
    seen, lenses = {}, {}
    for k, name in enumerate(names):
        u, v = points[3 * k], points[3 * k + 1]
        good = np.isfinite(u) & np.isfinite(v)
        if good.sum() < 20:
            raise InputError(
                f"{folder / 'points.dat'}: camera {name}: the light was seen {good.sum()} times; 20 are the least"
            )
        seen[name] = Sighting2D(np.flatnonzero(good).astype(np.float64), np.column_stack([u, v])[good])
        size = (int(sizes[k, 0]), int(sizes[k, 1]))
        lenses[name] = _lens(files[k], name, size) if known else blank_lens(name, size, "standard")
    return seen, lenses, not known


def _matrix(path: Path) -> Array:
    try:
        return np.loadtxt(path, ndmin=2, dtype=np.float64)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not a table of numbers ({str(error)[:80]})") from None


def _lens(path: Path, name: str, size: tuple[int, int]) -> Camera:
    """Lens of a ``.rad`` file: K11 to K33 and kc1 to kc4, a line each."""
    values = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        key, equals, value = line.partition("=")
        if equals:
            try:
                values[key.strip()] = float(value)
            except ValueError:
                raise InputError(f"{path}: '{line.strip()[:40]}' is not a number") from None
    try:
        K = np.array([[values[f"K{i}{j}"] for j in (1, 2, 3)] for i in (1, 2, 3)])
        distortion = np.array([values[f"kc{k}"] for k in (1, 2, 3, 4)])
    except KeyError as missing:
        raise InputError(f"{path}: has no {missing}") from None
    return Camera(name, size, K, distortion, np.eye(3), np.zeros(3))
