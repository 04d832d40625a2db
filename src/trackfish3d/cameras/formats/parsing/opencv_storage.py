"""Trees of OpenCV's ``FileStorage`` as YAML and JSON, without OpenCV.

A tree is made of dictionaries, lists, numbers, texts and matrices (2-D arrays). OpenCV's YAML is almost YAML: its
first line may be ``%YAML:1.0``, which no YAML parser takes, and matrices have a tag of their own.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ....core.errors import InputError
from ....core.files import atomic_path
from ..common import load_text, strip_comments

_LARGEST_YAML = 8 * 2**20  # characters; PyYAML reads about one million a second
_INDENT = "   "


class _Loader(yaml.SafeLoader):
    """Safe YAML plus OpenCV's matrices; aliases are refused, because a few lines of them unfold without end."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not used by OpenCV")
        return super().compose_node(parent, index)


def _matrix_node(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    if not isinstance(node, yaml.MappingNode):
        raise yaml.YAMLError("an opencv-matrix must have rows, cols and data")
    return as_matrix(loader.construct_mapping(node, deep=True))


for _tag in ("opencv-matrix", "opencv-nd-matrix"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _matrix_node)
# OpenCV writes .Nan, which YAML knows as .nan, .NaN and .NAN only.
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?\.(?:nan|inf)", re.IGNORECASE), list("-+."))


def as_matrix(node: Any) -> Any:
    """Make an array of a mapping with rows, cols, data (or sizes, data); anything else is returned as it is."""
    if not isinstance(node, dict) or "data" not in node or not ({"rows", "cols"} <= set(node) or "sizes" in node):
        return node
    data = np.asarray(node["data"], dtype=np.float64).ravel()
    if "sizes" in node:
        return data.reshape(-1, 1)
    rows, cols = int(node["rows"]), int(node["cols"])
    if rows <= 0 or cols <= 0 or data.size % (rows * cols):
        raise InputError(f"a matrix of {rows} x {cols} with {data.size} numbers")
    return data.reshape(rows, -1)  # several channels follow each other


def load_storage(path: Path) -> dict[str, Any]:
    """Read a YAML or JSON file of OpenCV, or a plain one with the same names, as a tree."""
    text = load_text(path)
    try:
        if text.lstrip().startswith(("{", "[", "/*")):
            tree = _matrices(json.loads(strip_comments(text)))
        else:
            tree = _matrices(_load_yaml(text))
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: is not YAML ({reason})") from None
    if not isinstance(tree, dict):
        raise InputError(f"{path}: expected named values, such as camera_matrix")
    return {str(k): v for k, v in tree.items()}


def _load_yaml(text: str) -> Any:
    if len(text) > _LARGEST_YAML:
        raise InputError(f"has {len(text) / 1e6:.0f} million characters, too many for a calibration file")
    text = re.sub(r"\A\s*%YAML[^\n]*\n", "", text)
    loader = _Loader(text)
    try:
        return loader.get_data() if loader.check_data() else None  # type: ignore[no-untyped-call]
    finally:
        loader.dispose()


def _matrices(tree: Any) -> Any:
    if isinstance(tree, dict):
        return as_matrix({k: _matrices(v) for k, v in tree.items()})
    if isinstance(tree, list):
        return [_matrices(v) for v in tree]
    return tree


def write_storage(tree: dict[str, Any], path: Path) -> None:
    """Write a tree so that ``cv2.FileStorage`` reads it: JSON if the file is called so, YAML otherwise."""
    if path.suffix.lower() == ".json":
        text = json.dumps(_jsonable(tree), indent=1, ensure_ascii=False) + "\n"
    else:
        text = "%YAML:1.0\n---\n" + "".join(f"{line}\n" for line in _yaml_lines(tree))
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _described(matrix: Any) -> dict[str, Any]:
    rows, cols = matrix.shape
    return {"rows": rows, "cols": cols, "dt": "d", "data": matrix.ravel().tolist()}


def _jsonable(tree: Any) -> Any:
    if isinstance(tree, np.ndarray):
        return {"type_id": "opencv-matrix", **_described(tree)}
    if isinstance(tree, dict):
        return {k: _jsonable(v) for k, v in tree.items()}
    return [_jsonable(v) for v in tree] if isinstance(tree, list) else tree


def _yaml_lines(tree: dict[str, Any]) -> list[str]:
    lines = []
    for key, value in tree.items():
        if isinstance(value, np.ndarray):
            described = _described(value)
            data = ", ".join(repr(x) for x in described.pop("data"))
            inner = [f"{k}: {v}" for k, v in described.items()] + [f"data: [ {data} ]"]
            lines += [f"{key}: !!opencv-matrix", *(_INDENT + line for line in inner)]
        elif isinstance(value, list):
            lines.append(f"{key}:")
            for item in value:
                lines += [f"{_INDENT}-", *(2 * _INDENT + line for line in _yaml_lines(item))]
        else:
            lines.append(f"{key}: {json.dumps(value, ensure_ascii=False)}")
    return lines
