"""MOTChallenge ``det.txt``: one file for each camera."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from ...core.files import read_text
from ...core.reading.dialect import dialect_of
from ..detections import Detections
from ..storage import csv_options
from ..tracks import whole
from ._file import DetectionFile

UNKNOWN_SCORE = -1.0


def read_mot(file: DetectionFile) -> Detections:
    """Read rows ``frame, id, left, top, width, height, confidence, ...`` of one camera.

    MOTChallenge counts pixels from 1, so 1 is taken off left and top. A confidence that is -1 in every row means
    that it is not known, and becomes 1; any other one outside 0..1 is an error, for which detectors' raw scores
    `file.scores` has an answer. Frame numbers are kept; an id of 0 or more is the tool's own 2D track.
    """
    text = read_text(file.path)
    rows = text.strip()
    if not rows:
        raise file.fail("is empty")
    dialect = dialect_of(rows)
    width = rows.split("\n", 1)[0].count(dialect.separator) + 1
    if width < 6:
        raise file.fail("needs at least frame, id, left, top, width, height, separated by commas")
    try:
        options = pacsv.ReadOptions(use_threads=False, column_names=[str(i) for i in range(width)])
        table = pacsv.read_csv(io.BytesIO(rows.encode()), read_options=options, **csv_options(dialect))
    except (pa.ArrowException, ValueError) as error:
        raise file.fail(f"is not MOTChallenge text ({str(error)[:200]})") from None
    columns = []
    for i, name in enumerate(("frame", "id", "left", "top", "width", "height", "confidence")[:width]):
        kind = table[str(i)].type
        if name != "id" and not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise file.fail(f"{name}, column {i + 1}, has values that are not numbers")
        columns.append(np.asarray(table[str(i)].to_numpy()))
    frame = whole(columns[0], "frame", str(file.path))
    camera = np.full(len(frame), file.only_camera(), np.int64)
    file.check_order(frame, camera)
    left, top, w, h = (c.astype(np.float64) for c in columns[2:6])
    score = columns[6].astype(np.float64) if width > 6 else np.full(len(frame), UNKNOWN_SCORE)
    if np.all(score == UNKNOWN_SCORE):
        file.note("has no confidence; every score is 1")
        score = np.ones(len(frame))
    score = file.score_of(score)
    x1, y1 = left - 1.0, top - 1.0
    corners = {"x1": x1, "y1": y1, "x2": x1 + w, "y2": y1 + h}
    return file.build(frame, camera, u=x1 + w / 2, v=y1 + h / 2, **corners, score=score, tracklet=_tracks(columns[1]))


def _tracks(identity: np.ndarray) -> np.ndarray | None:
    """Numbers (N,) of 2D tracks; None where column 2 names none: -1 in every row, or no whole numbers."""
    if identity.dtype.kind != "i" or identity.max(initial=-1) < 0:
        return None
    return np.asarray(np.maximum(identity, -1))
