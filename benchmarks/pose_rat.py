"""Rat: one rat, four cameras, 15 parts of SLEAP; error in a left-out view, jitter and time, with aniposelib."""

import time
from pathlib import Path

import numpy as np

from pose_theirs import theirs
from trackfish3d.cameras import CameraRig, triangulate_rays
from trackfish3d.cameras.formats import read_calibration
from trackfish3d.poses import reconstruct_poses
from trackfish3d.recordings import Detections, Tracks
from trackfish3d.recordings.importers import read_detections

COPY = "side"  # its calibration is a copy of that of ``top``


def one_animal(found: Detections, rig: CameraRig) -> Tracks:
    """The track of an animal that is alone: whatever each view saw."""
    frames = np.unique(found.frame)
    rows = np.full((len(frames), len(rig)), -1)
    rows[np.searchsorted(frames, found.frame), found.camera] = np.arange(len(found))
    rays = [rig[int(c)].rays(found.centroids[[i]]) for i, c in enumerate(found.camera)]
    origin, direction = (np.concatenate([getattr(r, k) for r in rays]) for k in ("origin", "direction"))
    offsets = np.append(np.searchsorted(found.frame, frames), len(found))
    middle = triangulate_rays(origin, direction, offsets)[0]
    return Tracks.build(frames, np.zeros(len(frames), int), middle, detection=rows, cameras=rig.names)


def without(found: Detections, rig: CameraRig, left: int | None) -> tuple[Detections, CameraRig]:
    """All views but one."""
    kept = [c for c in range(len(rig)) if c != left]
    some = CameraRig(tuple(rig[c] for c in kept), rig.units)
    part = found.select(np.isin(found.camera, kept))
    camera = np.searchsorted(kept, part.camera)
    boxes = (part.x1, part.y1, part.x2, part.y2)
    more = {"parts": part.parts, "skeleton": part.skeleton}
    return Detections.build(some.names, part.frame, camera, part.u, part.v, *boxes, part.score, **more), some


def missed(found: Detections, rig: CameraRig, view: int, points: np.ndarray) -> np.ndarray:
    """Distance (F, K), px, of parts (F, K, 3) of all frames from where a view saw them; NaN where it did not."""
    mine = found.select(found.camera == view)
    seen = np.full((*points.shape[:2], 2), np.nan)
    seen[np.searchsorted(np.unique(found.frame), mine.frame)] = mine.parts[..., :2]
    return np.linalg.norm(seen - rig[view].project(points.reshape(-1, 3)).reshape(seen.shape), axis=-1)


def rat(folder: Path, python: str | None) -> dict[str, object]:
    """Left-out error (median px, where all methods have the part), jitter (world units) and CPU seconds.

    The calibration of ``side`` is that of ``top``, number for number: nobody knows where that camera stood. As the
    files are, it is one of the views that methods get; then it is left out, too, so that two views are left.
    ``in each view``: the error in each view of poses that were made with all of them, itself included.
    """
    rig = read_calibration(folder / "calibration.toml")
    found = read_detections({n: folder / f"{n}.analysis.h5" for n in rig.names}, rig)
    rows: dict[str, object] = {}
    good = [c for c, name in enumerate(rig.names) if name != COPY]
    for left, copy in [(None, False), *((c, False) for c in range(len(rig))), *((c, True) for c in good)]:
        some, cameras = without(found, rig, left)
        if copy:
            some, cameras = without(some, cameras, cameras.names.index(COPY))
        tracks = one_animal(some, cameras)
        reconstruct_poses(cameras, some, tracks)  # compiles
        start = time.process_time()
        poses = reconstruct_poses(cameras, some, tracks)
        seconds = time.process_time() - start
        made = {"ours": poses.position}
        took = {"ours": seconds}
        if python is not None:
            other = theirs(python, some, cameras)
            made |= {k: other[k] for k in ("ransac", "optimised")}
            took |= dict(zip(("ransac", "optimised"), other["seconds"].tolist(), strict=True))
        off = {k: missed(found, rig, 0 if left is None else left, p) for k, p in made.items()}
        shared = np.logical_and.reduce([np.isfinite(o) for o in off.values()])
        row: dict[str, object] = {}
        for name, points in made.items():
            jolt = np.linalg.norm(np.diff(points, 2, axis=0), axis=-1)
            row[name] = {"seconds": took[name], "jitter": float(np.nanmedian(jolt))}
            if left is not None:
                row[name]["left-out error"] = float(np.median(off[name][shared]))
                each = [np.median(o[s]) for o, s in zip(off[name].T, shared.T, strict=True) if s.any()]
                row[name]["mean of parts"] = float(np.exp(np.mean(np.log(each))))
        if left is None:
            errors = [float(np.nanmedian(missed(found, rig, c, poses.position))) for c in range(len(rig))]
            row["ours"]["in each view"] = dict(zip(rig.names, errors, strict=True))
        name = "all views" if left is None else f"without {rig.names[left]}" + (f" and {COPY}" if copy else "")
        rows[name] = row
    return rows
