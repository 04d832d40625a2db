"""Detections as the joint tracker's kernels take them: all frames, and one."""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...cameras.rig import CameraRig
from ...recordings.detections import Detections
from .arguments import NO_BOXES, NO_ODDS, Columns, Lines, PairOdds, Readings, Rig
from .bodies.kind import VISIBLE, WHOLE
from .bodies.shape import outlines
from .bodies.sides import may_be_covered
from .bodies.silhouettes import silhouette_odds
from .cues import ROUND
from .model import TrackingModel
from .tracklets.pairing import Leads, tracklet_leads, tracklet_odds

Array = NDArray[np.float64]
NO_SIDES = np.zeros((0, 4), bool)
FLOOR_PX = 0.5  # no detector is better than this


@dataclass(frozen=True, eq=False)
class Observations:
    """Detections as the kernels want them, all frames: (N,) columns, rays (N, 3), outlines (N, 3), and odds of pairs.

    ``box``, ``sides`` (N, 4) : boxes, and which of their sides may be covered (`bodies.sides`); ``cut``: share of these
    that are, 0 where boxes do not end where another animal begins. ``first`` : number of the first row, where these are
    the last of many that came one frame at a time. ``tracklet`` (N,) : numbers of the tool's own 2D tracks, -1 for
    none; (0,) where it gives none. ``shown`` (N,) : detection that each row is, where rows were added for animals that
    share one (`bodies.sharing`); (0,) where none were.
    """

    camera: NDArray[np.int64]
    u: Array
    v: Array
    noise: Array
    log_size: Array
    axis: Array
    origin: Array
    direction: Array
    outline: Array
    box: Array = field(default_factory=lambda: NO_BOXES)
    sides: NDArray[np.bool_] = field(default_factory=lambda: NO_SIDES)
    cut: float = 0.0
    pair_odds: PairOdds = NO_ODDS
    first: int = 0
    tracklet: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    shown: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def of(cls, rig: CameraRig, detections: Detections, model: TrackingModel) -> "Observations":
        """Prepare detections: rays through lens and water once, noise in px, log size and axis of each."""
        camera = detections.camera.astype(np.int64)
        diagonal = np.hypot(detections.x2 - detections.x1, detections.y2 - detections.y1)
        noise = model.noise[camera] * (1.0 if model.points else diagonal)
        origin, direction = np.full((len(camera), 3), np.nan), np.full((len(camera), 3), np.nan)
        for c, cam in enumerate(rig):
            mine = camera == c
            rays = cam.rays(detections.centroids[mine])
            origin[mine], direction[mine] = rays.origin, rays.direction
        axis = np.full(len(camera), np.nan)
        if detections.angle is not None and detections.major is not None and detections.minor is not None:
            long = detections.major > ROUND * detections.minor
            axis[long] = detections.angle[long]
        # copies: kernels are compiled anew for columns that may not be written, as those of a recording
        u, v, log_size = np.array(detections.u), np.array(detections.v), np.log(np.maximum(diagonal, 1e-3))
        box = np.column_stack([detections.x1, detections.y1, detections.x2, detections.y2]).astype(np.float64)
        sizes = np.array([c.size for c in rig], float)
        sides = np.zeros((len(camera), 4), bool)
        if model.body is not None and model.detector != WHOLE:
            sides = may_be_covered(camera, np.array(detections.offsets, np.int64), box, sizes)
        out = cls(
            camera,
            u,
            v,
            np.maximum(noise, FLOOR_PX),
            log_size,
            axis,
            origin,
            direction,
            outlines(detections),
            box,
            sides,
            model.cut if model.detector == VISIBLE else 0.0,
        )
        return out.paired(rig, detections, model)

    def paired(self, rig: CameraRig, detections: Detections, model: TrackingModel) -> "Observations":
        """Return these observations with what outlines and tracklets of two views say of pairs, as the model has it."""
        out = self if model.shape is None else self.with_silhouettes(rig, detections, model)
        if not model.tracklets:
            return out
        return replace(out, pair_odds=tracklet_odds(rig, *out._moments(detections), out.pair_odds))

    def repeated(self, rows: NDArray[np.int64]) -> "Observations":
        """Return these observations with some rows again: ``rows`` (M,) are all of them, and then those."""
        n = len(self.u)
        changed: dict[str, Any] = {}
        for f in fields(self):
            values = getattr(self, f.name)
            if isinstance(values, np.ndarray) and len(values) == n:
                changed[f.name] = values[rows]
        begin = self.pair_odds.begin
        if len(begin):  # nothing is known of pairs with rows that were added
            begin = np.concatenate([begin, np.full(len(rows) - n, begin[-1])])
            changed["pair_odds"] = self.pair_odds._replace(begin=begin)
        return replace(self, **changed, shown=rows if not len(self.shown) else self.shown[rows])

    def detections_of(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return detections of rows (N, C) that tracks hold; -1 stays."""
        if not len(self.shown):
            return members
        return np.where(members >= 0, self.shown[np.maximum(members, 0)], -1)

    def leads(self, rig: CameraRig, detections: Detections) -> Leads:
        """Return what tracklets say of pairs by their rays alone."""
        return tracklet_leads(rig, *self._moments(detections))

    def _moments(self, detections: Detections) -> tuple[NDArray[np.int64], NDArray[np.int64], Columns, Lines]:
        """Frames, offsets, columns and rays, as `tracklets` wants them."""
        frames, offsets = np.array(detections.frames, np.int64), np.array(detections.offsets, np.int64)
        return frames, offsets, self.columns, Lines(self.origin, self.direction, self.camera)

    def with_silhouettes(self, rig: CameraRig, detections: Detections, model: TrackingModel) -> "Observations":
        """Return these observations with what the outlines of two views say about each other."""
        assert model.shape is not None
        sizes = np.array([c.size for c in rig], float)
        cameras, lines = (
            Rig(rig.packed, sizes, 1e-4 * model.body_length),
            Lines(self.origin, self.direction, self.camera),
        )
        offsets = np.array(detections.offsets, np.int64)
        odds = silhouette_odds(cameras, offsets, self.columns, lines, self.outline, model.shape)
        return replace(self, pair_odds=odds)

    def with_pair_odds(self, rig: CameraRig, detections: Detections, body_length: float, model: Path) -> "Observations":
        """Return these observations with what a pair network says about them."""
        from .learning.odds import load_odds

        return replace(self, pair_odds=PairOdds.of(*load_odds(model)(rig, detections, self.noise, body_length)))

    def with_part_odds(self, rig: CameraRig, detections: Detections, body_length: float) -> "Observations":
        """Return these observations with what the parts of bodies say about pairs, where they can teach it."""
        from .parts.odds import part_odds

        odds = part_odds(rig, detections, body_length)
        return self if odds is None else replace(self, pair_odds=odds)

    def frame(self, number: int, rows: slice, views: int) -> "FrameObservations":
        """Return the detections of one frame, which are sorted by camera."""
        lines = Lines(self.origin[rows], self.direction[rows], self.camera[rows])
        begin = np.searchsorted(lines.camera, np.arange(views + 1))
        u, v, noise = self.u[rows], self.v[rows], self.noise[rows]
        box, cut = (self.box[rows], self.chances[rows]) if self.cut else (NO_BOXES, NO_BOXES)
        readings = Readings(number, begin, u, v, noise, self.log_size[rows], self.axis[rows], box, cut)
        return FrameObservations(rows.start + self.first, readings, lines, self.pair_odds, rows.start)

    @cached_property
    def chances(self) -> Array:
        """(N, 4) chance that each side of each box is covered, before its size is looked at."""
        return np.multiply(self.cut, self.sides, dtype=np.float64)

    @cached_property
    def columns(self) -> Columns:
        """What kernels that look at several frames take."""
        box, cut = (self.box, self.chances) if self.cut else (NO_BOXES, NO_BOXES)
        return Columns(self.camera, self.u, self.v, self.noise, self.log_size, self.axis, box, cut)


@dataclass(frozen=True, eq=False)
class FrameObservations:
    """Detections of one frame: the first row, what was measured, rays, and what is known of pairs.

    ``pair_row`` : the first row as ``pair_odds`` count it.
    """

    start: int
    readings: Readings
    lines: Lines
    pair_odds: PairOdds = NO_ODDS
    pair_row: int = 0

    def __len__(self) -> int:
        return len(self.readings.u)

    def rows(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows in the recording of detections counted within the frame; -1 stays."""
        return np.where(members >= 0, members + self.start, -1)
