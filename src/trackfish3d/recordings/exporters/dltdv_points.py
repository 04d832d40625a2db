"""DLTdv's ``xyzpts.csv``: a row a frame, three columns a point."""

from pathlib import Path

import numpy as np

from ...core.files import atomic_path
from ..dense import dense
from ..recording import Recording
from ..tracks import Tracks
from ..tracks_text import DIGITS


def write_dltdv(recording: Recording, tracks: Tracks, path: Path) -> list[str]:
    """Write ``pt1_X, pt1_Y, pt1_Z, pt2_X, ...``; the first row is frame 1, NaN stands where a track is not.

    Frames that begin below 1 are moved up, because rows have no numbers of their own; a note says by how much.
    """
    grid = dense(tracks, "DLTdv's points")
    first = int(grid.frame[0])
    moved = max(1 - first, 0)
    count = len(grid.identity)
    names = [f"pt{k + 1}_{axis}" for k in range(count) for axis in "XYZ"]
    nothing = ",".join(["NaN"] * len(names)) + "\n"
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write(",".join(names) + "\n")
        file.writelines(nothing for _ in range(first + moved - 1))
        for row in grid.position.reshape(len(grid.frame), -1):
            file.write(",".join("NaN" if np.isnan(x) else f"{x:.{DIGITS}g}" for x in row.tolist()) + "\n")
    who = ", ".join(f"pt{k + 1} is track {t}" for k, t in enumerate(grid.identity[:10].tolist()))
    notes = [who + (", ..." if count > 10 else "")]
    return [*notes, f"frame {first} is in the first row: frames are moved by {moved}"] if moved else notes
