"""What detectors saw: one row for each animal in each view."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from ..core.columns import Columns
from ..core.errors import InputError
from .skeleton import Skeleton

Array = NDArray[np.float64]
NUMBERS = ("u", "v", "x1", "y1", "x2", "y2", "score")
MOMENTS = ("area", "angle", "major", "minor")
SCORE_SLACK = 0.1  # peaks of confidence maps pass 1 by a little


@dataclass(frozen=True, eq=False, repr=False)
class Detections(Columns):
    """Detections of all cameras as columns, sorted by frame and camera.

    Make one with `build`, which sorts and checks.

    Attributes
    ----------
    cameras : names of the cameras, which the values of ``camera`` count.
    frame : (N,) int64 frame number.
    camera : (N,) int16 index into ``cameras``.
    u : (N,) column of the mask's centroid, px.
    v : (N,) row of the mask's centroid, px.
    x1 : (N,) left side of the box, px.
    y1 : (N,) top of the box, px.
    x2 : (N,) right side of the box, px.
    y2 : (N,) bottom of the box, px.
    score : (N,) of the detector, 0 to 1.
    area : (N,) of the mask, px^2; this and the next three are None where there are no masks.
    angle : (N,) of the mask's long axis, radians from image x towards y, in (-pi/2, pi/2].
    major : (N,) standard deviation along that axis, px.
    minor : (N,) standard deviation across it, px.
    visible : (N,) share of the animal that nobody hides, 0 to 1, as a second look tells it; NaN where no track tells
        how large the animal is, None without a second look.
    parts : (N, K, 3) u, v (px) and score of each part of ``skeleton``, NaN where it was not seen; None without poses.
    part_variance : (N, K, 2) of u and v of each part as the pose tool gives it, px^2; None where it gives none.
    skeleton : the parts' names; None without poses.
    tracklet : (N,) int64 number of the 2D track that the tool gave, of its own in each camera, -1 for none; None where
        it gives none.
    """

    sorted_by: ClassVar[tuple[str, ...]] = ("frame", "camera")

    cameras: tuple[str, ...]
    frame: NDArray[np.int64]
    camera: NDArray[np.int16]
    u: Array
    v: Array
    x1: Array
    y1: Array
    x2: Array
    y2: Array
    score: Array
    area: Array | None = None
    angle: Array | None = None
    major: Array | None = None
    minor: Array | None = None
    visible: Array | None = None
    parts: Array | None = None
    part_variance: Array | None = None
    skeleton: Skeleton | None = None
    tracklet: NDArray[np.int64] | None = None

    @classmethod
    def build(
        cls,
        cameras: Sequence[str],
        frame: ArrayLike,
        camera: ArrayLike,
        u: ArrayLike,
        v: ArrayLike,
        x1: ArrayLike | None = None,
        y1: ArrayLike | None = None,
        x2: ArrayLike | None = None,
        y2: ArrayLike | None = None,
        score: ArrayLike | None = None,
        *,
        source: str = "detections",
        visible: ArrayLike | None = None,
        parts: ArrayLike | None = None,
        part_variance: ArrayLike | None = None,
        skeleton: Skeleton | None = None,
        tracklet: ArrayLike | None = None,
        **moments: ArrayLike | None,
    ) -> "Detections":
        """Sort by frame and camera (stable) and check every column.

        Parameters
        ----------
        cameras : names of the cameras.
        frame : (N,) frame number.
        camera : (N,) index into ``cameras``.
        u : (N,) column of the centroid, px.
        v : (N,) row of the centroid, px.
        x1 : (N,) left side of the box, px; without boxes, each is the point itself.
        y1 : (N,) top of the box, px.
        x2 : (N,) right side of the box, px.
        y2 : (N,) bottom of the box, px.
        score : (N,) 0 to 1; 1 where it is not given.
        source : where they come from; errors name it and the row, counted from 0 as given.
        visible : (N,) share of each animal that nobody hides, 0 to 1, NaN where unknown.
        parts : (N, K, 3) u, v and score of each part, NaN where it was not seen.
        part_variance : (N, K, 2) of u and v of each part, px^2.
        skeleton : of ``parts``.
        tracklet : (N,) number of the tool's own 2D track, -1 for none.
        **moments : ``area``, ``angle``, ``major`` and ``minor`` of the masks, (N,) each.
        """
        n = len(np.asarray(frame))
        boxes: dict[str, ArrayLike | None] = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
        given = [k for k, b in boxes.items() if b is not None]
        if given and len(given) < 4:
            raise InputError(f"{source}: boxes need x1, y1, x2 and y2; only {', '.join(given)} given")
        if not given:
            boxes = {"x1": u, "y1": v, "x2": u, "y2": v}
        columns: dict[str, Any] = {"u": u, "v": v, **boxes, "score": np.ones(n) if score is None else score}
        unknown = set(moments) - set(MOMENTS)
        if unknown:
            raise TypeError(f"unknown columns: {', '.join(sorted(unknown))}")
        columns |= {k: m for k, m in moments.items() if m is not None}
        arrays = {k: _numbers(c, n, k, source) for k, c in columns.items()}
        if visible is not None:
            arrays["visible"] = _shares(visible, n, "visible", source)
        if parts is not None and skeleton is not None:
            arrays["parts"] = checked_parts(parts, n, skeleton, source)
            if part_variance is not None:
                arrays["part_variance"] = np.asarray(part_variance, np.float64).reshape(n, len(skeleton), 2)
        frames = _integers(frame, "frame", source)
        index = _integers(camera, "camera", source, n)
        if tracklet is not None:
            arrays["tracklet"] = np.maximum(_integers(tracklet, "tracklet", source, n), -1)
        _reject((index < 0) | (index >= len(cameras)), "camera is not one of the recording's", source)
        _reject((arrays["x2"] < arrays["x1"]) | (arrays["y2"] < arrays["y1"]), "box is inside out (x2 < x1)", source)
        _reject((arrays["score"] < 0) | (arrays["score"] > 1), "score is outside 0..1", source)
        order: Any = cls.order({"frame": frames, "camera": index}, source)
        if (np.diff(order) == 1).all():
            order = slice(None)  # most files are in order: spare the copies
        return cls(
            tuple(cameras),
            frames[order],
            index[order].astype(np.int16),
            **{k: a[order] for k, a in arrays.items()},
            skeleton=skeleton if "parts" in arrays else None,
        )

    @classmethod
    def empty(cls, cameras: Sequence[str]) -> "Detections":
        """No detections at all.

        Parameters
        ----------
        cameras : names of the cameras.
        """
        return cls.build(cameras, [], [], [], [])

    @property
    def has_moments(self) -> bool:
        """Whether mask moments are known."""
        return self.angle is not None

    @cached_property
    def centroids(self) -> Array:
        """(N, 2) u, v."""
        return np.column_stack([self.u, self.v])

    @cached_property
    def boxes(self) -> Array:
        """(N, 4) x1, y1, x2, y2."""
        return np.column_stack([self.x1, self.y1, self.x2, self.y2])

    @cached_property
    def frames(self) -> NDArray[np.int64]:
        """(F,) the frame numbers that have detections, ascending."""
        return np.unique(self.frame)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """(F + 1,) where the rows of each of `frames` begin."""
        return np.append(np.searchsorted(self.frame, self.frames), len(self)).astype(np.int64)

    def at(self, k: int) -> slice:
        """Rows of a frame.

        Parameters
        ----------
        k : index into `frames`.
        """
        return slice(int(self.offsets[k]), int(self.offsets[k + 1]))

    def shifted(self, offset_frames: ArrayLike) -> "Detections":
        """Return them with each camera's frame numbers moved, sorted anew.

        Parameters
        ----------
        offset_frames : (C,) added to the frame numbers of each camera.
        """
        move = np.asarray(offset_frames, dtype=np.int64)
        if not move.any():
            return self
        columns: dict[str, Any] = self.columns() | {"frame": self.frame + move[self.camera]}
        order = self.order(columns, "detections")
        return replace(self, **{k: a[order] for k, a in columns.items()})

    def to_table(self) -> pa.Table:
        """As an Arrow table with camera names; numbers as float64, frames as int64."""
        columns = {}
        for name, array in self.columns().items():
            if array.ndim > 1:
                continue  # parts have a file of their own
            if name == "camera":
                columns[name] = pa.DictionaryArray.from_arrays(pa.array(array), pa.array(self.cameras, pa.string()))
            else:
                columns[name] = pa.array(array)
        return pa.table(columns)

    @classmethod
    def from_table(cls, table: pa.Table, cameras: Sequence[str], source: str = "detections") -> "Detections":
        """Read what `to_table` makes.

        Parameters
        ----------
        table : with columns ``frame``, ``camera``, ``u``, ``v``, and others of `build`.
        cameras : names of the cameras; those of the table are matched to them.
        source : where it comes from, for messages.
        """
        missing = {"frame", "camera", "u", "v"} - set(table.column_names)
        if missing:
            raise InputError(f"{source}: no column {', '.join(sorted(missing))}")
        known = set(table.column_names)
        try:
            columns = {k: table[k].to_numpy() for k in (*NUMBERS, *MOMENTS, "tracklet", "visible") if k in known}
            frame = table["frame"].to_numpy()
        except (pa.ArrowException, ValueError, TypeError, KeyError) as error:
            raise InputError(f"{source}: columns are not what a detections file holds ({error})") from None
        return cls.build(cameras, frame, camera_index(table["camera"], cameras, source), **columns, source=source)


def camera_index(column: pa.ChunkedArray, cameras: Sequence[str], source: str) -> NDArray[np.int64]:
    """Camera names of an Arrow column (N,) to indices into `cameras`."""
    try:
        encoded = column.combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], pa.string())
        if not pa.types.is_dictionary(encoded.type):
            encoded = encoded.cast(pa.string()).dictionary_encode()
        names = [str(n) for n in encoded.dictionary.to_pylist()]
    except (pa.ArrowException, ValueError):
        raise InputError(f"{source}: column camera has values that are not names") from None
    if encoded.null_count:
        raise InputError(f"{source}: a row has no camera")
    used = np.unique(encoded.indices.to_numpy()) if len(encoded) else np.array([], np.int64)
    lookup = np.full(max(len(names), 1), -1, dtype=np.int64)
    for i in used:
        if names[i] not in cameras:
            raise InputError(f"{source}: unknown camera '{names[i]}'; the calibration has {', '.join(cameras)}")
        lookup[i] = list(cameras).index(names[i])
    return lookup[encoded.indices.to_numpy()] if len(encoded) else np.array([], np.int64)


def checked_parts(value: ArrayLike, n: int, skeleton: Skeleton, source: str) -> Array:
    """Parts (N, K, 3) with NaN in all three where one is unknown, and scores of 1 where they pass it by a little."""
    try:
        parts = np.array(value, dtype=np.float64).reshape(n, len(skeleton), 3)
    except (ValueError, TypeError):
        raise InputError(f"{source}: parts are not {len(skeleton)} times u, v, score in each of {n} rows") from None
    parts[~np.isfinite(parts).all(-1)] = np.nan
    score = parts[..., 2]
    wild: NDArray[np.bool_] = np.asarray(((score < 0) | (score > 1 + SCORE_SLACK)).any(-1))
    _reject(wild, "score of a part is outside 0..1", source)
    np.minimum(score, 1.0, out=score)
    return parts


def _shares(value: ArrayLike, n: int, name: str, source: str) -> Array:
    """(N,) from 0 to 1, NaN where unknown."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError):
        raise InputError(f"{source}: column {name} has values that are not numbers") from None
    _numbers(np.where(np.isnan(array), 0.0, array), n, name, source)
    _reject((array < 0) | (array > 1), f"{name} is outside 0..1", source)
    return array


