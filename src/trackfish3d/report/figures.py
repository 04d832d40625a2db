"""What a file of figures may hold: checked before it is put on a page, because anybody may have written it."""

import base64
import binascii
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..core.reading.limits import FASTEST

VERSION = 1
_BYTES = {"u8": 1, "u16": 2, "u32": 4, "i32": 4, "f32": 4, "f64": 8}
Number = Annotated[float, Field(allow_inf_nan=False)]
Frame = Annotated[int, Field(ge=-(2**53), le=2**53)]
Text = Annotated[str, Field(max_length=400)]


class Strict(BaseModel):
    """Nothing that is not named."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Packed(Strict):
    """An array of `packing.packed` or `packing.quantised`."""

    kind: Literal["u8", "u16", "u32", "i32", "f32", "f64"]
    shape: list[Annotated[int, Field(ge=0, le=2**31)]]
    data: str
    low: list[Number] | None = None
    step: list[Number] | None = None

    @model_validator(mode="after")
    def _whole(self) -> "Packed":
        try:
            size = len(base64.b64decode(self.data, validate=True))
        except (binascii.Error, ValueError):
            raise ValueError("not base64") from None
        if size != _BYTES[self.kind] * int(np.prod(self.shape, dtype=object)):
            raise ValueError("data and shape do not fit")
        width = self.shape[-1] if self.shape else 0
        if (self.low is None) != (self.step is None) or any(v and len(v) != width for v in (self.low, self.step)):
            raise ValueError("low and step do not fit")
        return self


class Picture(Strict):
    """Counts as bytes; 255 is ``top``."""

    top: Number
    cells: Packed


class Side(Picture):
    """A side of the tank and the axes of its rows and columns."""

    rows: Literal["x", "y", "z"]
    columns: Literal["x", "y", "z"]


class Tank(Strict):
    """Where the animals were."""

    low: Annotated[list[Number], Field(min_length=3, max_length=3)]
    high: Annotated[list[Number], Field(min_length=3, max_length=3)]
    up: Literal["x", "y", "z", "-x", "-y", "-z"]
    sides: Annotated[list[Side], Field(min_length=3, max_length=3)]


class Maps(Strict):
    """Where neighbours were."""

    reach: Number
    cells: Annotated[list[Picture], Field(min_length=3, max_length=3)]


class Bars(Strict):
    """A distribution from 0 to ``high``."""

    high: Number
    shares: Annotated[list[Number], Field(min_length=1, max_length=1000)]


class Pairs(Strict):
    """Pair correlation between two distances."""

    low: Number
    high: Number
    g: Annotated[list[Number | None], Field(min_length=1, max_length=1000)]


class Leaders(Strict):
    """Delays of all pairs, s, and how strong they are."""

    delay: list[list[Number | None]]
    strength: list[list[Number | None]]


class Measure(Strict):
    """A measure's name and words."""

    name: Text
    low: Text
    high: Text
    decides: bool


class Whole(Strict):
    """Verdict on a track."""

    p: Number | None
    probability: Number | None
    abnormal: bool
    evidence: Text


class Anomaly(Strict):
    """Verdicts over time (W windows, K tracks, M measures) and on each track."""

    window: Number
    rate: Number
    measures: list[Measure]
    first: list[Frame]
    last: list[Frame]
    probability: Packed
    p: Packed
    t: Packed
    whole: list[Whole]


class Start(Strict):
    """A fast start; times in s, the peak in world a s, the turn in rad; each with its standard deviation."""

    track: Frame
    onset: Frame
    latency: Number | None
    sigma_onset: Number | None
    peak: Number | None
    sigma_peak: Number | None
    turn: Number | None
    sigma_turn: Number | None


class Starts(Strict):
    """``total`` fast starts, and the speeds of ``each`` (E starts, P frames, ``before`` of them before the onset).

    ``fps`` is the rate that they were analysed with, which the recording may not know.
    """

    total: Annotated[int, Field(ge=0, le=2**53)]
    fps: Annotated[float, Field(gt=0, le=FASTEST)] | None = None
    stimulus: Frame | None
    before: Annotated[int, Field(ge=0, le=1000)]
    each: Annotated[list[Start], Field(max_length=1000)]
    profile: Packed


class Figures(Strict):
    """All figures; C columns over time of K tracks."""

    version: Literal[1]
    digest: Text
    units: Text
    tracks: list[Frame]
    frame: list[Frame]
    frames: Annotated[int, Field(ge=1, le=2**53)]
    speed: Packed
    depth: Packed
    observed: Packed
    group: dict[Text, Packed]
    anomaly: Anomaly
    maps: Maps
    tank: Tank
    distributions: dict[Text, Bars]
    pairs: Pairs
    leaders: Leaders
    starts: Starts | None = None  # files of earlier versions have none

    @model_validator(mode="after")
    def _fitting(self) -> "Figures":
        C, K, a = len(self.frame), len(self.tracks), self.anomaly
        W, M = len(a.first), len(a.measures)
        shapes = [(self.speed, [C, K, 1]), (self.depth, [C, K, 1]), (self.observed, [C, K, 1])]
        shapes += [(g, [C, 1]) for g in self.group.values()]
        shapes += [(a.probability, [W, K, 1]), (a.p, [W, K, 1]), (a.t, [W, K, M, 1])]
        if any(p.shape != s or p.step is None for p, s in shapes):
            raise ValueError("series do not fit the tracks and frames")
        pictures = [p.cells for p in (*self.maps.cells, *self.tank.sides)]
        if any(len(p.shape) != 2 or p.kind != "u8" or p.step is not None for p in pictures):
            raise ValueError("pictures are not pictures")
        if len(a.whole) != K or len(a.last) != W:
            raise ValueError("verdicts do not fit the tracks")
        tables = (self.leaders.delay, self.leaders.strength)
        if any(len(t) != K or any(len(r) != K for r in t) for t in tables):
            raise ValueError("leaders do not fit the tracks")
        if self.starts is not None:
            profile, E = self.starts.profile, len(self.starts.each)
            if len(profile.shape) != 3 or profile.shape[::2] != [E, 1] or profile.step is None:
                raise ValueError("profiles do not fit the fast starts")
        if not {"polarisation", "milling", "nearest_neighbour", "spread"} <= set(self.group):
            raise ValueError("measures of the group are missing")
        if not {"speed", "nearest_neighbour"} <= set(self.distributions):
            raise ValueError("distributions are missing")
        return self
