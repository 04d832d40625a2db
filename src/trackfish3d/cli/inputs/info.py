"""``trackfish3d info``: what a bug report needs."""

import importlib.metadata
import importlib.util
import os
import platform
from pathlib import Path
from typing import Annotated

import typer

from ... import __version__
from ...recordings import Recording

_PACKAGES = [
    "numpy",
    "scipy",
    "numba",
    "pyarrow",
    "pydantic",
    "matplotlib",
    "torch",
    "safetensors",
    "av",
    "opencv-python-headless",
    "pandas",
    "xarray",
    "netCDF4",
    "pynwb",
    "ndx-pose",
    "sleap-io",
    "rerun-sdk",
]


def command(
    recording: Annotated[Path | None, typer.Argument(help="A recording to describe as well.")] = None,
) -> None:
    """Print versions of the package and what it stands on and, with a recording, what that holds."""
    print(f"trackfish3d {__version__}")
    print(f"python {platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    for name in _PACKAGES:
        try:
            print(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            print(f"{name} -")
    print(f"accelerator: {_accelerator()}")
    if recording is not None:
        describe(Recording.open(recording))


def _accelerator() -> str:
    if importlib.util.find_spec("torch") is None:
        return "unknown (torch is not installed)"
    import torch

    if torch.cuda.is_available():
        return str(torch.cuda.get_device_name(0))
    return "mps" if torch.backends.mps.is_available() else "none"


def describe(recording: Recording) -> None:
    """Print what a recording's folder holds, without reading its detections into memory."""
    info = recording.info
    print(f"\nrecording {recording.folder}")
    last = info.first_frame + info.frame_count - 1
    print(f"frames {info.first_frame}..{last} at {info.fps:g} a second, world in {recording.units}")
    for camera in recording.rig:
        offset = info.time_offset_frames.get(camera.name, 0)
        parts = [f"{camera.size[0]}x{camera.size[1]}", f"{len(camera.interfaces)} interfaces"]
        parts += [f"time offset {offset:+d} frames"] if offset else []
        print(f"camera {camera.name}: {', '.join(parts)}")
    for name in ("detections.parquet", "truth.parquet", "tracks.parquet"):
        path = recording.folder / name
        print(f"{name}: {f'{path.stat().st_size / 1e6:.1f} MB' if path.exists() else '-'}")
    print(f"videos: {', '.join(recording.videos) or '-'}")
