"""Headings, sizes and visible shares of tracked animals, put into their tracks."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..recordings import Detections, Tracks
from .axes import fit_axes
from .silhouettes import Silhouettes

Array = NDArray[np.float64]
_SIDEWAYS = 0.5  # sine of the angle between view and body above which a view tells its length
_LASTING = 10.0  # frames for which the error of a mask lasts
_LEAST = 5  # views that tell a size


@dataclass(frozen=True)
class Sizes:
    """Length and thickness of each track, with standard deviations, world units; NaN where too few masks tell.

    ``track`` (T,) ascending numbers; ``length``, ``length_sigma``, ``thickness``, ``thickness_sigma`` (T,).
    """

    track: NDArray[np.int64]
    length: Array
    length_sigma: Array
    thickness: Array
    thickness_sigma: Array


def with_bodies(rig: CameraRig, detections: Detections, tracks: Tracks) -> Tracks:
    """Return tracks with headings; and, where detections have masks, with sizes and how much of each body is seen.

    Parameters
    ----------
    rig : the cameras.
    detections : that the tracks name.
    tracks : of these detections.
    """
    if not len(tracks):
        return tracks
    known = detections.angle is not None and bool((tracks.detection >= 0).any())
    masks = Silhouettes.of(rig, detections, tracks) if known else None
    axes = fit_axes(tracks, masks)
    new = replace(tracks, heading=axes.heading, heading_sigma=axes.sigma)
    if masks is None:
        return new
    sizes = measure_sizes(tracks, masks, axes.heading)
    at = np.searchsorted(sizes.track, tracks.track)
    return replace(
        new,
        length=sizes.length[at],
        length_sigma=sizes.length_sigma[at],
        thickness=sizes.thickness[at],
        thickness_sigma=sizes.thickness_sigma[at],
        visible=_visible(tracks, masks, axes.heading, sizes.length[at], sizes.thickness[at]),
    )


def measure_sizes(tracks: Tracks, masks: Silhouettes, heading: Array) -> Sizes:
    """Length and thickness of every animal: medians over the views that see it from the side.

    A mask is taken for the ellipse with its moments; its long axis is shorter than the body by the sine of the angle
    between view and body.

    Parameters
    ----------
    tracks : the animals.
    masks : what their masks say.
    heading : (N, 3) of each row of the tracks.
    """
    number = tracks.identities
    sine = _sine(masks, heading)
    use = sine > _SIDEWAYS
    whose = np.searchsorted(number, tracks.track[masks.row])
    columns = []
    for value in (masks.long / np.maximum(sine, _SIDEWAYS), masks.wide):
        middle, sigma = np.full(len(number), np.nan), np.full(len(number), np.nan)
        for k in range(len(number)):
            mine = value[use & (whose == k)]
            if len(mine) >= _LEAST:
                middle[k] = np.median(mine)
                spread = 1.4826 * np.median(np.abs(mine - middle[k]))
                sigma[k] = 1.2533 * spread / np.sqrt(max(len(mine) / _LASTING, 1.0))  # of a median
        columns += [middle, sigma]
    return Sizes(number, *columns)


def _sine(masks: Silhouettes, heading: Array) -> Array:
    """(M,) sine of the angle between body and view; 0 where the heading is not known."""
    cosine = (masks.view * heading[masks.row]).sum(1)
    return np.asarray(np.nan_to_num(np.sqrt(np.maximum(1 - cosine**2, 0.0))))


def _visible(tracks: Tracks, masks: Silhouettes, heading: Array, length: Array, thickness: Array) -> Array:
    """(N, C) share of the body that each mask shows, at most 1; NaN where there is none."""
    sine = _sine(masks, heading)
    long = np.hypot(length[masks.row] * sine, thickness[masks.row] * np.sqrt(1 - sine**2))
    whole = np.pi / 4 * long * thickness[masks.row]
    out = np.full(tracks.detection.shape, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        out[masks.row, masks.camera] = np.minimum(masks.area / whole, 1.0)
    return out
