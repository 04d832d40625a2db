"""Mended paths as the tracks that users get."""

import numpy as np

from ....recordings.tracks import Tracks
from ..fit.canonical import Canonical
from ..model import TrackingModel
from ..observations import Observations
from ..settings import JointSettings
from .confidence import link_confidence
from .lasting import lasting_errors
from .refine import Refined, linear
from .settling import settled


def to_tracks(
    world: Canonical, obs: Observations, refined: Refined, model: TrackingModel, settings: JointSettings
) -> Tracks:
    """Mended paths as tracks: settled positions with their errors, mean reprojection error, confidence of each link.

    Reprojection errors are seen of points, too, that noise has put a little above the water.
    """
    obs, paths = settled(world.rig, obs, refined.paths, model, settings)
    lines = linear(world.rig, paths, model)
    covariance, sigma_velocity = lasting_errors(obs, paths, lines, model.body_length)
    pixel, _, use = lines
    shown = obs.detections_of(paths.members)
    off = np.linalg.norm(pixel - world.detections.centroids[np.maximum(shown, 0)], axis=2)
    with np.errstate(invalid="ignore"):
        error = np.where(use, off, 0.0).sum(1) / use.sum(1)
    return Tracks.build(
        paths.frame + world.first,
        paths.name,
        paths.state[:, :3] + world.origin,
        covariance=covariance,
        sigma_velocity=sigma_velocity,
        detection=world.members(shown),
        error_px=error,
        observed=(paths.members >= 0).any(1),
        confidence=link_confidence(refined),
        cameras=world.names,
    )
