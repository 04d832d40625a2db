"""OpenPTV's correspondences (``optv``) with trackpy's or laptrack's linking: peers from particle tracking.

OpenPTV matches points of up to four views by cliques of epipolar neighbours, through air, glass and water. Here it
gets the same detections as every other method, and its groups are triangulated as all are.
"""

import importlib
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...cameras.rig import CameraRig
from ...core.errors import InputError, MissingExtraError
from ...core.progress import Progress
from ...recordings.detections import Detections
from ..groups import Groups, groups_to_tracks, triangulated
from ..matching import Array, Flags, Ints
from ..result import Result
from .geometric import GeometricMethod, GeometricSettings
from .openptv_rig import convert_rig

EXTRA = "peers"


class OpenPTVSettings(GeometricSettings):
    """Settings of OpenPTV's correspondences and of the linker."""

    band_px: float = Field(default=10.0, gt=0, description="half-width of the epipolar band, px")
    linker: Literal["trackpy", "laptrack"] = Field(default="trackpy", description="package that links points")


class OpenPTV(GeometricMethod):
    """OpenPTV correspondences in every frame, linked by a particle tracker."""

    name: ClassVar[str] = "openptv"
    Settings = OpenPTVSettings
    max_cameras = 4

    def match(self, cost: Array, camera: Ints) -> Flags:
        """Match nothing by cost: the correspondences are OpenPTV's."""
        return np.zeros(cost.shape, bool)

    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Result:
        """Find correspondences frame by frame, triangulate, link."""
        _import("optv", "method openptv")
        span = self.volume(rig, detections)
        converted = convert_rig(rig, span, self.settings.band_px)
        frame: list[int] = []
        members: list[Ints] = []
        for k in range(len(detections.frames)):
            rows = detections.at(k)
            for group in converted.correspond(detections.centroids[rows], detections.camera[rows].astype(np.int64)):
                frame.append(int(detections.frames[k]))
                members.append(group + rows.start)
            progress(k + 1, len(detections.frames))
        groups = triangulated(
            rig,
            np.array(frame, np.int64),
            np.concatenate(members) if members else np.zeros(0, np.int64),
            np.array([len(m) for m in members], np.int64),
            detections.camera,
            detections.centroids,
            detections.boxes if self.settings.contain else None,
        )
        return Result(groups_to_tracks(rig, detections, groups, self.link(groups)))

    def volume(self, rig: CameraRig, detections: Detections) -> Array:
        """(2, 3) lower and upper corner of where animals are, from Hungarian groups, with a margin."""
        middle = np.unique(np.linspace(0, len(detections.frames) - 1, 100).astype(np.int64))
        found = self.first_groups(rig, detections, middle)
        if not len(found):
            raise InputError("method openptv: no two views agree anywhere, so there is no volume to search")
        low, high = np.percentile(found.position, [1, 99], axis=0)
        margin = 0.2 * (high - low) + 2.0 * float(self.settings.body_length or 0)
        return np.stack([low - margin, high + margin])

    def link(self, groups: Groups) -> Ints:
        """Track (G,) of each group."""
        if not len(groups):
            return np.zeros(0, np.int64)
        if self.settings.linker == "laptrack":
            return _link_laptrack(groups, self.settings.gate, self.settings.max_age)
        return _link_trackpy(groups, self.settings.gate, self.settings.max_age)


def _import(name: str, purpose: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtraError(name, EXTRA, purpose) from None


def _link_trackpy(groups: Groups, gate: float, max_age: int) -> Ints:
    """Link by Crocker and Grier's algorithm. Subnetworks too large for it are searched with a smaller gate."""
    trackpy = _import("trackpy", "linking with trackpy")
    trackpy.quiet()
    frames, start = np.unique(groups.frame, return_index=True)
    points = dict(zip(frames.tolist(), np.split(groups.position, start[1:]), strict=True))
    every = [points.get(int(f), np.zeros((0, 3))) for f in range(int(frames[0]), int(frames[-1]) + 1)]
    linked = trackpy.link_iter(every, search_range=gate, memory=max_age, adaptive_stop=0.05 * gate, adaptive_step=0.9)
    return np.concatenate([np.asarray(ids, np.int64) for _, ids in linked])


def _link_laptrack(groups: Groups, gate: float, max_age: int) -> Ints:
    """Link by linear assignment with gap closing (Jaqaman et al. 2008); no splits, no merges."""
    laptrack = _import("laptrack", "linking with laptrack")
    pandas = _import("pandas", "linking with laptrack")
    table = pandas.DataFrame(groups.position, columns=["x", "y", "z"])
    table["frame"] = groups.frame - groups.frame[0]
    table["row"] = np.arange(len(groups))
    tracker = laptrack.LapTrack(
        metric="sqeuclidean",
        cutoff=gate**2,
        gap_closing_cutoff=gate**2,
        gap_closing_max_frame_count=max_age,
        splitting_cutoff=False,
        merging_cutoff=False,
    )
    linked, _, _ = tracker.predict_dataframe(table, coordinate_cols=["x", "y", "z"], only_coordinate_cols=False)
    out = np.full(len(groups), -1, np.int64)
    out[linked["row"].to_numpy()] = linked["track_id"].to_numpy()
    return out
