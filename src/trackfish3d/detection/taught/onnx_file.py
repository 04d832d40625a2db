"""The network as an ONNX file, written field by field: no package is needed, and the same weights give the same bytes.

An ONNX file is a protocol buffer. A field is its number and kind, then a varint, or a length and bytes; the numbers
are those of onnx.proto. https://protobuf.dev/programming-guides/encoding
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .cells import CHANNELS

_OPSET, _VERSION = 13, 7
_FLOAT, _INTS, _STRING = 1, 7, 3  # kinds: of tensors, of attributes
Weights = Mapping[str, NDArray[np.float32]]


def write_network(weights: Weights, facts: Mapping[str, str]) -> bytes:
    """Return the file of a `unet.UNet`: input ``cells`` (N, 2, h, w), output ``told`` (N, 3, h, w).

    Parameters
    ----------
    weights : by name, as PyTorch calls them.
    facts : texts by name, kept in the file.
    """
    depth = len({name.split(".")[1] for name in weights if name.startswith("down")})
    nodes: list[bytes] = []
    x, beside = "cells", []
    for k in range(depth):
        if k:
            nodes.append(_node("MaxPool", [x], f"half{k}", kernel_shape=[2, 2], strides=[2, 2]))
            x = f"half{k}"
        x = _step(nodes, f"down.{k}", x)
        beside.append(x)
    for k in range(depth - 1):
        resized = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        nodes.append(_node("Resize", [x, "", "twice"], f"twice{k}", **resized))
        nodes.append(_node("Concat", [f"twice{k}", beside[-2 - k]], f"both{k}", axis=1))
        x = _step(nodes, f"up.{k}", f"both{k}")
    nodes.append(_node("Conv", [x, "head.weight", "head.bias"], "told", kernel_shape=[1, 1]))
    values = {**weights, "twice": np.array([1, 1, 2, 2], np.float32)}
    graph = b"".join(_bytes(1, node) for node in nodes) + _bytes(2, b"taught")
    graph += b"".join(_bytes(5, _tensor(name, value)) for name, value in values.items())
    graph += _bytes(11, _port("cells", CHANNELS)) + _bytes(12, _port("told", len(weights["head.bias"])))
    model = _varint(1, _VERSION) + _bytes(2, b"trackfish3d") + _bytes(7, graph)
    model += _bytes(8, _bytes(1, b"") + _varint(2, _OPSET))
    return model + b"".join(_bytes(14, _bytes(1, k.encode()) + _bytes(2, v.encode())) for k, v in facts.items())


def _step(nodes: list[bytes], name: str, x: str) -> str:
    """Two convolutions, each with its rectifier; returns the name of what comes out."""
    for part in ("first", "second"):
        layer = f"{name}.{part}"
        kernel = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        nodes.append(_node("Conv", [x, f"{layer}.weight", f"{layer}.bias"], f"{layer}.sum", **kernel))
        nodes.append(_node("Relu", [f"{layer}.sum"], f"{layer}.out"))
        x = f"{layer}.out"
    return x


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _varint(field: int, value: int) -> bytes:
    return _number(field << 3) + _number(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _number(field << 3 | 2) + _number(len(value)) + value


def _node(kind: str, inputs: list[str], output: str, **attributes: int | str | list[int]) -> bytes:
    out = b"".join(_bytes(1, name.encode()) for name in inputs) + _bytes(2, output.encode()) + _bytes(4, kind.encode())
    return out + b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())


def _attribute(name: str, value: int | str | list[int]) -> bytes:
    out = _bytes(1, name.encode())
    if isinstance(value, int):
        return out + _varint(3, value) + _varint(20, 2)
    if isinstance(value, str):
        return out + _bytes(4, value.encode()) + _varint(20, _STRING)
    return out + b"".join(_varint(8, n) for n in value) + _varint(20, _INTS)


def _tensor(name: str, value: NDArray[np.float32]) -> bytes:
    out = b"".join(_varint(1, n) for n in value.shape) + _varint(2, _FLOAT) + _bytes(8, name.encode())
    return out + _bytes(9, np.ascontiguousarray(value, "<f4").tobytes())


def _port(name: str, channels: int) -> bytes:
    """Return an input or output (N, channels, h, w) of floats."""
    open_sizes = [_bytes(1, _bytes(2, size)) for size in (b"n", b"h", b"w")]
    shape = open_sizes[0] + _bytes(1, _varint(1, channels)) + open_sizes[1] + open_sizes[2]
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, _varint(1, _FLOAT) + _bytes(2, shape)))
