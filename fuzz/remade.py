"""Files that are sound as files and wrong in what they say: tables, arrays and networks with a wild value in them."""

import io
import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

WILD = (np.nan, np.inf, -np.inf, 1e308, -1e308, 4.6e18, 1e18, -1e18, 2.0**53, 2.0**40, 1e12, -1.0, 0.0, 0.5, 1e6)


def table(rng: np.random.Generator, content: bytes) -> bytes:
    """Parquet with a wild value, or a column of another type, name or none."""
    found = pq.read_table(io.BytesIO(content))
    k = int(rng.integers(found.num_columns))
    name = found.column_names[k]
    kind = int(rng.integers(0, 8))
    column = found.column(k).combine_chunks()
    if kind == 0:
        found = found.remove_column(k)
    elif kind == 1:
        found = found.rename_columns([str(rng.choice(found.column_names)) if j == k else n
                                      for j, n in enumerate(found.column_names)])  # fmt: skip
    elif kind == 2:
        found = found.set_column(k, name, pa.array([str(v) for v in column.to_pylist()]))
    elif kind == 3:
        values = column.to_pylist()
        values[int(rng.integers(len(values)))] = None
        found = found.set_column(k, name, pa.array(values))
    else:
        values = [v if isinstance(v, int | float) else 0 for v in column.to_pylist()]
        for _ in range(int(rng.integers(1, 3))):
            values[int(rng.integers(len(values)))] = float(rng.choice(WILD))
        whole = all(np.isfinite(v) and v == int(v) and abs(v) < 2**63 for v in values)
        found = found.set_column(k, name, pa.array([int(v) for v in values] if whole else [float(v) for v in values]))
    out = io.BytesIO()
    pq.write_table(found, out)
    return out.getvalue()


def arrays(rng: np.random.Generator, content: bytes) -> bytes:
    """``.npz`` with a wild value, of another shape or type, or that swells when it is unpacked."""
    with np.load(io.BytesIO(content)) as file:
        values = {n: file[n] for n in file.files}
    name = str(rng.choice(list(values)))
    kind = int(rng.integers(0, 6))
    with np.errstate(over="ignore"):
        if kind == 0:
            values[name] = values[name].ravel()
        elif kind == 1:
            values[name] = values[name].astype(
                str(rng.choice(["U4", "complex64", "int64", "bool", "float64", "M8[s]"]))
            )
        elif kind == 2:
            values["another"] = values[name]
        elif kind == 3:
            values[name] = np.zeros((int(rng.choice([10**3, 10**5])), int(rng.choice([1, 30]))), np.float32)
        else:
            values[name] = values[name].copy()
            values[name].flat[int(rng.integers(values[name].size))] = rng.choice(WILD)
    out = io.BytesIO()
    np.savez_compressed(out, **values)
    return out.getvalue()


def network(rng: np.random.Generator, content: bytes) -> bytes:
    """Safetensors with a wild weight or a changed header."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    body = bytearray(content[8 + size :])
    kind = int(rng.integers(0, 4))
    if kind == 0:
        del header[str(rng.choice(sorted(header)))]
    elif kind == 1:
        key = str(rng.choice(sorted(header["__metadata__"])))
        header["__metadata__"][key] = str(
            rng.choice(["", "{}", "[]", "null", "-1", "1e999", '{"width": 99999999}', "x"])
        )
    else:
        at = 4 * int(rng.integers(len(body) // 4))
        with np.errstate(over="ignore"):
            body[at : at + 4] = np.array(rng.choice([np.nan, np.inf, -np.inf, 1e30]), "<f4").tobytes()
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(body)


BY_SUFFIX: dict[str, Callable[[np.random.Generator, bytes], bytes]] = {
    ".parquet": table,
    ".npz": arrays,
    ".safetensors": network,
}
