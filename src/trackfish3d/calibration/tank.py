"""What a user knows of the tank: reference points, and the planes through which the cameras look into the water.

A small TOML file::

    units = "cm"
    water_index = 1.333
    free = ["index"]                      # optional: fit the index as well

    [[surface]]
    cameras = ["top"]                     # all cameras, if not said
    point = [0.0, 0.0, 0.0]
    normal = [0.0, 0.0, -1.0]             # either way round
    glass = [{thickness = 0.5, index = 1.5}]   # panes between air and water, if any; the plane is their dry face
    free = ["height", "tilt"]             # optional: fit where it is

    [[point]]
    world = [0.0, 0.0, 0.0]
    pixel.top = [102.3, 88.1]
    pixel.front = [512.0, 96.5]

Reference points alone may also be a CSV file with the columns camera, u, v, x, y, z.
"""

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from ..cameras import WATER
from ..cameras.native import read_toml
from ..core.errors import InputError
from ..core.files import read_text
from ..core.reading.dialect import dialect_of
from ..core.reading.limits import FARTHEST
from ..core.settings import input_errors

Array = NDArray[np.float64]
Vector = tuple[float, float, float]


class Pane(BaseModel):
    """A pane of glass."""

    model_config = ConfigDict(extra="forbid")
    thickness: float = Field(gt=0, allow_inf_nan=False)
    index: float = Field(1.5, ge=1.0, le=3.0)


class Surface(BaseModel):
    """A plane between air and water."""

    model_config = ConfigDict(extra="forbid")
    cameras: list[str] = Field(default_factory=list)
    point: Vector
    normal: Vector
    glass: list[Pane] = Field(default_factory=list, max_length=3)
    free: list[str] = Field(default_factory=list)


class Point(BaseModel):
    """A point of the tank, where it is and where cameras see it."""

    model_config = ConfigDict(extra="forbid")
    name: str = ""
    world: Vector
    pixel: dict[str, tuple[float, float]]
    sigma: float = Field(1.0, gt=0, description="how exactly it was clicked, px")


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    units: str | None = None
    water_index: float = Field(WATER, ge=1.0, le=2.0)
    free: list[str] = Field(default_factory=list)
    surface: list[Surface] = Field(default_factory=list)
    point: list[Point] = Field(default_factory=list)


@dataclass
class Tank:
    """Water and reference points: ``camera`` names, ``world`` (N, 3), ``pixel`` (N, 2), ``sigma`` (N,)."""

    n_water: float = WATER
    free_index: bool = False
    surfaces: list[Surface] = field(default_factory=list)
    camera: list[str] = field(default_factory=list)
    world: Array = field(default_factory=lambda: np.zeros((0, 3)))
    pixel: Array = field(default_factory=lambda: np.zeros((0, 2)))
    sigma: Array = field(default_factory=lambda: np.zeros(0))
    units: str | None = None

    def check(self, cameras: tuple[str, ...], source: str) -> None:
        """Raise an `InputError` for cameras that do not exist, or two surfaces before one camera."""
        for name in [*self.camera, *(n for s in self.surfaces for n in s.cameras)]:
            if name not in cameras:
                raise InputError(f"{source}: names camera '{name}'; the cameras are {', '.join(cameras)}")
        for name in cameras:
            if sum(not s.cameras or name in s.cameras for s in self.surfaces) > 1:
                raise InputError(f"{source}: camera {name} looks through two surfaces; list the cameras of each")


def read_tank(path: str | Path) -> Tank:
    """Read a tank's TOML, or a CSV of its reference points."""
    path = Path(path)
    if path.suffix.lower() == ".csv":
        return _points_csv(path)
    with input_errors(f"{path}: "):
        content = _File.model_validate(read_toml(path))
    _only(content.free, {"index"}, f"{path}: free")
    for k, surface in enumerate(content.surface):
        _only(surface.free, {"height", "tilt"}, f"{path}: surface {k + 1}: free")
        if not np.linalg.norm(surface.normal) > 0 or not np.isfinite([*surface.normal, *surface.point]).all():
            raise InputError(f"{path}: surface {k + 1}: its normal has no length, or is not finite")
        if np.abs(surface.point).max() > FARTHEST:
            raise InputError(f"{path}: surface {k + 1}: its point is beyond {FARTHEST:g}")
    rows = [(name, *p.world, *pixel, p.sigma) for p in content.point for name, pixel in p.pixel.items()]
    numbers = np.array([r[1:] for r in rows], np.float64).reshape(-1, 6)
    if not np.isfinite(numbers).all() or np.abs(numbers).max(initial=0.0) > FARTHEST:
        raise InputError(f"{path}: a reference point is not finite, or beyond {FARTHEST:g}")
    return Tank(
        content.water_index,
        "index" in content.free,
        content.surface,
        [str(r[0]) for r in rows],
        numbers[:, :3],
        numbers[:, 3:5],
        numbers[:, 5],
        content.units,
    )


def _only(given: list[str], known: set[str], where: str) -> None:
    for word in given:
        if word not in known:
            raise InputError(f"{where}: '{word}' is not one of {', '.join(sorted(known))}")


def _points_csv(path: Path) -> Tank:
    text = read_text(path)
    dialect = dialect_of(text)
    reader = csv.DictReader(io.StringIO(text), delimiter=dialect.separator)
    wanted = ["camera", "u", "v", "x", "y", "z"]
    try:
        lines, names_there = list(reader), reader.fieldnames or []
    except csv.Error as error:
        raise InputError(f"{path}: is not a CSV file ({error})") from None
    missing = [c for c in wanted if c not in names_there]
    if missing:
        raise InputError(f"{path}: no column {', '.join(missing)}; reference points have {', '.join(wanted)}")
    names, rows = [], []
    for line, row in enumerate(lines, start=2):
        try:
            values: list[Any] = [dialect.number(row[c]) for c in ("x", "y", "z", "u", "v")]
            values.append(dialect.number(row.get("sigma") or "1"))
        except (TypeError, ValueError, AttributeError):
            raise InputError(f"{path}: line {line}: u, v, x, y, z must be numbers") from None
        if not np.isfinite(values).all() or values[-1] <= 0 or np.abs(values).max() > FARTHEST:
            raise InputError(f"{path}: line {line}: a number is not finite, or beyond {FARTHEST:g}")
        names.append(str(row["camera"]))
        rows.append(values)
    table = np.array(rows, np.float64).reshape(-1, 6)
    return Tank(camera=names, world=table[:, :3], pixel=table[:, 3:5], sigma=table[:, 5])
