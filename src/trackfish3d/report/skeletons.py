"""Bodies on the page: parts of every track in 3D and in every view, and which of them are joined by a line."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from ..cameras import CameraRig
from ..recordings import Poses, Tracks
from .frames import FrameAxis
from .packing import packed, quantised, smallest
from .residuals import project_tracks
from .space import Space

Array = NDArray[np.float64]
MOST_NUMBERS = 3_000_000  # on the page; of longer recordings fewer frames have bodies


def skeletons(poses: Poses, names: NDArray[np.int64], axis: FrameAxis, space: Space, rig: CameraRig) -> dict[str, Any]:
    """Return parts by track, then frame, as the tracks are: in 3D, and as every view should see them.

    Parameters
    ----------
    poses : of the tracks.
    names : (T,) of the tracks, ascending.
    axis : of the page.
    space : that is drawn.
    rig : the cameras.
    """
    rows = np.flatnonzero(np.isin(poses.track, names) & np.isin(poses.frame, axis.numbers))
    at, whose = axis.position(poses.frame[rows]), np.searchsorted(names, poses.track[rows])
    numbers = len(rows) * len(poses.skeleton) * (3 + 2 * len(rig)) / axis.stride
    step = axis.stride * max(1, int(np.ceil(numbers / MOST_NUMBERS)))
    order = np.lexsort((at, whose))
    order = order[at[order] % step == 0]
    some = rows[order]
    points = poses.position[some]
    pixels = project_tracks(rig, points.reshape(-1, 3)).reshape(len(some), len(poses.skeleton), len(rig), 2)
    size = np.array([c.size for c in rig], float).max(0)
    return {
        "names": [str(n) for n in names.tolist()],
        "parts": list(poses.skeleton.parts),
        "edges": drawn_edges(poses),
        "start": packed(np.searchsorted(whose[order], np.arange(len(names) + 1)), "u32"),
        "frame": smallest(at[order] // axis.stride),
        "observed": packed(poses.observed[some], "u8"),
        "xyz": quantised(points, *space.reach),
        "pixels": quantised(pixels.transpose(0, 2, 1, 3), -0.25 * size, 1.25 * size),
    }


def named_like(poses: Poses, before: Tracks, after: Tracks) -> Poses:
    """Return poses under the names of edited tracks: an edit gives a point another name and leaves it where it is.

    Parameters
    ----------
    poses : of the tracks before.
    before : as the tracker left them.
    after : as they are shown.
    """
    if after is before:
        return poses
    place = {
        (f, *p): t for f, p, t in zip(after.frame.tolist(), after.position.tolist(), after.track.tolist(), strict=True)
    }
    name = {
        (f, t): place[(f, *p)]
        for f, p, t in zip(before.frame.tolist(), before.position.tolist(), before.track.tolist(), strict=True)
        if (f, *p) in place
    }
    called = [name.get(key, -1) for key in zip(poses.frame.tolist(), poses.track.tolist(), strict=True)]
    renamed = replace(poses, track=np.array(called, np.int64)).select(np.array(called) >= 0)
    return renamed.select(np.lexsort((renamed.track, renamed.frame)))


def drawn_edges(poses: Poses) -> list[list[int]]:
    """Return pairs of parts to join by a line: the skeleton's, or those whose distance is shortest and varies least.

    Parameters
    ----------
    poses : of the animals.
    """
    skeleton = poses.skeleton
    if skeleton.edges or len(skeleton) < 2:
        return [list(edge) for edge in skeleton.edges]
    some = poses.position[:: max(1, len(poses) // 500)]
    cost = np.full((len(skeleton), len(skeleton)), 1e9)
    for a in range(len(skeleton)):
        for b in range(a + 1, len(skeleton)):
            far = np.linalg.norm(some[:, a] - some[:, b], axis=1)
            far = far[np.isfinite(far)]
            if len(far):
                cost[a, b] = float(np.median(far) + 2 * np.median(np.abs(far - np.median(far)))) + 1e-12
    tree = minimum_spanning_tree(np.where(cost < 1e9, cost, 0.0)).tocoo()
    return sorted([int(a), int(b)] for a, b in zip(tree.row, tree.col, strict=True))
