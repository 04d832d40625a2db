"""A pose detector's eyes and failures: parts of simulated fish in every view.

Every number is a share of a fish's length in the image, or a chance. Errors last: they follow an animal for some
frames, as those of networks do.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..cameras import CameraRig
from ..recordings.centres import centres
from ..recordings.detections import Detections
from ..recordings.poses import Poses
from ..recordings.skeleton import Skeleton
from ..recordings.truth import Truth
from .body import BodyMesh, body_mesh
from .observe import pose_frame
from .school import School

FISH = Skeleton(
    ("snout", "left_eye", "right_eye", "centre", "tail_base", "tail_tip"),
    ((0, 1), (0, 2), (0, 3), (3, 4), (4, 5)),
    ((1, 2),),
)


@dataclass(frozen=True)
class Failures:
    """What goes wrong.

    Parameters
    ----------
    jitter : standard deviation of a part, of the fish's length in the image.
    lasting : correlation of an error with that of the frame before.
    missing : chance that a part is not given.
    hidden : the same for a fish of which nothing is visible; in between in proportion.
    swapped : chance that left and right are exchanged in an instance.
    foreign : chance that a part is that of the nearest neighbour in the image.
    gross : chance that a part is anywhere near the fish.
    exchanged : chance that two fish that pass each other in a view have each other's 2D track thereafter.
    renamed : chance that a fish that was not found for a while has a new 2D track thereafter.
    """

    jitter: float = 0.012
    lasting: float = 0.7
    missing: float = 0.05
    hidden: float = 0.7
    swapped: float = 0.05
    foreign: float = 0.02
    gross: float = 0.01
    exchanged: float = 0.1
    renamed: float = 0.5


def true_poses(school: School) -> Poses:
    """Return every part of every fish, as the bent spine and the head have them.

    Parameters
    ----------
    school : what the fish did.
    """
    mesh = body_mesh()
    template = np.array(
        [(0.0, 0, 0), (0.06, 0.03, 0.01), (0.06, -0.03, 0.01), (mesh.centre, 0, 0), (0.86, 0, 0), (0.98, 0, 0)], float
    )
    shape = BodyMesh(template, mesh.normals, mesh.triangles, mesh.fin, mesh.centre)
    frames, fish = school.position.shape[:2]
    points = np.stack([pose_frame(school, shape, t) for t in range(frames)])
    return Poses.build(
        np.repeat(np.arange(frames), fish),
        np.tile(np.arange(fish), frames),
        points.reshape(frames * fish, len(FISH), 3),
        FISH,
    )


def see_parts(
    detections: Detections, truth: Truth, poses: Poses, rig: CameraRig, seed: int, failures: Failures | None = None
) -> Detections:
    """Return the detections of a simulated school with parts as a pose detector would give them.

    Parameters
    ----------
    detections : of bodies, with their own failures; a merged one shows the animal that is seen best.
    truth : which detection shows whom.
    poses : true parts.
    rig : the cameras.
    seed : same seed, same parts.
    failures : what goes wrong.
    """
    f = failures or Failures()
    rng = np.random.default_rng([seed, 23])
    n, k = len(detections), len(FISH)
    owner = truth.identity_of_detections(n)
    fish, frames = int(truth.identity.max()) + 1, int(truth.frame.max()) + 1
    pixel = np.stack([c.project(poses.position.reshape(-1, 3)) for c in rig]).reshape(len(rig), frames, fish, k, 2)
    size = np.linalg.norm(pixel[..., 0, :] - pixel[..., 5, :], axis=-1)
    scale = np.nanmedian(size, axis=(1, 2))[:, None, None]
    noise = _lasting(rng, (len(rig), frames, fish, k, 2), f.lasting)
    seen = pixel + f.jitter * scale[..., None, None] * noise
    parts = np.full((n, k, 3), np.nan)
    known = np.flatnonzero(owner >= 0)
    c, t, i = detections.camera[known].astype(int), detections.frame[known], owner[known]
    visible = np.ones((frames, fish, len(rig))) if truth.visible is None else truth.visible.reshape(frames, fish, -1)
    found = seen[c, t, i].copy()
    near = _neighbours(pixel)[c, t, i]
    taken = rng.random((len(known), k)) < f.foreign * (near >= 0)[:, None]
    found[taken] = seen[c, t, np.maximum(near, 0)][taken]
    anywhere = rng.random((len(known), k)) < f.gross
    found[anywhere] += (0.3 * scale[c, 0, 0][:, None, None] * rng.standard_normal(found.shape))[anywhere]
    turned = rng.random(len(known)) < f.swapped
    found[turned] = found[turned][:, FISH.mirror]
    lost = f.missing + (f.hidden - f.missing) * (1 - np.nan_to_num(visible[t, i, c]))
    found[rng.random((len(known), k)) < lost[:, None]] = np.nan
    parts[known, :, :2] = found
    sizes = np.array([camera.size for camera in rig], float)[detections.camera]
    out = (parts[..., :2] < 0) | (parts[..., :2] >= sizes[:, None])
    parts[out.any(-1)] = np.nan
    parts[..., 2] = np.where(np.isfinite(parts[..., 0]), rng.beta(8, 2, (n, k)), np.nan)
    tracklet = _followed(np.random.default_rng([seed, 29]), detections, owner, pixel[..., 3, :], size, f)
    posed = replace(detections, parts=parts, skeleton=FISH, tracklet=tracklet)
    middle = centres(posed)
    some = np.isfinite(middle).all(1)
    return replace(posed, u=np.where(some, middle[:, 0], posed.u), v=np.where(some, middle[:, 1], posed.v))


def _followed(
    rng: np.random.Generator,
    detections: Detections,
    owner: np.ndarray,
    middle: np.ndarray,
    size: np.ndarray,
    failures: Failures,
) -> np.ndarray:
    """Numbers (N,) of the 2D tracks that a tool makes of detections of owners (N,), in each camera alone.

    middle : (C, T, fish, 2) px. size : (C, T, fish) px.
    """
    out = np.full(len(detections), -1, np.int64)
    for c, (at, long) in enumerate(zip(middle, size, strict=True)):
        fish = at.shape[1]
        name, fresh = np.arange(fish), fish
        found_last, near = np.full(fish, -1), np.zeros((fish, fish), bool)
        for t in range(len(at)):
            rows = np.flatnonzero((detections.camera == c) & (detections.frame == t) & (owner >= 0))
            touch = np.linalg.norm(at[t, :, None] - at[t, None], axis=-1) < 0.5 * np.nanmedian(long[t])
            for i, j in zip(*np.nonzero(np.triu(near & ~touch, 1)), strict=True):
                if rng.random() < failures.exchanged:
                    name[i], name[j] = name[j], name[i]
            near = touch
            for i in owner[rows]:
                if found_last[i] < t - 3 and t > 3 and rng.random() < failures.renamed:
                    name[i], fresh = fresh, fresh + 1
                found_last[i] = t
            out[rows] = name[owner[rows]]
    return out


def _lasting(rng: np.random.Generator, shape: tuple[int, ...], share: float) -> np.ndarray:
    """Noise of variance one (C, T, ...) that is like that of the frame before."""
    white = rng.standard_normal(shape)
    for t in range(1, shape[1]):
        white[:, t] = share * white[:, t - 1] + np.sqrt(1 - share**2) * white[:, t]
    return white


def _neighbours(pixel: np.ndarray) -> np.ndarray:
    """Nearest other fish (C, T, N) in each image, -1 where there is none."""
    centre = pixel[..., 3, :]
    far = np.linalg.norm(centre[..., :, None, :] - centre[..., None, :, :], axis=-1)
    fish = far.shape[-1]
    far[..., np.arange(fish), np.arange(fish)] = np.inf
    far = np.where(np.isfinite(far), far, np.inf)
    near = far.argmin(-1)
    return np.where(np.isfinite(far.min(-1)), near, -1)
