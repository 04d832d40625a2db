"""Whether a recording of few cameras needs its tracklets, and whether outlines tell its animals apart.

Where hardly any ray meets two of the other view, a frame decides for itself, and tracklets could only be wrong, above
all where two animals pass as one. Where they are needed, some pairs of them are beyond doubt, for one animal or
against, by their rays alone: these show, without a label, what outlines are worth here. Outlines of bodies tell; those
of heads say nothing of each other.
"""

import math

import numpy as np
from scipy.special import log_expit

from ....cameras.rig import CameraRig
from ....recordings.detections import Detections
from ..arguments import Array, Ints
from ..model import TrackingModel
from ..observations import Observations
from .pairing import Leads, looked_up

CROWDED, VERY_CROWDED = 0.3, 0.7  # share of rays that meet several of another view: of two views, and of more
SURE, SURELY_NOT = 4.0, -8.0  # mean lead of two tracklets that are one animal beyond doubt, and that are not
_ENOUGH = 5  # frames that two tracklets share
LEAST = 10.0  # log-likelihood by which outlines must tell sure pairs from false ones


def with_pairing(rig: CameraRig, detections: Detections, model: TrackingModel) -> TrackingModel:
    """Return the model with tracklets and outlines left out where they are of no use.

    Parameters
    ----------
    rig : the cameras.
    detections : a stretch of the recording.
    model : first one; its ``tracklets`` and ``shape`` say what may be used.
    """
    if not model.tracklets:
        return model.with_(shape=None)
    obs = Observations.of(rig, detections, model.with_(tracklets=False))
    leads = obs.leads(rig, detections)
    if not crowded(leads, obs.camera):
        return model.with_(tracklets=False, shape=None)
    told = looked_up(obs.pair_odds, leads.first, leads.second)
    return model if model.shape is not None and worth(leads, told) > LEAST else model.with_(shape=None)


def crowded(leads: Leads, camera: Ints) -> bool:
    """Whether rays of many detections meet several of another view; camera : (N,) of each detection.

    Where there is a third view, it decides most of these.
    """
    views = int(camera.max(initial=0)) + 1
    there = leads.first * views + camera[leads.second], leads.second * views + camera[leads.first]
    partners = np.concatenate([np.unique(key, return_counts=True)[1] for key in there])
    enough = CROWDED if len(np.unique(camera)) <= 2 else VERY_CROWDED
    return bool(len(partners)) and float((partners > 1).mean()) > enough


def worth(leads: Leads, odds: Array) -> float:
    """Log-likelihood by which ``odds`` (P,) of outlines tell pairs of tracklets that rays are sure of, above guessing.

    Sure pairs and sure false ones count as much in all, so that saying always the same is worth nothing.
    """
    count = np.bincount(leads.pair)
    many = count >= _ENOUGH
    lead, told = (np.bincount(leads.pair, x)[many] / count[many] for x in (leads.lead, odds))
    one, two = told[lead > SURE], told[lead < SURELY_NOT]
    if not len(one) or not len(two):
        return 0.0
    mean = float(log_expit(one).mean() + log_expit(-two).mean()) + 2.0 * math.log(2.0)
    return min(len(one), len(two)) * mean
