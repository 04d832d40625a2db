"""Truth of other tools, under the rig's camera names."""

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...cameras.rig import CameraRig
from ...core.errors import InputError
from ...core.files import read_text
from ...core.reading.dialect import dialect_of
from ...core.reading.limits import refuse_rows
from ..poses import Poses, read_poses
from ..storage import columns_of, read_truth
from ..truth import Truth
from ..whole_frames import iter_truth
from .dltdv import read_dltdv_truth

TANKS = 1e5  # sizes of the rig that an animal may be away from it
_SPACE = re.compile(r"\s*pt\d+_[XYZ]\s*")


def import_truth(path: str | Path, rig: CameraRig) -> Truth:
    """Read truth from Parquet, CSV with frame, id, x, y, z, 3D-ZeF's CSV or DLTdv's ``xyzpts``.

    Cameras that are only numbered, as in 3D-ZeF (1, 2, ...), are the rig's cameras in order.
    """
    path = Path(path)
    if path.suffix.lower() not in (".parquet", ".pq"):
        text = read_text(path).lstrip()
        if any(_SPACE.fullmatch(name) for name in dialect_of(text).cells(text.split("\n", 1)[0])):
            truth = read_dltdv_truth(path)
            _refuse_distant(truth, rig, str(path))
            return truth
    truth = read_truth(path)
    _refuse_distant(truth, rig, str(path))
    return _under(truth, rig, path)


def iter_imported_truth(path: Path, rig: CameraRig) -> Iterator[Truth]:
    """Give what `import_truth` reads of a Parquet file in pieces of ascending frames.

    Parameters
    ----------
    path : of the truth.
    rig : the cameras.
    """
    for piece in iter_truth(path):
        _refuse_distant(piece, rig, str(path))
        yield _under(piece, rig, path)


def _under(truth: Truth, rig: CameraRig, path: Path) -> Truth:
    """Return a truth under the names of the rig's cameras."""
    if set(truth.cameras) <= set(rig.names):
        return truth
    if truth.cameras == tuple(str(i + 1) for i in range(len(truth.cameras))) and len(truth.cameras) <= len(rig):
        return replace(truth, cameras=rig.names[: len(truth.cameras)])
    raise InputError(
        f"{path}: has columns for cameras {', '.join(truth.cameras)}; the calibration has {', '.join(rig.names)}"
    )


def import_truth_with_parts(path: str | Path, rig: CameraRig) -> tuple[Truth, Poses | None]:
    """Read truth as `import_truth` does or, from a table with a column ``part``, true poses and their middles.

    Parameters
    ----------
    path : of the truth.
    rig : the cameras.
    """
    path = Path(path)
    if "part" not in _columns_of(path):
        return import_truth(path, rig), None
    poses = read_poses(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        middle = np.nanmean(poses.position, axis=1)
    truth = Truth.build(poses.frame, poses.track, middle, source=str(path))
    _refuse_distant(truth, rig, str(path))
    return truth, poses


def _columns_of(path: Path) -> list[str]:
    """Return the names of a table's columns; none where it has no header, or cannot be read."""
    if path.suffix.lower() in (".parquet", ".pq"):
        return columns_of(path)
    text = read_text(path).lstrip()
    return [n.strip().lower() for n in dialect_of(text).cells(text.split("\n", 1)[0])]


def _refuse_distant(truth: Truth, rig: CameraRig, source: str) -> None:
    """Refuse places far from the rig, whose size is how far cameras stand from each other and the water."""
    centres = np.array([c.centre for c in rig])
    points = np.concatenate([centres, *([face.point] for c in rig for face in c.interfaces)])
    middle = centres.mean(0)
    size = float(np.linalg.norm(points - middle, axis=1).max())
    if size > 0:
        far = np.linalg.norm(truth.position - middle, axis=1) > TANKS * size
        refuse_rows(far, f"is {TANKS:g} times as far from the cameras as they are from each other", source)
