"""Where tracks of any making are doubtful, as if this tracker had made them."""

from dataclasses import replace

import numpy as np

from ....cameras.rig import CameraRig
from ....core.errors import InputError
from ....recordings.detections import Detections
from ....recordings.tracks import Tracks
from ...suspects import Suspect
from ..bodies.usual import explained
from ..fit.canonical import Canonical
from ..fit.initialise import initial_model
from ..observations import Observations
from ..settings import JointSettings
from .confidence import suspects
from .refine import judged, smoothed
from .trajectories import Trajectories


def suspects_of(
    rig: CameraRig, detections: Detections, tracks: Tracks, settings: JointSettings | None = None
) -> list[Suspect]:
    """Return moments at which identities of tracks may be wrong, the most doubtful first.

    Nothing of the tracks is changed: each link is judged by its whole past and future.

    Parameters
    ----------
    rig : the cameras.
    detections : from which the tracks were made.
    tracks : that name the detections of each point.
    settings : of the tracker.
    """
    if tuple(tracks.cameras) != rig.names or not (tracks.detection >= 0).any():
        raise InputError("these tracks do not name the detections they were made of, so nothing tells what is doubtful")
    s = JointSettings() if settings is None else settings
    world = Canonical.of(rig, detections)
    model = initial_model(world.rig, world.detections, s)
    obs = Observations.of(world.rig, world.detections, model)
    back = np.empty(len(world.row), np.int64)
    back[world.row] = np.arange(len(world.row))
    order = np.lexsort((tracks.frame, tracks.track))
    given = tracks.detection[order][:, world.camera]
    members = np.where(given >= 0, back[given], -1)
    n = len(order)
    state = np.zeros((n, 6))
    state[:, :3] = tracks.position[order] - world.origin
    cov = np.broadcast_to(np.eye(6) * model.body_length**2, (n, 6, 6)).copy()
    paths = Trajectories(tracks.track[order].copy(), tracks.frame[order] - world.first, members, state, cov)
    obs = explained(world.rig, obs, paths, model)
    paths = smoothed(world.rig, obs, paths, model, s)
    found = suspects(judged(world.rig, obs, paths, model, s, [], s.scene == "open"))
    return [replace(x, first=x.first + world.first, last=x.last + world.first) for x in found]
