"""People in a room, four cameras (CMC1 and CMC2), from a folder with ``cmc``: boxes cut by whoever stands in front.

CMC1 is for tuning, CMC2 is looked at only to report. Truth covers a part of the floor; tracks are cut to it.
"""

import os
from pathlib import Path

import numpy as np

from ...cameras.formats import read_calibration
from ...core.errors import InputError
from ...recordings import Detections, Recording, Tracks, read_table, read_tracks
from ...recordings.importers.truth import import_truth

SCENES = ("CMC1-visible", "CMC1-whole", "CMC2-visible", "CMC2-whole")
FPS = 4.0
GATE_M = 0.5
MIN_SCORE = 0.3
FLOOR = ((2.03, 6.3), (0.0, 3.41))  # x, y that truth covers, metres
PUBLISHED_PEOPLE = "published-msglmb"


def cmc_folder(data: Path | None) -> Path:
    """Folder of the sequences: of ``data``, or of the environment variable TRACKFISH3D_DATA."""
    root = data or (Path(os.environ["TRACKFISH3D_DATA"]) if os.environ.get("TRACKFISH3D_DATA") else None)
    if root is None:
        raise InputError("CMC: where is it? Give --data FOLDER or set TRACKFISH3D_DATA")
    folder = root / "cmc" if (root / "cmc").is_dir() else root
    if not (folder / "truth_CMC1.csv").is_file():
        raise InputError(f"{root}: holds no CMC sequences (no cmc/truth_CMC1.csv)")
    return folder


def write_people(scene: str, source: Path, folder: Path) -> Recording:
    """Write a sequence with one of its two detectors as a recording."""
    sequence, _, kind = scene.partition("-")
    rig = read_calibration(source / "cameras.toml")
    path = source / kind / f"{sequence}.csv"
    table = read_table(path)
    table = table.filter(np.asarray(table["score"]) >= MIN_SCORE)
    detections = Detections.from_table(table, rig.names, str(path))
    truth = import_truth(source / f"truth_{sequence}.csv", rig)
    return Recording.create(folder, rig, fps=FPS, detections=detections, truth=truth, description=f"CMC {scene}")


def on_floor(tracks: Tracks) -> Tracks:
    """Return the points of tracks above the floor that truth covers."""
    inside = np.ones(len(tracks), bool)
    for k, (low, high) in enumerate(FLOOR):
        inside &= (tracks.position[:, k] >= low) & (tracks.position[:, k] <= high)
    return tracks.select(inside)


def published_people(scene: str, source: Path) -> Tracks:
    """Return 3D tracks of this sequence that another group published (MS-GLMB with a model of occlusion)."""
    return read_tracks(source / "published" / f"tracks_{scene.partition('-')[0]}.csv")
