"""What the pair network sees of a recording: a token for each detection, columns for each plausible pair."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ....cameras import CameraRig
from ....cameras.residuals import fans
from ....recordings import Detections
from ..cues import ROUND
from .kernels import Cameras, Marks, pair_table

Array = NDArray[np.float64]
F32 = NDArray[np.float32]
Ints = NDArray[np.int64]


class Token(IntEnum):
    """What is known of a detection. Vectors turn together with the world; three columns each."""

    DIRECTION = 0
    NEAR = 3  # the ray's point nearest the centre of the scene
    AXIS = 6
    DEPTH = 9
    SIZE = 10
    SCORE = 11
    MASK = 12
    SLENDER = 13
    HAS_AXIS = 14
    PIXELS = 15


VECTORS = int(Token.DEPTH)  # columns of vectors, which come first
TOKEN = len(Token) + 6
TOKENS_OF_MASKS = [*range(Token.AXIS, Token.DEPTH), Token.MASK, Token.SLENDER, Token.HAS_AXIS]


@dataclass(frozen=True, eq=False)
class PairFrames:
    """A recording for the pair network.

    offsets (F + 1,) of detections; tokens (N, TOKEN); camera (N,). starts (F + 1,) of pairs; first, second (P,)
    detections of a pair; columns (P, COLUMNS), see `kernels.pair_table`.
    """

    offsets: Ints
    camera: Ints
    tokens: F32
    starts: Ints
    first: Ints
    second: Ints
    columns: F32

    def __len__(self) -> int:
        return len(self.offsets) - 1


def pair_frames(rig: CameraRig, detections: Detections, noise: Array, body_length: float) -> PairFrames:
    """Tokens and plausible pairs of all frames.

    noise : (N,) standard deviation of each centroid, px; body_length : world units. Both come from the detections,
    so that nothing here depends on the rig's units, its place, or how its cameras are numbered.
    """
    n = len(detections)
    camera = detections.camera.astype(np.int64)
    ray, fan = np.full((6, n), np.nan), np.zeros((n, 21))
    for c in range(len(rig)):
        mine = np.flatnonzero(camera == c)
        part, spread = np.empty((6, len(mine))), np.empty((len(mine), 21))
        fans(rig.packed[c], np.ascontiguousarray(detections.centroids[mine]), part, spread)
        ray[:, mine], fan[mine] = part, spread
    angle, major, minor = np.full(n, np.nan), np.zeros(n), np.zeros(n)
    if detections.angle is not None and detections.major is not None and detections.minor is not None:
        major, minor = detections.major, detections.minor
        long = major > ROUND * minor
        angle[long] = detections.angle[long]
    sizes = np.array([c.size for c in rig], np.float64)
    offsets = np.asarray(detections.offsets, np.int64)
    marks = Marks(
        camera,
        np.array(detections.centroids, order="C"),
        np.array(detections.boxes, order="C"),
        np.array(noise),
        np.array(detections.score),
        angle,
        np.array(major),
        np.array(minor),
        ray,
        fan,
    )
    first, second, starts, columns, point = pair_table(Cameras(rig.packed, sizes), offsets, marks, body_length)
    tokens = _tokens(marks, *_place(point, body_length), body_length)
    return PairFrames(offsets, camera, tokens, starts, first, second, columns)


def _place(point: Array, body_length: float) -> tuple[Array, float]:
    """Centre and half width of where animals are, from where plausible pairs meet."""
    if not len(point):
        return np.zeros(3), body_length
    some = point[:: max(len(point) // 20000, 1)]
    centre: Array = some.mean(0)
    for _ in range(30):  # the geometric median: nearly parallel rays meet anywhere, and axes must not matter
        weight = 1.0 / np.maximum(np.linalg.norm(some - centre, axis=1), 1e-3 * body_length)
        centre = (weight[:, None] * some).sum(0) / weight.sum()
    return centre, max(float(np.median(np.linalg.norm(point - centre, axis=1))), body_length)


def _tokens(marks: Marks, centre: Array, scale: float, body_length: float) -> F32:
    """(N, TOKEN): the ray through its direction and its point nearest the scene's centre, which hold the camera's place
    in a form that no origin along the ray changes; how far that is, size there, score, and what the mask says.
    """
    angle, fan = marks.angle, marks.fan
    origin, direction = marks.ray[:3].T, marks.ray[3:].T
    depth = ((centre - origin) * direction).sum(1)
    turn = np.nan_to_num(angle)
    step = np.cos(turn)[:, None] * (fan[:, :3] + depth[:, None] * fan[:, 3:6])
    step += np.sin(turn)[:, None] * (fan[:, 6:9] + depth[:, None] * fan[:, 9:12])
    length = np.linalg.norm(step, axis=1)
    diagonal = np.hypot(marks.boxes[:, 2] - marks.boxes[:, 0], marks.boxes[:, 3] - marks.boxes[:, 1])
    has = (marks.major > 0).astype(float)
    out = np.empty((len(angle), TOKEN))
    out[:, Token.DIRECTION : Token.NEAR] = direction
    out[:, Token.NEAR : Token.AXIS] = np.clip((origin + depth[:, None] * direction - centre) / scale, -3, 3)
    out[:, Token.AXIS : Token.DEPTH] = np.where(
        np.isnan(angle)[:, None], 0.0, step / np.maximum(length, 1e-12)[:, None]
    )
    out[:, Token.DEPTH] = np.clip(np.log(np.maximum(depth, 1e-9) / scale), -3, 3)
    world = np.maximum(diagonal, 1.0) * np.maximum(length, 1e-12) / body_length
    out[:, Token.SIZE] = np.clip(np.log(world), -3, 3)
    out[:, Token.SCORE] = marks.score
    out[:, Token.MASK] = has
    out[:, Token.SLENDER] = np.log(np.maximum(marks.major, 0.3) / np.maximum(marks.minor, 0.3)) * has
    out[:, Token.HAS_AXIS] = np.isfinite(angle)
    out[:, Token.PIXELS] = np.clip(np.log(np.maximum(diagonal, 1.0)) - 4.0, -3, 3)
    found: F32 = np.nan_to_num(out).astype(np.float32)
    return found
