"""What the cameras saw of the board: corners in pixels, picture by picture."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..cameras.native import natural
from ..core.errors import InputError
from ..core.progress import TaskProgress, silent_tasks
from .boards import Board, other_size
from .pictures import Picture, Source, count_pictures, moments, read_pictures, video_step

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
_STILL = 0.004  # of the image's width: a board that moved less than this between two frames is seen once


@dataclass(frozen=True, eq=False)
class Views:
    """Corners of one board in the pictures of all cameras.

    ``cameras`` names, ``sizes`` (width, height) each, ``moments`` names of the moments; per corner: ``camera`` (N,),
    ``moment`` (N,), ``corner`` (N,) number on the board, ``pixel`` (N, 2). Sorted by moment, then camera.
    """

    cameras: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]
    moments: tuple[str, ...]
    camera: Ints
    moment: Ints
    corner: Ints
    pixel: Array

    @classmethod
    def build(
        cls,
        cameras: tuple[str, ...],
        sizes: tuple[tuple[int, int], ...],
        found: list[tuple[int, str, Ints, Array]],
    ) -> "Views":
        """Join pictures, each as camera, moment, corner numbers (n,) and pixels (n, 2)."""
        names = tuple(sorted({m for _, m, _, _ in found}, key=natural))
        place = {m: k for k, m in enumerate(names)}
        found = sorted(found, key=lambda f: (place[f[1]], f[0]))
        counts = [len(f[2]) for f in found]
        return cls(
            cameras,
            sizes,
            names,
            np.repeat(np.array([f[0] for f in found], np.int64), counts),
            np.repeat(np.array([place[f[1]] for f in found], np.int64), counts),
            np.concatenate([np.zeros(0, np.int64), *(f[2] for f in found)]),
            np.concatenate([np.zeros((0, 2)), *(f[3] for f in found)]),
        )

    def __len__(self) -> int:
        return len(self.camera)

    def pictures(self) -> list[tuple[int, int, Ints]]:
        """Each picture with the board in it: camera, moment, rows (n,)."""
        key = self.moment * len(self.cameras) + self.camera
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        ends = np.append(starts[1:], len(key))
        return [(int(self.camera[a]), int(self.moment[a]), np.arange(a, b)) for a, b in zip(starts, ends, strict=True)]

    def select(self, rows: NDArray[np.bool_]) -> "Views":
        """Return these corners only; the names of moments stay."""
        return Views(
            self.cameras,
            self.sizes,
            self.moments,
            self.camera[rows],
            self.moment[rows],
            self.corner[rows],
            self.pixel[rows],
        )


def find_boards(
    sources: list[Source],
    board: Board,
    every: int | None = None,
    together: bool = True,
    progress: TaskProgress = silent_tasks,
) -> Views:
    """Find the board in all pictures of all cameras.

    `every` n-th frame of videos is looked at; `together` says that pictures of different cameras were taken at the
    same moments, else each picture is a moment of its own. Raises an `InputError` for a camera without any board.
    """
    kinds = {s.video for s in sources}
    if together and len(kinds) > 1:
        raise InputError("give images of all cameras or videos of all cameras: which frames belong together otherwise?")
    every = every or video_step(sources)
    still = [s for s in sources if not s.video]
    stems = iter(moments(still) if together else [[f.stem for f in s.files] for s in still])
    names = [[] if s.video else next(stems) for s in sources]
    found: list[tuple[int, str, Ints, Array]] = []
    sizes = []
    for c, source in enumerate(sources):
        total = count_pictures(source, every)
        size: tuple[int, int] | None = None
        seen, last = 0, None
        for k, (moment, picture) in enumerate(read_pictures(source, names[c], every)):
            here = (picture.shape[1], picture.shape[0])
            if size is not None and here != size:
                raise InputError(
                    f"camera {source.camera}: picture {moment} has {here[0]} x {here[1]} px, those before {size[0]} x "
                    f"{size[1]}; a camera has one size"
                )
            size, last = here, picture
            corner, pixel = board.find(picture, hasty=source.video)
            if len(corner):
                seen += 1
                found.append((c, moment if together else f"{source.camera} {moment}", corner, pixel))
            progress(source.camera, k + 1, max(total, k + 1))
        if not seen:
            raise InputError(_not_found(source, board, last, total))
        sizes.append(size or (1, 1))
    views = Views.build(tuple(s.camera for s in sources), tuple(sizes), found)
    return without_repeats(views) if kinds == {True} else views


def without_repeats(views: Views) -> Views:
    """Drop moments of a video at which no camera saw the board move since the last one kept."""
    keep = np.ones(len(views), bool)
    last: dict[int, tuple[Ints, Array]] = {}
    by_moment: dict[int, list[tuple[int, Ints]]] = {}
    for c, m, rows in views.pictures():
        by_moment.setdefault(m, []).append((c, rows))
    for pictures in by_moment.values():
        moved = False
        for c, rows in pictures:
            if c not in last:
                moved = True
                continue
            before, pixel = last[c]
            shared, i, j = np.intersect1d(before, views.corner[rows], return_indices=True)
            step = np.linalg.norm(pixel[i] - views.pixel[rows[j]], axis=1)
            moved |= not len(shared) or float(np.median(step)) > _STILL * views.sizes[c][0]
        if moved:
            last.update({c: (views.corner[rows], views.pixel[rows]) for c, rows in pictures})
        for _, rows in pictures:
            keep[rows] = moved
    return views.select(keep)


def _not_found(source: Source, board: Board, picture: Picture | None, total: int) -> str:
    what = f"camera {source.camera}: no {board.name} found in {total} pictures"
    other = None if picture is None else other_size(board, picture)
    if other is not None:
        size = f"{other[0]}x{other[1]}"
        return f"{what}; there is one of {size} inner corners: --board chessboard:{size}:{board.square:g}"
    if board.kind == "chessboard":
        return f"{what}; count inner corners, not squares, and have the whole board, with a white rim, in the picture"
    return f"{what}; check the dictionary and the number of squares"
