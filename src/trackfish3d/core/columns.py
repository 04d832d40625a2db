"""Tables as columns: what detections, tracks and truth have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import pandas
    import pyarrow

T = TypeVar("T", bound="Columns")


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """A table; its fields that are arrays are columns, a row each along their first axis, and ``frame`` is one of them.

    A field that is None is a column that is not there. Other fields, such as the names of the cameras, belong to the
    table as a whole.
    """

    sorted_by: ClassVar[tuple[str, ...]] = ("frame",)
    double: ClassVar[str | None] = None
    """What is wrong with two rows that agree in all of ``sorted_by``, with their values to fill in; None: nothing."""

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns that are there by name, (N, ...) each."""
        return {name: value for name, value in self._values().items() if isinstance(value, np.ndarray)}

    def __len__(self) -> int:
        return len(self._values()["frame"])

    def select(self: T, rows: ArrayLike) -> T:
        """Return some of the rows.

        Parameters
        ----------
        rows : (N,) mask, or ascending indices.
        """
        rows = np.asarray(rows)
        return type(self)(**self._values() | {name: column[rows] for name, column in self.columns().items()})

    @classmethod
    def concat(cls: type[T], parts: Sequence[T], source: str = "tables") -> T:
        """Return the rows of all parts, sorted; a column survives if every part has it.

        Parameters
        ----------
        parts : one table or more, of the same cameras.
        source : where they come from, for messages.
        """
        if not parts:
            raise ValueError("no tables to join")
        every = [part.columns() for part in parts]
        rest = [part._whole() for part in parts]
        if any(other != rest[0] for other in rest[1:]):
            raise ValueError("tables of different cameras cannot be joined")
        names = [name for name in every[0] if all(name in columns for columns in every)]
        joined = {name: np.concatenate([columns[name] for columns in every]) for name in names}
        order = cls.order(joined, source)
        return cls(**rest[0], **{name: column[order] for name, column in joined.items()})

    @classmethod
    def order(cls, columns: Mapping[str, NDArray[Any]], source: str) -> NDArray[np.intp]:
        """Return the order (N,) in which rows are sorted; equal ones stay as they are, where they are allowed.

        Parameters
        ----------
        columns : those of ``sorted_by``, (N,) each.
        source : where they come from, for messages.
        """
        keys = [columns[name] for name in cls.sorted_by]
        order = np.lexsort(keys[::-1])
        if cls.double is not None:
            same = np.logical_and.reduce([np.diff(key[order]) == 0 for key in keys])
            if same.any():
                row = order[np.argmax(same)]
                values = {name: int(columns[name][row]) for name in cls.sorted_by}
                raise InputError(f"{source}: {cls.double.format(**values)}")
        return order

    def to_table(self) -> "pyarrow.Table":
        """As an Arrow table, a column for every number."""
        raise NotImplementedError

    def to_pandas(self) -> "pandas.DataFrame":
        """As a data frame, with the columns of the file: a position is x, y, z."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingExtraError("pandas", "pandas", "a data frame") from None
        return self.to_table().replace_schema_metadata(None).to_pandas()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(self._facts())}>"

    def _facts(self) -> list[str]:
        """Return what a user wants to know at a glance."""
        frame = self._values()["frame"]
        facts = [f"{len(frame):,} rows"]
        if len(frame):
            facts.append(f"frames {frame.min()} to {frame.max()}")
        cameras = self._values().get("cameras", ())
        if cameras:
            facts.append(f"cameras {', '.join(cameras)}")
        return facts

    def _whole(self) -> dict[str, Any]:
        """Return what belongs to no row."""
        return {n: v for n, v in self._values().items() if v is not None and not isinstance(v, np.ndarray)}

    def _values(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}
