"""Named parts of a body, which of them are joined, and which are the left and the right of the same."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..core.errors import InputError

MOST_PARTS = 1000
COCO_PARTS = (
    "nose",
    "left_eye",
    "right_eye",
    "left_ear",
    "right_ear",
    "left_shoulder",
    "right_shoulder",
    "left_elbow",
    "right_elbow",
    "left_wrist",
    "right_wrist",
    "left_hip",
    "right_hip",
    "left_knee",
    "right_knee",
    "left_ankle",
    "right_ankle",
)
"""The seventeen parts of a person in COCO's order, which most networks of poses have."""
_SIDE = re.compile(r"(?P<before>^|.*?[^a-z])(?P<side>left|right|l|r)(?P<after>$|[^a-z].*)", re.IGNORECASE)
_JOINED = re.compile(r"^(?P<side>[Ll]eft|[Rr]ight|[LR])(?P<after>[A-Z].*)$")
_ENDING = re.compile(r"^(?P<before>.*[a-z0-9])(?P<side>Left|Right|[LR])$")


@dataclass(frozen=True)
class Skeleton:
    """Parts of a body.

    Parameters
    ----------
    parts : names of the parts, each once.
    edges : pairs of parts that are joined, as indices into ``parts``; may be empty.
    pairs : (left, right) parts of the same kind, as indices; None: guessed by the names.
    """

    parts: tuple[str, ...]
    edges: tuple[tuple[int, int], ...] = ()
    pairs: tuple[tuple[int, int], ...] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not self.parts or len(self.parts) > MOST_PARTS:
            raise InputError(f"a skeleton of {len(self.parts)} parts; it needs 1 to {MOST_PARTS}")
        if any(not p.strip() or len(p) > 200 for p in self.parts):
            raise InputError("a body part has no name, or one of more than 200 letters")
        twice = next((p for p in self.parts if self.parts.count(p) > 1), None)
        if twice is not None:
            raise InputError(f"body part '{twice[:80]}' is there twice")
        if self.pairs is None:
            object.__setattr__(self, "pairs", left_and_right(self.parts))
        for a, b in (*self.edges, *self.pairs):
            if not (0 <= a < len(self.parts) and 0 <= b < len(self.parts)) or a == b:
                raise InputError(f"skeleton: {a} - {b} does not join two of its {len(self.parts)} parts")

    def __len__(self) -> int:
        return len(self.parts)

    def index(self, part: str) -> int:
        """Return the place of a part.

        Parameters
        ----------
        part : its name.
        """
        if part not in self.parts:
            raise InputError(f"no body part is called '{part}'; there are {', '.join(self.parts[:40])}")
        return self.parts.index(part)

    @property
    def mirror(self) -> NDArray[np.int64]:
        """(K,) the other of each left/right pair; a part without one is its own."""
        out = np.arange(len(self.parts))
        for a, b in self.pairs:
            out[a], out[b] = b, a
        return out

    def united(self, other: "Skeleton") -> "Skeleton":
        """Return the parts of both, those of the first first; edges and pairs of either.

        Parameters
        ----------
        other : the skeleton of another camera, its parts in any order.
        """
        if other == self:
            return self
        parts = (*self.parts, *(p for p in other.parts if p not in self.parts))
        place = [parts.index(p) for p in other.parts]
        more = [(place[a], place[b]) for a, b in other.edges]
        edges = tuple(dict.fromkeys([*self.edges, *(e for e in more if e[::-1] not in self.edges)]))
        paired = {k for pair in self.pairs for k in pair}
        sides = [(place[a], place[b]) for a, b in other.pairs]
        pairs = (*self.pairs, *(p for p in sides if not paired & set(p)))
        return Skeleton(parts, edges, pairs)

    def to_json(self) -> str:
        """As text, for the metadata of a table."""
        return json.dumps({"parts": self.parts, "edges": self.edges, "pairs": self.pairs})

    @staticmethod
    def text_of(parts: Iterable[str]) -> str:
        """Return the text of parts that nothing is known of but their names.

        Parameters
        ----------
        parts : their names, each once.
        """
        names = list(parts)
        return json.dumps({"parts": names, "edges": [], "pairs": left_and_right(names)})

    @classmethod
    def from_json(cls, text: str, source: str) -> "Skeleton":
        """Read what `to_json` writes.

        Parameters
        ----------
        text : as written.
        source : where it comes from, for messages.
        """
        try:
            data = json.loads(text)
            edges, pairs = (tuple((int(a), int(b)) for a, b in data[k]) for k in ("edges", "pairs"))
            return cls(tuple(str(p) for p in data["parts"]), edges, pairs)
        except InputError as error:
            raise InputError(f"{source}: {error}") from None
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
            raise InputError(f"{source}: its skeleton cannot be read ({str(error)[:100]})") from None

    @classmethod
    def of_file(cls, path: Path) -> "Skeleton | None":
        """Return the skeleton of a Parquet file of parts or poses, of which nothing else is read.

        Parameters
        ----------
        path : of the file; None is returned where there is none, or it says nothing of a skeleton.
        """
        if not path.is_file():
            return None
        try:
            text = (pq.read_schema(path).metadata or {}).get(b"skeleton")
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InputError(f"{path}: is not a complete Parquet file ({str(error)[:120]})") from None
        return None if text is None else cls.from_json(text.decode(errors="replace"), str(path))


def left_and_right(parts: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Pairs of parts whose names differ only in left and right, or L and R, as a word of their own.

    >>> left_and_right(["nose", "left_eye", "right_eye", "Ear_R", "Ear_L", "LHip", "RHip", "lip"])
    ((1, 2), (4, 3), (5, 6))
    """
    sides: dict[tuple[str, str], dict[str, int]] = {}
    for k, name in enumerate(parts):
        match = _SIDE.match(name) or _JOINED.match(name) or _ENDING.match(name)
        if match is None:
            continue
        found = match.groupdict()
        rest = (str(found.get("before") or "").lower(), str(found.get("after") or "").lower())
        sides.setdefault(rest, {})[found["side"][0].lower()] = k
    return tuple((both["l"], both["r"]) for both in sides.values() if len(both) == 2)
