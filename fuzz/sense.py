"""What no camera could see, no tank could hold and no clock could count: said of whatever a reader let through."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from trackfish3d.cameras.rig import CameraRig
from trackfish3d.recordings import Detections, Tracks, Truth

IMAGES = 20.0  # a pixel so many image sizes away is nonsense
FARTHEST = 1e11
LONGEST = 2 * 10**9  # frames
MOST_FRAMES = 2.0**53


def of_numbers(name: str, values: ArrayLike, most: float, unknown: bool = False) -> Iterator[str]:
    """Numbers that are not finite (unless NaN may stand for unknown) or beyond `most`."""
    array = np.asarray(values, dtype=np.float64)
    bad = np.abs(array) > most
    if not unknown:
        bad |= ~np.isfinite(array)
    if bad.any():
        yield f"{name} {array[bad].flat[0]!r}"


def of_rig(rig: CameraRig) -> Iterator[str]:
    """Cameras of absurd lenses or places."""
    for camera in rig:
        yield from of_numbers("t", camera.t, FARTHEST)
        yield from of_numbers("focal length", camera.K, 1e7 * max(camera.size))
        yield from of_numbers("distortion", camera.distortion, 1e14)
        for face in camera.interfaces:
            yield from of_numbers("interface", face.point, FARTHEST)
            yield from of_numbers("index", [face.n_camera, face.n_animal], 5)
    if len(rig.units) > 40:
        yield "a unit of more than 40 letters"
    yield from of_numbers("packed camera", rig.packed, 1e300)


def of_frames(frame: ArrayLike) -> Iterator[str]:
    """Frame numbers that no film has."""
    frames = np.asarray(frame)
    yield from of_numbers("frame", frames, MOST_FRAMES)
    if frames.size and float(frames.max()) - float(frames.min()) > LONGEST:
        yield f"frames {frames.min()} to {frames.max()}"


def of_detections(found: Detections, rig: CameraRig) -> Iterator[str]:
    """Pixels and boxes far outside the image, scores that are no probabilities."""
    size = np.array([c.size for c in rig], dtype=np.float64)[found.camera]
    for name, values, side in (
        ("u", found.u, 0), ("x1", found.x1, 0), ("x2", found.x2, 0),
        ("v", found.v, 1), ("y1", found.y1, 1), ("y2", found.y2, 1),
    ):  # fmt: skip
        yield from of_numbers(f"{name} (image sizes)", values / size[:, side], IMAGES)
    yield from of_numbers("score", found.score, 1)
    for name in ("area", "angle", "major", "minor"):
        values = getattr(found, name)
        if values is not None:
            yield from of_numbers(name, values, 1e13)
    yield from of_frames(found.frame)


def of_points(found: Tracks | Truth) -> Iterator[str]:
    """Positions that no tank could hold."""
    yield from of_numbers("position", np.nan_to_num(found.position, nan=0.0), FARTHEST)  # NaN: not known
    yield from of_frames(found.frame)
    if isinstance(found, Truth):
        for name in ("u", "v", "x1", "y1", "x2", "y2", "head", "heading"):
            values = getattr(found, name)
            if values is not None:
                yield from of_numbers(name, values, FARTHEST, unknown=True)
    else:
        yield from of_numbers("covariance", found.covariance, FARTHEST**2, unknown=True)
        yield from of_numbers("confidence", found.confidence, 1, unknown=True)
        yield from of_numbers("error_px", found.error_px, FARTHEST, unknown=True)
        if (found.views < 0).any():
            yield "fewer than no views"
