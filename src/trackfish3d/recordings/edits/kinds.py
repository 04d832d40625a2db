"""What people do to tracks, each kind of edit a checked model that is one line of ``edits.jsonl``."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from ...core.reading.limits import FARTHEST, LARGEST_FRAME

Frame = Annotated[int, Field(ge=-LARGEST_FRAME, le=LARGEST_FRAME)]
Name = Annotated[int, Field(ge=-(2**53), le=2**53)]
Length = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST, allow_inf_nan=False)]
Point = tuple[Length, Length, Length]
LONGEST_FILL = 1_000_000  # frames


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: int = Field(ge=1, le=2**53, description="number of the line, ascending")
    when: str = Field(default="", max_length=40, description="date and time, UTC")


class Anchor(BaseModel):
    """An animal at a moment: whatever its track is called, and whoever tracks it again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    frame: Frame
    at: Point


class Pin(BaseModel):
    """Two anchors that are ``same`` animal, or are not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    same: bool
    one: Anchor
    other: Anchor


class Edit(_Line):
    """What every edit has: ``pins`` say it without names of tracks; ``frames`` and ``views`` are what it touched.

    ``again`` is the number of an edit of older tracks that this one repeats on new ones.
    """

    pins: tuple[Pin, ...] = Field(default=(), max_length=1000)
    frames: int = Field(default=0, ge=0)
    views: int = Field(default=0, ge=0)
    again: int | None = None

    @model_validator(mode="after")
    def _forwards(self) -> "Edit":
        first: int | None = getattr(self, "first", None)
        last: int | None = getattr(self, "last", None)
        if first is not None and last is not None:
            if not first <= last:
                raise ValueError(f"goes from frame {first} back to {last}")
            if isinstance(self, Fill) and last - first >= LONGEST_FILL:
                raise ValueError(f"fills more than {LONGEST_FILL} frames")
        if getattr(self, "one", None) is not None and getattr(self, "one", None) == getattr(self, "other", None):
            raise ValueError("names one track twice")
        return self

    @property
    def names(self) -> tuple[int, ...]:
        """Numbers of the tracks it is about."""
        values = self.model_dump()
        return tuple(values[k] for k in ("track", "one", "other", "new") if values.get(k) is not None)


class Swap(Edit):
    """Two tracks exchange their points from ``first`` to ``last``, or to the end."""

    kind: Literal["swap"] = "swap"
    one: Name
    other: Name
    first: Frame
    last: Frame | None = None


class Join(Edit):
    """All points of ``other`` become points of ``one``."""

    kind: Literal["join"] = "join"
    one: Name
    other: Name


class Cut(Edit):
    """Points of ``track`` from ``frame`` on become track ``new``."""

    kind: Literal["cut"] = "cut"
    track: Name
    frame: Frame
    new: Name


class Delete(Edit):
    """Points of ``track`` from ``first`` to ``last`` are left out."""

    kind: Literal["delete"] = "delete"
    track: Name
    first: Frame
    last: Frame


class Rename(Edit):
    """``track`` gets the number ``new``, which no other has."""

    kind: Literal["rename"] = "rename"
    track: Name
    new: Name


class AddPoint(Edit):
    """A point of ``track`` that a person saw: ``at`` with ``covariance`` (upper triangle), clicked at ``pixels``."""

    kind: Literal["point"] = "point"
    track: Name
    frame: Frame
    at: Point
    covariance: tuple[Length, Length, Length, Length, Length, Length] | None = None
    pixels: dict[str, tuple[Length, Length]] = Field(default_factory=dict, max_length=100)
    error_px: Annotated[float, Field(ge=0, le=FARTHEST)] = 0.0


class Fill(Edit):
    """Points of ``track`` from ``first`` to ``last`` on the straight line between ``begin`` and ``end`` around them."""

    kind: Literal["fill"] = "fill"
    track: Name
    first: Frame
    last: Frame
    begin: Point
    end: Point


class Accept(Edit):
    """Tracks were looked at between ``first`` and ``last`` and are right: a suspect of ``what`` kind that is none."""

    kind: Literal["accept"] = "accept"
    track: Name
    other: Name
    first: Frame
    last: Frame
    what: str = Field(default="", max_length=20)


class Base(_Line):
    """Edits below are of the tracks whose digest is ``tracks``, which were solved under the edits ``kept``."""

    kind: Literal["base"] = "base"
    tracks: str = Field(max_length=200)
    kept: tuple[int, ...] = Field(default=(), max_length=1_000_000)


class Undo(_Line):
    """The last edit that holds, ``of``, holds no more."""

    kind: Literal["undo"] = "undo"
    of: int


class Redo(_Line):
    """The last edit that was undone, ``of``, holds again."""

    kind: Literal["redo"] = "redo"
    of: int


AnyEdit = Swap | Join | Cut | Delete | Rename | AddPoint | Fill | Accept
Line = Annotated[AnyEdit | Base | Undo | Redo, Field(discriminator="kind")]
LINE: TypeAdapter[Any] = TypeAdapter(Line)


def describe(edit: AnyEdit) -> str:
    """Return an edit in words.

    >>> describe(Swap(id=1, one=3, other=7, first=512))
    'swap 3 and 7 from frame 512'

    Parameters
    ----------
    edit : any.
    """
    e: Any = edit
    texts = {
        "swap": lambda: (
            f"swap {e.one} and {e.other} from frame {e.first}" + ("" if e.last is None else f" to {e.last}")
        ),
        "join": lambda: f"join {e.other} to {e.one}",
        "cut": lambda: f"cut {e.track} at frame {e.frame}; what follows is {e.new}",
        "delete": lambda: f"delete {e.track} from frame {e.first} to {e.last}",
        "rename": lambda: f"rename {e.track} to {e.new}",
        "point": lambda: (
            f"point of {e.track} at frame {e.frame}" + (f" ({', '.join(sorted(e.pixels))})" if e.pixels else "")
        ),
        "fill": lambda: f"fill {e.track} from frame {e.first} to {e.last}",
        "accept": lambda: (
            f"accept {e.track}"
            + ("" if e.other == e.track else f" and {e.other}")
            + f" from frame {e.first} to {e.last}"
        ),
    }
    return texts[e.kind]()
