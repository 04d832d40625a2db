"""Poses as wide tables: Anipose's pose-3d CSV and DeepLabCut's 3D CSV or HDF5."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....core.errors import InputError, MissingExtraError
from ....core.files import atomic_path
from ...dense import animal_name
from ...poses import Poses
from ...recording import Recording
from .grids import Grid, confidence


def write_anipose(recording: Recording, poses: Poses, path: Path, about: Mapping[str, Any]) -> list[str]:
    """Write Anipose's pose-3d: of each part x, y, z, error (our sigma), ncams, score, then fnum.

    Anipose's files are of one animal: of several, each gets a file, ``NAME_track_0.csv`` and so on.
    """
    grid = Grid.of(poses, "Anipose's CSV")
    sure = confidence(grid)
    for i, track in enumerate(grid.identity.tolist()):
        one = path if len(grid.identity) == 1 else path.with_name(f"{path.stem}_{animal_name(track)}{path.suffix}")
        heads = [f"{p}_{w}" for p in poses.skeleton.parts for w in ("x", "y", "z", "error", "ncams", "score")]
        frame = [f"M_{a}{b}" for a in range(3) for b in range(3)] + [f"center_{a}" for a in range(3)]
        block = np.concatenate(
            [grid.position[:, i], grid.sigma[:, i, :, None], grid.views[:, i, :, None], sure[:, i, :, None]], axis=-1
        ).reshape(len(grid.frame), -1)
        world = [*np.eye(3).ravel().tolist(), 0.0, 0.0, 0.0]  # the world is the calibration's own
        rows = ([*map(_text, row), *world, number] for row, number in zip(block, grid.frame.tolist(), strict=True))
        _write(one, [[*heads, *frame, "fnum"]], rows)
    if len(grid.identity) == 1:
        return []
    return [
        f"Anipose's files are of one animal: {len(grid.identity)} files {path.stem}_track_N{path.suffix} were written"
    ]


def write_deeplabcut(recording: Recording, poses: Poses, path: Path, about: Mapping[str, Any]) -> list[str]:
    """Write DeepLabCut's 3D: scorer, individuals, bodyparts and coords x, y, z above a row for each frame."""
    grid = Grid.of(poses, "DeepLabCut's table")
    names = [(animal_name(t), p, a) for t in grid.identity.tolist() for p in poses.skeleton.parts for a in "xyz"]
    values = grid.position.reshape(len(grid.frame), -1)
    if path.suffix.lower() in (".h5", ".hdf5"):
        try:
            import pandas as pd
            import tables  # noqa: F401
        except ImportError:
            raise MissingExtraError("pandas and tables", "deeplabcut", "writing DeepLabCut's HDF5") from None
        levels = ["scorer", "individuals", "bodyparts", "coords"]
        columns = pd.MultiIndex.from_tuples([("TrackFish3D", *n) for n in names], names=levels)
        with atomic_path(path) as temporary:
            pd.DataFrame(values, columns=columns, index=grid.frame).to_hdf(
                temporary, key="df_with_missing", format="table", mode="w"
            )
        return []
    if path.suffix.lower() != ".csv":
        raise InputError(f"{path}: DeepLabCut's poses are written as .csv or .h5")
    heads = [["scorer", *["TrackFish3D"] * len(names)]]
    heads += [[k, *(n[i] for n in names)] for i, k in enumerate(("individuals", "bodyparts", "coords"))]
    _write(path, heads, ([n, *map(_text, row)] for n, row in zip(grid.frame.tolist(), values, strict=True)))
    return []


def _text(value: float) -> str:
    return "" if np.isnan(value) else repr(float(value))


def _write(path: Path, heads: list[list[str]], rows: Iterator[list[Any]]) -> None:
    with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows(heads)
        writer.writerows(rows)
