"""The 3D-ZeF zebrafish recordings as scenes, from a folder with ``zef/01`` to ``zef/04``."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..cameras.formats import read_calibration
from ..core.errors import InputError
from ..evaluation.oracle import shown_by
from ..recordings import Detections, Recording, Tracks, read_table, read_tracks
from ..recordings.importers.truth import import_truth

SEQUENCES = ("01", "02", "03", "04")
TEST = ("02", "04")
FPS = 60.0
GATE_CM = 0.5
MIN_SCORE = 0.4  # of YOLOX detections
PUBLISHED = ("naive", "mvi", "mff")


def zef_folder(data: Path | None) -> Path:
    """Folder of the sequences: of ``data``, or of the environment variable TRACKFISH3D_DATA."""
    root = data or (Path(os.environ["TRACKFISH3D_DATA"]) if os.environ.get("TRACKFISH3D_DATA") else None)
    if root is None:
        raise InputError("3D-ZeF: where is it? Give --data FOLDER or set TRACKFISH3D_DATA")
    folder = root / "zef" if (root / "zef").is_dir() else root
    if not (folder / TEST[0] / "cameras.json").is_file():
        raise InputError(f"{root}: holds no 3D-ZeF sequences (no zef/{TEST[0]}/cameras.json)")
    return folder


def write_sequence(sequence: str, source: Path, folder: Path) -> Recording:
    """Write a sequence of the folder ``source`` as a recording: the YOLOX detections, and heads as truth."""
    rig = read_calibration(source / sequence / "cameras.json")
    path = source / sequence / "detections_yolox.csv"
    table = read_table(path)
    table = table.filter(np.asarray(table["score"]) >= MIN_SCORE)
    detections = Detections.from_table(table, rig.names, str(path))
    truth = import_truth(source / sequence / "ground_truth_head.csv", rig)
    truth = replace(truth, detection=shown_by(truth, detections))
    return Recording.create(folder, rig, fps=FPS, detections=detections, truth=truth, description=f"3D-ZeF {sequence}")


def published_tracks(sequence: str, name: str, source: Path) -> Tracks:
    """Return 3D tracks of this sequence that another group published."""
    return read_tracks(source / sequence / f"tracks_published_{name}.csv")
