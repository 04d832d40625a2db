"""Mended paths as the tracks that users get."""

import numpy as np
from numpy.typing import NDArray

from ....recordings.tracks import Tracks
from ..fit.canonical import Canonical
from .confidence import link_confidence
from .refine import Lines, Refined

Array = NDArray[np.float64]


def to_tracks(world: Canonical, refined: Refined, lines: Lines, covariance: Array, sigma_velocity: Array) -> Tracks:
    """Mended paths as tracks, with their errors, mean reprojection error and the confidence of each link.

    lines : `linearised` of the paths. It sees points that noise has put a little above the water, too.
    covariance (N, 3, 3), sigma_velocity (N,) : of `lasting_errors`.
    """
    detections, paths = world.detections, refined.paths
    pixel, _, use = lines
    off = np.linalg.norm(pixel - detections.centroids[np.maximum(paths.members, 0)], axis=2)
    with np.errstate(invalid="ignore"):
        error = np.where(use, off, 0.0).sum(1) / use.sum(1)
    return Tracks.build(
        paths.frame + world.first,
        paths.name,
        paths.state[:, :3] + world.origin,
        covariance=covariance,
        sigma_velocity=sigma_velocity,
        detection=world.members(paths.members),
        error_px=error,
        observed=(paths.members >= 0).any(1),
        confidence=link_confidence(refined),
        cameras=world.names,
    )
