"""Calibration boards: where their corners are, which turns of a board look alike, and how to find one in a picture."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError
from .opencv import opencv

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Picture = NDArray[np.uint8]

HOW = (
    "write chessboard:23x15:16 (inner corners, side of a square) or charuco:8x6:30:22:4X4_50 (squares, square, marker)"
)
LEAST_CORNERS = 6  # of a ChArUco board; four would leave nothing over to judge the fit by


@dataclass(frozen=True)
class Board:
    """A flat board; its corners lie in z = 0, x along a row, y down the rows, z away from who looks at its face.

    ``columns`` and ``rows`` count inner corners; ``square`` and ``marker`` are lengths in world units.
    """

    kind: str
    columns: int
    rows: int
    square: float
    marker: float = 0.0
    dictionary: str = ""

    @classmethod
    def parse(cls, text: str) -> "Board":
        """Read ``chessboard:COLUMNSxROWS:SQUARE`` or ``charuco:COLUMNSxROWS:SQUARE:MARKER:DICTIONARY``."""
        kind, *rest = text.strip().split(":")
        kind = kind.lower()
        size = re.fullmatch(r"(\d{1,3})[xX](\d{1,3})", rest[0]) if rest else None
        if size is None or (kind, len(rest)) not in (("chessboard", 2), ("charuco", 4)):
            raise InputError(f"--board '{text}': {HOW}")
        try:
            lengths = [float(v) for v in rest[1:3]] if kind == "charuco" else [float(rest[1]), 0.0]
        except ValueError:
            raise InputError(f"--board '{text}': a length is not a number; {HOW}") from None
        columns, rows = int(size[1]), int(size[2])
        if not 0 < lengths[0] < 1e9 or (kind == "charuco" and not 0 < lengths[1] < lengths[0]):
            raise InputError(f"--board '{text}': a square has a side above 0, and its marker is smaller")
        if min(columns, rows) < 3:
            raise InputError(f"--board '{text}': at least 3 x 3; {HOW}")
        if kind == "chessboard":
            return cls(kind, columns, rows, lengths[0])
        dictionary = rest[3].upper().removeprefix("DICT_")
        board = cls(kind, columns - 1, rows - 1, lengths[0], lengths[1], dictionary)
        board._charuco(legacy=False)
        return board

    @property
    def name(self) -> str:
        """How messages call it."""
        if self.kind == "chessboard":
            return f"chessboard of {self.columns} x {self.rows} inner corners"
        return f"ChArUco board of {self.columns + 1} x {self.rows + 1} squares ({self.dictionary})"

    @cached_property
    def points(self) -> Array:
        """(N, 3) corners in the board's own frame, row by row."""
        y, x = np.mgrid[: self.rows, : self.columns]
        return np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1) * self.square

    @property
    def centre(self) -> Array:
        """(3,) middle of the corners."""
        return np.asarray(self.points.mean(axis=0))

    @cached_property
    def turns(self) -> list[Array]:
        """(3, 3) rotations about the centre after which the board looks the same; the first is none.

        A chessboard whose columns and rows are both odd or both even looks the same upside down. Markers tell.
        """
        if self.kind == "charuco" or (self.columns + self.rows) % 2:
            return [np.eye(3)]
        if self.columns != self.rows or self.columns % 2:
            return [np.eye(3), np.diag([-1.0, -1.0, 1.0])]
        quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        return [np.linalg.matrix_power(quarter, k) for k in range(4)]

    def find(self, picture: Picture, hasty: bool = False) -> tuple[Ints, Array]:
        """Corners of the board in a grey picture (H, W): their numbers (n,) and pixels (n, 2); empty if not there.

        Pixel centres have whole coordinates, as in OpenCV. Of the turns that look alike any one may come out. `hasty`
        passes over pictures that show no squares at first sight: most frames of a video, at a twentieth of the time.
        """
        if self.kind == "charuco":
            return self._find_charuco(picture)
        if hasty and not opencv().checkChessboard(picture, (self.columns, self.rows)):
            return np.zeros(0, np.int64), np.zeros((0, 2))
        return self._find_chessboard(picture)

    def _find_chessboard(self, picture: Picture) -> tuple[Ints, Array]:
        cv2 = opencv()
        size = (self.columns, self.rows)
        found, corners = cv2.findChessboardCornersSB(picture, size)
        if not found:
            flags = cv2.CALIB_CB_ADAPTIVE_THRESH | cv2.CALIB_CB_NORMALIZE_IMAGE | cv2.CALIB_CB_FAST_CHECK
            found, corners = cv2.findChessboardCorners(picture, size, flags=flags)
        if not found:
            return np.zeros(0, np.int64), np.zeros((0, 2))
        corners = np.ascontiguousarray(corners, np.float32).reshape(-1, 1, 2)
        window = int(np.clip(0.25 * _spacing(corners.reshape(self.rows, self.columns, 2)), 2, 11))
        stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 40, 1e-3)
        corners = cv2.cornerSubPix(picture, corners, (window, window), (-1, -1), stop)
        grid = np.asarray(corners, np.float64).reshape(self.rows, self.columns, 2)
        return np.arange(self.rows * self.columns), self._oriented(grid, picture).reshape(-1, 2)

    def _oriented(self, grid: Array, picture: Picture) -> Array:
        """Corners (rows, columns, 2) numbered as on the board: not mirrored, and its first inner square dark."""
        across, down = grid[0, -1] - grid[0, 0], grid[-1, 0] - grid[0, 0]
        if across[0] * down[1] - across[1] * down[0] < 0:
            grid = grid[:, ::-1]
        if (self.columns + self.rows) % 2 and not _dark_first(grid, picture):
            grid = grid[::-1, ::-1]
        elif self.columns == self.rows and self.columns % 2 and not _dark_first(grid, picture):
            grid = np.rot90(grid)
        return grid

    def _find_charuco(self, picture: Picture) -> tuple[Ints, Array]:
        corners, ids, _, markers = self._detectors[0].detectBoard(picture)
        if (ids is None or len(ids) < LEAST_CORNERS) and markers is not None and len(markers) >= 4:
            corners, ids, _, _ = self._detectors[1].detectBoard(picture)
        if ids is None or len(ids) < LEAST_CORNERS:
            return np.zeros(0, np.int64), np.zeros((0, 2))
        ids = np.asarray(ids, np.int64).ravel()
        if np.linalg.matrix_rank(self.points[ids, :2] - self.points[ids[0], :2]) < 2:  # all on one line
            return np.zeros(0, np.int64), np.zeros((0, 2))
        return ids, np.asarray(corners, np.float64).reshape(-1, 2)

    @cached_property
    def _detectors(self) -> list[Any]:
        """For boards printed today, and for those of OpenCV before 4.6, which begin with the other colour."""
        aruco = opencv().aruco
        return [aruco.CharucoDetector(self._charuco(legacy)) for legacy in (False, True)]

    def _charuco(self, legacy: bool) -> Any:
        aruco = opencv().aruco
        number = getattr(aruco, f"DICT_{self.dictionary}", None)
        if number is None:
            known = sorted(n[5:] for n in dir(aruco) if n.startswith("DICT_") and n == n.upper())
            raise InputError(f"--board: no marker dictionary '{self.dictionary}'; there are {', '.join(known)}")
        size = (self.columns + 1, self.rows + 1)
        dictionary = aruco.getPredefinedDictionary(number)
        needed, held = size[0] * size[1] // 2, len(dictionary.bytesList)
        if needed > held:
            raise InputError(
                f"--board: {size[0]} x {size[1]} squares need {needed} markers, {self.dictionary} has {held}"
            )
        board = aruco.CharucoBoard(size, self.square, self.marker, dictionary)
        board.setLegacyPattern(legacy)
        return board


