"""What every importer is given, and what they share: whose file it is, scores, boxes, order."""

import re
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...cameras.rig import CameraRig
from ...core.errors import InputError
from ...core.reading.limits import refuse_wild_frames
from ..detections import Detections
from ..plausible import refuse_unseen

Array = NDArray[np.float64]
Dropped = Counter[tuple[str, str]]
SCORES = ("probability", "percent", "sigmoid")
DEFAULT_BOX = 0.02


class DetectionsWarning(UserWarning):
    """Something a file of detections leaves open, and what was assumed instead."""


@dataclass(frozen=True)
class DetectionFile:
    """A file (or folder) of detections and how to understand it.

    Parameters
    ----------
    path : the file or folder.
    rig : cameras of the recording; some formats need their image sizes.
    camera : whose detections these are. None: the file itself says, or the rig has one camera only.
    columns : for tables, our column name -> the file's.
    box_size : side in px of the box around detections that are points. None: 2 % of the image's width.
    scores : what the file's scores are: ``probability`` (0..1), ``percent`` or ``sigmoid`` (logits).
    sort : whether frame numbers may go back within a camera.
    keypoint : for pose files, the body part to track, or ``mean``.
    dropped : counts what was left out, by camera and reason. Shared by all files of one import.
    """

    path: Path
    rig: CameraRig
    camera: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    box_size: float | None = None
    scores: str = "probability"
    sort: bool = False
    keypoint: str | None = None
    dropped: Dropped = field(default_factory=Counter)

    def fail(self, what: str) -> InputError:
        """Return an error that names this file."""
        return InputError(f"{self.path}: {' '.join(what.split())}")

    def only_camera(self) -> int:
        """Index of the camera this file belongs to as a whole."""
        if self.camera is not None:
            return self.rig.index(self.camera)
        if len(self.rig) == 1:
            return 0
        names = "|".join(self.rig.names)
        raise self.fail(f"does not say which camera saw it; write --detections {names}={self.path}")

    def note(self, what: str) -> None:
        """Tell the user of an assumption; the command line prints it as one line."""
        warnings.warn(f"{self.path}: {what}", DetectionsWarning, stacklevel=3)

    def drop(self, camera: str, reason: str, count: int) -> None:
        """Note that `count` things were left out."""
        if count:
            self.dropped[camera, reason] += int(count)

    def score_of(self, raw: ArrayLike) -> Array:
        """Scores (N,) as probabilities; those still outside 0..1 are an error that says what can be done."""
        score = np.asarray(raw, dtype=np.float64)
        if self.scores == "percent":
            score = score / 100.0
        elif self.scores == "sigmoid":
            score = 0.5 * (1.0 + np.tanh(0.5 * score))
        bad = (score < 0) | (score > 1)
        if bad.any():
            row = int(np.argmax(bad))
            raise self.fail(
                f"row {row}: score {score[row]:g} is outside 0..1 (and {int(bad.sum()) - 1} more rows); "
                "if they are logits or percents, say --scores sigmoid or --scores percent"
            )
        return score

    def around(self, u: Array, v: Array, camera: ArrayLike) -> tuple[Array, Array, Array, Array]:
        """Boxes (N,) x1, y1, x2, y2 around points, for detectors that give none."""
        widths = np.array([c.size[0] for c in self.rig], dtype=np.float64)
        if self.box_size is None and np.size(u):
            self.note(
                f"has no boxes; they are {DEFAULT_BOX:.0%} of the image's width around each point (--box-size PX)"
            )
        half = (
            widths[np.asarray(camera, dtype=np.int64)] * DEFAULT_BOX / 2 if self.box_size is None else self.box_size / 2
        )
        half = np.broadcast_to(half, np.shape(u))
        return u - half, v - half, u + half, v + half

    def check_order(self, frame: ArrayLike, camera: ArrayLike) -> None:
        """Refuse frame numbers (N,) that go back within a camera (N,): often two files glued together."""
        frames, cameras = np.asarray(frame), np.asarray(camera)
        if self.sort or len(frames) < 2:
            return
        order = np.argsort(cameras, kind="stable")
        back = (np.diff(frames[order]) < 0) & (np.diff(cameras[order]) == 0)
        if back.any():
            k = int(np.argmax(back))
            row, before = int(order[k + 1]), int(order[k])
            name = self.rig.names[int(cameras[row])]
            raise self.fail(
                f"row {row}: camera {name} goes back from frame {int(frames[before])} to {int(frames[row])}; "
                "if that is only the order of rows, say --sort"
            )

    def build(self, frame: ArrayLike, camera: ArrayLike, **columns: Any) -> Detections:
        """Make the detections, with boxes around points that have none and errors that name this file."""
        if columns.get("x1") is None:
            boxes = self.around(columns["u"], columns["v"], camera)
            columns |= dict(zip(("x1", "y1", "x2", "y2"), boxes, strict=True))
        refuse_wild_frames(frame, str(self.path))
        refuse_unseen(self.rig, np.asarray(camera), columns, str(self.path))
        return Detections.build(self.rig.names, frame, camera, **columns, source=str(self.path))


def last_number(text: str) -> int | None:
    """Frame number of a file name: its last run of digits.

    >>> last_number("top_cam2_000123"), last_number("img")
    (123, None)
    """
    digits = re.findall(r"\d+", text)
    return int(digits[-1]) if digits and len(digits[-1]) <= 15 else None


def camera_in_path(path: str, names: tuple[str, ...]) -> str | None:
    """Find the one camera that a path names: as a folder, as its stem, or as a word of the stem.

    >>> camera_in_path("run3/top/0001.png", ("top", "front")), camera_in_path("run3_top_0001.png", ("top", "front"))
    ('top', 'top')
    >>> camera_in_path("0001.png", ("top", "front")) is None
    True
    """
    parts = [p for p in re.split(r"[\\/]", path) if p]
    stem = parts[-1].rsplit(".", 1)[0] if parts else ""
    words = {w for w in re.split(r"[^0-9A-Za-z]+", stem) if w}
    for candidates in ({stem}, set(parts[:-1]), words):
        found = [n for n in names if n in candidates]
        if len(found) == 1:
            return found[0]
    bounded = [n for n in names if re.search(rf"(?<![0-9A-Za-z]){re.escape(n)}(?![0-9A-Za-z])", stem)]
    return bounded[0] if len(bounded) == 1 else None
