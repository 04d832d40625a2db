"""Poses of one animal by aniposelib, in an environment of its own."""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trackfish3d.cameras import CameraRig
from trackfish3d.recordings import Detections

SCRIPT = Path(__file__).with_name("pose_aniposelib.py")


def theirs(
    python: str,
    found: Detections,
    rig: CameraRig,
    edges: Sequence[tuple[int, int]] | None = None,
    ransac: bool = True,
) -> dict[str, np.ndarray]:
    """Return what aniposelib makes of an animal: ``ransac``, ``optimised`` (F, K, 3), and their CPU ``seconds`` (2,).

    Parameters
    ----------
    python : of its environment.
    found : at most one detection of each view in each frame.
    rig : the cameras.
    edges : limbs whose lengths it holds; those of the skeleton without.
    ransac : whether that is wanted too; it fails where a part is in no view.
    """
    frames = np.unique(found.frame)
    shape = (len(rig), len(frames), len(found.skeleton))
    pixels, scores = np.full((*shape, 2), np.nan), np.zeros(shape)
    at = found.camera, np.searchsorted(frames, found.frame)
    pixels[at], scores[at] = found.parts[..., :2], np.nan_to_num(found.parts[..., 2])
    lens = [np.append(c.distortion, np.zeros(5))[:5] for c in rig]
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(
            source, camera_K=[c.K for c in rig], camera_dist=lens, camera_R=[c.R for c in rig],
            camera_t=[c.t for c in rig], size=[c.size for c in rig], pixels=pixels, scores=scores,
            edges=np.array(found.skeleton.edges if edges is None else edges), with_ransac=ransac,
        )  # fmt: skip
        clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        subprocess.run([python, "-W", "ignore", str(SCRIPT), str(source), str(target)], check=True, env=clean)
        return dict(np.load(target))
