"""Arrays as small text: quantised, little-endian, base64, decoded by ``data/decode.js``."""

import base64
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVELS = 65534
UNKNOWN = 65535
_KINDS = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "i32": "<i4", "f32": "<f4", "f64": "<f8"}


def packed(values: ArrayLike, kind: str) -> dict[str, Any]:
    """Numbers of any shape as typed array `kind` (``u8 u16 u32 i32 f32 f64``)."""
    array = np.asarray(values)
    return {"kind": kind, "shape": list(array.shape), "data": _text(array.astype(_KINDS[kind]))}


def smallest(values: ArrayLike) -> dict[str, Any]:
    """Whole numbers that are not negative, in the narrowest type that holds them."""
    array = np.asarray(values)
    top = int(array.max(initial=0))
    return packed(array, "u8" if top < 2**8 else "u16" if top < 2**16 else "u32")


def quantised(values: ArrayLike, low: ArrayLike, high: ArrayLike) -> dict[str, Any]:
    """Numbers (..., D) in 16 bits each, spread evenly between `low` and `high` (D,) of the last axis.

    What is not finite, or lies outside, becomes unknown (NaN on the page): a number is never bent to fit.
    """
    array = np.asarray(values, dtype=np.float64)
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    span = np.where(high > low, high - low, 1.0)
    with np.errstate(invalid="ignore"):
        scaled = np.round((array - low) / span * LEVELS)
        known = (scaled >= 0) & (scaled <= LEVELS)
    levels = np.where(known, scaled, UNKNOWN)
    found = packed(levels, "u16")
    return found | {"low": low.tolist(), "step": (span / LEVELS).tolist()}


def rounded(value: Any, digits: int = 6) -> Any:
    """Plain numbers for JSON: `digits` significant ones, None for what is not finite; lists go through."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [rounded(v, digits) for v in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.{digits}g}") if np.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value


def _text(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
