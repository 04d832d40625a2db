"""Which tool wrote a calibration file, told by what is in it."""

import json
from pathlib import Path
from typing import Any

import yaml

from ...core.errors import InputError
from ..native import read_toml
from . import caliscope
from .common import LARGEST_FILE, load_text, strip_comments
from .dlt import parse_coefficients
from .opencv import SUFFIXES, is_calibration
from .parsing.matfile import is_mat
from .parsing.opencv_storage import load_storage
from .projection import parse_matrices
from .vicon import is_xcp
from .zef import REFERENCES

# Files that a folder is opened by, the first one that is there.
_KNOWN_FILES = (
    "cameras.toml",
    "camera_array.toml",
    "calibration.toml",
    "config.toml",
    "cameras.json",
    "calibration.json",
)


def detect(path: Path) -> tuple[str, Path]:
    """Format of a file or folder, and the file to read, which in a folder may be one of its files."""
    if path.is_dir():
        return _detect_folder(path)
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if not path.is_file():
        raise InputError(f"{path}: is not a file")
    with path.open("rb") as file:
        head = file.read(4096)
    if is_mat(head):
        return "matlab", path
    if path.name in ("cameras.txt", "images.txt") or b"CAMERA_ID, MODEL, WIDTH" in head:
        return "colmap", path
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(f"{path}: has {path.stat().st_size / 2**20:.0f} MiB, too much for a calibration file")
    text = load_text(path)
    found = _detect_text(path, text)
    if found is None:
        raise InputError(f"{path}: is not a calibration that is known; say of which tool (--from FORMAT)")
    return found, path


def _detect_text(path: Path, text: str) -> str | None:
    start = text.lstrip()
    if is_xcp(text):
        return "vicon"
    if start.startswith("%YAML"):
        return "opencv"
    if start.startswith(("{", "/*", "[")):  # TOML begins with [ as well
        try:
            return _of_json(json.loads(strip_comments(text)))
        except (ValueError, RecursionError):
            if not start.startswith("["):
                return None
    try:
        return _of_toml(read_toml(path))
    except InputError:
        pass
    try:
        parse_coefficients(text)
        return "dlt"
    except InputError:
        pass
    try:
        parse_matrices(text)
        return "projection"
    except InputError:
        pass
    try:
        return "opencv" if is_calibration(load_storage(path)) else None
    except (InputError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, yaml.YAMLError):
        return None


def _of_json(tree: Any) -> str | None:
    if isinstance(tree, list):
        first = tree[0] if tree and isinstance(tree[0], dict) else {}
        return "zef" if {"camera", "world"} <= set(first) else "json" if "K" in first else None
    if not isinstance(tree, dict):
        return None
    cameras = tree.get("cameras")
    entries = list(cameras.values()) if isinstance(cameras, dict) else cameras if isinstance(cameras, list) else []
    first = entries[0] if entries and isinstance(entries[0], dict) else {}
    if "intrinsics" in first and "extrinsics" in first:
        return "aquacal"
    if {"K", "Distortion"} <= set(tree):
        return "zef"
    if isinstance(cameras, list) and {"K", "R", "t"} <= set(first):
        return "json"
    return "opencv"


def _of_toml(tables: dict[str, Any]) -> str | None:
    if caliscope.camera_tables(tables):
        return "caliscope"
    cameras = [t for t in tables.values() if isinstance(t, dict) and "matrix" in t]
    if not cameras:
        return None
    metadata = tables.get("metadata")
    own = isinstance(metadata, dict) and "order" in metadata
    return "trackfish3d" if own or any("interfaces" in t for t in cameras) else "anipose"


def _detect_folder(folder: Path) -> tuple[str, Path]:
    names = {f.name for f in folder.iterdir()}
    if "images.txt" in names or {"images.bin", "cameras.bin"} <= names:
        return "colmap", folder
    if any(REFERENCES.fullmatch(n) for n in names):
        return "zef", folder
    for name in _KNOWN_FILES:
        if name in names:
            return detect(folder / name)
    if any(Path(n).suffix.lower() in SUFFIXES for n in names):
        return "opencv", folder
    raise InputError(f"{folder}: holds no calibration that is known; give the file itself")
