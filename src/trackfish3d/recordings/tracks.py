"""Trajectories, every point traceable to the pixels it came from."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from ..core.columns import Columns
from ..core.errors import InputError
from ..core.reading.limits import FARTHEST, refuse_far, refuse_rows, refuse_wild_frames

Array = NDArray[np.float64]
_UPPER = [(0, 0, "xx"), (0, 1, "xy"), (0, 2, "xz"), (1, 1, "yy"), (1, 2, "yz"), (2, 2, "zz")]
_SINGLE = ("sigma_velocity", "views", "error_px", "observed", "confidence")
_DETECTION, _VISIBLE = "detection_", "visible_"
_BODY = ("heading_sigma", "length", "length_sigma", "thickness", "thickness_sigma")


@dataclass(frozen=True, eq=False, repr=False)
class Tracks(Columns):
    """Tracks as columns, sorted by frame and track.

    Attributes
    ----------
    frame : (N,) int64 frame number.
    track : (N,) int64 number of the track.
    position : (N, 3) world units.
    covariance : (N, 3, 3) of the position, world units squared; NaN where unknown.
    sigma_velocity : (N,) standard deviation of the velocity along an axis, world units a frame; NaN where unknown.
    views : (N,) int16 number of cameras used.
    error_px : (N,) mean reprojection error, px; NaN where unknown.
    observed : (N,) bool, False where interpolated.
    confidence : (N,) of the identity, 0 to 1; NaN where unknown.
    detection : (N, C) int64 row of `Detections` used in each of ``cameras``, -1 for none.
    cameras : names of the cameras.
    heading : (N, 3) unit vectors from tail to head, NaN where nothing tells; this and the next are None where nobody
        asked for bodies, the others also where there are no masks.
    heading_sigma : (N,) standard deviation of the heading in either direction, rad.
    length : (N,) of the body, that of the ellipse with the masks' moments, world units; one number a track.
    length_sigma : (N,) its standard deviation.
    thickness : (N,) of the body, world units; one number a track.
    thickness_sigma : (N,) its standard deviation.
    visible : (N, C) share of the body that the mask in each camera shows, at most 1; NaN where there is none.
    """

    sorted_by: ClassVar[tuple[str, ...]] = ("frame", "track")
    double: ClassVar[str | None] = "track {track} has two points in frame {frame}"

    frame: NDArray[np.int64]
    track: NDArray[np.int64]
    position: Array
    covariance: Array
    sigma_velocity: Array
    views: NDArray[np.int16]
    error_px: Array
    observed: NDArray[np.bool_]
    confidence: Array
    detection: NDArray[np.int64]
    cameras: tuple[str, ...] = ()
    heading: Array | None = None
    heading_sigma: Array | None = None
    length: Array | None = None
    length_sigma: Array | None = None
    thickness: Array | None = None
    thickness_sigma: Array | None = None
    visible: Array | None = None

    @property
    def shared(self) -> NDArray[np.bool_]:
        """(N, C) whether the detection of a view is that of another track, too: one box around animals that overlap."""
        taken = self.detection[self.detection >= 0]
        times = np.bincount(taken) if len(taken) else np.zeros(1, np.int64)
        return np.asarray((self.detection >= 0) & (times[np.maximum(self.detection, 0)] > 1))

    @classmethod
    def build(
        cls,
        frame: ArrayLike,
        track: ArrayLike,
        position: ArrayLike,
        *,
        covariance: ArrayLike | None = None,
        sigma_velocity: ArrayLike | None = None,
        views: ArrayLike | None = None,
        error_px: ArrayLike | None = None,
        observed: ArrayLike | None = None,
        confidence: ArrayLike | None = None,
        detection: ArrayLike | None = None,
        cameras: tuple[str, ...] = (),
        source: str = "tracks",
        **body: ArrayLike | None,
    ) -> "Tracks":
        """Sort by frame and track; what is not given is filled in as unknown.

        Parameters
        ----------
        frame : (N,) frame number.
        track : (N,) number of the track; no track twice in a frame.
        position : (N, 3) world units.
        covariance : (N, 3, 3) of the position, world units squared.
        sigma_velocity : (N,) standard deviation of the velocity along an axis, world units a frame.
        views : (N,) number of cameras used; counted where ``detection`` is given.
        error_px : (N,) mean reprojection error, px.
        observed : (N,) False where interpolated; True by default.
        confidence : (N,) of the identity, 0 to 1.
        detection : (N, C) row of `Detections` used in each camera, -1 for none.
        cameras : names of the cameras.
        source : where they come from, for messages.
        body : ``heading``, ``length`` and the other columns of bodies, where they are known.
        """
        frames = np.asarray(frame, dtype=np.int64)
        tracks = np.asarray(track, dtype=np.int64)
        n = len(frames)
        points = np.asarray(position, dtype=np.float64).reshape(n, 3)
        order = cls.order({"frame": frames, "track": tracks}, source)

        def column(value: ArrayLike | None, shape: tuple[int, ...], fill: float, dtype: Any) -> Any:
            array = np.full(shape, fill, dtype) if value is None else np.asarray(value, dtype=dtype).reshape(shape)
            return array[order]

        rows = column(detection, (n, len(cameras)), -1, np.int64)
        seen = column(views, (n,), 0, np.int16)
        if views is None and detection is not None:
            seen = (rows >= 0).sum(1).astype(np.int16)
        return cls(
            frames[order],
            tracks[order],
            points[order],
            column(covariance, (n, 3, 3), np.nan, np.float64),
            column(sigma_velocity, (n,), np.nan, np.float64),
            seen,
            column(error_px, (n,), np.nan, np.float64),
            column(observed, (n,), 1, np.bool_),
            column(confidence, (n,), np.nan, np.float64),
            rows,
            cameras,
            **{name: np.asarray(value, np.float64)[order] for name, value in body.items() if value is not None},
        )

    def array(self) -> Array:
        """(T, N, 3) positions of every track in every frame from the first to the last, NaN where a track is not.

        Frames begin at ``frame.min()``; tracks are in the order of `identities`.
        """
        from .dense import dense

        return dense(self, "an array").position if len(self) else np.zeros((0, 0, 3))

    def to_xarray(self, fps: float | None = None, units: str = "") -> Any:
        """Return an ``xarray.Dataset`` as the package ``movement`` keeps poses.

        Parameters
        ----------
        fps : frames a second: time is frame / fps, s. Without it, time is the frame's number.
        units : unit of the world.
        """
        from .dense import to_dataset

        return to_dataset(self, fps, units)

    @property
    def identities(self) -> NDArray[np.int64]:
        """(T,) the track numbers, ascending."""
        return np.unique(self.track)

    def _facts(self) -> list[str]:
        return [f"{len(self.identities)} tracks", *super()._facts()]

    def to_table(self) -> pa.Table:
        """As an Arrow table: one column per number, covariance as its upper triangle."""
        columns: dict[str, Any] = {"frame": self.frame, "track": self.track}
        columns |= {axis: self.position[:, k] for k, axis in enumerate("xyz")}
        columns |= {f"cov_{name}": self.covariance[:, i, j] for i, j, name in _UPPER}
        columns |= {k: getattr(self, k) for k in _SINGLE}
        columns |= {f"{_DETECTION}{c}": self.detection[:, k] for k, c in enumerate(self.cameras)}
        return pa.table(columns | self._body_columns())

    def _body_columns(self) -> dict[str, Array]:
        """Columns of bodies by their names in a file, those that are there."""
        columns: dict[str, Array] = {}
        if self.heading is not None:
            columns |= {f"heading_{axis}": self.heading[:, k] for k, axis in enumerate("xyz")}
        columns |= {n: value for n in _BODY if (value := getattr(self, n)) is not None}
        if self.visible is not None:
            columns |= {f"{_VISIBLE}{c}": self.visible[:, k] for k, c in enumerate(self.cameras)}
        return columns

    @classmethod
    def from_table(cls, table: pa.Table, source: str = "tracks") -> "Tracks":
        """Read what `to_table` makes.

        Parameters
        ----------
        table : with columns ``frame``, ``track``, ``x``, ``y``, ``z`` at least.
        source : where it comes from, for messages.
        """
        names = set(table.column_names)
        missing = [c for c in ("frame", "track", "x", "y", "z") if c not in names]
        if missing:
            raise InputError(f"{source}: no column {', '.join(missing)}")
        try:
            get = {n: np.asarray(table[n].to_numpy()) for n in names}
            position = np.column_stack([get[a] for a in "xyz"]).astype(np.float64)
            covariance = None
            if all(f"cov_{name}" in names for _, _, name in _UPPER):
                covariance = np.empty((len(position), 3, 3))
                for i, j, name in _UPPER:
                    covariance[:, i, j] = covariance[:, j, i] = get[f"cov_{name}"]
            cameras = tuple(n[len(_DETECTION) :] for n in table.column_names if n.startswith(_DETECTION))
            refuse_far(position, source)
            _refuse_unsound(get, source)
            return cls.build(
                frame_numbers(get["frame"], "frame", source),
                whole(get["track"], "track", source),
                position,
                covariance=covariance,
                detection=np.column_stack([get[_DETECTION + c] for c in cameras]) if cameras else None,
                cameras=cameras,
                source=source,
                **_bodies(get, cameras),
                **{k: get[k] for k in _SINGLE if k in names},
            )
        except (ValueError, TypeError, KeyError, OverflowError, pa.ArrowException) as error:
            raise InputError(f"{source}: columns are not what a tracks file holds ({error})") from None


def _bodies(columns: dict[str, Any], cameras: tuple[str, ...]) -> dict[str, Any]:
    """Columns of bodies that a file has, by their names in `Tracks`."""
    found: dict[str, Any] = {name: columns[name] for name in _BODY if name in columns}
    if all(f"heading_{axis}" in columns for axis in "xyz"):
        found["heading"] = np.column_stack([columns[f"heading_{axis}"] for axis in "xyz"])
    if cameras and all(_VISIBLE + c in columns for c in cameras):
        found["visible"] = np.column_stack([columns[_VISIBLE + c] for c in cameras])
    return found


def _refuse_unsound(columns: dict[str, Any], source: str) -> None:
    """Refuse what no track says: of its uncertainty and its identity; NaN stands for what is not known."""
    for name in (f"cov_{n}" for _, _, n in _UPPER):
        if name in columns:
            value = np.asarray(columns[name], np.float64)
            refuse_rows(np.abs(value) > FARTHEST**2, f"{name} is beyond {FARTHEST**2:g}", source)
            if name[-1] == name[-2]:
                refuse_rows(value < 0, f"{name} is a variance below 0", source)
    if "sigma_velocity" in columns:
        value = np.asarray(columns["sigma_velocity"], np.float64)
        refuse_rows((value < 0) | (value > FARTHEST), "sigma_velocity is no standard deviation", source)
    if "confidence" in columns:
        value = np.asarray(columns["confidence"], np.float64)
        refuse_rows((value < 0) | (value > 1), "confidence is outside 0..1", source)
    if "error_px" in columns:
        value = np.asarray(columns["error_px"], np.float64)
        refuse_rows((value < 0) | (value > FARTHEST), "error_px is no distance in an image", source)
    for name in ("heading_x", "heading_y", "heading_z"):
        if name in columns:
            refuse_rows(np.abs(np.asarray(columns[name], np.float64)) > 1 + 1e-6, f"{name} is beyond 1", source)
    for name in (*_BODY, *(n for n in columns if n.startswith(_VISIBLE))):
        if name in columns:
            value = np.asarray(columns[name], np.float64)
            refuse_rows((value < 0) | (value > FARTHEST), f"{name} is no size", source)
    if "views" in columns:
        value = np.asarray(columns["views"], np.float64)
        refuse_rows(~((value >= 0) & (value < 2**15)), "views is no number of cameras", source)


def whole(values: ArrayLike, name: str, source: str) -> NDArray[np.int64]:
    """Column of whole numbers as int64, or an `InputError` that names the row."""
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{source}: column {name} has values that are not numbers")
    bad = ~np.isfinite(array.astype(np.float64)) | (np.abs(array.astype(np.float64)) > 2.0**53)
    bad |= array.astype(np.float64) != np.round(array.astype(np.float64))
    if bad.any():
        raise InputError(f"{source}: row {int(np.argmax(bad))}: {name} is not a whole number")
    return array.astype(np.int64)


def frame_numbers(values: ArrayLike, name: str, source: str) -> NDArray[np.int64]:
    """Column of frame numbers as int64, or an `InputError` that names the row that no film has."""
    frames = whole(values, name, source)
    refuse_wild_frames(frames, source)
    return frames
