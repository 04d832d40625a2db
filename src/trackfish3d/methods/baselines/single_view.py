"""Single-view trackers lifted to 3D: ByteTrack, OC-SORT and SORT of roboflow's ``trackers``.

As the paper does with SambaMOTR and MOTIP: each view is tracked alone, views are matched once by the Hungarian
baseline, in the first frame in which that can be done, and that mapping of 2D to 3D identities is kept to the end. A
2D track that is lost or swapped is never mended, which is what this family shows.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...cameras.rig import CameraRig
from ...core.errors import MissingExtraError
from ...core.progress import Progress
from ...recordings.detections import Detections
from ...recordings.tracks import Tracks
from ..base import Method, MethodSettings
from ..groups import groups_to_tracks, triangulated
from ..matching import Ints
from ..result import Result
from .geometric import GeometricSettings, Hungarian, resolve_error


class SingleViewSettings(MethodSettings):
    """Settings of the one matching of views."""

    max_error_px: float | None = Field(default=None, gt=0, description="as of method hungarian, in the matched frame")
    contain: bool = Field(default=False, description="as of method hungarian, in the matched frame")


class TrackersSettings(SingleViewSettings):
    """Settings of a 2D tracker of the package ``trackers``."""

    lost_track_buffer: int = Field(default=30, ge=0, description="frames, at 30 a second, a 2D track may go unseen")
    minimum_consecutive_frames: int = Field(default=1, ge=1, description="detections in a row that make a 2D track")
    minimum_iou_threshold: float = Field(default=0.1, ge=0, le=1, description="overlap that a 2D link needs")


class SingleView(Method):
    """Track each view alone, match views once, triangulate."""

    Settings: ClassVar[type[Any]] = SingleViewSettings

    @abstractmethod
    def track_views(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Ints:
        """2D identity (N,) of each detection within its camera, -1 for none."""

    def resolve(self, rig: CameraRig, detections: Detections) -> "SingleView":
        """Close the pixel gate of the matched frame."""
        geometric = GeometricSettings(max_error_px=self.settings.max_error_px, contain=self.settings.contain)
        return type(self)(self.settings.model_copy(update=resolve_error(geometric, rig, detections)))

    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Result:
        """Track each view, match once, triangulate."""
        identity = self.track_views(rig, detections, fps, progress)
        label = np.full(len(detections), -1, np.int64)
        mapping = self.match_views(rig, detections, identity)
        for (camera, one), number in mapping.items():
            label[(detections.camera == camera) & (identity == one)] = number
        return Result(lift(rig, detections, label))

    def match_views(self, rig: CameraRig, detections: Detections, identity: Ints) -> dict[tuple[int, int], int]:
        """3D identity of each (camera, 2D identity), from the first frame in which views can be matched."""
        s = self.settings
        hungarian = Hungarian(
            GeometricSettings(max_error_px=s.max_error_px, contain=s.contain, body_length=1.0, gate=1.0)
        )
        tracked = np.flatnonzero(identity >= 0)
        known = detections.select(tracked)
        for k in range(len(known.frames)):
            if len(np.unique(known.camera[known.at(k)])) < 2:
                continue
            groups = hungarian.associate(rig, known, lambda done, total: None, np.array([k]))
            if len(groups):
                number = np.repeat(np.arange(len(groups)), np.diff(groups.offsets))
                rows = tracked[groups.members]
                keys = zip(detections.camera[rows].tolist(), identity[rows].tolist(), strict=True)
                return dict(zip(keys, number.tolist(), strict=True))
        return {}


class TrackersPackage(SingleView):
    """A 2D tracker of the package ``trackers`` in each view."""

    Settings: ClassVar[type[Any]] = TrackersSettings

    @abstractmethod
    def make_tracker(self, module: Any, fps: float) -> Any:
        """Return a new 2D tracker of the package ``trackers``."""

    def track_views(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Ints:
        """2D identity (N,) of each detection within its camera, -1 for none."""
        try:
            import supervision
            import trackers
        except ImportError:
            raise MissingExtraError("trackers", "trackers", "a single-view tracker") from None
        identity = np.full(len(detections), -1, np.int64)
        frames = np.arange(detections.frames[0], detections.frames[-1] + 1)
        for c in range(len(rig)):
            tracker = self.make_tracker(trackers, fps)
            mine = np.flatnonzero(detections.camera == c)
            begin = np.searchsorted(detections.frame[mine], frames)
            end = np.searchsorted(detections.frame[mine], frames, side="right")
            for k in range(len(frames)):
                rows = mine[begin[k] : end[k]]
                seen = tracker.update(
                    supervision.Detections(
                        xyxy=detections.boxes[rows].astype(np.float32),
                        confidence=detections.score[rows].astype(np.float32),
                        class_id=np.zeros(len(rows), int),
                        data={"row": rows},
                    )
                )
                if len(seen) and seen.tracker_id is not None:
                    identity[seen.data["row"]] = seen.tracker_id
                progress(c * len(frames) + k + 1, len(rig) * len(frames))
        return identity


class ByteTrack(TrackersPackage):
    """ByteTrack (Zhang et al. 2022) in each view."""

    name: ClassVar[str] = "bytetrack"

    def make_tracker(self, module: Any, fps: float) -> Any:
        """Return a new ByteTrack."""
        s = self.settings
        return module.ByteTrackTracker(
            lost_track_buffer=s.lost_track_buffer,
            frame_rate=fps,
            track_activation_threshold=0.25,
            minimum_consecutive_frames=s.minimum_consecutive_frames,
            minimum_iou_threshold=s.minimum_iou_threshold,
        )


class OCSort(TrackersPackage):
    """OC-SORT (Cao et al. 2023) in each view."""

    name: ClassVar[str] = "ocsort"

    def make_tracker(self, module: Any, fps: float) -> Any:
        """Return a new OC-SORT."""
        s = self.settings
        return module.OCSORTTracker(
            lost_track_buffer=s.lost_track_buffer,
            frame_rate=fps,
            high_conf_det_threshold=0.25,
            minimum_consecutive_frames=s.minimum_consecutive_frames,
            minimum_iou_threshold=s.minimum_iou_threshold,
        )


class Sort2D(TrackersPackage):
    """SORT (Bewley et al. 2016) in each view."""

    name: ClassVar[str] = "sort2d"

    def make_tracker(self, module: Any, fps: float) -> Any:
        """Return a new SORT."""
        s = self.settings
        return module.SORTTracker(
            lost_track_buffer=s.lost_track_buffer,
            frame_rate=fps,
            track_activation_threshold=0.25,
            minimum_consecutive_frames=s.minimum_consecutive_frames,
            minimum_iou_threshold=s.minimum_iou_threshold,
        )


def lift(rig: CameraRig, detections: Detections, label: Ints) -> Tracks:
    """Triangulate detections that share a 3D identity ``label`` (N,) in a frame; -1 is nobody's.

    A label twice in one camera and frame keeps the detection of highest score. No box test: the tracker has decided.
    """
    rows = np.flatnonzero(label >= 0)
    order = np.lexsort((-detections.score[rows], detections.camera[rows], label[rows], detections.frame[rows]))
    rows = rows[order]
    key = np.column_stack([detections.frame[rows], label[rows]])
    double = np.zeros(len(rows), bool)
    double[1:] = (key[1:] == key[:-1]).all(1) & (np.diff(detections.camera[rows]) == 0)
    rows, key = rows[~double], key[~double]
    point, owner, count = np.unique(key, axis=0, return_inverse=True, return_counts=True)
    owner = owner.ravel()
    enough = count >= 2
    kept = enough[owner]
    groups = triangulated(
        rig, point[enough, 0], rows[kept], count[enough].astype(np.int64), detections.camera, detections.centroids
    )
    # Triangulation may drop points: ask the members whose group it is.
    return groups_to_tracks(rig, detections, groups, label[groups.members[groups.offsets[:-1]]])
