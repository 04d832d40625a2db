"""What is known to be true: for scores only. Nothing in training or tracking reads it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from ..core.columns import Columns
from ..core.errors import InputError
from ..core.reading.limits import FARTHEST, refuse_far, refuse_nowhere, refuse_rows
from .tracks import frame_numbers, whole

Array = NDArray[np.float64]
PER_CAMERA = ("u", "v", "x1", "y1", "x2", "y2", "visible", "detection")


@dataclass(frozen=True, eq=False, repr=False)
class Truth(Columns):
    """True positions, sorted by frame and identity.

    Everything after ``position`` is None where it is not known.

    Attributes
    ----------
    frame : (N,) int64 frame number.
    identity : (N,) int64 number of the animal.
    position : (N, 3) the point that tracks are scored against, world units.
    heading : (N, 3) unit vectors.
    cameras : names of the cameras.
    u : (N, C) column of the projected position in each camera, px.
    v : (N, C) row of the projected position, px.
    x1 : (N, C) left side of the box of the visible mask, px.
    y1 : (N, C) its top, px.
    x2 : (N, C) its right side, px.
    y2 : (N, C) its bottom, px.
    visible : (N, C) share of the animal's mask that is not hidden.
    detection : (N, C) row of `Detections` that shows it, -1 for none; two animals of one merged blob share a row.
    head : (N, 3) middle of the head, world units.
    """

    sorted_by: ClassVar[tuple[str, ...]] = ("frame", "identity")
    double: ClassVar[str | None] = "identity {identity} is twice in frame {frame}"

    frame: NDArray[np.int64]
    identity: NDArray[np.int64]
    position: Array
    heading: Array | None = None
    cameras: tuple[str, ...] = ()
    u: Array | None = None
    v: Array | None = None
    x1: Array | None = None
    y1: Array | None = None
    x2: Array | None = None
    y2: Array | None = None
    visible: Array | None = None
    detection: NDArray[np.int64] | None = None
    head: Array | None = None

    @classmethod
    def build(
        cls,
        frame: ArrayLike,
        identity: ArrayLike,
        position: ArrayLike,
        *,
        heading: ArrayLike | None = None,
        head: ArrayLike | None = None,
        cameras: tuple[str, ...] = (),
        source: str = "truth",
        **per_camera: ArrayLike | None,
    ) -> "Truth":
        """Sort by frame and identity and check that no identity is twice in a frame.

        Parameters
        ----------
        frame : (N,) frame number.
        identity : (N,) number of the animal.
        position : (N, 3) world units.
        heading : (N, 3) unit vectors.
        head : (N, 3) middle of the head, world units.
        cameras : names of the cameras.
        source : where it comes from, for messages.
        **per_camera : ``u`` to ``detection``, (N, C) each.
        """
        frames, ids = np.asarray(frame, dtype=np.int64), np.asarray(identity, dtype=np.int64)
        n = len(frames)
        order = cls.order({"frame": frames, "identity": ids}, source)
        unknown = set(per_camera) - set(PER_CAMERA)
        if unknown:
            raise TypeError(f"unknown columns: {', '.join(sorted(unknown))}")
        columns: dict[str, Any] = {}
        for name, vector in (("heading", heading), ("head", head)):
            if vector is not None:
                columns[name] = np.asarray(vector, dtype=np.float64).reshape(n, 3)[order]
                refuse_rows((np.abs(columns[name]) > FARTHEST).any(1), f"{name} is beyond {FARTHEST:g}", source)
        for name, value in per_camera.items():
            if value is not None:
                dtype = np.int64 if name == "detection" else np.float64
                columns[name] = np.asarray(value, dtype=dtype).reshape(n, len(cameras))[order]
                refuse_rows((np.abs(np.asarray(value)) > FARTHEST).any(-1), f"{name} is beyond {FARTHEST:g}", source)
        points = np.asarray(position, dtype=np.float64).reshape(n, 3)
        refuse_nowhere(points, source)
        refuse_far(points, source)
        return cls(
            frames[order],
            ids[order],
            points[order],
            cameras=cameras,
            **columns,
        )

    def identity_of_detections(self, n_detections: int) -> NDArray[np.int64]:
        """(N,) true identity of each detection, -1 for false ones; of a merged blob, the most visible animal's.

        Parameters
        ----------
        n_detections : rows of the `Detections` that ``detection`` counts.
        """
        if self.detection is None:
            raise InputError("this truth does not say which detection shows whom")
        out = np.full(n_detections, -1, np.int64)
        visible = np.ones(self.detection.shape) if self.visible is None else self.visible
        rows, cams = np.nonzero(self.detection >= 0)
        order = np.argsort(visible[rows, cams], kind="stable")  # the most visible animal is written last
        out[self.detection[rows, cams][order]] = self.identity[rows[order]]
        return out

    def identities_of_detections(self, n_detections: int) -> NDArray[np.int64]:
        """(N, K) all identities that each detection shows, padded with -1; K is 1 unless animals share a detection.

        Parameters
        ----------
        n_detections : rows of the `Detections` that ``detection`` counts.
        """
        if self.detection is None:
            raise InputError("this truth does not say which detection shows whom")
        rows, cams = np.nonzero(self.detection >= 0)
        where, who = self.detection[rows, cams], self.identity[rows]
        order = np.argsort(where, kind="stable")
        where, who = where[order], who[order]
        rank = np.arange(len(where)) - np.searchsorted(where, where)
        out = np.full((n_detections, int(rank.max(initial=0)) + 1), -1, np.int64)
        out[where, rank] = who
        return out

    def _facts(self) -> list[str]:
        return [f"{len(np.unique(self.identity))} animals", *super()._facts()]

    def to_table(self) -> pa.Table:
        """As an Arrow table; per-camera columns are called ``u_<camera>`` and so on."""
        columns: dict[str, Any] = {"frame": self.frame, "identity": self.identity}
        columns |= {axis: self.position[:, k] for k, axis in enumerate("xyz")}
        for name in ("heading", "head"):
            vector = getattr(self, name)
            if vector is not None:
                columns |= {f"{name}_{axis}": vector[:, k] for k, axis in enumerate("xyz")}
        for name in PER_CAMERA:
            values = getattr(self, name)
            if values is not None:
                columns |= {f"{name}_{c}": values[:, k] for k, c in enumerate(self.cameras)}
        table = pa.table(columns)
        return table.replace_schema_metadata({"cameras": "\n".join(self.cameras)})

    @classmethod
    def from_table(cls, table: pa.Table, source: str = "truth") -> "Truth":
        """Read what `to_table` makes.

        Parameters
        ----------
        table : with columns ``frame``, ``identity``, ``x``, ``y``, ``z`` at least.
        source : where it comes from, for messages.
        """
        names = set(table.column_names)
        missing = [c for c in ("frame", "identity", "x", "y", "z") if c not in names]
        if missing:
            raise InputError(f"{source}: no column {', '.join(missing)}")
        cameras = tuple((table.schema.metadata or {}).get(b"cameras", b"").decode(errors="replace").split("\n"))
        cameras = tuple(c for c in cameras if c)
        try:
            get = {n: np.asarray(table[n].to_numpy()) for n in names}
            vectors = {
                name: np.column_stack([get[f"{name}_{a}"] for a in "xyz"])
                for name in ("heading", "head")
                if all(f"{name}_{a}" in names for a in "xyz")
            }
            per_camera = {
                p: np.column_stack([get[f"{p}_{c}"] for c in cameras])
                for p in PER_CAMERA
                if cameras and all(f"{p}_{c}" in names for c in cameras)
            }
            return cls.build(
                frame_numbers(get["frame"], "frame", source),
                whole(get["identity"], "identity", source),
                np.column_stack([get[a] for a in "xyz"]).astype(np.float64),
                cameras=cameras,
                source=source,
                **vectors,
                **per_camera,
            )
        except (ValueError, TypeError, KeyError, OverflowError, pa.ArrowException) as error:
            raise InputError(f"{source}: columns are not what a truth file holds ({error})") from None
