"""Bodies in 3D: every part of every animal in every frame."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import ArrayLike, NDArray

from ..core.columns import Columns
from ..core.errors import InputError
from ..core.files import atomic_path
from ..core.reading.limits import refuse_far, refuse_nowhere
from .skeleton import Skeleton
from .storage import read_table, write_table
from .tracks import frame_numbers, whole

Array = NDArray[np.float64]
FILE, TEXT = "poses.parquet", "poses.csv"
TRUTH_FILE = "truth_poses.parquet"
_UPPER = [(0, 0, "xx"), (0, 1, "xy"), (0, 2, "xz"), (1, 1, "yy"), (1, 2, "yz"), (2, 2, "zz")]
_KEY = b"skeleton"


@dataclass(frozen=True, eq=False, repr=False)
class Poses(Columns):
    """Poses as columns, a row for an animal in a frame, sorted by frame and track.

    Attributes
    ----------
    frame : (N,) int64 frame number.
    track : (N,) int64 number of the track; of true poses, of the animal.
    position : (N, K, 3) of each part, world units; NaN where a part is left out.
    covariance : (N, K, 3, 3) of each part, world units squared; NaN where unknown.
    views : (N, K) int16 cameras whose sight of the part agrees with it.
    observed : (N, K) bool, False where fewer than two views saw the part and the body and its motion say where it is.
    skeleton : the parts.
    """

    sorted_by: ClassVar[tuple[str, ...]] = ("frame", "track")
    double: ClassVar[str | None] = "track {track} has two poses in frame {frame}"

    frame: NDArray[np.int64]
    track: NDArray[np.int64]
    position: Array
    covariance: Array
    views: NDArray[np.int16]
    observed: NDArray[np.bool_]
    skeleton: Skeleton

    @classmethod
    def build(
        cls,
        frame: ArrayLike,
        track: ArrayLike,
        position: ArrayLike,
        skeleton: Skeleton,
        *,
        covariance: ArrayLike | None = None,
        views: ArrayLike | None = None,
        observed: ArrayLike | None = None,
        source: str = "poses",
    ) -> "Poses":
        """Sort by frame and track; what is not given is filled in as unknown.

        Parameters
        ----------
        frame : (N,) frame number.
        track : (N,) number of the track, once in a frame.
        position : (N, K, 3) world units, NaN where a part is left out.
        skeleton : the K parts.
        covariance : (N, K, 3, 3) world units squared.
        views : (N, K) number of cameras.
        observed : (N, K) True by default where there is a position.
        source : where they come from, for messages.
        """
        frames, tracks = np.asarray(frame, np.int64), np.asarray(track, np.int64)
        n, k = len(frames), len(skeleton)
        order = cls.order({"frame": frames, "track": tracks}, source)
        points = np.asarray(position, np.float64).reshape(n, k, 3)[order]
        there: NDArray[np.bool_] = np.asarray(np.isfinite(points).all(-1))
        spread = np.full((n, k, 3, 3), np.nan) if covariance is None else np.asarray(covariance, np.float64)[order]
        count = np.zeros((n, k), np.int16) if views is None else np.asarray(views, np.int16)[order]
        seen = there if observed is None else np.asarray(observed, bool)[order] & there
        return cls(frames[order], tracks[order], points, spread, count, seen, skeleton)

    @property
    def sigma(self) -> Array:
        """(N, K) standard deviation of each part along an axis, the mean over the three, world units."""
        with np.errstate(invalid="ignore"):
            out: Array = np.sqrt(np.einsum("nkii->nk", self.covariance) / 3)
        return out

    @property
    def identities(self) -> NDArray[np.int64]:
        """Numbers of the tracks, ascending."""
        return np.unique(self.track)

    @property
    def summary(self) -> str:
        """One line: parts, and how many of them were seen, estimated or left out."""
        there = np.isfinite(self.position).all(-1)
        total = max(there.size, 1)
        seen = 100 * float(self.observed.sum()) / total
        guess = 100 * float((there & ~self.observed).sum()) / total
        return (
            f"{len(self.skeleton)} parts: {seen:.1f} % seen by two views or more, {guess:.1f} % estimated from the "
            f"body, {max(100 - seen - guess, 0.0):.1f} % left out"
        )

    def part(self, name: str) -> Array:
        """Return the positions (N, 3) of one part, world units.

        Parameters
        ----------
        name : of the part.
        """
        out: Array = self.position[:, self.skeleton.index(name)]
        return out

    def to_table(self) -> pa.Table:
        """As an Arrow table with a row for each part that is there: frame, track, part, x, y, z, sigma, views, ..."""
        row, part = np.nonzero(np.isfinite(self.position).all(-1))
        names = pa.array(self.skeleton.parts, pa.string())
        columns = {
            "frame": self.frame[row],
            "track": self.track[row],
            "part": pa.DictionaryArray.from_arrays(pa.array(part.astype(np.int32)), names),
            **{axis: self.position[row, part, k] for k, axis in enumerate("xyz")},
            "sigma": self.sigma[row, part],
            "views": self.views[row, part],
            "observed": self.observed[row, part],
            **{f"cov_{name}": self.covariance[row, part, i, j] for i, j, name in _UPPER},
        }
        return pa.table(columns).replace_schema_metadata({_KEY: self.skeleton.to_json()})

    @classmethod
    def from_table(cls, table: pa.Table, source: str = "poses") -> "Poses":
        """Read what `to_table` makes, or a table with frame, track (or id), part, x, y and z.

        Parameters
        ----------
        table : a row for each part of an animal in a frame.
        source : where it comes from, for messages.
        """
        names = set(table.column_names)
        who = next((n for n in ("track", "id", "identity") if n in names), "track")
        missing = [n for n in ("frame", who, "part", "x", "y", "z") if n not in names]
        if missing:
            raise InputError(f"{source}: no column {', '.join(missing)}; poses need frame, track, part, x, y, z")
        frame = frame_numbers(_plain(table, "frame"), "frame", source)
        track = whole(_plain(table, who), who, source)
        try:
            texts = [str(p) for p in table["part"].to_pylist()]
            point = np.column_stack([np.asarray(_plain(table, a), np.float64) for a in "xyz"])
            given = {n: np.asarray(_plain(table, n), np.float64) for n in names if n.startswith("cov_") or n == "views"}
            seen = np.asarray(table["observed"].to_pylist(), bool) if "observed" in names else np.ones(len(frame), bool)
        except (ValueError, TypeError, pa.ArrowException) as error:
            raise InputError(f"{source}: columns are not what a file of poses holds ({str(error)[:100]})") from None
        refuse_nowhere(point, source)
        refuse_far(point, source)
        text = (table.schema.metadata or {}).get(_KEY)
        plain = text.decode(errors="replace") if text else Skeleton.text_of(dict.fromkeys(texts))
        skeleton = Skeleton.from_json(plain, source)
        place = {n: k for k, n in enumerate(skeleton.parts)}
        unknown = next((t for t in texts if t not in place), None)
        if unknown is not None:
            raise InputError(f"{source}: part '{unknown[:80]}' is not in its skeleton")
        return cls._folded(
            frame, track, np.array([place[t] for t in texts], np.int64), point, given, seen, skeleton, source
        )

    @classmethod
    def _folded(
        cls,
        frame: NDArray[np.int64],
        track: NDArray[np.int64],
        part: NDArray[np.int64],
        point: Array,
        given: dict[str, Array],
        seen: NDArray[np.bool_],
        skeleton: Skeleton,
        source: str,
    ) -> "Poses":
        keys, row = np.unique(np.column_stack([frame, track]), axis=0, return_inverse=True)
        row = row.reshape(-1)
        n, k = len(keys), len(skeleton)
        if len(np.unique(row * k + part)) < len(row):
            raise InputError(f"{source}: a part of a track is twice in a frame")
        position, covariance = np.full((n, k, 3), np.nan), np.full((n, k, 3, 3), np.nan)
        position[row, part] = point
        for i, j, name in _UPPER:
            if f"cov_{name}" in given:
                covariance[row, part, i, j] = covariance[row, part, j, i] = given[f"cov_{name}"]
        views, observed = np.zeros((n, k), np.int16), np.zeros((n, k), bool)
        if "views" in given:
            views[row, part] = np.clip(np.nan_to_num(given["views"]), 0, 10**4)
        observed[row, part] = seen
        return cls.build(
            keys[:, 0],
            keys[:, 1],
            position,
            skeleton,
            covariance=covariance,
            views=views,
            observed=observed,
            source=source,
        )


def _plain(table: pa.Table, name: str) -> np.ndarray:
    return np.asarray(table[name].to_numpy())


def read_poses(path: str | Path) -> Poses:
    """Read poses from Parquet or CSV.

    Parameters
    ----------
    path : of a table with frame, track, part, x, y and z.
    """
    return Poses.from_table(read_table(path), str(path))


def write_poses(poses: Poses, path: str | Path) -> None:
    """Write poses: Parquet with everything, or CSV with frame, track, part, x, y, z, sigma, views, observed.

    Parameters
    ----------
    poses : of a recording.
    path : ends in .parquet or .csv.
    """
    table = poses.to_table()
    if Path(path).suffix.lower() != ".csv":
        write_table(table, path)
        return
    kept = [n for n in table.column_names if not n.startswith("cov_")]
    plain = table.select(kept)
    plain = plain.set_column(kept.index("part"), "part", plain["part"].cast(pa.string()))
    with atomic_path(path) as temporary:
        pacsv.write_csv(plain, temporary, pacsv.WriteOptions(quoting_style="needed"))
