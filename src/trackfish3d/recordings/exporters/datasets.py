"""Recordings as datasets of other trackers: MOTChallenge, a sequence a camera, and WILDTRACK, all cameras together.

What the originals of the paper's rivals read. Their tracks come back by method ``external``.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError
from ...core.files import atomic_path
from ..recording import Recording
from ..truth import Truth

Boxes = NDArray[np.float64]
_VIEW = ("viewNum", "xmin", "ymin", "xmax", "ymax")


def export_dataset(recording: Recording, folder: str | Path, format: str) -> list[str]:
    """Write detections, truth where there is one, calibration and films; returns notes, a line each.

    Parameters
    ----------
    recording : with detections; films are copied where it has them.
    folder : a new one, or one that is empty.
    format : one of `DATASETS`.
    """
    out = Path(folder)
    if format not in DATASETS:
        raise InputError(f"unknown dataset '{format}'; known are {', '.join(DATASETS)}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out}: is there already; give a new folder to --out")
    out.mkdir(parents=True, exist_ok=True)
    notes = DATASETS[format](recording, out)
    if recording.truth is None:
        notes.append(f"{recording.folder}: has no truth; the dataset has detections only")
    return notes


def _motchallenge(recording: Recording, out: Path) -> list[str]:
    """Write <camera>/det/det.txt, gt/gt.txt, seqinfo.ini and the film; frames count from 1."""
    det, truth = recording.detections, recording.truth
    first, count = recording.info.first_frame, recording.info.frame_count
    notes = []
    for c, camera in enumerate(recording.rig):
        folder = out / camera.name
        mine = np.flatnonzero(det.camera == c)
        _rows(
            folder / "det" / "det.txt",
            det.frame[mine] - first + 1,
            np.full(len(mine), -1),
            det.boxes[mine],
            det.score[mine],
        )
        if truth is not None and (found := _true_boxes(truth, c)) is not None:
            seen, boxes = found
            _rows(
                folder / "gt" / "gt.txt",
                truth.frame[seen] - first + 1,
                truth.identity[seen] + 1,
                boxes,
                np.ones(len(seen)),
                tail=",1,1",
            )
        film = _film(recording, camera.name, folder)
        if film is None:
            notes.append(f"camera {camera.name}: has no film")
        width, height = camera.size
        _text(
            folder / "seqinfo.ini",
            f"[Sequence]\nname={camera.name}\nimDir=img1\nframeRate={recording.fps:g}\nseqLength={count}\n"
            f"imWidth={width}\nimHeight={height}\nimExt=.jpg\nfilm={film or ''}\n",
        )
    return notes


def _wildtrack(recording: Recording, out: Path) -> list[str]:
    """Write annotations_positions/<frame>.json with boxes of all views, calibrations as XML, and the films."""
    truth, rig = recording.truth, recording.rig
    notes = [] if rig.cameras and not rig.refractive else ["WILDTRACK knows no water: calibrations are without it"]
    boxes = [] if truth is None else [_true_boxes(truth, c) for c in range(len(rig))]
    if truth is not None and all(b is not None for b in boxes):
        views = np.full((len(truth.frame), len(rig), 4), -1.0)
        for c, found in enumerate(boxes):
            assert found is not None
            views[found[0], c] = found[1]
        for frame in np.unique(truth.frame).tolist():
            people = []
            for row in np.flatnonzero(truth.frame == frame).tolist():
                corners = np.rint(views[row]).astype(int).tolist()
                seen = [dict(zip(_VIEW, (c, *corners[c]), strict=True)) for c in range(len(rig))]
                place = [float(v) for v in truth.position[row]]
                people.append({"personID": int(truth.identity[row]), "position": place, "views": seen})
            _text(out / "annotations_positions" / f"{frame:08d}.json", json.dumps(people) + "\n")
    for c, camera in enumerate(rig):
        name = f"CVLab{c + 1}"
        _text(
            out / "calibrations" / "intrinsic_zero" / f"intr_{name}.xml",
            _storage(camera_matrix=camera.K, distortion_coefficients=camera.distortion.reshape(-1, 1)),
        )
        rotation = _axis_angle(camera.R)
        _text(
            out / "calibrations" / "extrinsic" / f"extr_{name}.xml",
            _storage(rvec=rotation.reshape(-1, 1), tvec=camera.t.reshape(-1, 1)),
        )
        if _film(recording, camera.name, out / "films", f"C{c + 1}") is None:
            notes.append(f"camera {camera.name}: has no film")
    return notes


DATASETS: dict[str, Callable[[Recording, Path], list[str]]] = {"motchallenge": _motchallenge, "wildtrack": _wildtrack}


def _true_boxes(truth: Truth, camera: int) -> tuple[NDArray[np.int64], Boxes] | None:
    """Rows of the truth that a camera sees, and their boxes (M, 4); None where the truth has no boxes."""
    if truth.x1 is None or truth.y1 is None or truth.x2 is None or truth.y2 is None:
        return None
    boxes = np.stack([truth.x1[:, camera], truth.y1[:, camera], truth.x2[:, camera], truth.y2[:, camera]], 1)
    seen = np.flatnonzero(np.isfinite(boxes).all(1))
    return seen, boxes[seen]


def _rows(
    path: Path,
    frame: NDArray[np.int64],
    identity: NDArray[np.integer],
    boxes: Boxes,
    score: Boxes,
    tail: str = ",-1,-1,-1",
) -> None:
    size = boxes[:, 2:] - boxes[:, :2]
    lines = [
        f"{f},{i},{b[0]:.2f},{b[1]:.2f},{s[0]:.2f},{s[1]:.2f},{c:.4f}{tail}\n"
        for f, i, b, s, c in zip(frame.tolist(), identity.tolist(), boxes, size, score.tolist(), strict=True)
    ]
    _text(path, "".join(lines))


def _film(recording: Recording, camera: str, folder: Path, name: str | None = None) -> str | None:
    """Copy the film of a camera; its new name, None where there is none."""
    found = [p for p in sorted((recording.folder / "videos").glob("*")) if p.stem == camera and p.is_file()]
    if not found or found[0].is_symlink():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{name or 'film'}{found[0].suffix}"
    with atomic_path(target) as temporary:
        shutil.copyfile(found[0], temporary)
    return target.name


def _text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _axis_angle(rotation: Boxes) -> Boxes:
    """Rotation vector (3,) of a matrix."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(rotation).as_rotvec())


def _storage(**matrices: Boxes) -> str:
    """Matrices as OpenCV's FileStorage writes them."""
    parts = ['<?xml version="1.0"?>\n<opencv_storage>\n']
    for name, m in matrices.items():
        data = " ".join(f"{v:.17g}" for v in np.asarray(m, float).ravel())
        parts.append(
            f'<{name} type_id="opencv-matrix"><rows>{m.shape[0]}</rows><cols>{m.shape[1]}</cols><dt>d</dt>\n'
            f"<data>{data}</data></{name}>\n"
        )
    return "".join([*parts, "</opencv_storage>\n"])
