"""Bodies of a recording's own tracks: what is usual, what its boxes show, and its detections as bodies explain them."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ....cameras.rig import CameraRig
from ....core.compiled import kernel
from ..arguments import Array, Flags, Ints, Predicted, Readings, Rig
from ..cues import HARDLY, MOSTLY
from ..kernels import look
from ..model import TrackingModel
from ..observations import Observations
from ..refinement.trajectories import Trajectories
from .extent import follow_bodies
from .fitting import fit_shape
from .hiding import hide_rows
from .kind import LEAST, VISIBLE, WHOLE, visible_odds
from .shape import BodyShape
from .sides import seen_middle

PRIOR = 20.0  # detections' worth of the earlier chances that a count starts from
_MEMORIES = (0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 1.0)  # a frame, that are tried


class Staged(NamedTuple):
    """Rows of tracks (N,) as bodies in all views, with extents and hidden sides, and their visible share (N, C)."""

    rows: Predicted
    share: Array

    def taken(self, members: Ints) -> Flags:
        """Return the views (N, C) that see a row and hold a detection of it."""
        return np.asarray(self.rows.seen & (members >= 0))


def stage(rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel) -> Staged:
    """Return tracks as the bodies that their detections say they are, and what of each is seen past the others."""
    assert model.body is not None
    rows = _looked(rig, paths, model)
    found = _followed(obs, paths, rows, model.body, model.memory)
    return _hidden(rig, paths, rows._replace(half=found[0]), model)


def fit_bodies(
    rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel, detector: str
) -> TrackingModel:
    """Return the model with the usual body, its memory, and the kind of detector.

    detector : "auto", or what the user knows.
    """
    assert model.body is not None
    rows = _looked(rig, paths, model)
    use = rows.seen & (paths.members >= 0)
    body = fit_shape(paths.members, rows.J, use, clear_outlines(obs.box, obs.sides), model.body)
    found = [_followed(obs, paths, rows, body, memory) for memory in _MEMORIES]
    best = int(np.argmax([density for _, density in found]))
    odds, share = visible_odds(paths.members, use, found[best][0], obs.box, obs.sides, obs.noise)
    kind = detector
    if kind == "auto":
        # tracklets keep tracks right where boxes are cut a little; tracks of two animals feign that all are
        kind = VISIBLE if odds > (-LEAST if model.tracklets else LEAST) else WHOLE
    return model.with_(body=body, memory=_MEMORIES[best], detector=kind, cut=share)


def visible_rates(rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel) -> TrackingModel:
    """Return the model with chances to be detected of bodies that are mostly visible, and that hardly are."""
    staged = stage(rig, obs, paths, model)
    hit, seen = staged.taken(paths.members), staged.rows.seen
    clear, hidden = model.clear.copy(), model.hidden.copy()
    for rate, group in ((clear, staged.share > MOSTLY), (hidden, staged.share < HARDLY)):
        tries, hits = (seen & group).sum(0), (hit & group).sum(0)
        rate[:] = np.clip((hits + PRIOR * rate) / (tries + PRIOR), 0.02, 0.995)
    return model.with_(clear=clear, hidden=np.minimum(hidden, clear))


def _looked(rig: CameraRig, paths: Trajectories, model: TrackingModel) -> Predicted:
    n, views = paths.members.shape
    rows = Predicted(
        state=paths.state,
        cov=paths.cov,
        pixel=np.zeros((n, views, 2)),
        J=np.zeros((n, views, 2, 3)),
        seen=np.zeros((n, views), bool),
        found=np.zeros((n, views)),
        size=np.full((n, views), np.nan),
        axis=np.full((n, views), np.nan),
        last=np.zeros((n, views), np.int64),
        half=np.zeros((n, views, 4)),
        hidden=np.zeros((n, views, 4), bool),
    )
    look(_cameras(rig, model), rows)
    return rows


def _cameras(rig: CameraRig, model: TrackingModel) -> Rig:
    sizes, centres = np.array([c.size for c in rig], float), np.array([c.centre for c in rig])
    return Rig(rig.packed, sizes, 1e-4 * model.body_length, centres)


def _followed(
    obs: Observations, paths: Trajectories, rows: Predicted, body: BodyShape, memory: float
) -> tuple[Array, float]:
    return follow_bodies(paths.begin, paths.frame, paths.members, rows.J, rows.seen, obs.box, obs.sides, body, memory)


def _hidden(rig: CameraRig, paths: Trajectories, rows: Predicted, model: TrackingModel) -> Staged:
    share = np.ones(rows.seen.shape)
    hide_rows(_cameras(rig, model), rows, np.argsort(paths.frame, kind="stable"), paths.frame, share)
    return Staged(rows, share)


def clear_outlines(box: Array, sides: Flags) -> Array:
    """(N, 3) entries M00 and M11 of boxes as in `shape.outlines`, NaN along axes of which a side may be covered."""
    wide, high = 0.5 * (box[:, 2] - box[:, 0]), 0.5 * (box[:, 3] - box[:, 1])
    out = np.column_stack([wide**2, high**2, np.full(len(wide), np.nan)])
    for axis in range(2):
        out[sides[:, axis] | sides[:, 2 + axis], axis] = np.nan
    return out


def explained(rig: CameraRig, obs: Observations, paths: Trajectories, model: TrackingModel) -> Observations:
    """Return the observations with every detection of a track where the middle of that track's body is by its sides."""
    if not obs.cut or model.body is None:
        return obs
    staged = stage(rig, obs, paths, model)
    u, v, noise = obs.u.copy(), obs.v.copy(), obs.noise.copy()
    readings = Readings(0, np.zeros(0, np.int64), obs.u, obs.v, obs.noise, obs.log_size, obs.axis, obs.box, obs.chances)
    rows = staged.rows
    _explain(paths.members, staged.taken(paths.members), rows.half, rows.hidden, readings, u, v, noise)
    return replace(obs, u=u, v=v, noise=noise)


@kernel
def _explain(
    members: Ints, use: Flags, half: Array, hidden: Flags, readings: Readings, u: Array, v: Array, noise: Array
) -> None:
    """Fill u, v, noise (D,) of the detections in members (N, C)."""
    for i in range(members.shape[0]):
        for c in range(members.shape[1]):
            if use[i, c]:
                d = members[i, c]
                u[d], v[d], ru, rv = seen_middle(readings, d, half[i, c], hidden[i, c])
                noise[d] = (0.5 * (ru * ru + rv * rv)) ** 0.5
