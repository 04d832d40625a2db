"""What `analyse` measured, one number a recording: recordings, not animals, are what a study has many of."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...core.errors import InputError

_OF_FISH = ("speed", "turning", "depth", "nearest_neighbour", "straightness", "bursts", "abnormal_windows")
_OF_GROUP = ("polarisation", "milling", "spread", "hull_volume", "animals")
_ROWS = 1 << 16


def measures_of(recording: Path) -> dict[str, float]:
    """Return the measures of a recording that was analysed, by name; empty where it was not.

    Of animals, the mean weighted by how long each was followed; of the group, the mean over frames.

    Parameters
    ----------
    recording : its folder.
    """
    folder = recording / "behaviour"
    if not (folder / "fish.parquet").is_file():
        return {}
    try:
        found = _of_fish(folder)
        return found | _of_group(folder / "group.parquet")
    except (OSError, ValueError, KeyError) as error:  # Arrow's own errors are among them
        raise InputError(f"{folder}: its tables cannot be read ({' '.join(str(error).split())})") from None


def _of_fish(folder: Path) -> dict[str, float]:
    table = pq.read_table(folder / "fish.parquet")
    weight = table["points"].to_numpy().astype(float)
    found: dict[str, float] = {"tracks": float(len(weight))}
    for name in table.column_names:
        if name.startswith(_OF_FISH):
            values = table[name].to_numpy().astype(float)
            known = np.isfinite(values) & (weight > 0)
            if known.any():
                found[name] = float(np.average(values[known], weights=weight[known]))
    if (folder / "faststarts.parquet").is_file():
        about = pq.read_schema(folder / "fish.parquet").metadata or {}
        minutes = weight.sum() / float(about.get(b"fps", b"nan")) / 60
        if minutes > 0:
            found["fast_starts_per_animal_min"] = pq.read_metadata(folder / "faststarts.parquet").num_rows / minutes
    return found


def _of_group(path: Path) -> dict[str, float]:
    """Means over frames, read piece by piece."""
    if not path.is_file():
        return {}
    with pq.ParquetFile(path) as file:
        names = [n for n in file.schema_arrow.names if n.startswith(_OF_GROUP)]
        total, count = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0)
        for batch in file.iter_batches(_ROWS, columns=names):
            for name in names:
                values: Any = pc.cast(batch.column(name), "float64").to_numpy(zero_copy_only=False)
                known = np.isfinite(values)
                total[name] += float(values[known].sum())
                count[name] += int(known.sum())
    return {n: total[n] / count[n] for n in names if count[n]}
