"""The part of the world in which animals are tracked: a box, or an outline seen from above."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError

Array = NDArray[np.float64]
_FORM = "a region is x0:x1,y0:y1,z0:z1 (an end left out is open), or a file of rows 'x y', its outline from above"


@dataclass(frozen=True)
class Region:
    """A box, open where its ends are infinite, and within it an outline in x and y.

    Attributes
    ----------
    low : (3,) lower ends, world units.
    high : (3,) upper ends.
    outline : (K, 2) corners in x and y; none for a plain box.
    """

    low: Array
    high: Array
    outline: Array

    @classmethod
    def parse(cls, text: str) -> "Region":
        """Read a region as settings keep it: ``0:29,0:29,:15``, or corners ``0 0;4 0;4 3``.

        Parameters
        ----------
        text : the region.
        """
        low, high, outline = np.full(3, -np.inf), np.full(3, np.inf), np.zeros((0, 2))
        try:
            if ";" in text:
                outline = np.array([[float(x) for x in corner.split()] for corner in text.split(";")])
            else:
                for k, part in enumerate(text.split(",")):
                    a, b = part.split(":")
                    low[k], high[k] = float(a or "-inf"), float(b or "inf")
        except (ValueError, IndexError):
            raise ValueError(f"'{text[:60]}': {_FORM}") from None
        if ";" in text and (outline.ndim != 2 or outline.shape[1] != 2 or len(outline) < 3):
            raise ValueError(f"'{text[:60]}': an outline has three corners or more, x and y each")
        if np.isnan([*low, *high]).any() or not np.isfinite(outline).all() or not (low < high).all():
            raise ValueError(f"'{text[:60]}': the first end of each pair must be below the second")
        return cls(low, high, outline)

    def holds(self, points: Array) -> NDArray[np.bool_]:
        """(N,) whether points lie inside.

        Parameters
        ----------
        points : (N, 3) world units.
        """
        inside = ((points >= self.low) & (points <= self.high)).all(1)
        if not len(self.outline):
            return np.asarray(inside)
        x, y = points[:, :1], points[:, 1:2]
        (ax, ay), (bx, by) = self.outline.T, np.roll(self.outline, -1, axis=0).T
        spans = (ay > y) != (by > y)
        with np.errstate(divide="ignore", invalid="ignore"):
            left = x < ax + (y - ay) * (bx - ax) / (by - ay)
        return np.asarray(inside & ((spans & left).sum(1) % 2 == 1))


def region_text(given: str) -> str:
    """Return a region as settings keep it, its file read where it is one.

    Parameters
    ----------
    given : a box, or the path of a file with rows of x and y.
    """
    path = Path(given)
    if ":" in given and not path.is_file():
        return given
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError, ValueError):
        raise InputError(f"--region {given}: {_FORM}") from None
    rows = [line.replace(",", " ").replace("\t", " ").split() for line in lines if line.strip()]
    if rows and not _number(rows[0][0]):
        rows = rows[1:]  # a header
    for number, row in enumerate(rows, 1):
        if len(row) != 2 or not all(map(_number, row)):
            raise InputError(f"{path}: corner {number}: '{' '.join(row)[:40]}' is not two numbers, x and y")
    text = ";".join(" ".join(row) for row in rows)
    try:
        Region.parse(text if len(rows) > 1 else f"{text};")
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    return text


def _number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