def _numbers(value: ArrayLike, n: int, name: str, source: str) -> Array:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError):
        raise InputError(f"{source}: column {name} has values that are not numbers") from None
    if array.shape != (n,):
        raise InputError(f"{source}: column {name} has {array.shape} values, frame has {n}")
    _reject(~np.isfinite(array), f"{name} is not a finite number", source)
    return array


def _integers(value: ArrayLike, name: str, source: str, rows: int | None = None) -> NDArray[np.int64]:
    """(N,) whole numbers, as many as ``rows`` where that is given."""
    array = np.asarray(value)
    if rows is not None and len(array) != rows:
        raise InputError(f"{source}: {name} has {len(array)} rows, frame has {rows}")
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "iufb" or array.ndim != 1:
        raise InputError(f"{source}: column {name} has values that are not whole numbers")
    if array.dtype.kind == "f":
        _reject(
            ~np.isfinite(array) | (array != np.round(array)) | (np.abs(array) > 2**53), f"{name} is not whole", source
        )
    _reject(np.abs(array.astype(np.float64)) > 2.0**53, f"{name} is too large", source)
    return array.astype(np.int64)


def _reject(bad: NDArray[np.bool_], why: str, source: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        more = f" (and {int(bad.sum()) - 1} more rows)" if bad.sum() > 1 else ""
        raise InputError(f"{source}: row {row}: {why}{more}")