def other_size(board: Board, picture: Picture) -> tuple[int, int] | None:
    """Inner corners of a chessboard of another size than asked for, if there is one in the picture.

    Squares counted in place of inner corners, or rows in place of columns, is the mistake made most often.
    """
    if board.kind != "chessboard":
        return None
    c, r = board.columns, board.rows
    for columns, rows in (
        (c - 1, r - 1),
        (r, c),
        (c - 2, r - 2),
        (c + 1, r + 1),
        (r - 1, c - 1),
        (c - 1, r),
        (c, r - 1),
    ):
        if min(columns, rows) >= 3 and len(Board("chessboard", columns, rows, 1.0).find(picture)[0]):
            return columns, rows
    return None


def _spacing(grid: NDArray[Any]) -> float:
    """Smallest distance of neighbouring corners, px."""
    along = np.linalg.norm(np.diff(grid, axis=1), axis=2).min()
    return float(min(along, np.linalg.norm(np.diff(grid, axis=0), axis=2).min()))


def _dark_first(grid: Array, picture: Picture) -> bool:
    """Whether the squares of the first one's colour, between four inner corners each, are the dark ones."""
    middle = (grid[:-1, :-1] + grid[1:, :-1] + grid[:-1, 1:] + grid[1:, 1:]) / 4
    x, y = np.round(middle).astype(int).reshape(-1, 2).T
    value = picture[np.clip(y, 0, picture.shape[0] - 1), np.clip(x, 0, picture.shape[1] - 1)].astype(float)
    odd = (np.indices(middle.shape[:2]).sum(axis=0) % 2).ravel().astype(bool)
    return bool(value[~odd].mean() < value[odd].mean())
