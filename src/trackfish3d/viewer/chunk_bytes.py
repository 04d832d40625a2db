"""Chunks as bytes: little-endian columns after four whole numbers, as the page reads them."""

import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..recordings import Detections, Poses, Tracks

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
MAGIC = 0x33444654  # "TFD3" in little-endian bytes


def packed_tracks(rig: CameraRig, tracks: Tracks, heading: Array) -> bytes:
    """Return tracks as columns.

    After `MAGIC`, points N, cameras C and 0 follow, each of N, track (float64), frame (int32), x, y, z, sigma,
    confidence (float32), views + 256 where observed (int32), heading x, y, z (float32, NaN where unknown), and for each
    camera u, v (float32) of the point seen through lens and water.

    Parameters
    ----------
    rig : the cameras.
    tracks : of one chunk.
    heading : (N, 3) unit vectors.
    """
    columns: list[NDArray[Any]] = [tracks.track.astype("<f8"), tracks.frame.astype("<i4")]
    columns += _floats(tracks.position.T, [sigma_of(tracks), tracks.confidence])
    columns.append((tracks.views.astype("<i4") + 256 * tracks.observed.astype("<i4")).astype("<i4"))
    columns += _floats(heading.T)
    for camera in rig:
        columns += _floats(_seen(camera, tracks.position).T)
    return _packed(len(tracks), len(rig), 0, columns)


def packed_detections(found: Detections, rows: Ints, owner: Array) -> bytes:
    """Return detections as columns.

    After `MAGIC`, rows N, 0 and parts K follow, each of N, owner (float64, NaN for none), frame, camera, row (int32),
    u, v, x1, y1, x2, y2, score, and u, v of each part (float32, NaN where it was not seen).

    Parameters
    ----------
    found : of one chunk.
    rows : (N,) under which tracks name them.
    owner : (N,) track that uses each, NaN for none.
    """
    columns: list[NDArray[Any]] = [owner.astype("<f8")]
    columns += [np.asarray(c).astype("<i4") for c in (found.frame, found.camera, rows)]
    columns += _floats([getattr(found, k) for k in ("u", "v", "x1", "y1", "x2", "y2", "score")])
    parts = 0 if found.parts is None else found.parts.shape[1]
    if found.parts is not None:
        columns += _floats(found.parts[:, :, :2].reshape(len(found), -1).T)
    return _packed(len(found), 0, parts, columns)


def packed_poses(rig: CameraRig, poses: Poses | None, name: Ints) -> bytes:
    """Return poses as columns.

    After `MAGIC`, bodies N, cameras C and parts K follow, each of N, track (float64), frame (int32); for each part x,
    y, z and whether it was seen (float32: 1, or 0 where the body tells where it is); and for each camera and part,
    u and v (float32).

    Parameters
    ----------
    rig : the cameras.
    poses : of one chunk; None for none.
    name : (N,) tracks to which the bodies belong by now.
    """
    if poses is None:
        return _packed(0, len(rig), 0, [])
    n, k = poses.position.shape[:2]
    columns: list[NDArray[Any]] = [name.astype("<f8"), poses.frame.astype("<i4")]
    four = np.concatenate([poses.position, poses.observed[..., None].astype(np.float64)], axis=2)
    columns += _floats(four.reshape(n, 4 * k).T)
    for camera in rig:
        columns += _floats(_seen(camera, poses.position.reshape(-1, 3)).reshape(n, 2 * k).T)
    return _packed(n, len(rig), k, columns)


def sigma_of(tracks: Tracks) -> Array:
    """Return the standard deviation (N,) of each point along an axis, the mean over the three, world units."""
    with np.errstate(invalid="ignore"):
        out: Array = np.sqrt(np.trace(tracks.covariance, axis1=1, axis2=2) / 3)
    return out


def _seen(camera: Any, points: Array) -> Array:
    """Pixels (N, 2) of points (N, 3), NaN where there are none."""
    pixels = np.full((len(points), 2), np.nan)
    known = np.isfinite(points).all(1)
    pixels[known] = camera.project(points[known])
    return pixels


def _floats(*groups: Iterable[Any]) -> list[NDArray[Any]]:
    return [np.asarray(c).astype("<f4") for group in groups for c in group]


def _packed(n: int, cameras: int, parts: int, columns: list[NDArray[Any]]) -> bytes:
    head = struct.pack("<IIII", MAGIC, n, cameras, parts)
    return head + b"".join(np.ascontiguousarray(c).tobytes() for c in columns)
