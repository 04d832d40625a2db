"""Truth of other tools, under the rig's camera names."""

import re
from dataclasses import replace
from pathlib import Path

from ...cameras.rig import CameraRig
from ...core.errors import InputError
from ...core.files import read_text
from ..storage import read_truth
from ..truth import Truth
from .dltdv import read_dltdv_truth

_SPACE = re.compile(r"\s*pt\d+_[XYZ]\s*")


def import_truth(path: str | Path, rig: CameraRig) -> Truth:
    """Read truth from Parquet, CSV with frame, id, x, y, z, 3D-ZeF's CSV or DLTdv's ``xyzpts``.

    Cameras that are only numbered, as in 3D-ZeF (1, 2, ...), are the rig's cameras in order.
    """
    path = Path(path)
    if path.suffix.lower() not in (".parquet", ".pq"):
        first = read_text(path).lstrip().split("\n", 1)[0]
        if any(_SPACE.fullmatch(name) for name in first.split(",")):
            return read_dltdv_truth(path)
    truth = read_truth(path)
    if set(truth.cameras) <= set(rig.names):
        return truth
    if truth.cameras == tuple(str(i + 1) for i in range(len(truth.cameras))) and len(truth.cameras) <= len(rig):
        return replace(truth, cameras=rig.names[: len(truth.cameras)])
    raise InputError(
        f"{path}: has columns for cameras {', '.join(truth.cameras)}; the calibration has {', '.join(rig.names)}"
    )
