"""An analysis as files: tidy tables, Parquet or CSV, that grow with the blocks and are there only when complete."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from ...core.files import atomic_path
from ..analysis import Behaviour
from .context import QUANTITIES

STREAMED = ("points", "group", "bursts", "windows")
FORMATS = ("parquet", "csv")


class TableFolder:
    """A folder that takes tables piece by piece; a sink for `analyse`. Use it as a context.

    Each table is one file, written beside its place and moved there when the context ends well.
    """

    def __init__(self, folder: Path, format: str = "parquet", about: dict[str, str] | None = None) -> None:
        self.folder, self.format, self.about = folder, format, about or {}
        self._stack = ExitStack()
        self._writers: dict[str, Any] = {}
        self.rows: dict[str, int] = {}

    def __enter__(self) -> "TableFolder":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for writer in self._writers.values():
            writer.close()
        self._stack.__exit__(kind, error, at)

    def path(self, name: str) -> Path:
        """Where the table of this name is written."""
        return self.folder / f"{name}.{self.format}"

    def __call__(self, name: str, table: pa.Table) -> None:
        """Append to the table of this name."""
        if name not in self._writers:
            schema = table.schema.with_metadata(self.about)
            temporary = self._stack.enter_context(atomic_path(self.path(name)))
            if self.format == "parquet":
                # Measured numbers hardly repeat: a dictionary of them costs half the time and saves nothing.
                few = [f.name for f in schema if not pa.types.is_floating(f.type)]
                self._writers[name] = pq.ParquetWriter(temporary, schema, compression="zstd", use_dictionary=few)
            else:
                self._writers[name] = pacsv.CSVWriter(str(temporary), table.schema)
        table = table.replace_schema_metadata(self.about if self.format == "parquet" else None)
        self._writers[name].write_table(table)
        self.rows[name] = self.rows.get(name, 0) + table.num_rows


def whole_tables(found: Behaviour) -> dict[str, pa.Table]:
    """Tables about the whole recording: animals, fast starts, pairs, distributions, neighbours and tank."""
    plan, unit = found.plan, found.plan.units
    middle = 0.5 * (plan.pair_edges[1:] + plan.pair_edges[:-1])
    near = pa.table({f"distance_{unit}": middle, "pair_correlation": found.pair_correlation})
    return {
        "fish": found.fish,
        "faststarts": found.starts,
        "pairs": found.pairs,
        "pair_correlation": near,
        "distributions": _distributions(found),
        "neighbours": _neighbours(found),
        "tank": _tank(found),
    }


def _distributions(found: Behaviour) -> pa.Table:
    """Share of all points in each bin of each quantity, empty bins left out."""
    plan, parts = found.plan, []
    units = {"speed": f"{plan.units}_per_s", "turning": "rad_per_s"}
    for name in QUANTITIES:
        counts, edges = found.histograms[name][-1], plan.edges[name]
        rows = np.flatnonzero(counts)
        parts.append(
            pa.table(
                {
                    "quantity": pa.array([name] * len(rows), pa.string()),
                    "unit": pa.array([units.get(name, plan.units)] * len(rows), pa.string()),
                    "low": edges[rows],
                    "high": edges[rows + 1],
                    "share": counts[rows] / max(float(counts.sum()), 1.0),
                }
            )
        )
    return pa.concat_tables(parts)


def _neighbours(found: Behaviour) -> pa.Table:
    """Neighbours in each cell of the three maps, by the middle of the cell in the swimmer's frame."""
    plan, bins = found.plan, found.plan.settings.map_bins
    middle = plan.reach_world * ((2 * np.arange(bins) + 1) / bins - 1)
    row, column = (a.ravel() for a in np.meshgrid(np.arange(bins), np.arange(bins), indexing="ij"))
    axes = (("ahead", "right"), ("ahead", "up"), ("up", "right"))
    parts = []
    for view, (along, across), cells in zip(("above", "side", "behind"), axes, found.maps, strict=True):
        place = {axis: np.full(bins * bins, np.nan) for axis in ("ahead", "right", "up")}
        place[along], place[across] = middle[row], middle[column]
        columns: dict[str, Any] = {"view": pa.array([view] * bins * bins, pa.string())}
        columns |= {f"{axis}_{plan.units}": values for axis, values in place.items()}
        parts.append(pa.table(columns | {"neighbours": cells.ravel()}))
    return pa.concat_tables(parts)


def _tank(found: Behaviour) -> pa.Table:
    """Share of time in each cell of the tank that was ever used, by its middle."""
    plan = found.plan
    at = np.argwhere(found.tank > 0)
    size = (plan.high - plan.low) / np.array(plan.cells)
    middle = plan.low + (at + 0.5) * size
    columns: dict[str, Any] = {f"{axis}_{plan.units}": middle[:, k] for k, axis in enumerate("xyz")}
    share = found.tank[tuple(at.T)] / max(float(found.tank.sum()), 1.0)
    return pa.table(columns | {"share": share})
